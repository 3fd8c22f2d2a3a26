/*
 * symbols.h - what operators, nodes and functions are called: indices and types of the records to
 * names of the name table. Fed with WIRE_OPERATOR and WIRE_SYMBOL, which come before what uses
 * them.
 */
#ifndef ANALYZE_SYMBOLS_H
#define ANALYZE_SYMBOLS_H

#include <stdint.h>

#include "base/bound.h"
#include "base/name_table.h"
#include "model/event.h"

struct symbols;

#define SYMBOLS_OPERATORS_MAX BOUND(65536, 32)
#define SYMBOLS_TYPES_MAX BOUND(65536, 8)

/* Names are those of the name table. */
struct operator_name {
	const char *name;
	const char *overload;	       /* "": the one without a name */
	uint8_t entry_site, exit_site; /* 1 + enum probe_site_kind; 0: no site */
	uint16_t frame_bytes;	       /* 0: not known */
	uint16_t callback_id;	       /* of a call of CUDA's; 0: not known */
	uint8_t domain;		       /* enum wire_call_domain */
};

/* names stays the caller's and must outlive symbols. */
int symbols_new(struct symbols **out, struct name_table *names);
void symbols_free(struct symbols *symbols); /* NULL is legal */

/* An index or a type that is named again has the new name from then on. -ENOMEM. */
int symbols_operator(struct symbols *symbols, const struct event *event); /* WIRE_OPERATOR */
int symbols_symbol(struct symbols *symbols, const struct event *event);	  /* WIRE_SYMBOL */

/* NULL: unknown index. Stays where it is while symbols lives; named again, it changes in place. */
const struct operator_name *symbols_operator_of(const struct symbols *symbols, uint32_t index);

/*
 * The rows of a node, as PyTorch names it: "AddmmBackward0", "torch::autograd::AccumulateGrad", and
 * "autograd::engine::evaluate_function: AddmmBackward0" around it. An unknown type is "(unnamed
 * node)" and counted by symbols_node() alone, so that a node counts once. NULL: out of memory.
 */
const char *symbols_node(struct symbols *symbols, uint64_t type);
const char *symbols_node_outer(struct symbols *symbols, uint64_t type);

/* Its class or operator; an unknown type is "(unnamed function)", and counted. Never NULL. */
const char *symbols_function(struct symbols *symbols, uint64_t type);

uint64_t symbols_nameless(const struct symbols *symbols);  /* calls of unknown types */
uint64_t symbols_refused(const struct symbols *symbols);   /* records over the bounds above */
uint64_t symbols_cut_names(const struct symbols *symbols); /* names whose end is missing */

#endif /* ANALYZE_SYMBOLS_H */
