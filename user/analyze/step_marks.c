/*
 * step_marks.c - see step_marks.h. All steps are kept until the end, for the last range may put
 * them on another row. Only the last one still changes; those before it are packed into some
 * ten bytes each.
 */
#include "analyze/step_marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/number_log.h"

#define STEP_ROW_TID 0 /* no thread has this number */

/* What the top spans of a step's thread add up to. */
struct inside {
	uint64_t duration_ns, probe_ns;
	uint64_t bytes[SPAN_DEVICE_CNT]; /* signed ones, as unsigned */
};

struct mark {
	uint64_t start_ns, end_ns; /* the annotation */
	struct inside inside;
	uint64_t pending_id; /* the range whose end may move end_ns; 0: none */
	uint32_t index, tid;
};

struct step_marks {
	struct span_sink sink;
	struct span_sink *next;
	struct number_log packed; /* all but the last */
	struct mark last_packed;
	struct mark last;
	bool has_last;
	/* The attempt that is running: what the top ranges of its thread took so far. */
	struct inside running;
	uint32_t attempt_tid; /* of the last attempt seen */
	uint64_t last_id;
	uint64_t begun; /* spans before the last boundary */
	bool on_own_row;
};

static struct mark *last_mark(struct step_marks *marks)
{
	return marks->has_last ? &marks->last : NULL;
}

/* A range that began in the step before has ended: it is that step's child, and may be its edge. */
static void add_child(struct step_marks *marks, const struct span *span)
{
	struct mark *last = last_mark(marks);
	struct inside *inside = &marks->running;
	unsigned int device;

	if (!span->is_top || span->tid != marks->attempt_tid)
		return;
	if (last && span->start_ns < last->end_ns)
		inside = &last->inside;
	inside->duration_ns += span->end_ns - span->start_ns;
	inside->probe_ns += span->probe_total_ns;
	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		inside->bytes[device] += (uint64_t)span->total_bytes[device];
}

static int on_span(struct span_sink *sink, const struct span *span)
{
	struct step_marks *marks = container_of(sink, struct step_marks, sink);
	struct mark *last = last_mark(marks);

	if (span->id > marks->last_id)
		marks->last_id = span->id;
	add_child(marks, span);
	if (last && last->pending_id == span->id) {
		last->pending_id = 0;
		if (span->end_ns > last->end_ns && !span->is_async)
			last->end_ns = span->end_ns;
	}
	return marks->next->span(marks->next, span);
}

int step_marks_new(struct step_marks **out, struct span_sink *next)
{
	struct step_marks *marks = calloc(1, sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	marks->sink.span = on_span;
	marks->next = next;
	*out = marks;
	return 0;
}

void step_marks_free(struct step_marks *marks)
{
	if (!marks)
		return;
	number_log_clear(&marks->packed);
	free(marks);
}

struct span_sink *step_marks_sink(struct step_marks *marks)
{
	return &marks->sink;
}

/* What a mark is packed into, beside the one before it; mostly half of them are 0. */
enum column {
	COLUMN_DURATION,
	COLUMN_SELF, /* what is not inside */
	COLUMN_PROBE,
	COLUMN_START, /* from the end of the one before it */
	COLUMN_INDEX,
	COLUMN_TID,
	COLUMN_BYTES, /* of each device */
	COLUMN_CNT = COLUMN_BYTES + SPAN_DEVICE_CNT,
};

/* pending_id is not kept: the end is settled. */
static int pack(struct step_marks *marks, const struct mark *mark)
{
	const struct mark *before = &marks->last_packed;
	const struct inside *inside = &mark->inside;
	uint64_t row[COLUMN_CNT] = {
		[COLUMN_DURATION] = number_log_step(mark->start_ns, mark->end_ns),
		[COLUMN_SELF] = number_log_step(inside->duration_ns, mark->end_ns - mark->start_ns),
		[COLUMN_PROBE] = inside->probe_ns,
		[COLUMN_START] = number_log_step(before->end_ns, mark->start_ns),
		[COLUMN_INDEX] = number_log_step(before->index + 1, mark->index),
		[COLUMN_TID] = mark->tid ^ before->tid,
	};
	unsigned int device;
	int err;

	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		row[COLUMN_BYTES + device] = number_log_step(0, inside->bytes[device]);
	err = number_log_add(&marks->packed, row, COLUMN_CNT);
	if (!err)
		marks->last_packed = *mark;
	return err;
}

/* From a mark to the one after it; false: there is none. */
static bool unpack(struct number_cursor *cursor, struct mark *mark)
{
	struct inside *inside = &mark->inside;
	uint64_t row[COLUMN_CNT];
	unsigned int device;

	if (!number_cursor_next(cursor, row, COLUMN_CNT))
		return false;
	mark->start_ns = number_log_take_step(mark->end_ns, row[COLUMN_START]);
	mark->end_ns = number_log_take_step(mark->start_ns, row[COLUMN_DURATION]);
	mark->index = (uint32_t)number_log_take_step(mark->index + 1, row[COLUMN_INDEX]);
	mark->tid ^= (uint32_t)row[COLUMN_TID];
	inside->duration_ns =
		mark->end_ns - mark->start_ns - number_log_take_step(0, row[COLUMN_SELF]);
	inside->probe_ns = row[COLUMN_PROBE];
	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		inside->bytes[device] = number_log_take_step(0, row[COLUMN_BYTES + device]);
	return true;
}

/* Where the next annotation begins: where the one before it ends, if it follows at once. */
static uint64_t start_after(struct step_marks *marks, uint64_t boundary_ns,
			    uint64_t boundary_before_ns)
{
	struct mark *last = last_mark(marks);

	if (!last || boundary_before_ns != boundary_ns || last->end_ns < boundary_ns)
		return boundary_ns;
	return last->end_ns;
}

int step_marks_attempt(struct step_marks *marks, const struct spans *spans,
		       const struct event *event, uint64_t start_ns)
{
	struct mark *last = last_mark(marks);
	uint64_t end_ns = event->header->time_ns, mark_start_ns, last_boundary_ns = 0;
	uint64_t begun = marks->begun;
	int err;

	if (last && last->pending_id) {
		marks->on_own_row = true;
		last->pending_id = 0;
	}
	marks->attempt_tid = event->header->tid;
	marks->begun = spans_begun(spans);
	if (event->attempt->phase != PHASE_ACTIVE || !start_ns) {
		marks->running = (struct inside){ 0 };
		return 0;
	}
	if (last && last->index + 1 == event->attempt->index)
		last_boundary_ns = start_ns;
	mark_start_ns = start_after(marks, start_ns, last_boundary_ns);
	err = last ? pack(marks, last) : 0;
	if (err)
		return err;
	marks->last = (struct mark){
		.start_ns = mark_start_ns,
		.end_ns = end_ns,
		.inside = marks->running,
		.pending_id = spans_outermost_open(spans, event->header->tid, begun),
		.index = event->attempt->index,
		.tid = event->header->tid,
	};
	marks->has_last = true;
	marks->running = (struct inside){ 0 };
	return 0;
}

static void fill_inside(struct span *span, const struct inside *inside, bool on_own_row)
{
	uint64_t duration_ns = span->end_ns - span->start_ns;
	unsigned int device;

	for (device = 0; device < SPAN_DEVICE_CNT; device++)
		span->total_bytes[device] = (int64_t)inside->bytes[device];
	span->probe_total_ns = inside->probe_ns < duration_ns ? inside->probe_ns : duration_ns;
	if (on_own_row)
		return;
	span->self_ns = duration_ns > inside->duration_ns ? duration_ns - inside->duration_ns : 0;
}

static int push_mark(struct step_marks *marks, const struct mark *mark)
{
	char name[32];
	uint64_t duration_ns = mark->end_ns > mark->start_ns ? mark->end_ns - mark->start_ns : 0;
	struct span span = {
		.name = name,
		.id = ++marks->last_id,
		.start_ns = mark->start_ns,
		.end_ns = mark->start_ns + duration_ns,
		.self_ns = duration_ns,
		.tid = marks->on_own_row ? STEP_ROW_TID : mark->tid,
		.kind = SPAN_RANGE,
		.is_finished = true,
		.is_top = true,
		.is_step = true,
	};

	snprintf(name, sizeof(name), "ProfilerStep#%u", mark->index);
	fill_inside(&span, &mark->inside, marks->on_own_row);
	return marks->next->span(marks->next, &span);
}

int step_marks_finish(struct step_marks *marks)
{
	struct number_cursor cursor;
	struct mark mark = { 0 };
	int err = 0;

	number_cursor_init(&cursor, &marks->packed);
	while (!err && unpack(&cursor, &mark))
		err = push_mark(marks, &mark);
	return !err && marks->has_last ? push_mark(marks, &marks->last) : err;
}

bool step_marks_on_own_row(const struct step_marks *marks)
{
	return marks->on_own_row;
}
