/*
 * correlate.h - ties what ran on a device to the call that asked for it and to the operator that
 * the call was made in. Device records come a flush period late, so spans, calls and work are kept
 * until the window is over and are matched by thread, time and correlation id then. The rule is
 * Kineto's: the innermost operator that was running on the calling thread when the call began.
 */
#ifndef ANALYZE_CORRELATE_H
#define ANALYZE_CORRELATE_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/op_stats.h"
#include "model/attempt.h"
#include "model/device.h"
#include "model/sink.h"
#include "model/summary.h"

struct correlate;

#define CORRELATE_SPANS_MAX 16000000 /* 56 bytes each */
#define CORRELATE_CALLS_MAX 8000000  /* 64 bytes each */
#define CORRELATE_WORK_MAX 8000000   /* 144 bytes each */

/* stats gets the device's times; stays the caller's. */
int correlate_new(struct correlate **out, struct op_stats *stats);
void correlate_free(struct correlate *correlate); /* NULL is legal */

/* Spans of the window as they end, each after op_stats_add(), which tells its row. */
int correlate_span(struct correlate *correlate, const struct span *span, size_t row);

/* What the agent reports, in any order. -ENOMEM; what is past the bounds is counted and dropped. */
int correlate_call(struct correlate *correlate, const struct device_call *call);
int correlate_work(struct correlate *correlate, const struct device_work *work);
int correlate_overhead(struct correlate *correlate, const struct device_overhead *overhead);

/*
 * After the last of them and before op_stats_summarize(): hands on what belongs to the window, the
 * calls that began in it and the work that they asked for, in order of time, and says in summary
 * what was left out and how busy the devices were in each active attempt. summary: with its
 * attempts, started_ns and ended_ns.
 */
int correlate_finish(struct correlate *correlate, struct device_sink *next,
		     struct summary *summary);

#endif /* ANALYZE_CORRELATE_H */
