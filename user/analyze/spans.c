/*
 * spans.c - see spans.h and, for the list of what is open, open_spans.h. An object's address is
 * reused at once: a beginning for an object that is still open means that its end was not seen.
 */
#include "analyze/spans.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/doubts.h"
#include "analyze/losses.h"
#include "analyze/open_spans.h"

int spans_new(struct spans **out, struct name_table *names, struct span_sink *next, size_t open_max)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	int err;

	if (!spans)
		return -ENOMEM;
	spans->names = names;
	spans->next = next;
	spans->open_max = open_max;
	err = hashmap_new(&spans->by_object);
	if (!err)
		err = hashmap_new(&spans->by_tid);
	if (err) {
		spans_free(spans);
		return err;
	}
	*out = spans;
	return 0;
}

static void free_one(struct open_span *open)
{
	if (!open)
		return;
	free(open->shapes);
	free(open);
}

static void free_open(struct thread_spans *thread)
{
	struct open_span *open, *inner;

	for (open = thread->outermost; open; open = inner) {
		inner = open->inner;
		free_one(open->delayed);
		free_one(open);
	}
}

void spans_free(struct spans *spans)
{
	struct thread_spans *thread, *next;
	struct open_span *unused, *outer;

	if (!spans)
		return;
	for (thread = spans->threads; thread; thread = next) {
		next = thread->next;
		free_open(thread);
		free(thread);
	}
	for (unused = spans->unused; unused; unused = outer) {
		outer = unused->outer;
		free_one(unused);
	}
	hashmap_free(spans->by_object);
	hashmap_free(spans->by_tid);
	free(spans);
}

static const char *name_of(struct spans *spans, const struct wire_range_begin *record)
{
	if (record->header.flags & WIRE_NAME_TRUNCATED)
		spans->cut_names++;
	if (record->header.flags & (WIRE_NAME_UNREADABLE | WIRE_NAME_MISSING)) {
		spans->nameless++;
		return name_table_add(spans->names, "(unnamed range)", 64);
	}
	return name_table_add(spans->names, record->name, record->name_size);
}

static int open_range(struct spans *spans, struct thread_spans *thread, const struct event *event)
{
	const char *name = name_of(spans, event->range_begin);
	struct open_span *open;
	int err;

	if (!name)
		return -ENOMEM;
	err = open_spans_begin(spans, thread, event->header->time_ns, true, &open);
	if (err)
		return err;
	open->object = event->range_begin->object;
	open->span.name = name;
	open->span.kind = event->range_begin->range;
	return hashmap_put(spans->by_object, open->object, open, NULL);
}

int spans_begin(struct spans *spans, const struct event *event)
{
	struct thread_spans *thread = open_spans_thread(spans, event->header->tid);
	uint64_t now_ns = event->header->time_ns;
	struct open_span *stale;
	int err;

	if (!thread)
		return -ENOMEM;
	err = losses_look(spans, thread, now_ns);
	if (!err)
		err = open_spans_leave_short(spans, thread, now_ns);
	stale = hashmap_remove(spans->by_object, event->range_begin->object);
	if (!err && stale)
		err = open_spans_finish(spans, stale, now_ns);
	if (err)
		return err;
	doubts_range_begins(thread, now_ns);
	open_spans_charge(thread, spans->hit_ns / 2, now_ns);
	if (hashmap_count(spans->by_object) < spans->open_max)
		err = open_range(spans, thread, event);
	else
		spans->dropped++;
	open_spans_charge(thread, spans->hit_ns - spans->hit_ns / 2, now_ns);
	return err;
}

/*
 * Calls that began inside a range which ends on its own thread. A range has no stack pointer, but
 * Python ends it when what ran inside it is over, be it by an exception, which operators do not
 * tell. Those whose end such an exception would have shown still run: hooks of two nodes may begin
 * and end one range.
 */
static int leave_since(struct spans *spans, const struct thread_spans *thread, uint64_t order,
		       uint64_t now_ns)
{
	struct open_span *call;
	int err = 0;

	while (!err && (call = thread->innermost_call) && call->order > order &&
	       (call->is_begin_only || span_kind_has_own_end(call->span.kind)))
		err = open_spans_leave(spans, call, now_ns);
	return err;
}

static int end_range(struct spans *spans, struct thread_spans *thread, struct open_span *open,
		     uint64_t now_ns)
{
	int err = 0, end_err;

	open->span.is_async = open->thread != thread;
	if (!open->span.is_async) {
		err = leave_since(spans, open->thread, open->order, now_ns);
		if (!err)
			err = losses_end_inside(spans, open);
		doubts_range_ends(open, now_ns);
	}
	open_spans_charge(thread, spans->hit_ns / 2, now_ns);
	end_err = open_spans_end(spans, open, now_ns);
	open_spans_charge(thread, spans->hit_ns - spans->hit_ns / 2, now_ns);
	return err ? err : end_err;
}

int spans_end(struct spans *spans, const struct event *event)
{
	struct thread_spans *thread = open_spans_thread(spans, event->header->tid);
	uint64_t now_ns = event->header->time_ns;
	struct open_span *open;
	int err, end_err;

	if (!thread)
		return -ENOMEM;
	err = losses_look(spans, thread, now_ns);
	if (!err)
		err = open_spans_settle(spans, thread, now_ns);
	open = hashmap_remove(spans->by_object, event->range_end->object);
	if (!open) {
		/* Its beginning was lost, and counted where it was, or lies before the window: what
		 * is open may be within it, and over. */
		open_spans_charge(thread, spans->hit_ns, 0);
		return err;
	}
	end_err = end_range(spans, thread, open, now_ns);
	return err ? err : end_err;
}

/*
 * The window is over at end_ns. A span cannot end before one that it encloses, nor is anything told
 * of the end of a call while something inside it goes on.
 */
static int close_one(struct spans *spans, struct open_span *open, uint64_t end_ns, bool holds_open)
{
	if (open->last_child_end_ns > end_ns)
		end_ns = open->last_child_end_ns;
	if (!open->is_call)
		hashmap_remove(spans->by_object, open->object);
	if (!open->is_begin_only || holds_open)
		return open_spans_finish(spans, open, end_ns);
	if (open->last_seen_ns > end_ns)
		open->last_seen_ns = end_ns;
	return open_spans_leave(spans, open, end_ns);
}

static int close_thread(struct spans *spans, struct thread_spans *thread, uint64_t end_ns)
{
	struct open_span *open, *outer;
	bool holds_open = false;
	int err = 0;

	for (open = thread->innermost; open && !err; open = outer) {
		outer = open->outer;
		if (!open->is_shown)
			continue;
		holds_open |= !open->is_begin_only;
		err = close_one(spans, open, end_ns, holds_open);
	}
	thread->dropped_sp = 0;
	return err;
}

int spans_close_open(struct spans *spans, uint64_t end_ns)
{
	struct thread_spans *thread;
	int err = 0;

	/* Taken off the list once it is closed: closing begins rows. */
	while (!err && (thread = spans->busy)) {
		err = close_thread(spans, thread, end_ns);
		spans->busy = thread->next_busy;
		thread->is_busy = false;
	}
	return err;
}

int spans_pause(struct spans *spans, const struct wire_header *header, uint64_t since,
		uint64_t *seen_ns)
{
	struct thread_spans *thread = open_spans_thread(spans, header->tid);
	uint64_t last_ns, now_ns = header->time_ns;
	int err;

	if (!thread)
		return -ENOMEM;
	last_ns = thread->seen_ns;
	err = losses_look(spans, thread, now_ns);
	if (!err)
		err = open_spans_leave_short(spans, thread, now_ns);
	if (!err)
		err = leave_since(spans, thread, since, now_ns);
	if (thread->last_end_ns > last_ns)
		last_ns = thread->last_end_ns;
	*seen_ns = last_ns < now_ns ? last_ns : now_ns;
	return err;
}

int spans_hole(struct spans *spans, const struct event *event)
{
	return losses_hole(spans, event->hole);
}

size_t spans_open_count(const struct spans *spans)
{
	return hashmap_count(spans->by_object);
}

size_t spans_open_calls(const struct spans *spans)
{
	return spans->open_calls;
}

uint64_t spans_begun(const struct spans *spans)
{
	return spans->last_order;
}

uint64_t spans_outermost_open(const struct spans *spans, uint32_t tid, uint64_t since)
{
	const struct thread_spans *thread = hashmap_get(spans->by_tid, tid);
	const struct open_span *open;
	uint64_t id = 0;

	if (!thread)
		return 0;
	/* From within: what was open before is not walked through at each step. */
	for (open = thread->innermost; open && open->order > since; open = open->outer) {
		if (open->is_shown)
			id = open->span.id;
	}
	return id;
}

uint64_t spans_dropped(const struct spans *spans)
{
	return spans->dropped;
}

uint64_t spans_cut_names(const struct spans *spans)
{
	return spans->cut_names;
}

uint64_t spans_nameless(const struct spans *spans)
{
	return spans->nameless;
}
