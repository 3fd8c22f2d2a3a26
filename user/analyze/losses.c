/*
 * losses.c - see losses.h. A hole reaches over the times of all that was lost in it, and comes
 * before whatever a thread made after that. So a thread lost something between two of its records
 * only if the earlier one is not younger than the end of a hole that has come.
 */
#include "analyze/losses.h"

#include <errno.h>

#define BIT(kind) (1U << (kind))
#define CALLS                                                                                 \
	(BIT(WIRE_OP_BEGIN) | BIT(WIRE_OP_END) | BIT(WIRE_NODE_BEGIN) | BIT(WIRE_GUARD_END) | \
	 BIT(WIRE_FUNCTION_BEGIN))

static void raise_to(uint64_t *value, uint64_t other)
{
	if (other > *value)
		*value = other;
}

int losses_hole(struct spans *spans, const struct wire_hole *hole)
{
	struct thread_spans *thread;
	struct lost_until *until = &spans->lost_until;

	spans->has_holes = true;
	if (hole->header.tid) {
		thread = open_spans_thread(spans, hole->header.tid);
		if (!thread)
			return -ENOMEM;
		until = &thread->lost_until;
	}
	if (hole->kinds & CALLS)
		raise_to(&until->calls_ns, hole->last_ns);
	if (hole->kinds & BIT(WIRE_RANGE_END))
		raise_to(&until->ranges_ns, hole->last_ns);
	return 0;
}

static int cut_calls(struct spans *spans, struct thread_spans *thread, uint64_t now_ns)
{
	struct open_span *call;
	int err = 0;

	while (!err && (call = thread->innermost_call))
		err = open_spans_cut(spans, call, now_ns);
	thread->dropped_sp = 0;
	return err;
}

static void doubt_ranges(struct thread_spans *thread, uint64_t seen_ns)
{
	struct open_span *open;

	for (open = thread->innermost; open; open = open->outer) {
		if (!open->is_call && !open->end_lost_ns)
			open->end_lost_ns = seen_ns;
	}
}

static bool has_lost(uint64_t all_until_ns, uint64_t thread_until_ns, uint64_t seen_ns)
{
	return (all_until_ns && seen_ns <= all_until_ns) ||
	       (thread_until_ns && seen_ns <= thread_until_ns);
}

int losses_look(struct spans *spans, struct thread_spans *thread, uint64_t now_ns)
{
	uint64_t seen_ns = thread->seen_ns;
	const struct lost_until *all = &spans->lost_until, *own = &thread->lost_until;

	raise_to(&thread->seen_ns, now_ns);
	if (!spans->has_holes || !thread->innermost)
		return 0;
	if (has_lost(all->ranges_ns, own->ranges_ns, seen_ns))
		doubt_ranges(thread, seen_ns);
	if (!has_lost(all->calls_ns, own->calls_ns, seen_ns))
		return 0;
	return cut_calls(spans, thread, now_ns);
}

int losses_end_inside(struct spans *spans, const struct open_span *range)
{
	struct open_span *open, *outer;
	int err = 0;

	if (!spans->has_holes)
		return 0;
	for (open = range->thread->innermost; open && open->order > range->order && !err;
	     open = outer) {
		uint64_t end_ns = open->end_lost_ns;

		outer = open->outer;
		if (open->is_call || !end_ns)
			continue;
		raise_to(&end_ns, open->last_child_end_ns);
		hashmap_remove(spans->by_object, open->object);
		err = open_spans_finish(spans, open, end_ns);
	}
	return err;
}
