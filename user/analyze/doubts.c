/*
 * doubts.c - see doubts.h. What a call has since the doubt is the difference to what it had then,
 * so that nothing else need know of it.
 */
#include "analyze/doubts.h"

static void raise_to(uint64_t *value, uint64_t other)
{
	if (other > *value)
		*value = other;
}

static void add_bytes(int64_t *sum, int64_t added)
{
	*sum = (int64_t)((uint64_t)*sum + (uint64_t)added);
}

/*
 * By when the call may have been over: before the range inside it began, if nothing was seen of the
 * call since, nor of those between the two.
 */
static uint64_t doubtful_since_ns(const struct open_span *call, uint64_t now_ns)
{
	uint64_t alive_ns = call->last_seen_ns;
	const struct open_span *inner;

	for (inner = call->inner; inner && inner->is_call; inner = inner->inner)
		raise_to(&alive_ns,
			 inner->doubt.is_set ? inner->doubt.since_ns : inner->last_seen_ns);
	return inner && inner->span.start_ns >= alive_ns ? inner->span.start_ns : now_ns;
}

static void set_doubt(struct open_span *call, uint64_t since_ns)
{
	struct doubt *doubt = &call->doubt;
	unsigned int device;

	doubt->is_set = true;
	doubt->since_ns = since_ns;
	doubt->last_seen_ns = call->last_seen_ns;
	doubt->last_child_end_ns = call->last_child_end_ns;
	doubt->last_child_shown_ns = call->last_child_shown_ns;
	doubt->child_ns = call->child_ns;
	doubt->children = call->children;
	doubt->probe_self_ns = call->span.probe_self_ns;
	doubt->probe_total_ns = call->span.probe_total_ns;
	for (device = 0; device < SPAN_DEVICE_CNT; device++) {
		doubt->self_bytes[device] = call->span.self_bytes[device];
		doubt->total_bytes[device] = call->span.total_bytes[device];
	}
}

void doubts_range_begins(struct thread_spans *thread, uint64_t now_ns)
{
	struct open_span *call;

	for (call = thread->innermost_call; call; call = call->outer_call) {
		if (!span_kind_has_own_end(call->span.kind) || call->is_begin_only ||
		    call->doubt.is_set)
			return;
		set_doubt(call, doubtful_since_ns(call, now_ns));
	}
}

void doubts_range_ends(const struct open_span *range, uint64_t now_ns)
{
	struct open_span *call = range->thread->innermost_call;

	for (; call && call->order > range->order; call = call->outer_call) {
		if (!call->doubt.is_set)
			set_doubt(call, doubtful_since_ns(call, now_ns));
	}
}

/* A call inside of which one has ended, that began before the doubt, was not over by then. */
void doubts_clear(const struct open_span *ended)
{
	struct open_span *call = ended->outer_call;

	for (; call && call->doubt.is_set && call->doubt.since_ns > ended->span.start_ns;
	     call = call->outer_call)
		call->doubt.is_set = false;
}

/* It was over before the doubt about its parent arose: then it is the parent's, whatever comes. */
static bool is_beyond_doubt(const struct span *span, const struct open_span *parent)
{
	return parent->doubt.is_set && span->end_ns <= parent->doubt.since_ns;
}

void doubts_give(const struct span *span, struct open_span *parent)
{
	struct doubt *doubt = &parent->doubt;
	unsigned int device;

	if (!is_beyond_doubt(span, parent))
		return;

	doubt->children++;
	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		add_bytes(&doubt->total_bytes[device], span->total_bytes[device]);
	doubt->child_ns += span->end_ns - span->start_ns;
	doubt->probe_total_ns += span->probe_total_ns;
	raise_to(&doubt->last_seen_ns, span->end_ns);
	raise_to(&doubt->last_child_end_ns, span->end_ns);
	raise_to(&doubt->last_child_shown_ns, span_shown_end_ns(span));
}

/* Adds to *to what *from has above before, which *from then is. */
static void move_above(uint64_t *to, uint64_t *from, uint64_t before)
{
	*to += *from - before;
	*from = before;
}

static void move_bytes_above(int64_t *to, int64_t *from, int64_t before)
{
	add_bytes(to, (int64_t)((uint64_t)*from - (uint64_t)before));
	*from = before;
}

/* Its end never came: gives its parent what came since the doubt. */
int doubts_settle(struct spans *spans, struct open_span *call)
{
	const struct doubt *doubt = &call->doubt;
	struct open_span none = { 0 }, *parent = open_spans_parent_of(call);
	unsigned int device;
	int err = 0;

	if (call->children != doubt->children)
		err = open_spans_push_delayed(spans, call);
	if (!parent) /* then nobody has it */
		parent = &none;
	raise_to(&parent->last_seen_ns, call->last_seen_ns);
	if (call->children != doubt->children) {
		raise_to(&parent->last_child_end_ns, call->last_child_end_ns);
		raise_to(&parent->last_child_shown_ns, call->last_child_shown_ns);
	}
	move_above(&parent->children, &call->children, doubt->children);
	move_above(&parent->child_ns, &call->child_ns, doubt->child_ns);
	move_above(&parent->span.probe_self_ns, &call->span.probe_self_ns, doubt->probe_self_ns);
	move_above(&parent->span.probe_total_ns, &call->span.probe_total_ns, doubt->probe_total_ns);
	for (device = 0; device < SPAN_DEVICE_CNT; device++) {
		move_bytes_above(&parent->span.self_bytes[device], &call->span.self_bytes[device],
				 doubt->self_bytes[device]);
		move_bytes_above(&parent->span.total_bytes[device], &call->span.total_bytes[device],
				 doubt->total_bytes[device]);
	}
	call->last_seen_ns = doubt->last_seen_ns;
	call->last_child_end_ns = doubt->last_child_end_ns;
	call->last_child_shown_ns = doubt->last_child_shown_ns;
	return err;
}
