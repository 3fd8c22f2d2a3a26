/*
 * losses.h - nothing is paired across a hole. When records of a thread may have been lost, the
 * calls that were open are over as far as anyone can tell: an end that comes later may be that of
 * another call at the same place. Such a call ends where it was last seen, unfinished; one whose
 * end is not probed ends by what warmup told, if that lies before what came next.
 *
 * Ranges keep their ends: the programs record the end of a range only if they recorded its
 * beginning. But it may be the end that was lost, and then the range around it ends it.
 */
#ifndef ANALYZE_LOSSES_H
#define ANALYZE_LOSSES_H

#include "analyze/open_spans.h"

/* A WIRE_HOLE event. -ENOMEM. */
int losses_hole(struct spans *spans, const struct wire_hole *hole);

/*
 * Something of the thread comes, at now_ns: before it is looked at. Consumes the calls that were
 * open if something was lost since the thread was last seen. The sink's error.
 */
int losses_look(struct spans *spans, struct thread_spans *thread, uint64_t now_ns);

/* A range ends on its thread: those inside it whose end may have been lost are over. */
int losses_end_inside(struct spans *spans, const struct open_span *range);

#endif /* ANALYZE_LOSSES_H */
