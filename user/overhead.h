/*
 * overhead.h - from what a hit costs here and what warmup told of the job to the mode of each
 * operator. Says into the stream what was decided and why, so that a capture file replays alike.
 */
#ifndef OVERHEAD_H
#define OVERHEAD_H

#include "analyze/learned.h"
#include "attach/probe.h"
#include "model/sink.h"
#include "options.h"

struct overhead;

/* Are there sites whose modes are to be decided? */
bool overhead_is_of_interest(const struct probe_plan *plan);

/*
 * All arguments stay the caller's. Measures the cost of hits, on a child of ours, and says it. A
 * failed measurement is logged; usual values are used then.
 */
int overhead_new(struct overhead **out, const struct options *options,
		 const struct probe_plan *plan, struct probes *probes, struct record_sink *sink);
void overhead_free(struct overhead *overhead); /* NULL is legal */

struct overhead_evidence {
	struct learned *learned;
	uint32_t attempts;     /* whole ones that it was learned from; 0: a part of one */
	uint64_t learned_ns;   /* since learning began, also where nothing happened */
	uint64_t unwatched_ns; /* of an attempt; 0: not known */
};

/* Decides, tells the probes and the stream. */
int overhead_decide(struct overhead *overhead, const struct overhead_evidence *evidence);

/* Sequence numbers are recorded. */
bool overhead_keeps_numbers(const struct overhead *overhead);

/* Everything stays exact: what warmup had attached can stay. */
bool overhead_keeps_all(const struct overhead *overhead);

#endif /* OVERHEAD_H */
