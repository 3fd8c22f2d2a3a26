/*
 * device_fallback.h - calls of CUDA's by probes where the agent that should report them cannot. It
 * is decided once, in the first warmup and before the window's probes are attached: whoever does it
 * then does it to the end, so that no call is there twice.
 */
#ifndef DEVICE_FALLBACK_H
#define DEVICE_FALLBACK_H

#include "device_watch.h"
#include "window_probes.h"

/* All stay the caller's. */
struct device_fallback {
	struct probe_plan *plan;
	struct device_watch *watch;
	struct window_probes *window;
	struct record_sink *sink;
};

/*
 * Asks the agent and lets it end as the phase asks, and holds warmup until it has answered. Gives
 * up one that has failed: the plan's calls are probed instead, and told to the sink.
 */
int device_fallback_follow(const struct device_fallback *fallback, uint32_t phase, uint64_t now_ns);

/*
 * window_probes_attach(), but not before it is known who reports the calls: warmup waits for that
 * as it does for the probes.
 */
int device_fallback_attach(const struct device_fallback *fallback);

#endif /* DEVICE_FALLBACK_H */
