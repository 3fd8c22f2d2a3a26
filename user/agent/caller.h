/*
 * caller.h - the thread that calls into CUPTI, so that a call that hangs holds up nobody else. It
 * exists from the first step of a session to its last one.
 */
#ifndef AGENT_CALLER_H
#define AGENT_CALLER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum caller_step {
	STEP_NONE,
	STEP_OPEN,
	STEP_OPEN_SYNC,
	STEP_TICK,
	STEP_CLOSE,
	STEP_RECOVER,
};

struct caller {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum caller_step step; /* STEP_NONE: idle */
	uint64_t since_ns;     /* when the step was given */
	bool running;	       /* the thread is there */
};

void caller_init(struct caller *caller);

/* Gives an idle caller its next step. 0; -EBUSY; another one when there is no thread to be had. */
int caller_give(struct caller *caller, enum caller_step step);

/* Waits until the caller is idle, but no longer than that. True: it is. */
bool caller_wait(struct caller *caller, unsigned int ms);

/* What it is busy with, and for how long; NULL: it is idle. */
const char *caller_busy(struct caller *caller, uint64_t *ms);

/* Starts a detached thread of the agent: named, and deaf to signals. 0 or a negative errno. */
int agent_thread_start(void *(*run)(void *), void *argument, const char *name, size_t stack_bytes);

#endif /* AGENT_CALLER_H */
