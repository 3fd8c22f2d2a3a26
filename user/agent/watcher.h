/*
 * watcher.h - the thread that looks whether somebody wants activity. Dormant it looks once a
 * second, at two words of memory.
 */
#ifndef AGENT_WATCHER_H
#define AGENT_WATCHER_H

#include <stdatomic.h>
#include <stdbool.h>

#include "agent/caller.h"

struct watcher {
	struct caller caller;
	bool hung;	/* the step has been said to hang */
	bool abandoned; /* and the session was ended without it */
	bool excused;	/* a session that has nothing to give is open */
	const char *hung_step;
	uint64_t hung_ms;
	void (*at_exit)(void); /* calls watcher_finish(); NULL: nobody does */
	bool exit_expected;    /* it will be called when the job ends */
	atomic_bool finished;  /* it was: nothing is begun any more */
	atomic_bool stop;      /* for tests: the agent in a job never stops */
	atomic_bool stopped;
};

/* 0, or a negative errno when there is no thread to be had: the agent then stays dormant. */
int watcher_start(struct watcher *watcher);

/*
 * The job ends in good order while a session may be open: what there is, is handed over, unless
 * that takes longer than a moment. On the job's thread. No call into CUPTI begins after it.
 */
void watcher_finish(struct watcher *watcher);

/* One look. Returns how many ms may pass until the next one. */
unsigned int watcher_look(struct watcher *watcher);

#endif /* AGENT_WATCHER_H */
