/*
 * doubts.h - calls whose ends are probed and may be over all the same: operators when a range
 * begins inside them (operators that call Python are rare, and an exception that left one is not
 * told by the range), any call when a range ends around it. If it turns out that a call's end never
 * came, it was over by the time of the doubt, and what came since is its parent's.
 */
#ifndef ANALYZE_DOUBTS_H
#define ANALYZE_DOUBTS_H

#include "analyze/open_spans.h"

/* A range begins on the thread: the innermost operators whose ends are probed may be over. */
void doubts_range_begins(struct thread_spans *thread, uint64_t now_ns);

/* The range ends on its thread: what is open inside it may be over. */
void doubts_range_ends(const struct open_span *range, uint64_t now_ns);

/* The end of a call was seen: what it is called from was not over when it began. */
void doubts_clear(const struct open_span *ended);

/* A span becomes its parent's child: it is so beyond doubt if it was over when that arose. */
void doubts_give(const struct span *span, struct open_span *parent);

/* The call is over, and was by then: gives its parent what came since. The sink's error. */
int doubts_settle(struct spans *spans, struct open_span *call);

#endif /* ANALYZE_DOUBTS_H */
