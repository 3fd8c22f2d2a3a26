/*
 * edges.h - keeps rows of a thread apart that touch, where the trace shows them. Readers of a trace
 * add ts and dur as doubles, which hold about 1 ns at Kineto's base: of two rows that share an edge
 * one may then seem to reach into the other, and TensorBoard's plugin drops it. Edges that a probe
 * saw never touch; those that were told from other edges (inferred ends, the outer row of a node)
 * do.
 */
#ifndef ANALYZE_EDGES_H
#define ANALYZE_EDGES_H

#include "model/span.h"

#define EDGES_GAP_NS 2
/* How long before the next event a row ends whose end no probe saw: room for eight levels of rows
 * that end together. */
#define EDGES_ROOM_NS 16

/* What stands around a span that has ended, as it is shown; 0: there is none. */
struct edges_around {
	uint64_t child_end_ns;	/* of its last child */
	uint64_t before_ns;	/* the end of the row before it inside the same parent */
	uint64_t next_event_ns; /* where no probe saw its end: it was over by then */
};

/*
 * Fills in the shifts. An edge that a probe saw is left alone, but for the start of a node's outer
 * row and its end, so that arrows find it.
 */
void edges_settle(struct span *span, const struct edges_around *around);

#endif /* ANALYZE_EDGES_H */
