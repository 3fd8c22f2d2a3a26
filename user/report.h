/* report.h - `tpbpf report RAW -o DIR`. */
#ifndef REPORT_H
#define REPORT_H

#include "options.h"

/* The exit code. */
int report_run(const struct options *options);

#endif /* REPORT_H */
