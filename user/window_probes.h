/*
 * window_probes.h - puts the window's probes on and takes them off as the phase asks. In the first
 * warmup everything is attached and learned from; then the modes are decided, what they say is
 * attached instead, and only then the programs are told that warmup counts.
 */
#ifndef WINDOW_PROBES_H
#define WINDOW_PROBES_H

#include "attach/probe.h"
#include "options.h"
#include "pipeline.h"

struct window_probes;

/*
 * options, plan, probes and pipeline stay the caller's. Measures what a hit costs here if calls are
 * to be recorded, and says so in the stream.
 */
int window_probes_new(struct window_probes **out, const struct options *options,
		      const struct probe_plan *plan, struct probes *probes,
		      struct pipeline *pipeline);
void window_probes_free(struct window_probes *window); /* NULL is legal; detaches nothing */

/* The plan has more than it had, and nothing of it is attached yet. */
int window_probes_replan(struct window_probes *window);

/* Attaches what the phase wants and is not attached. -ESRCH: the job is gone; others are logged. */
int window_probes_attach(struct window_probes *window);

/* Warmup waits for somebody else too: until this is false again it is not counted. */
void window_probes_hold(struct window_probes *window, bool is_held);

/*
 * In warmup: decides, when enough was learned, and in a later call lets it be counted, when nobody
 * holds it any more. After the window: takes the probes off.
 */
int window_probes_follow(struct window_probes *window, uint64_t now_ns);

bool window_probes_attached(const struct window_probes *window);

/* The job waits, but not for long enough to take them off. */
bool window_probes_stay(const struct window_probes *window);

/* Nothing is learned any more: what is recorded from here on may be shown. */
bool window_probes_settled(const struct window_probes *window);

#define AFTER_ATTEMPTS 3 /* watched after the window, as an honest clock */

/* The number of attempts at which no more are counted: known once the probes are off for good. */
uint32_t window_probes_after_limit(const struct window_probes *window);

/* Ranges that were open when the window closed are being waited for. */
bool window_probes_in_tail(const struct window_probes *window);

#endif /* WINDOW_PROBES_H */
