/* options.h - the command line as the program sees it: checked, complete, constant. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "attach/probe.h"
#include "model/table_options.h"

enum command {
	COMMAND_CAPTURE,
	COMMAND_LIST,
	COMMAND_REPORT,
	COMMAND_DOCTOR,
	COMMAND_HELP,
	COMMAND_VERSION,
};

enum gpu_mode {
	GPU_AUTO, /* where the job has the agent */
	GPU_OFF,
	GPU_INJECT, /* and where it can be given to it */
};

struct options {
	enum command command;
	uint32_t pid;
	const char *output;   /* NULL: named after job and time */
	const char *raw_path; /* of report */
	uint32_t skip_first, skip_first_wait, wait, warmup, active, repeat;
	uint32_t timeout_s; /* 0: none */
	struct step_spec step;
	struct probe_options probes;
	enum sort_key sort_by;
	uint32_t row_limit; /* 0: all */
	bool group_by_shape, group_by_overload;
	bool record_shapes, with_flops; /* the second implies the first */
	bool with_modules;
	bool exact;
	enum gpu_mode gpu;
	uint32_t max_overhead_permille;
	uint32_t activities;   /* ACTIVITY_* of wire.h */
	bool activities_named; /* by the user: what is named may not be left out for its cost alone
				*/
	bool describe, keep_raw, verbose;
	char command_line[1024];
};

/* 0, or -EINVAL with a sentence on stderr that names the option. */
int options_parse(struct options *options, int argc, char **argv);

/* What of it the tables need. */
void options_table(const struct options *options, struct table_options *table);

void options_print_help(FILE *file);

#endif /* OPTIONS_H */
