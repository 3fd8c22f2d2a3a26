/* option_values.h - options whose value is more than a number: each setter checks and stores it. */
#ifndef OPTION_VALUES_H
#define OPTION_VALUES_H

#include "options.h"

/* 0, or -EINVAL with a sentence on stderr that names the option. */
int option_step(struct options *options, const char *text);
int option_attach(struct options *options, const char *text);
int option_ring_size(struct options *options, const char *text);
int option_gpu(struct options *options, const char *text);
int option_sort_by(struct options *options, const char *text);
int option_row_limit(struct options *options, const char *text);
int option_group_by(struct options *options, const char *text);
int option_max_overhead(struct options *options, const char *text);
int option_activities(struct options *options, const char *text);

void option_step_auto(struct step_spec *step);

#endif /* OPTION_VALUES_H */
