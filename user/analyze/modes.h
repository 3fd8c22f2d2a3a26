/*
 * modes.h - decides from what warmup has learned how each operator is seen in active, so that the
 * probes stay within the bound that the user has set. Pure: the same input gives the same modes.
 *
 *  - Everything is exact where that adds at most 2% to an attempt: there is nothing to gain.
 *  - Else a short operator (at most 10 us a call) whose end can be told from its beginning is
 *    begin-only, and so are the nodes if they are short, unless the user wants every end; and
 *    optional rows that alone add more than 5% are off.
 *    Calls of CUDA's stay exact: their ends are all that tells how long the host waited.
 *  - Where that is still above the bound, what costs most for each nanosecond that it explains is
 *    given up, one step at a time: from exact to begin-only where that is possible, then off.
 *    Sequence numbers, which explain no time, go first, memory and calls of modules next.
 * Begin-only keeps the calls and an inferred end, so that step counts as giving up a tenth of what
 * is explained.
 *  - What was not seen in warmup costs nothing and stays exact. Fixed rows stay as they are.
 *
 * The bound is held against 1.3 times the prediction: a hit in a job's cold caches costs more than
 * one in the loop that measured it. Costs of hits on several threads are added up as if they were
 * on one, so for such jobs the prediction is too high rather than too low.
 */
#ifndef ANALYZE_MODES_H
#define ANALYZE_MODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire.h"

struct mode_input {
	uint32_t subject;	/* the operator's index, or MODE_SUBJECT_* */
	uint64_t hits;		/* calls in the learned time, all of them exact */
	uint64_t self_ns;	/* corrected self time in the learned time: what it explains */
	uint64_t mean_ns;	/* of a call, children included */
	uint64_t entry_cost_ns; /* of one hit */
	uint64_t exit_cost_ns;	/* of one hit; 0: it has none */
	bool can_begin_only;	/* steady, learned */
	bool prefers_exact;	/* begin-only where the bound asks for it alone */
	bool is_fixed;		/* never given up: ranges and attempts */
	bool is_optional;	/* not asked for by name */
};

struct mode_bound {
	uint64_t learned_ns;
	uint64_t learned_attempts; /* in learned_ns; 0: hits are scaled by attempt_ns */
	uint64_t attempt_ns;	   /* unwatched; 0: learned_ns less the probes, for each attempt */
	uint64_t max_overhead_permille;
	bool exact; /* the user wants every end */
};

/*
 * Of one attempt. If neither the number nor the time of attempts is known, of the learned time as
 * if it were one: the ratio is right all the same.
 */
struct mode_prediction {
	uint64_t added_ns;
	uint64_t exact_added_ns; /* had everything been exact */
	uint64_t attempt_ns;	 /* unwatched, what both are held against */
	/* Learned time to an attempt, for modes_cost_ns. */
	uint64_t numerator, denominator;
};

/* Fills in modes (enum wire_mode, one for each input) and out. -ENOMEM: both are untouched. */
int modes_decide(const struct mode_input *inputs, size_t count, const struct mode_bound *bound,
		 uint8_t *modes, struct mode_prediction *out);

/* What an input adds to an attempt in a mode. Rounded down, so a sum of these is no prediction. */
uint64_t modes_cost_ns(const struct mode_input *input, enum wire_mode mode,
		       const struct mode_prediction *prediction);

#endif /* ANALYZE_MODES_H */
