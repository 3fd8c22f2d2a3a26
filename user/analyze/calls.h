/*
 * calls.h - pairs the beginnings and ends of operators, autograd nodes and functions by thread and
 * stack pointer, tells the ends that are not probed, and says what memory was allocated and which
 * backward belongs to which forward. The spans join those of the ranges in spans.h. What begins
 * outside of the window teaches learned.h and is not shown.
 */
#ifndef ANALYZE_CALLS_H
#define ANALYZE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/allocations.h"
#include "analyze/forward_links.h"
#include "analyze/learned.h"
#include "analyze/spans.h"
#include "analyze/symbols.h"
#include "model/event.h"
#include "model/sink.h"

struct calls;

/* All are needed, and stay the caller's. marks: for memory events. */
struct calls_parts {
	struct spans *spans;
	struct symbols *symbols;
	struct forward_links *forward_links;
	struct allocations *allocations;
	struct learned *learned;
	struct mark_sink *marks;
};

int calls_new(struct calls **out, const struct calls_parts *parts);
void calls_free(struct calls *calls); /* NULL is legal; before spans_free() or after */

/*
 * WIRE_OP_BEGIN and _END, NODE_BEGIN, GUARD_END, FUNCTION_BEGIN, SEQUENCE, MEMORY, SHAPES, MODE and
 * COST; others are ignored. is_active: the window is recording, what begins now is shown. -ENOMEM
 * or what a sink returned.
 */
int calls_event(struct calls *calls, const struct event *event, bool is_active);

uint64_t calls_unpaired(const struct calls *calls); /* ends whose beginning was not seen */

#endif /* ANALYZE_CALLS_H */
