/*
 * device_watch.h - the collector's side of the agent in the job: asks it for activity when warmup
 * begins, ends that after the window and waits, for a bounded time, for what is left.
 */
#ifndef DEVICE_WATCH_H
#define DEVICE_WATCH_H

#include "attach/probe_plan.h"
#include "model/sink.h"
#include "options.h"

struct device_watch;

/* Is there an agent in the job that can be asked? */
bool device_watch_finds_agent(const struct target *target);

/*
 * Looks for an agent in the job; that there is none is no error. It is not asked where the plan has
 * calls of CUDA's probed: they would be there twice. refusal: why it could not be put in, or empty.
 * options and next stay the caller's.
 */
int device_watch_new(struct device_watch **out, const struct options *options,
		     const struct probe_plan *plan, const char *refusal, struct record_sink *next);
void device_watch_free(struct device_watch *watch); /* NULL is legal; ends what goes on */

/* The ring that batches come through, or -1: there is none. */
int device_watch_ring_fd(const struct device_watch *watch);

/* Records on their way to next; looks at the agent's. */
struct record_sink *device_watch_sink(struct device_watch *watch);

/* Says in the stream how devices are watched: at the begin, and when that changes. */
int device_watch_report(struct device_watch *watch, uint64_t now_ns);

/* Begins and ends as the phase asks. */
void device_watch_follow(struct device_watch *watch, uint32_t phase, uint64_t now_ns);

/* Warmup may be counted: the agent is at work, or it will not be. */
bool device_watch_is_ready(const struct device_watch *watch, uint64_t now_ns);

/* The agent has been at work in this capture: what it does not report is not probed instead. */
bool device_watch_has_recorded(const struct device_watch *watch);

/* It has not, and will not: it said so, did not answer in time, or cannot be asked. */
bool device_watch_has_failed(const struct device_watch *watch, uint64_t now_ns);

/* It is not asked any more, nor listened to; how devices are watched stays as it was last said. */
void device_watch_give_up(struct device_watch *watch);

/* Ends what goes on. False: the agent has said all, or its time is up. */
bool device_watch_is_ending(struct device_watch *watch, uint64_t now_ns);

#endif /* DEVICE_WATCH_H */
