/* session.h - one capture, from the checks of the job to the exit code. */
#ifndef SESSION_H
#define SESSION_H

#include "options.h"

/* The exit code of the program. */
int session_run(const struct options *options);

/* The exit code for an error that has been logged. */
int session_exit_code(int err);

#define EXIT_COMPLETE 0
#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_PARTIAL 3
#define EXIT_NO_TARGET 4
#define EXIT_NOT_PERMITTED 5
#define EXIT_CANCELLED 130 /* as a shell reports SIGINT */

#endif /* SESSION_H */
