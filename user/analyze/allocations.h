/*
 * allocations.h - the sizes of CPU blocks, which a free does not tell, and their running total. As
 * with torch.profiler, only blocks that were allocated while the window recorded are known.
 */
#ifndef ANALYZE_ALLOCATIONS_H
#define ANALYZE_ALLOCATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bound.h"
#include "model/event.h"
#include "model/span.h"

struct allocations;

#define ALLOCATIONS_MAX BOUND(4U << 20, 8U)

/* At most blocks_max blocks are known at once: ALLOCATIONS_MAX, less in tests. */
int allocations_new(struct allocations **out, size_t blocks_max);
void allocations_free(struct allocations *allocations); /* NULL is legal */

/*
 * A WIRE_MEMORY event. *is_shown: *out is filled in, size_bytes negative for a free, totals as they
 * are after it. Outside of the window (is_active false) nothing is shown, but a known block that is
 * freed is forgotten. Blocks stay known from one window to the next. Sizes come checked by the
 * decoder, yet a sum of very many may overflow: add them as unsigned. -ENOMEM.
 */
int allocations_event(struct allocations *allocations, const struct event *event, bool is_active,
		      struct memory_event *out, bool *is_shown);

/*
 * Memory events until last_ns may have been lost: no size of a block that came by then is known any
 * more, for another one may stand at its address.
 */
void allocations_lost(struct allocations *allocations, uint64_t last_ns);

/* All of the window. */
uint64_t allocations_old_frees(const struct allocations *allocations); /* of unknown blocks */
uint64_t allocations_out_of_memory(const struct allocations *allocations);
uint64_t allocations_untracked(const struct allocations *allocations); /* over blocks_max */

#endif /* ANALYZE_ALLOCATIONS_H */
