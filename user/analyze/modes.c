/*
 * modes.c - see modes.h. Costs are kept as sums over the learned time and brought down to an
 * attempt only to be compared: an operator that is called every tenth attempt is not rounded away.
 * No number from outside is trusted: a cost saturates at 64 bits, sums of them have 128.
 */
#include "analyze/modes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NOTHING_TO_GAIN_PERMILLE 20
#define OPTIONAL_MAX_PERMILLE 50
#define SHORT_CALL_NS 10000
#define MARGIN_PERMILLE 1300 /* 1.27 was measured in a job of 0.27 ms a step */
#define BEGIN_ONLY_KEEPS 10  /* that step gives up one part in so many of what is explained */

/* Work is at least so much of the learned time, one part in: costs of many threads add up to more
 * time than passed. */
#define WORK_MIN_PART 10

typedef unsigned __int128 uint128;

static uint64_t saturated(uint128 value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

/* Over the learned time. */
static uint64_t cost_of(const struct mode_input *input, unsigned int mode)
{
	uint128 hit_ns = 0;

	if (mode != MODE_OFF)
		hit_ns = input->entry_cost_ns;
	if (mode == MODE_EXACT)
		hit_ns += input->exit_cost_ns;
	return saturated((uint128)input->hits * saturated(hit_ns));
}

/* What has no number over the learned time has none here, however it is scaled. */
static uint64_t for_attempt(const struct mode_prediction *prediction, uint128 learned_cost_ns)
{
	if (learned_cost_ns >= UINT64_MAX)
		return UINT64_MAX;
	return saturated(learned_cost_ns * prediction->numerator / prediction->denominator);
}

/* The sum is that of everything exact, which is how the learned time was spent. */
static void find_attempt(const struct mode_bound *bound, uint128 exact_sum_ns,
			 struct mode_prediction *prediction)
{
	uint64_t cost_ns = saturated(exact_sum_ns);
	uint64_t work_ns = bound->learned_ns > cost_ns ? bound->learned_ns - cost_ns : 0;

	if (work_ns < bound->learned_ns / WORK_MIN_PART)
		work_ns = bound->learned_ns / WORK_MIN_PART;
	prediction->numerator = 1;
	prediction->denominator = 1;
	if (bound->learned_attempts) {
		prediction->denominator = bound->learned_attempts;
	} else if (bound->attempt_ns && work_ns) {
		prediction->numerator = bound->attempt_ns;
		prediction->denominator = work_ns;
	}
	prediction->attempt_ns = bound->attempt_ns;
	if (!bound->attempt_ns)
		prediction->attempt_ns = work_ns / prediction->denominator;
}

static bool is_at_most(const struct mode_prediction *prediction, uint128 learned_cost_ns,
		       uint64_t margin_permille, uint64_t permille)
{
	return (uint128)for_attempt(prediction, learned_cost_ns) * margin_permille <=
	       (uint128)prediction->attempt_ns * permille;
}

static bool is_within(const struct mode_prediction *prediction, uint128 learned_cost_ns,
		      const struct mode_bound *bound)
{
	return is_at_most(prediction, learned_cost_ns, MARGIN_PERMILLE,
			  bound->max_overhead_permille);
}

static bool can_begin_only(const struct mode_input *input)
{
	return input->can_begin_only;
}

/* What is given up whatever the bound is. */
static enum wire_mode first_mode(const struct mode_input *input, const struct mode_bound *bound,
				 const struct mode_prediction *prediction)
{
	if (input->is_fixed)
		return MODE_EXACT;
	if (input->is_optional &&
	    !is_at_most(prediction, cost_of(input, MODE_EXACT), 1000, OPTIONAL_MAX_PERMILLE))
		return MODE_OFF;
	if (!bound->exact && !input->prefers_exact && can_begin_only(input) && input->hits &&
	    input->mean_ns <= SHORT_CALL_NS)
		return MODE_BEGIN_ONLY;
	return MODE_EXACT;
}

/* One thing that can be given up. */
struct step {
	size_t index;			/* of the input */
	uint64_t saves_ns, gives_up_ns; /* the dearest ratio goes first */
	uint32_t subject;
	uint8_t rank; /* goes before any ratio: the lower ones first */
	uint8_t mode; /* that it leads to */
};

static uint8_t rank_of(const struct mode_input *input)
{
	if (input->subject == MODE_SUBJECT_SEQUENCES)
		return 0;
	return input->subject == MODE_SUBJECT_MEMORY || input->subject == MODE_SUBJECT_MODULES ? 1
											       : 2;
}

/* A step that saves nothing is none. Returns how many steps it is: 0 or 1. */
static size_t add_step(struct step *step, const struct mode_input *input, size_t index,
		       enum wire_mode from, enum wire_mode to)
{
	uint64_t saves_ns = cost_of(input, from) - cost_of(input, to);

	/* Weighed on this side of the ratio: a part of little would be rounded. */
	if (to == MODE_BEGIN_ONLY)
		saves_ns = saturated((uint128)saves_ns * BEGIN_ONLY_KEEPS);
	*step = (struct step){
		.index = index,
		.saves_ns = saves_ns,
		.gives_up_ns = input->self_ns,
		.subject = input->subject,
		.rank = rank_of(input),
		.mode = (uint8_t)to,
	};
	return saves_ns ? 1 : 0;
}

static size_t collect_steps(const struct mode_input *inputs, size_t count, const uint8_t *modes,
			    struct step *steps)
{
	size_t step_count = 0, i;

	for (i = 0; i < count; i++) {
		enum wire_mode from = modes[i];

		if (inputs[i].is_fixed || from == MODE_OFF)
			continue;
		if (from == MODE_EXACT && can_begin_only(&inputs[i])) {
			step_count +=
				add_step(&steps[step_count], &inputs[i], i, from, MODE_BEGIN_ONLY);
			from = MODE_BEGIN_ONLY;
		}
		step_count += add_step(&steps[step_count], &inputs[i], i, from, MODE_OFF);
	}
	return step_count;
}

/* Neither saves 0, so what gives up nothing is above all that does, and the order is one. */
static int compare_steps(const void *left, const void *right)
{
	const struct step *a = left, *b = right;
	uint128 ratio_a = (uint128)a->saves_ns * b->gives_up_ns;
	uint128 ratio_b = (uint128)b->saves_ns * a->gives_up_ns;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (ratio_a != ratio_b)
		return ratio_a > ratio_b ? -1 : 1;
	if (a->subject != b->subject)
		return a->subject < b->subject ? -1 : 1;
	if (a->index != b->index)
		return a->index < b->index ? -1 : 1;
	return a->mode < b->mode ? -1 : a->mode > b->mode;
}

static uint128 sum_of(const struct mode_input *inputs, size_t count, const uint8_t *modes)
{
	uint128 sum_ns = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum_ns += cost_of(&inputs[i], modes ? modes[i] : MODE_EXACT);
	return sum_ns;
}

/* Takes steps until the bound is kept or none is left. */
static void give_up(const struct mode_input *inputs, size_t count, const struct mode_bound *bound,
		    const struct mode_prediction *prediction, uint8_t *modes, struct step *steps)
{
	uint128 sum_ns = sum_of(inputs, count, modes);
	size_t step_count, i;

	step_count = collect_steps(inputs, count, modes, steps);
	qsort(steps, step_count, sizeof(*steps), compare_steps);
	for (i = 0; i < step_count && !is_within(prediction, sum_ns, bound); i++) {
		const struct step *step = &steps[i];
		const struct mode_input *input = &inputs[step->index];
		uint8_t *mode = &modes[step->index];

		/* Its beginning may be so dear that it went off in front of its end. */
		if (*mode == MODE_OFF)
			continue;
		sum_ns -= cost_of(input, *mode) - cost_of(input, step->mode);
		*mode = step->mode;
	}
}

int modes_decide(const struct mode_input *inputs, size_t count, const struct mode_bound *bound,
		 uint8_t *modes, struct mode_prediction *out)
{
	uint128 exact_sum_ns = sum_of(inputs, count, NULL);
	struct mode_prediction prediction = { .added_ns = 0 };
	struct step *steps = calloc(count ? count : 1, 2 * sizeof(*steps));
	size_t i;

	if (!steps)
		return -ENOMEM;
	find_attempt(bound, exact_sum_ns, &prediction);
	prediction.exact_added_ns = for_attempt(&prediction, exact_sum_ns);
	if (is_at_most(&prediction, exact_sum_ns, 1000, NOTHING_TO_GAIN_PERMILLE) &&
	    is_within(&prediction, exact_sum_ns, bound)) {
		memset(modes, MODE_EXACT, count);
	} else {
		for (i = 0; i < count; i++)
			modes[i] = (uint8_t)first_mode(&inputs[i], bound, &prediction);
		give_up(inputs, count, bound, &prediction, modes, steps);
	}
	prediction.added_ns = for_attempt(&prediction, sum_of(inputs, count, modes));
	*out = prediction;
	free(steps);
	return 0;
}

uint64_t modes_cost_ns(const struct mode_input *input, enum wire_mode mode,
		       const struct mode_prediction *prediction)
{
	return for_attempt(prediction, cost_of(input, mode));
}
