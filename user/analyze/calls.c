/*
 * calls.c - see calls.h. The rule is that of the stack: a frame that was entered at a lower address
 * than what comes now is over, for frames further in lie lower. At an exit site the stack pointer
 * is at most that of the frame's entry and above that of every frame inside, so ends leave what
 * lies below them, and beginnings what lies at their own place too.
 *
 * A call without a probed end is over, by what warmup told, when everything that happens directly
 * inside such a call has happened: whatever comes next on the thread ends it. Where less came than
 * was expected, the stack pointer tells in time.
 */
#include "analyze/calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/call_modes.h"
#include "analyze/losses.h"
#include "analyze/open_spans.h"
#include "model/inner_row.h"

/* A node's guard is destroyed by its caller: from the place that it was called at, about. */
#define NODE_SP_SLACK 64

struct calls {
	struct calls_parts parts;
	struct call_modes *modes;
	uint64_t unpaired;
};

/* An event on its way through. */
struct hit {
	const struct event *event;
	struct thread_spans *thread;
	uint64_t now_ns;
	bool is_active;
};

/* An index that was never named: equal names are equal pointers. */
static const struct operator_name UNNAMED = { .name = "(unnamed operator)", .overload = "" };

int calls_new(struct calls **out, const struct calls_parts *parts)
{
	struct calls *calls = calloc(1, sizeof(*calls));
	int err;

	if (!calls)
		return -ENOMEM;
	err = call_modes_new(&calls->modes, parts->symbols);
	if (err) {
		free(calls);
		return err;
	}
	calls->parts = *parts;
	parts->spans->learned = parts->learned;
	*out = calls;
	return 0;
}

void calls_free(struct calls *calls)
{
	if (!calls)
		return;
	call_modes_free(calls->modes);
	free(calls);
}

uint64_t calls_unpaired(const struct calls *calls)
{
	return calls->unpaired;
}

static void count_inner(const struct hit *hit)
{
	struct open_span *call = hit->thread->innermost_call;

	if (!call)
		return;
	call->inner_events++;
	call->inner_guards += hit->event->kind == WIRE_GUARD_END;
	call->inner_memory += hit->event->kind == WIRE_MEMORY;
	call->inner_sequences += hit->event->kind == WIRE_SEQUENCE;
}

/* *out NULL: too deep, counted. */
static int open_call(struct calls *calls, const struct hit *hit, uint64_t sp,
		     struct open_span **out)
{
	struct spans *spans = calls->parts.spans;
	struct thread_spans *thread = hit->thread;
	int err;

	*out = NULL;
	if (!open_spans_has_room(spans, thread, 1)) {
		spans->dropped++;
		if (sp > thread->dropped_sp)
			thread->dropped_sp = sp;
		open_spans_make_busy(spans, thread);
		return 0;
	}
	err = open_spans_begin(spans, thread, hit->now_ns, hit->is_active, out);
	if (!err)
		open_spans_make_call(spans, *out, sp);
	return err;
}

static void set_mode(struct calls *calls, struct open_span *call, struct call_mode mode)
{
	call->is_begin_only = mode.mode != MODE_EXACT;
	call->inner_expected = mode.mode == MODE_BEGIN_ONLY ? mode.inner_events : INNER_UNKNOWN;
	call->duration_ns = mode.duration_ns;
	call->numbered_duration_ns = mode.numbered_duration_ns;
	call->takes_numbers = mode.takes_numbers;
	calls->parts.spans->open_calls += call->is_shown && !call->is_begin_only;
}

static const char *guarded_name(const struct open_span *call)
{
	return call->span.kind == SPAN_OPERATOR ? inner_row_of(call->span.name) : NULL;
}

static int imply_guard(struct calls *calls, struct open_span *call)
{
	const char *name;

	if (call_modes_nodes(calls->modes).mode == MODE_EXACT || !call->is_shown ||
	    learned_guards_of(calls->parts.learned, call->subject) != 1)
		return 0;
	name = guarded_name(call);
	if (!name)
		return 0;
	call->implied_name = name_table_add(calls->parts.spans->names, name, strlen(name));
	return call->implied_name ? 0 : -ENOMEM;
}

static struct call_mode mode_of(const struct calls *calls, uint32_t index,
				const struct operator_name *name)
{
	struct call_mode mode = call_modes_operator(calls->modes, index);

	if (mode.mode == MODE_EXACT && name != &UNNAMED && !name->exit_site)
		return (struct call_mode){ .mode = MODE_BEGIN_ONLY, .inner_events = INNER_UNKNOWN };
	return mode;
}

/* A driver call that the runtime makes is that one's work: a launch is one row. */
static bool is_of_runtime(const struct thread_spans *thread, const struct operator_name *name)
{
	const struct open_span *call = thread->innermost_call;

	if (name->domain != CALL_DRIVER)
		return false;
	while (call && call->span.domain == CALL_DRIVER)
		call = call->outer_call;
	return call && call->span.domain == CALL_RUNTIME;
}

static int on_op_begin(struct calls *calls, const struct hit *hit)
{
	uint32_t index = hit->event->header->subject;
	const struct operator_name *name = symbols_operator_of(calls->parts.symbols, index);
	struct hit own = *hit;
	struct open_span *call;
	int err;

	if (!name)
		name = &UNNAMED;
	own.is_active &= !is_of_runtime(hit->thread, name);
	err = open_call(calls, &own, hit->event->op->sp, &call);
	if (err || !call)
		return err;
	call->subject = index;
	call->span.kind = name->domain == CALL_OPERATOR ? SPAN_OPERATOR : SPAN_CUDA_CALL;
	call->span.name = name->name;
	call->span.overload = name->overload;
	call->span.domain = name->domain;
	call->span.callback_id = name->callback_id;
	call->frame_bytes = name->frame_bytes;
	set_mode(calls, call, mode_of(calls, index, name));
	return imply_guard(calls, call);
}

static bool is_end_of(const struct open_span *call, const struct event *event)
{
	return call && event->kind == WIRE_OP_END && span_kind_has_own_end(call->span.kind) &&
	       call->subject == event->header->subject;
}

static int on_op_end(struct calls *calls, const struct hit *hit)
{
	struct open_span *call = hit->thread->innermost_call;

	if (hit->event->op->sp <= hit->thread->dropped_sp) /* of a call that was dropped */
		return 0;
	if (!is_end_of(call, hit->event)) {
		calls->unpaired++;
		return 0;
	}
	return open_spans_end(calls->parts.spans, call, hit->now_ns);
}

static int open_node(struct calls *calls, const struct hit *hit, enum span_kind kind,
		     const char *name)
{
	const struct wire_node_begin *node = hit->event->node;
	struct open_span *call;
	int err;

	if (!name)
		return -ENOMEM;
	err = open_call(calls, hit, node->sp, &call);
	if (err || !call)
		return err;
	call->span.kind = (uint8_t)kind;
	call->span.name = name;
	call->span.sequence = node->sequence;
	call->span.forward_thread = node->thread_number;
	set_mode(calls, call, call_modes_nodes(calls->modes));
	call->inner_expected = INNER_UNKNOWN;
	/* The engine comes by such a node without running it where autograd.grad() wants its input
	 * alone. Run, it calls an operator at least. */
	call->needs_inside = kind == SPAN_NODE && !call_modes_has_off(calls->modes) &&
			     !strcmp(name, "torch::autograd::AccumulateGrad");
	return 0;
}

/* Two rows that begin and end together. */
static int on_node_begin(struct calls *calls, const struct hit *hit)
{
	const struct calls_parts *parts = &calls->parts;
	const struct wire_node_begin *node = hit->event->node;
	int err;

	if (!open_spans_has_room(parts->spans, hit->thread, 2)) { /* both, or none */
		parts->spans->dropped++;
		return 0;
	}
	err = open_node(calls, hit, SPAN_NODE_OUTER,
			symbols_node_outer(parts->symbols, node->type));
	if (!err)
		err = open_node(calls, hit, SPAN_NODE, symbols_node(parts->symbols, node->type));
	if (err || !hit->is_active)
		return err;
	return forward_links_node(parts->forward_links, node, hit->thread->tid, hit->now_ns);
}

static int on_function_begin(struct calls *calls, const struct hit *hit)
{
	const struct wire_function_begin *function = hit->event->function;
	struct call_mode mode = { .mode = MODE_BEGIN_ONLY, .inner_events = INNER_UNKNOWN };
	const char *name = symbols_function(calls->parts.symbols, function->type);
	struct open_span *call;
	int err;

	/* Its end is that of a guard, which is probed with the nodes'. */
	if (hit->event->header->subject == FUNCTION_APPLY)
		mode.mode = call_modes_nodes(calls->modes).mode;
	err = open_call(calls, hit, function->sp, &call);
	if (err || !call)
		return err;
	call->span.kind = SPAN_FUNCTION;
	call->span.name = name;
	call->subject = hit->event->header->subject;
	set_mode(calls, call, mode);
	return 0;
}

/* The open node, its inner row, that was called from about this place; NULL: none. */
static struct open_span *node_at(const struct thread_spans *thread, uint64_t sp)
{
	struct open_span *call;

	for (call = thread->innermost_call; call; call = call->outer_call) {
		if (call->sp > sp && call->sp - sp > NODE_SP_SLACK)
			return NULL;
		if (call->span.kind == SPAN_NODE && call->sp + NODE_SP_SLACK >= sp)
			return call;
	}
	return NULL;
}

static int end_node(struct calls *calls, struct open_span *node, uint64_t now_ns)
{
	struct open_span *outer = node->outer_call;
	int err = open_spans_end(calls->parts.spans, node, now_ns);

	if (!err && outer && outer->span.kind == SPAN_NODE_OUTER)
		err = open_spans_end(calls->parts.spans, outer, now_ns);
	return err;
}

/* A guard lies in the frame of the function that it guards; those of ranges lie elsewhere. */
static bool is_guard_in(const struct open_span *call, const struct wire_guard_end *guard)
{
	return call && call->sp >= guard->sp &&
	       (!guard->object || (guard->object > guard->sp && guard->object < call->sp));
}

static int on_guard_end(struct calls *calls, const struct hit *hit)
{
	const struct wire_guard_end *guard = hit->event->guard;
	struct spans *spans = calls->parts.spans;
	struct open_span *call = hit->thread->innermost_call;
	const char *name;

	if (node_at(hit->thread, guard->sp))
		return end_node(calls, call, hit->now_ns);
	if (!is_guard_in(call, guard) || hashmap_get(spans->by_object, guard->object))
		return 0;
	if (call != hit->thread->innermost) /* of something inside the range that is open in it */
		return 0;
	if (call->span.kind == SPAN_FUNCTION && call->subject == FUNCTION_APPLY)
		return open_spans_end(spans, call, hit->now_ns);
	name = guarded_name(call);
	if (!name)
		return 0;
	count_inner(hit);
	name = name_table_add(spans->names, name, strlen(name));
	if (!name)
		return -ENOMEM;
	return open_spans_row_inside(spans, call, name, hit->now_ns, false);
}

static int on_sequence(struct calls *calls, const struct hit *hit)
{
	struct open_span *call = hit->thread->innermost_call;
	struct forward_links *links = calls->parts.forward_links;
	uint64_t sequence = hit->event->sequence->sequence;

	forward_links_taken(links, hit->event);
	count_inner(hit);
	if (!call || !call->is_shown || sequence == WIRE_SEQUENCE_NONE ||
	    (call->span.kind != SPAN_OPERATOR && call->span.kind != SPAN_FUNCTION))
		return 0;
	if (call->span.sequence == WIRE_SEQUENCE_NONE)
		call->span.sequence = sequence;
	forward_links_forward(links, hit->event, call->span.start_ns);
	return 0;
}

static void add_bytes(struct open_span *open, const struct memory_event *memory)
{
	unsigned int device = memory->device_type == WIRE_DEVICE_CPU ? SPAN_CPU : SPAN_GPU;
	uint64_t size_bytes = (uint64_t)memory->size_bytes;
	int64_t *pending_bytes = &open->pending_bytes[device];
	int64_t *self_bytes = &open->span.self_bytes[device];
	int64_t *total_bytes = &open->span.total_bytes[device];

	if (open->span.kind == SPAN_NODE) {
		*pending_bytes = (int64_t)((uint64_t)*pending_bytes + size_bytes);
		return;
	}
	*self_bytes = (int64_t)((uint64_t)*self_bytes + size_bytes);
	*total_bytes = (int64_t)((uint64_t)*total_bytes + size_bytes);
}

static int on_memory(struct calls *calls, const struct hit *hit)
{
	const struct calls_parts *parts = &calls->parts;
	struct open_span *open = hit->thread->innermost;
	struct memory_event memory;
	bool is_shown = false;
	int err = allocations_event(parts->allocations, hit->event, hit->is_active, &memory,
				    &is_shown);

	count_inner(hit);
	if (err || !is_shown)
		return err;
	if (open && !memory.is_out_of_memory)
		add_bytes(open, &memory);
	return parts->marks->memory(parts->marks, &memory);
}

/* With the beginning that it belongs to, which it follows at once, so nothing is over yet. */
static int on_shapes(struct calls *calls, const struct event *event)
{
	struct thread_spans *thread = open_spans_thread(calls->parts.spans, event->header->tid);
	const struct wire_shapes *record = event->shapes;
	size_t size_bytes = record->header.size, fit;
	struct open_span *call;
	int err;

	if (!thread)
		return -ENOMEM;
	/* Of the same time is only the beginning that it belongs to. */
	err = thread->seen_ns == event->header->time_ns
		      ? 0
		      : losses_look(calls->parts.spans, thread, event->header->time_ns);
	if (err)
		return err;
	call = thread->innermost_call;
	if (!call || !call->is_shown || call->span.kind != SPAN_OPERATOR ||
	    call->subject != event->header->subject || call->span.shapes ||
	    size_bytes < offsetof(struct wire_shapes, arguments))
		return 0;
	if (!call->shapes)
		call->shapes = malloc(sizeof(*call->shapes));
	if (!call->shapes)
		return -ENOMEM;
	if (size_bytes > sizeof(*record))
		size_bytes = sizeof(*record);
	memset(call->shapes, 0, sizeof(*call->shapes));
	memcpy(call->shapes, record, size_bytes);
	fit = (size_bytes - offsetof(struct wire_shapes, arguments)) / sizeof(struct wire_argument);
	if (call->shapes->count > fit)
		call->shapes->count = (uint8_t)fit;
	call->span.shapes = call->shapes;
	return 0;
}

static void on_mode(struct calls *calls, const struct event *event)
{
	learned_stop(calls->parts.learned);
	call_modes_mode(calls->modes, event);
}

static void on_cost(struct calls *calls, const struct event *event)
{
	if (event->cost->is_final)
		learned_stop(calls->parts.learned);
	call_modes_cost(calls->modes, event);
	calls->parts.spans->hit_ns = call_modes_push_ns(calls->modes);
}

/*
 * A number is taken before anything else happens in a call: the beginning that it follows at once
 * is the taker's, though nothing more may be expected of such a call.
 */
static bool may_take(const struct open_span *call, const struct event *event)
{
	return event->kind == WIRE_SEQUENCE && call->takes_numbers && !call->inner_events;
}

/* Leaves what is over, by what its operator does inside. */
static int settle(struct calls *calls, const struct hit *hit)
{
	struct open_span *call;
	int err = 0;

	while (!err && (call = hit->thread->innermost_call) && open_spans_is_complete(call) &&
	       !is_end_of(call, hit->event) && !may_take(call, hit->event))
		err = open_spans_leave(calls->parts.spans, call, hit->now_ns);
	return err;
}

static int leave_inside_node(struct calls *calls, const struct hit *hit,
			     const struct open_span *node)
{
	int err = 0;

	while (!err && hit->thread->innermost_call != node)
		err = open_spans_leave(calls->parts.spans, hit->thread->innermost_call,
				       hit->now_ns);
	return err;
}

/* Leaves what is over before the event is looked at. */
static int make_way(struct calls *calls, const struct hit *hit)
{
	const struct event *event = hit->event;
	const struct open_span *node = NULL;
	enum frame_event frame = FRAME_INSIDE;
	uint64_t sp;
	int err;

	switch (event->kind) {
	case WIRE_OP_BEGIN:
	case WIRE_OP_END:
		sp = event->op->sp;
		frame = event->kind == WIRE_OP_BEGIN ? FRAME_BEGIN : FRAME_END;
		break;
	case WIRE_NODE_BEGIN:
		sp = event->node->sp;
		frame = FRAME_BEGIN;
		break;
	case WIRE_FUNCTION_BEGIN:
		sp = event->function->sp;
		frame = FRAME_BEGIN;
		break;
	case WIRE_GUARD_END:
		sp = event->guard->sp;
		node = node_at(hit->thread, sp);
		break;
	case WIRE_MEMORY:
		sp = event->memory->sp;
		break;
	default:
		sp = event->sequence->sp;
		break;
	}
	if (node)
		return leave_inside_node(calls, hit, node);
	err = open_spans_unwind(calls->parts.spans, hit->thread, sp, frame, hit->now_ns);
	return err ? err : settle(calls, hit);
}

static int handle(struct calls *calls, const struct hit *hit)
{
	switch (hit->event->kind) {
	case WIRE_OP_BEGIN:
		count_inner(hit);
		return on_op_begin(calls, hit);
	case WIRE_OP_END:
		return on_op_end(calls, hit);
	case WIRE_NODE_BEGIN:
		count_inner(hit);
		return on_node_begin(calls, hit);
	case WIRE_FUNCTION_BEGIN:
		count_inner(hit);
		return on_function_begin(calls, hit);
	case WIRE_GUARD_END:
		return on_guard_end(calls, hit);
	case WIRE_MEMORY:
		return on_memory(calls, hit);
	default:
		return on_sequence(calls, hit);
	}
}

static void learn_hit(struct learned *learned, const struct event *event)
{
	learned_seen(learned, event->header->time_ns);
	switch (event->kind) {
	case WIRE_NODE_BEGIN:
		learned_hit(learned, LEARNED_NODES);
		break;
	case WIRE_GUARD_END:
		learned_hit(learned, LEARNED_GUARDS);
		break;
	case WIRE_FUNCTION_BEGIN:
		learned_hit(learned, LEARNED_FUNCTIONS);
		break;
	case WIRE_MEMORY:
		learned_hit(learned, LEARNED_MEMORY);
		break;
	case WIRE_SEQUENCE:
		learned_hit(learned, LEARNED_SEQUENCES);
		break;
	default:
		break;
	}
}

static int on_hit(struct calls *calls, const struct event *event, bool is_active)
{
	struct hit hit = {
		.event = event,
		.thread = open_spans_thread(calls->parts.spans, event->header->tid),
		.now_ns = event->header->time_ns,
		.is_active = is_active,
	};
	uint64_t cost_ns = call_modes_cost_ns(calls->modes, event);
	uint64_t before_ns = call_modes_before_ns(calls->modes, cost_ns);
	int err;

	if (!hit.thread)
		return -ENOMEM;
	if (!is_active)
		learn_hit(calls->parts.learned, event);
	err = losses_look(calls->parts.spans, hit.thread, hit.now_ns);
	if (!err)
		err = make_way(calls, &hit);
	if (err)
		return err;
	open_spans_charge(hit.thread, before_ns, hit.now_ns);
	err = handle(calls, &hit);
	open_spans_charge(hit.thread, cost_ns - before_ns, hit.now_ns);
	return err;
}

int calls_event(struct calls *calls, const struct event *event, bool is_active)
{
	switch (event->kind) {
	case WIRE_OP_BEGIN:
	case WIRE_OP_END:
	case WIRE_NODE_BEGIN:
	case WIRE_GUARD_END:
	case WIRE_FUNCTION_BEGIN:
	case WIRE_MEMORY:
		return on_hit(calls, event, is_active);
	case WIRE_SEQUENCE:
		return event->header->subject == SEQUENCE_TAKEN ? on_hit(calls, event, is_active)
								: 0;
	case WIRE_SHAPES:
		return on_shapes(calls, event);
	case WIRE_MODE:
		on_mode(calls, event);
		return 0;
	case WIRE_COST:
		on_cost(calls, event);
		return 0;
	default:
		return 0;
	}
}
