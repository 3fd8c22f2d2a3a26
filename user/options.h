/* options.h - the command line as the program sees it: checked, complete, constant. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "attach/probe.h"

enum command {
	COMMAND_CAPTURE,
	COMMAND_LIST,
	COMMAND_REPORT,
	COMMAND_HELP,
	COMMAND_VERSION,
};

struct options {
	enum command command;
	uint32_t pid;
	const char *output;   /* NULL: named after job and time */
	const char *raw_path; /* of report */
	uint32_t skip_first, skip_first_wait, wait, warmup, active, repeat;
	uint32_t timeout_s; /* 0: none */
	struct step_spec step;
	enum attach_mode attach;
	bool describe, keep_raw, verbose;
	char command_line[1024];
};

/* 0, or -EINVAL with a sentence on stderr that names the option. */
int options_parse(struct options *options, int argc, char **argv);

void options_print_help(FILE *file);

#endif /* OPTIONS_H */
