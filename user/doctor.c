/* doctor.c - see doctor.h. Results go to stdout, a line each as they are found. */
#include "doctor.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "checkup.h"
#include "doctor_host.h"
#include "doctor_job.h"
#include "list.h"
#include "session.h"

static const char *general_mend(void)
{
	if (!geteuid())
		return NULL;
	return "not run as root: sudo tpbpf doctor looks at everything; README.md, Capabilities, "
	       "says how to do without root";
}

/* What the checks try and fail at is told by their lines. */
static void be_quiet(const struct options *options, bool is_quiet)
{
	if (!options->verbose)
		log_set_level(is_quiet ? LOG_LEVEL_NONE : LOG_LEVEL_INFO);
}

int doctor_run(const struct options *options)
{
	struct checkup checkup;
	bool works;
	int err = 0;

	setvbuf(stdout, NULL, _IOLBF, 0); /* in order with what else is said */
	checkup_init(&checkup, stdout);
	be_quiet(options, true);
	doctor_check_host(&checkup);
	be_quiet(options, false);
	if (options->pid) {
		printf("\n");
		err = doctor_check_job(&checkup, options);
	}
	works = checkup_end(&checkup, general_mend());
	if (!options->pid) {
		printf("\n");
		list_run();
	}
	if (fflush(stdout))
		return EXIT_FAILED;
	if (err)
		return session_exit_code(err);
	return works ? EXIT_COMPLETE : EXIT_NOT_PERMITTED;
}
