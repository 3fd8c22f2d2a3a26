/* session_exit.c - what the errors of a session are as exit codes. */
#include <errno.h>

#include "session.h"

int session_exit_code(int err)
{
	switch (err) {
	case 0:
		return EXIT_COMPLETE;
	case -ESRCH:
	case -ENOEXEC:
		return EXIT_NO_TARGET;
	case -EPERM:
	case -EACCES:
	case -EBUSY:
	case -EOPNOTSUPP:
	case -ENOENT:
		return EXIT_NOT_PERMITTED;
	case -E2BIG: /* what was asked for */
		return EXIT_USAGE;
	case -ECANCELED:
		return EXIT_CANCELLED;
	default:
		return EXIT_FAILED;
	}
}
