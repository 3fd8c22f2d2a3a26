/*
 * open_spans.c - see open_spans.h. Nothing is allocated for a span once as many have been open at
 * the same time, and nothing is looked up while the thread stays the same.
 *
 * torch.profiler's tables count a span that is the only child of one of its own name as that one.
 * Whether it is the only one is known when the parent ends or another child begins, so the first
 * child of such a name waits for that, and is pushed before its parent.
 */
#include "analyze/open_spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/doubts.h"
#include "analyze/edges.h"

struct thread_spans *open_spans_thread(struct spans *spans, uint32_t tid)
{
	struct thread_spans *thread = spans->last_thread;

	if (thread && thread->tid == tid)
		return thread;
	thread = hashmap_get(spans->by_tid, tid);
	if (!thread) {
		thread = calloc(1, sizeof(*thread));
		if (!thread)
			return NULL;
		if (hashmap_put(spans->by_tid, tid, thread, NULL)) {
			free(thread);
			return NULL;
		}
		thread->tid = tid;
		thread->next = spans->threads;
		spans->threads = thread;
	}
	spans->last_thread = thread;
	return thread;
}

void open_spans_make_busy(struct spans *spans, struct thread_spans *thread)
{
	if (thread->is_busy)
		return;
	thread->is_busy = true;
	thread->next_busy = spans->busy;
	spans->busy = thread;
}

static void raise_to(uint64_t *value, uint64_t other)
{
	if (other > *value)
		*value = other;
}

static void add_bytes(int64_t *sum, int64_t added)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)added);
}

static uint64_t less(uint64_t value, uint64_t subtracted)
{
	return value > subtracted ? value - subtracted : 0;
}

struct open_span *open_spans_parent_of(const struct open_span *open)
{
	struct open_span *outer = open->outer;

	while (outer && outer->is_shown != open->is_shown)
		outer = outer->outer;
	return outer;
}

static void recycle(struct spans *spans, struct open_span *open)
{
	open->outer = spans->unused;
	spans->unused = open;
}

static int push(struct spans *spans, struct open_span *open)
{
	int err = spans->next->span(spans->next, &open->span);

	recycle(spans, open);
	return err;
}

int open_spans_push_delayed(struct spans *spans, struct open_span *parent)
{
	struct open_span *child = parent->delayed;

	if (!child)
		return 0;
	parent->delayed = NULL;
	return push(spans, child);
}

/* A parent that has ended: its delayed child is the only one. */
static int merge_delayed(struct spans *spans, struct open_span *parent)
{
	struct open_span *child = parent->delayed;
	struct span *span = &parent->span;
	unsigned int device;

	/* An asynchronous one is nobody's parent in the tables; of one that was cut it is not
	 * known. */
	if (!child || span->is_async || parent->is_cut)
		return open_spans_push_delayed(spans, parent);
	child->span.is_merged = true;
	span->self_ns += child->span.self_ns;
	span->probe_self_ns += child->span.probe_self_ns;
	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		add_bytes(&span->self_bytes[device], child->span.self_bytes[device]);
	return open_spans_push_delayed(spans, parent);
}

static struct open_span *take_unused(struct spans *spans)
{
	struct open_span *open = spans->unused;
	struct wire_shapes *shapes;

	if (!open)
		return calloc(1, sizeof(*open));
	spans->unused = open->outer;
	shapes = open->shapes;
	memset(open, 0, sizeof(*open));
	open->shapes = shapes;
	return open;
}

static void link_innermost(struct thread_spans *thread, struct open_span *open)
{
	open->thread = thread;
	open->outer = thread->innermost;
	if (thread->innermost)
		thread->innermost->inner = open;
	else
		thread->outermost = open;
	thread->innermost = open;
}

/* Adds what was pending to a row: the node's own, if it has gone on, or the one around it. */
static void settle_pending(struct open_span *node, struct open_span *row)
{
	unsigned int device;

	for (device = 0; device < SPAN_DEVICE_CNT; device++) {
		int64_t bytes = node->pending_bytes[device];

		node->pending_bytes[device] = 0;
		if (!row)
			continue;
		add_bytes(&row->span.self_bytes[device], bytes);
		add_bytes(&row->span.total_bytes[device], bytes);
	}
}

int open_spans_begin(struct spans *spans, struct thread_spans *thread, uint64_t time_ns,
		     bool is_shown, struct open_span **out)
{
	struct open_span *open = take_unused(spans), *parent;

	if (!open)
		return -ENOMEM;
	open->order = ++spans->last_order;
	open->is_shown = is_shown;
	open->last_seen_ns = time_ns;
	open->span.id = is_shown ? ++spans->last_id : 0;
	open->span.start_ns = time_ns;
	open->span.tid = thread->tid;
	open->span.sequence = WIRE_SEQUENCE_NONE;
	link_innermost(thread, open);
	if (is_shown)
		open_spans_make_busy(spans, thread);
	parent = open_spans_parent_of(open);
	*out = open;
	if (parent && parent->span.kind == SPAN_NODE)
		settle_pending(parent, parent);
	return parent ? open_spans_push_delayed(spans, parent) : 0;
}

bool open_spans_has_room(const struct spans *spans, const struct thread_spans *thread,
			 uint32_t count)
{
	return thread->call_count + count <= OPEN_CALLS_MAX &&
	       spans->call_total + count <= OPEN_CALLS_TOTAL_MAX;
}

void open_spans_make_call(struct spans *spans, struct open_span *open, uint64_t sp)
{
	struct thread_spans *thread = open->thread;

	open->is_call = true;
	open->sp = sp;
	open->outer_call = thread->innermost_call;
	thread->innermost_call = open;
	thread->call_count++;
	spans->call_total++;
}

static void unlink_call(struct spans *spans, struct open_span *open)
{
	struct thread_spans *thread = open->thread;
	struct open_span *inner = thread->innermost_call;

	thread->call_count--;
	spans->call_total--;
	if (inner == open) {
		thread->innermost_call = open->outer_call;
		return;
	}
	while (inner->outer_call != open)
		inner = inner->outer_call;
	inner->outer_call = open->outer_call;
}

static void unlink_open(struct spans *spans, struct open_span *open)
{
	struct thread_spans *thread = open->thread;

	if (open->is_call)
		unlink_call(spans, open);
	if (open->outer)
		open->outer->inner = open->inner;
	else
		thread->outermost = open->inner;
	if (open->inner)
		open->inner->outer = open->outer;
	else
		thread->innermost = open->outer;
}

/* Its own times, now that its end is known. Probes cannot have cost more than there was. */
static void settle_times(struct open_span *open)
{
	struct span *span = &open->span;
	uint64_t duration_ns = span->end_ns - span->start_ns;

	if (!span->is_async)
		span->self_ns = less(duration_ns, open->child_ns);
	if (span->probe_self_ns > span->self_ns)
		span->probe_self_ns = span->self_ns;
	span->probe_total_ns += span->probe_self_ns;
	if (span->probe_total_ns > duration_ns)
		span->probe_total_ns = duration_ns;
}

/* Of one that turned out to be nobody's parent, bytes aside. */
static void give_children(const struct open_span *open, struct open_span *parent)
{
	if (!parent)
		return;
	parent->child_ns += open->child_ns;
	parent->children += open->children;
	raise_to(&parent->last_seen_ns, open->last_child_end_ns);
	raise_to(&parent->last_child_end_ns, open->last_child_end_ns);
	raise_to(&parent->last_child_shown_ns, open->last_child_shown_ns);
}

static void give_to_parent(const struct open_span *open, struct open_span *parent)
{
	const struct span *span = &open->span;
	unsigned int device;

	for (device = 0; device < SPAN_DEVICE_CNT && parent; device++)
		add_bytes(&parent->span.total_bytes[device], span->total_bytes[device]);
	if (span->is_async) {
		give_children(open, parent);
		return;
	}
	if (open->outer)
		raise_to(&open->outer->last_seen_ns, span->end_ns);
	if (!parent)
		return;
	parent->child_ns += span->end_ns - span->start_ns;
	parent->span.probe_total_ns += span->probe_total_ns;
	raise_to(&parent->last_child_end_ns, span->end_ns);
	raise_to(&parent->last_child_shown_ns, span_shown_end_ns(span));
	doubts_give(span, parent);
}

static int learn(struct spans *spans, const struct open_span *open)
{
	const struct span *span = &open->span;
	struct learned_call call = {
		.subject = span->kind == SPAN_NODE ? MODE_SUBJECT_NODES : open->subject,
		.inclusive_ns = span->end_ns - span->start_ns,
		.probe_total_ns = span->probe_total_ns,
		.self_ns = span->self_ns,
		.probe_self_ns = span->probe_self_ns,
		.inner_children = open->inner_events - open->inner_memory - open->inner_sequences,
		.inner_guards = open->inner_guards,
		.inner_memory = open->inner_memory,
		.inner_sequences = open->inner_sequences,
		.is_unwound = span->is_unwound || span->is_inferred,
	};

	if (!spans->learned || open->is_cut ||
	    (!span_kind_has_own_end(span->kind) && span->kind != SPAN_NODE))
		return 0;
	return learned_call(spans->learned, &call);
}

/* Pushes it on, or lets it wait with its parent. */
static int hand_on(struct spans *spans, struct open_span *open, struct open_span *parent)
{
	int err = 0, push_err;

	if (!parent || open->span.is_async)
		return push(spans, open);
	if (!parent->children++ && parent->span.name == open->span.name) {
		parent->delayed = open;
		return 0;
	}
	err = open_spans_push_delayed(spans, parent);
	push_err = push(spans, open);
	return err ? err : push_err;
}

static void take_off(struct spans *spans, struct open_span *open)
{
	unlink_open(spans, open);
	spans->open_calls -= open->is_call && open->is_shown && !open->is_begin_only;
}

/* Nothing ran in it, so it has no row: what ranges inside it had is its parent's. */
static int drop(struct spans *spans, struct open_span *open)
{
	int err;

	settle_pending(open, open_spans_parent_of(open));
	open->doubt = (struct doubt){ .is_set = true };
	err = doubts_settle(spans, open);
	take_off(spans, open);
	recycle(spans, open);
	return err;
}

int open_spans_finish(struct spans *spans, struct open_span *open, uint64_t end_ns)
{
	struct open_span *parent;
	int err = 0, hand_err;

	if (open->needs_inside && !open->inner_events && open->is_shown && !open->is_cut)
		return drop(spans, open);
	raise_to(&end_ns, open->span.start_ns);
	if (open->implied_name && open->is_shown && open->thread->innermost == open)
		err = open_spans_row_inside(spans, open, open->implied_name, end_ns, true);
	parent = open_spans_parent_of(open);
	open->span.end_ns = end_ns;
	open->span.is_top = !open->span.is_async && !parent;
	settle_times(open);
	edges_settle(&open->span, &(struct edges_around){
					  .child_end_ns = open->last_child_shown_ns,
					  .before_ns = parent ? parent->last_child_shown_ns : 0,
					  .next_event_ns = open->next_event_ns,
				  });
	raise_to(&open->thread->last_end_ns, span_shown_end_ns(&open->span));
	if (open->span.kind == SPAN_NODE)
		settle_pending(open, parent);
	give_to_parent(open, parent);
	take_off(spans, open);
	if (!open->is_shown) {
		hand_err = learn(spans, open);
		recycle(spans, open);
		return err ? err : hand_err;
	}
	hand_err = merge_delayed(spans, open);
	err = err ? err : hand_err;
	hand_err = hand_on(spans, open, parent);
	return err ? err : hand_err;
}

int open_spans_end(struct spans *spans, struct open_span *open, uint64_t end_ns)
{
	open->span.is_finished = true;
	if (open->is_call)
		doubts_clear(open);
	return open_spans_finish(spans, open, end_ns);
}

static bool is_node(const struct open_span *open)
{
	return open->span.kind == SPAN_NODE || open->span.kind == SPAN_NODE_OUTER;
}

/*
 * What such a call took in warmup, the probes that were hit in it since, and at least what was seen
 * in it, but no longer than until now_ns. A node's duration is that of all kinds of nodes: it
 * says something where nothing was seen alone.
 */
static uint64_t inferred_end_ns(const struct open_span *open, uint64_t seen_ns, uint64_t now_ns)
{
	const struct span *span = &open->span;
	uint64_t room_ns = less(now_ns, span->start_ns);
	uint64_t probes_ns = span->probe_self_ns + span->probe_total_ns;
	uint64_t end_ns = now_ns, duration_ns = open->duration_ns;

	if (open->inner_sequences)
		duration_ns = open->numbered_duration_ns;
	if (is_node(open) && seen_ns > span->start_ns)
		return seen_ns;
	if (duration_ns < room_ns && probes_ns < room_ns - duration_ns)
		end_ns = span->start_ns + duration_ns + probes_ns;
	return end_ns > seen_ns ? end_ns : seen_ns;
}

/* When a call that is over now_ns was so at the latest: a range that began since goes on. */
static uint64_t over_by_ns(const struct open_span *call, uint64_t now_ns)
{
	const struct open_span *inner = call->inner;

	if (call->doubt.is_set && call->doubt.since_ns < now_ns)
		now_ns = call->doubt.since_ns;
	while (inner && inner->is_shown != call->is_shown)
		inner = inner->inner;
	return inner && inner->span.start_ns < now_ns ? inner->span.start_ns : now_ns;
}

int open_spans_leave(struct spans *spans, struct open_span *call, uint64_t now_ns)
{
	int doubt_err = 0, err;
	uint64_t end_ns;

	now_ns = over_by_ns(call, now_ns);
	call->next_event_ns = now_ns;
	if (call->doubt.is_set)
		doubt_err = doubts_settle(spans, call);
	end_ns = call->last_seen_ns;

	if (call->is_begin_only)
		end_ns = inferred_end_ns(call, call->last_seen_ns, now_ns);
	if (end_ns > now_ns)
		end_ns = now_ns;
	raise_to(&end_ns, call->last_child_end_ns);
	call->span.is_inferred = call->is_begin_only;
	call->span.is_unwound = !call->is_begin_only;
	call->span.is_finished = true;
	err = open_spans_finish(spans, call, end_ns);
	return doubt_err ? doubt_err : err;
}

int open_spans_cut(struct spans *spans, struct open_span *call, uint64_t now_ns)
{
	uint64_t end_ns = call->last_seen_ns;

	call->is_cut = true;
	call->implied_name = NULL;
	if (call->is_begin_only && inferred_end_ns(call, end_ns, now_ns) < now_ns)
		return open_spans_leave(spans, call, now_ns);
	doubts_clear(call);
	raise_to(&end_ns, call->last_child_end_ns);
	return open_spans_finish(spans, call, end_ns);
}

bool open_spans_is_complete(const struct open_span *call)
{
	return call->is_begin_only &&
	       call->inner_events - call->inner_sequences >= call->inner_expected;
}

int open_spans_settle(struct spans *spans, struct thread_spans *thread, uint64_t now_ns)
{
	struct open_span *call;
	int err = 0;

	while (!err && (call = thread->innermost_call) && open_spans_is_complete(call))
		err = open_spans_leave(spans, call, now_ns);
	return err;
}

int open_spans_leave_short(struct spans *spans, struct thread_spans *thread, uint64_t now_ns)
{
	struct open_span *call;
	int err = 0;

	while (!err && (call = thread->innermost_call) && call == thread->innermost &&
	       call->is_begin_only && span_kind_has_own_end(call->span.kind))
		err = open_spans_leave(spans, call, now_ns);
	return err;
}

/*
 * What a call calls lies below all of its frame: a sibling that takes arguments on the stack lies a
 * little lower than the call did, and is told from a child by that alone.
 */
static bool is_gone(const struct open_span *call, uint64_t sp, enum frame_event event)
{
	if (event == FRAME_END || (event == FRAME_INSIDE && !call->frame_bytes))
		return call->sp < sp;
	return call->sp <= sp || call->sp - sp <= call->frame_bytes;
}

int open_spans_unwind(struct spans *spans, struct thread_spans *thread, uint64_t sp,
		      enum frame_event event, uint64_t now_ns)
{
	struct open_span *call;
	int err = 0;

	if (sp > thread->dropped_sp || (event == FRAME_BEGIN && sp == thread->dropped_sp))
		thread->dropped_sp = 0;
	while (!err && (call = thread->innermost_call) && is_gone(call, sp, event))
		err = open_spans_leave(spans, call, now_ns);
	return err;
}

/* Where it begins with its parent, what the probes cost the parent so far falls into it. */
static void take_charges(struct open_span *row, struct open_span *parent)
{
	if (row->span.start_ns != parent->span.start_ns)
		return;
	row->span.probe_self_ns = parent->span.probe_self_ns;
	parent->span.probe_self_ns = 0;
}

int open_spans_row_inside(struct spans *spans, struct open_span *open, const char *name,
			  uint64_t end_ns, bool is_inferred)
{
	uint64_t start_ns = open->span.start_ns;
	struct open_span *row;
	int err;

	raise_to(&start_ns, open->last_child_end_ns);
	err = open_spans_begin(spans, open->thread, start_ns, open->is_shown, &row);
	if (err)
		return err;
	row->span.name = name;
	row->span.kind = SPAN_FUNCTION;
	row->span.is_finished = true;
	row->span.is_inferred = is_inferred;
	row->span.is_start_told = start_ns != open->span.start_ns;
	row->next_event_ns = open->next_event_ns;
	take_charges(row, open);
	return open_spans_finish(spans, row, end_ns);
}

void open_spans_charge(struct thread_spans *thread, uint64_t part_ns, uint64_t now_ns)
{
	struct open_span *open = thread->innermost;

	if (!open)
		return;
	open->span.probe_self_ns += part_ns;
	raise_to(&open->last_seen_ns, now_ns);
}
