/*
 * call_modes.h - how the calls of each operator, and the nodes, are seen, and what a hit of their
 * sites costs: from WIRE_MODE and WIRE_COST. Part of calls.c.
 */
#ifndef ANALYZE_CALL_MODES_H
#define ANALYZE_CALL_MODES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/symbols.h"
#include "model/event.h"

struct call_modes;

struct call_mode {
	uint64_t duration_ns, numbered_duration_ns;
	uint32_t inner_events; /* UINT32_MAX: not known */
	uint8_t mode;	       /* enum wire_mode */
	bool takes_numbers;    /* some such calls take a sequence number */
};

int call_modes_new(struct call_modes **out, const struct symbols *symbols);
void call_modes_free(struct call_modes *modes); /* NULL is legal */

void call_modes_mode(struct call_modes *modes, const struct event *event);
void call_modes_cost(struct call_modes *modes, const struct event *event);

struct call_mode call_modes_operator(const struct call_modes *modes, uint32_t index);
bool call_modes_has_off(const struct call_modes *modes); /* an operator is not recorded */
struct call_mode call_modes_nodes(const struct call_modes *modes);

/* What the hit cost that the event comes from; 0: not known. */
uint64_t call_modes_cost_ns(const struct call_modes *modes, const struct event *event);
/*
 * How much of that lies before the time that the event bears: half of what an emulated hit costs.
 * Where the instruction is stepped, the stepping comes behind.
 */
uint64_t call_modes_before_ns(const struct call_modes *modes, uint64_t cost_ns);
uint64_t call_modes_push_ns(const struct call_modes *modes); /* a hit that is no operator's */

#endif /* ANALYZE_CALL_MODES_H */
