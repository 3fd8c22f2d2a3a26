// The whole job, which a program is linked with (main.cpp) or loads and gives up again (host.c).

#ifndef STANDIN_JOB_H
#define STANDIN_JOB_H

#include <stdint.h>

#ifdef __cplusplus
extern "C"
#endif
	// Attempts from `first` on, until *stop. Returns -1, or the number of the next attempt if
	// the libraries are to be given up; nothing of them is in use then.
	__attribute__((visibility("default"))) int64_t
	standin_job(int argc, char **argv, int64_t first, const volatile int *stop);

#endif
