/* step_marks.c - see step_marks.h. Steps are few, so all are kept until the end. */
#include "analyze/step_marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP_ROW_TID 0 /* no thread has this number */

struct mark {
	uint64_t start_ns, end_ns; /* the annotation */
	uint64_t child_ns;	   /* top ranges of the thread inside it */
	uint64_t pending_id;	   /* the range whose end may move end_ns; 0: none */
	uint32_t index, tid;
};

struct step_marks {
	struct span_sink sink;
	struct span_sink *next;
	struct name_table *names;
	struct mark *marks;
	size_t count, capacity;
	/* The attempt that is running: what the top ranges of its thread took so far. */
	uint64_t running_child_ns;
	uint32_t attempt_tid; /* of the last attempt seen */
	uint64_t last_id;
	bool on_own_row;
};

static struct mark *last_mark(struct step_marks *marks)
{
	return marks->count ? &marks->marks[marks->count - 1] : NULL;
}

/* A range that began in the step before has ended: it is that step's child, and may be its edge. */
static void add_child(struct step_marks *marks, const struct span *span)
{
	struct mark *last = last_mark(marks);
	uint64_t duration_ns = span->end_ns - span->start_ns;

	if (!span->is_top || span->tid != marks->attempt_tid)
		return;
	if (last && span->start_ns < last->end_ns)
		last->child_ns += duration_ns;
	else
		marks->running_child_ns += duration_ns;
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

int step_marks_new(struct step_marks **out, struct name_table *names, struct span_sink *next)
{
	struct step_marks *marks = calloc(1, sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	marks->sink.span = on_span;
	marks->names = names;
	marks->next = next;
	*out = marks;
	return 0;
}

void step_marks_free(struct step_marks *marks)
{
	if (!marks)
		return;
	free(marks->marks);
	free(marks);
}

struct span_sink *step_marks_sink(struct step_marks *marks)
{
	return &marks->sink;
}

static struct mark *append(struct step_marks *marks)
{
	if (!marks->marks || marks->count == marks->capacity) {
		size_t capacity = marks->capacity ? marks->capacity * 2 : 16;
		struct mark *grown = realloc(marks->marks, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		marks->marks = grown;
		marks->capacity = capacity;
	}
	marks->marks[marks->count] = (struct mark){ 0 };
	return &marks->marks[marks->count++];
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
	struct mark *mark;

	if (last && last->pending_id) {
		marks->on_own_row = true;
		last->pending_id = 0;
	}
	marks->attempt_tid = event->header->tid;
	if (event->attempt->phase != PHASE_ACTIVE || !start_ns) {
		marks->running_child_ns = 0;
		return 0;
	}
	if (last && last->index + 1 == event->attempt->index)
		last_boundary_ns = start_ns;
	mark_start_ns = start_after(marks, start_ns, last_boundary_ns);
	mark = append(marks);
	if (!mark)
		return -ENOMEM;
	mark->index = event->attempt->index;
	mark->tid = event->header->tid;
	mark->start_ns = mark_start_ns;
	mark->end_ns = end_ns;
	mark->child_ns = marks->running_child_ns;
	mark->pending_id = spans_outermost_open(spans, mark->tid, start_ns);
	marks->running_child_ns = 0;
	return 0;
}

static int push_mark(struct step_marks *marks, const struct mark *mark)
{
	char name[32];
	int length = snprintf(name, sizeof(name), "ProfilerStep#%u", mark->index);
	uint64_t duration_ns = mark->end_ns > mark->start_ns ? mark->end_ns - mark->start_ns : 0;
	struct span span = {
		.name = name_table_add(marks->names, name, (size_t)length),
		.id = ++marks->last_id,
		.start_ns = mark->start_ns,
		.end_ns = mark->start_ns + duration_ns,
		.self_ns = duration_ns,
		.tid = marks->on_own_row ? STEP_ROW_TID : mark->tid,
		.range = RANGE_USER,
		.is_finished = true,
		.is_top = true,
		.is_step = true,
	};

	if (!span.name)
		return -ENOMEM;
	if (!marks->on_own_row)
		span.self_ns = duration_ns > mark->child_ns ? duration_ns - mark->child_ns : 0;
	return marks->next->span(marks->next, &span);
}

int step_marks_finish(struct step_marks *marks)
{
	size_t i;
	int err = 0;

	for (i = 0; i < marks->count && !err; i++)
		err = push_mark(marks, &marks->marks[i]);
	return err;
}

bool step_marks_on_own_row(const struct step_marks *marks)
{
	return marks->on_own_row;
}
