/*
 * learned.h - what warmup tells of the calls of each operator: how many, how long they take,
 * whether they all take about as long and always do the same inside. The modes of the window are
 * decided by it. Memory is bounded by the operators of the build.
 */
#ifndef ANALYZE_LEARNED_H
#define ANALYZE_LEARNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bound.h"

struct learned;

#define LEARNED_OPERATORS_MAX BOUND(65536, 24)

/* What is counted beside the operators. */
enum learned_kind {
	LEARNED_NODES,	   /* beginnings */
	LEARNED_GUARDS,	   /* ends of guards, whether or not they were of use */
	LEARNED_FUNCTIONS, /* beginnings */
	LEARNED_SEQUENCES, /* numbers taken */
	LEARNED_MEMORY,
	LEARNED_KIND_CNT,
};

/* One call that is over. Times as measured, with what the probes cost beside them. */
struct learned_call {
	uint32_t subject; /* the operator's index or MODE_SUBJECT_NODES; others are ignored */
	uint64_t inclusive_ns, probe_total_ns;
	uint64_t self_ns, probe_self_ns;
	/* Events directly inside it. */
	uint32_t inner_children; /* calls, nodes, functions, and the guards */
	uint32_t inner_guards;	 /* those of them that are guards */
	uint32_t inner_memory, inner_sequences;
	bool is_unwound; /* its end was not seen: it counts, its times do not */
};

/* How long calls took, less the cost of the probes. 0 calls: all of it is 0. */
struct learned_timing {
	uint64_t calls;
	uint64_t mean_ns; /* calls above 4 medians left out */
	uint64_t p50_ns, p90_ns;
};

struct learned_row {
	uint32_t subject;
	uint64_t hits;	  /* calls */
	uint64_t unwound; /* of hits */
	uint64_t mean_ns; /* less the cost of the probes, over both of the following */
	struct learned_timing plain, numbered; /* without and with a sequence number taken */
	uint64_t self_ns; /* of all calls together, less the cost of the probes */
	bool is_steady;	  /* such a call can be told without its end, if no memory is recorded... */
	bool memory_varies; /* ...or it does not vary either */
	bool takes_numbers; /* some of the calls took a sequence number */
	/* Directly inside a call; where they vary, those of the last one, and is_steady is false.
	 */
	uint32_t inner_children, inner_guards, inner_memory;
};

int learned_new(struct learned **out);
void learned_free(struct learned *learned); /* NULL is legal */

/* All of these do nothing once learned_stop() was called. -ENOMEM. */
int learned_call(struct learned *learned, const struct learned_call *call);
void learned_hit(struct learned *learned, enum learned_kind kind);
void learned_seen(struct learned *learned, uint64_t time_ns); /* of every event */

/* The modes are decided; what was learned stays until learned_reset(), which begins anew. */
void learned_stop(struct learned *learned);
void learned_reset(struct learned *learned);

/*
 * A row per operator that was called, by index, then that of the nodes. Valid until the next call
 * of this module. NULL: out of memory, or none.
 */
const struct learned_row *learned_rows(struct learned *learned, size_t *count);

uint64_t learned_hits(const struct learned *learned, enum learned_kind kind);
uint64_t learned_span_ns(const struct learned *learned); /* from the first event to the last */

/* How many guards each call of the operator ended inside it; 0: none, unknown, or not always so
 * many.
 */
uint32_t learned_guards_of(const struct learned *learned, uint32_t index);

#endif /* ANALYZE_LEARNED_H */
