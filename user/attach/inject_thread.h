/* inject_thread.h - the threads of a job that may be taken for a moment, by what /proc says. */
#ifndef ATTACH_INJECT_THREAD_H
#define ATTACH_INJECT_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "attach/inject_wait.h"

/* A thread that waits, and that nobody has touched. */
struct inject_thread {
	pid_t tid;
	struct thread_wait wait;
	enum wait_rank rank;
	bool is_restless; /* it was awake between the two looks */
	bool by_lock;	  /* what it waits in must be looked at */
	bool has_filter;  /* of seccomp */
};

#define INJECT_THREADS_MAX 64

struct inject_threads {
	struct inject_thread threads[INJECT_THREADS_MAX]; /* the best first */
	size_t count;
	const char *obstacle; /* why it cannot be done with this job at all; NULL: there is none */
};

/*
 * Those that are seen to wait twice, a moment apart; never the first thread, which has the most to
 * do, and a stack that nobody knows the end of. 0, -ESRCH: the job is gone; -EACCES, -EPERM: it may
 * not be looked at. With an obstacle none is found.
 */
int inject_threads_find(struct inject_threads *threads, pid_t pid);

#endif /* ATTACH_INJECT_THREAD_H */
