/*
 * correlate.c - see correlate.h. All arrays are sorted once at the end: calls by thread and time to
 * find their operators, then by correlation id to find the call of each piece of work, then both by
 * time to be written.
 */
#include "analyze/correlate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/device_busy.h"
#include "analyze/device_ranges.h"
#include "analyze/span_index.h"
#include "analyze/window_gaps.h"
#include "base/array.h"
#include "base/text.h"

#define NO_CALL SIZE_MAX

struct kept_call {
	struct device_call call;
	size_t span;	   /* of span_index; SPAN_INDEX_NONE: no span held it */
	size_t outer;	   /* the call of the thread that holds it; NO_CALL: none */
	uint64_t inner_ns; /* calls inside it: a driver call of the runtime's own */
	bool is_in_window;
	bool has_work;
};

struct correlate {
	struct op_stats *stats;
	struct span_index spans;
	struct kept_call *calls;
	struct device_work *work;
	struct device_overhead *overheads;
	struct window_gaps gaps;
	size_t call_count, call_capacity;
	size_t work_count, work_capacity;
	size_t overhead_count, overhead_capacity;
	uint64_t dropped; /* past the bounds */
};

int correlate_new(struct correlate **out, struct op_stats *stats)
{
	struct correlate *correlate = calloc(1, sizeof(*correlate));

	if (!correlate)
		return -ENOMEM;
	correlate->stats = stats;
	span_index_init(&correlate->spans, CORRELATE_SPANS_MAX);
	*out = correlate;
	return 0;
}

void correlate_free(struct correlate *correlate)
{
	if (!correlate)
		return;
	span_index_fini(&correlate->spans);
	free(correlate->calls);
	free(correlate->work);
	free(correlate->overheads);
	window_gaps_free(&correlate->gaps);
	free(correlate);
}

int correlate_span(struct correlate *correlate, const struct span *span, size_t row)
{
	return span_index_add(&correlate->spans, span, row);
}

int correlate_call(struct correlate *correlate, const struct device_call *call)
{
	int err;

	if (correlate->call_count >= CORRELATE_CALLS_MAX) {
		correlate->dropped++;
		return 0;
	}
	err = ARRAY_RESERVE(correlate->calls, correlate->call_capacity, correlate->call_count + 1);
	if (err)
		return err;
	correlate->calls[correlate->call_count++] = (struct kept_call){
		.call = *call,
		.span = SPAN_INDEX_NONE,
	};
	return 0;
}

int correlate_work(struct correlate *correlate, const struct device_work *work)
{
	int err;

	if (correlate->work_count >= CORRELATE_WORK_MAX) {
		correlate->dropped++;
		return 0;
	}
	err = ARRAY_RESERVE(correlate->work, correlate->work_capacity, correlate->work_count + 1);
	if (!err)
		correlate->work[correlate->work_count++] = *work;
	return err;
}

int correlate_overhead(struct correlate *correlate, const struct device_overhead *overhead)
{
	int err;

	if (correlate->overhead_count >= CORRELATE_CALLS_MAX) {
		correlate->dropped++;
		return 0;
	}
	err = ARRAY_RESERVE(correlate->overheads, correlate->overhead_capacity,
			    correlate->overhead_count + 1);
	if (!err)
		correlate->overheads[correlate->overhead_count++] = *overhead;
	return err;
}

static int order(uint64_t left, uint64_t right)
{
	return left < right ? -1 : left > right;
}

/* Outer calls first: the runtime's before the driver's inside it. */
static int by_thread(const void *a, const void *b)
{
	const struct device_call *left = &((const struct kept_call *)a)->call;
	const struct device_call *right = &((const struct kept_call *)b)->call;
	int difference = order(left->tid, right->tid);

	if (!difference)
		difference = order(left->start_ns, right->start_ns);
	return difference ? difference : order(right->end_ns, left->end_ns);
}

/* The runtime's call first, where the driver's inside it carries the same id. */
static int by_correlation(const void *a, const void *b)
{
	const struct device_call *left = &((const struct kept_call *)a)->call;
	const struct device_call *right = &((const struct kept_call *)b)->call;
	int difference = order(left->correlation_id, right->correlation_id);

	if (!difference)
		difference = order(left->is_driver, right->is_driver);
	return difference ? difference : order(left->start_ns, right->start_ns);
}

static int by_call_time(const void *a, const void *b)
{
	const struct device_call *left = &((const struct kept_call *)a)->call;
	const struct device_call *right = &((const struct kept_call *)b)->call;
	int difference = order(left->start_ns, right->start_ns);

	return difference ? difference : order(left->correlation_id, right->correlation_id);
}

static int by_work_time(const void *a, const void *b)
{
	const struct device_work *left = a, *right = b;
	int difference = order(left->start_ns, right->start_ns);

	return difference ? difference : order(left->correlation_id, right->correlation_id);
}

static void sort_calls(struct correlate *correlate, int (*compare)(const void *, const void *))
{
	if (correlate->call_count)
		qsort(correlate->calls, correlate->call_count, sizeof(*correlate->calls), compare);
}

static const struct kept_span *span_of(const struct correlate *correlate, size_t span)
{
	return span == SPAN_INDEX_NONE ? NULL : &correlate->spans.spans[span];
}

/* Ranges hold operators; work belongs to the operator. */
static uint64_t operator_id(const struct correlate *correlate, size_t span)
{
	const struct kept_span *kept;

	for (; (kept = span_of(correlate, span)); span = kept->parent) {
		if (kept->kind != SPAN_RANGE)
			return kept->id;
	}
	return 0;
}

static void find_operators(struct correlate *correlate)
{
	size_t i;

	span_index_sort(&correlate->spans);
	sort_calls(correlate, by_thread);
	for (i = 0; i < correlate->call_count; i++) {
		struct kept_call *kept = &correlate->calls[i];
		struct device_call *call = &kept->call;

		kept->is_in_window = call->is_probed ||
				     window_gaps_is_in_window(&correlate->gaps, call->start_ns);
		if (!kept->is_in_window)
			continue;
		kept->span = span_index_at(&correlate->spans, call->tid, call->start_ns);
		call->external_id = operator_id(correlate, kept->span);
	}
}

/*
 * A driver call inside of a runtime call is that one's child, not the operator's. top: the call
 * before this one, whose outer calls are known. One that ends earlier holds none of the later
 * calls that this one holds, and is not asked again: no list makes this slow.
 */
static size_t outer_call(const struct correlate *correlate, size_t top, size_t i)
{
	const struct device_call *call = &correlate->calls[i].call;

	while (top != NO_CALL && (correlate->calls[top].call.tid != call->tid ||
				  correlate->calls[top].call.end_ns < call->end_ns))
		top = correlate->calls[top].outer;
	return top;
}

static void find_outer_calls(struct correlate *correlate)
{
	size_t i, top = NO_CALL;

	for (i = 0; i < correlate->call_count; i++) {
		correlate->calls[i].outer = outer_call(correlate, top, i);
		top = i;
	}
}

/* The innermost span of a row that holds the whole call: an inferred end may lie inside of one. */
static const struct kept_span *holder_of(const struct correlate *correlate,
					 const struct kept_call *call)
{
	const struct kept_span *span = span_of(correlate, call->span);

	while (span && (span->is_merged || call->call.end_ns > span->end_ns))
		span = span_of(correlate, span->parent);
	return span;
}

/* A call takes its time out of what it was made in, and has a row of its own: a probed one did so
 * and has it already. */
static int count_calls(struct correlate *correlate)
{
	size_t i;
	int err = 0;

	find_outer_calls(correlate);
	for (i = 0; i < correlate->call_count; i++) {
		struct kept_call *kept = &correlate->calls[i];
		bool is_inner = kept->call.is_driver && kept->outer != NO_CALL;
		uint64_t duration_ns = kept->call.end_ns - kept->call.start_ns;
		const struct kept_span *span;

		if (!kept->is_in_window || kept->call.is_probed)
			continue;
		span = is_inner ? NULL : holder_of(correlate, kept);
		if (is_inner)
			correlate->calls[kept->outer].inner_ns += duration_ns;
		else if (span)
			op_stats_take_self(correlate->stats, span->row, duration_ns);
	}
	for (i = 0; i < correlate->call_count && !err; i++) {
		const struct kept_call *kept = &correlate->calls[i];

		if (kept->is_in_window && !kept->call.is_probed)
			err = op_stats_add_device_call(correlate->stats, &kept->call,
						       kept->inner_ns);
	}
	return err;
}

static struct kept_call *call_of(struct correlate *correlate, uint32_t correlation_id)
{
	size_t low = 0, high = correlate->call_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (correlate->calls[middle].call.correlation_id < correlation_id)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == correlate->call_count ||
	    correlate->calls[low].call.correlation_id != correlation_id)
		return NULL;
	return &correlate->calls[low];
}

/* Self time to the span of the call, total time to all that hold it, as torch.profiler counts. */
static void charge(struct correlate *correlate, const struct kept_call *call, uint64_t duration_ns)
{
	size_t at = call->span;
	const struct kept_span *span;
	bool is_self = true;

	while ((span = span_of(correlate, at))) {
		if (!span->is_merged) {
			op_stats_add_device_time(correlate->stats, span->row,
						 is_self ? duration_ns : 0, duration_ns);
			is_self = false;
		}
		at = span->parent;
	}
}

/* What only waits is in the trace, but no work. */
static bool is_busy(const struct device_work *work)
{
	return work->kind != DEVICE_SYNC;
}

/* Keeps what was asked for in the window; work before its own launch cannot be. */
static int match_work(struct correlate *correlate, struct device_ranges *ranges,
		      struct summary *summary)
{
	size_t i, kept = 0;
	int err = 0;

	sort_calls(correlate, by_correlation);
	for (i = 0; i < correlate->work_count && !err; i++) {
		struct device_work *work = &correlate->work[i];
		struct kept_call *call = call_of(correlate, work->correlation_id);

		if (!call || !call->is_in_window || call->call.is_probed) {
			summary->device.work_outside++;
			continue;
		}
		if (work->start_ns < call->call.start_ns) {
			summary->loss[LOSS_DEVICE_TIME]++;
			continue;
		}
		call->has_work = true;
		work->external_id = call->call.external_id;
		if (is_busy(work)) {
			charge(correlate, call, work->end_ns - work->start_ns);
			err = device_ranges_add(ranges, &correlate->spans, call->span, work);
			if (!err)
				err = op_stats_add_device_work(correlate->stats, work);
		}
		correlate->work[kept++] = *work;
	}
	correlate->work_count = kept;
	if (kept)
		qsort(correlate->work, kept, sizeof(*correlate->work), by_work_time);
	return err;
}

static int push_calls(struct correlate *correlate, struct device_sink *next,
		      struct summary *summary)
{
	size_t i;
	int err = 0;

	sort_calls(correlate, by_call_time);
	for (i = 0; i < correlate->call_count && !err; i++) {
		struct kept_call *kept = &correlate->calls[i];

		if (!kept->is_in_window)
			continue;
		summary->device.calls++;
		summary->device.launches_without_work += kept->call.is_launch && !kept->has_work;
		err = next->call(next, &kept->call);
	}
	return err;
}

static int push_work(struct correlate *correlate, struct device_sink *next, struct summary *summary)
{
	size_t i;
	int err = 0;

	for (i = 0; i < correlate->work_count && !err; i++) {
		const struct device_work *work = &correlate->work[i];

		summary->device.work_of_kind[work->kind]++;
		err = next->work(next, work);
	}
	for (i = 0; i < correlate->overhead_count && !err; i++) {
		const struct device_overhead *overhead = &correlate->overheads[i];

		if (!window_gaps_is_in_window(&correlate->gaps, overhead->start_ns))
			continue;
		summary->device.overheads++;
		err = next->overhead(next, overhead);
	}
	return err;
}

int correlate_finish(struct correlate *correlate, struct device_sink *next, struct summary *summary)
{
	struct device_ranges *ranges;
	int err = device_ranges_new(&ranges);

	if (err)
		return err;
	summary->loss[LOSS_DEVICE_TABLE_FULL] += correlate->dropped + correlate->spans.dropped;
	err = window_gaps_find(&correlate->gaps, summary);
	if (!err) {
		find_operators(correlate);
		err = count_calls(correlate);
	}
	if (!err)
		err = match_work(correlate, ranges, summary);
	summary->loss[LOSS_DEVICE_TABLE_FULL] += device_ranges_dropped(ranges);
	if (!err)
		err = push_calls(correlate, next, summary);
	if (!err)
		err = push_work(correlate, next, summary);
	if (!err)
		err = device_ranges_push(ranges, correlate->stats, next);
	if (!err)
		err = device_busy(correlate->work, correlate->work_count, summary);
	device_ranges_free(ranges);
	return err;
}
