/* main.c - options -> command -> exit code. */
#include <stdio.h>

#include "base/log.h"
#include "doctor.h"
#include "list.h"
#include "options.h"
#include "report.h"
#include "rights.h"
#include "session.h"
#include "version.h"

int main(int argc, char **argv)
{
	struct options options;

	if (options_parse(&options, argc, argv))
		return EXIT_USAGE;
	if (options.verbose)
		log_set_level(LOG_LEVEL_DEBUG);
	rights_begin(options.command);
	switch (options.command) {
	case COMMAND_LIST:
		return list_run();
	case COMMAND_REPORT:
		return report_run(&options);
	case COMMAND_DOCTOR:
		return doctor_run(&options);
	case COMMAND_HELP:
		options_print_help(stdout);
		return EXIT_COMPLETE;
	case COMMAND_VERSION:
		puts("tpbpf " TPBPF_VERSION);
		return EXIT_COMPLETE;
	case COMMAND_CAPTURE:
		break;
	}
	return session_run(&options);
}
