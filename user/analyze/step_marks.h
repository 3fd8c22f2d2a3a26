/*
 * step_marks.h - the ProfilerStep#N annotations. A step runs from one attempt boundary to the next,
 * but a boundary is the end of Optimizer.step, which may lie inside a range of the user
 * (train_step). An edge moves outward to the end of such a range if that comes before the next
 * boundary, so that the rows of the trace nest; steps.csv keeps the boundary itself. A range that
 * runs on across a whole step (an epoch) cannot nest with steps: then all annotations stand on a
 * row of their own.
 */
#ifndef ANALYZE_STEP_MARKS_H
#define ANALYZE_STEP_MARKS_H

#include "analyze/spans.h"
#include "model/event.h"
#include "model/sink.h"

struct step_marks;

int step_marks_new(struct step_marks **out, struct span_sink *next);
void step_marks_free(struct step_marks *marks); /* NULL is legal */

/* Spans that pass through on their way to next. */
struct span_sink *step_marks_sink(struct step_marks *marks);

/* After window_attempt() for the same event; start_ns is the boundary before it. */
int step_marks_attempt(struct step_marks *marks, const struct spans *spans,
		       const struct event *event, uint64_t start_ns);

/* Pushes the annotations; after the last span. */
int step_marks_finish(struct step_marks *marks);

bool step_marks_on_own_row(const struct step_marks *marks);

#endif /* ANALYZE_STEP_MARKS_H */
