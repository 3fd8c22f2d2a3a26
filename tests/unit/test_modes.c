/* Which operators keep their ends, which keep their beginnings, and what goes first. */
#include "support/test.h"

#include "analyze/modes.h"

#define INPUTS_MAX 16

struct decision {
	uint8_t modes[INPUTS_MAX];
	struct mode_prediction prediction;
};

static struct decision decide(const struct mode_input *inputs, size_t count,
			      const struct mode_bound *bound)
{
	struct decision decision;

	assert_true(count <= INPUTS_MAX);
	memset(&decision, 0xff, sizeof(decision));
	assert_int_equal(modes_decide(inputs, count, bound, decision.modes, &decision.prediction),
			 0);
	return decision;
}

/* One attempt was learned, so sums over the learned time are those of an attempt. */
static struct mode_bound bound_of(uint64_t attempt_ns, uint64_t permille)
{
	return (struct mode_bound){
		.learned_ns = 2 * attempt_ns,
		.learned_attempts = 1,
		.attempt_ns = attempt_ns,
		.max_overhead_permille = permille,
	};
}

/* A short one that can be begin-only; 2 us of probes a call. */
static struct mode_input operator_of(uint32_t subject, uint64_t hits, uint64_t self_ns)
{
	return (struct mode_input){
		.subject = subject,
		.hits = hits,
		.self_ns = self_ns,
		.mean_ns = 5000,
		.can_begin_only = true,
		.entry_cost_ns = 1000,
		.exit_cost_ns = 1000,
	};
}

/* What has one site only. */
static struct mode_input row_of(uint32_t subject, uint64_t hits)
{
	return (struct mode_input){ .subject = subject, .hits = hits, .entry_cost_ns = 1000 };
}

/* Of two that are alike, the call of CUDA's keeps its ends, unless the bound takes them. */
static void what_prefers_to_be_exact_gives_up_its_ends_for_the_bound_alone(void **state)
{
	struct mode_input inputs[] = { operator_of(0, 100, 500000), operator_of(1, 100, 500000) };
	struct mode_bound bound = bound_of(5000000, 1000);
	struct decision decision;

	(void)state;
	inputs[1].prefers_exact = true;
	decision = decide(inputs, 2, &bound);
	assert_int_equal(decision.modes[0], MODE_BEGIN_ONLY);
	assert_int_equal(decision.modes[1], MODE_EXACT);
	bound.max_overhead_permille = 55; /* of 5 ms, less the margin: 211 us */
	decision = decide(inputs, 2, &bound);
	assert_int_equal(decision.modes[0], MODE_BEGIN_ONLY);
	assert_int_equal(decision.modes[1], MODE_BEGIN_ONLY);
	bound.max_overhead_permille = 30;
	decision = decide(inputs, 2, &bound);
	assert_true(decision.modes[0] == MODE_OFF || decision.modes[1] == MODE_OFF);
}

static void nothing_is_given_up_where_it_costs_little(void **state)
{
	/* 20 us of probes. */
	const struct mode_input inputs[] = { operator_of(0, 10, 5000) };
	struct mode_bound bound = bound_of(1000000, 1000);
	struct decision decision = decide(inputs, 1, &bound);

	(void)state;
	assert_int_equal(decision.modes[0], MODE_EXACT);
	assert_int_equal(decision.prediction.added_ns, 20000);
	assert_int_equal(decision.prediction.exact_added_ns, 20000);
	assert_int_equal(decision.prediction.attempt_ns, 1000000);

	bound = bound_of(999999, 1000);
	decision = decide(inputs, 1, &bound);
	assert_int_equal(decision.modes[0], MODE_BEGIN_ONLY);
	assert_int_equal(decision.prediction.added_ns, 10000);
	assert_int_equal(decision.prediction.exact_added_ns, 20000);
}

static void a_bound_below_what_is_little_is_kept(void **state)
{
	const struct mode_input inputs[] = { operator_of(0, 10, 5000), operator_of(1, 1, 50000) };
	const struct mode_bound bound = bound_of(2000000, 5);
	const struct decision decision = decide(inputs, 2, &bound);

	(void)state;
	assert_int_equal(decision.modes[0], MODE_OFF);
	assert_int_equal(decision.modes[1], MODE_BEGIN_ONLY);
	assert_int_equal(decision.prediction.added_ns, 1000);
}

static void short_and_steady_operators_lose_their_end(void **state)
{
	struct mode_input inputs[] = {
		operator_of(0, 1, 5000),	operator_of(1, 1, 5000),
		operator_of(2, 1, 5000),	operator_of(3, 0, 0),
		row_of(MODE_SUBJECT_MEMORY, 1), operator_of(MODE_SUBJECT_NODES, 1, 10001),
	};
	struct mode_bound bound = bound_of(100000, 1000);
	struct decision decision;
	size_t i;

	(void)state;
	inputs[1].mean_ns = inputs[5].mean_ns = 10001;
	inputs[2].can_begin_only = false;
	decision = decide(inputs, COUNT_OF(inputs), &bound);
	assert_int_equal(decision.modes[0], MODE_BEGIN_ONLY);
	for (i = 1; i < COUNT_OF(inputs); i++)
		assert_row(i, decision.modes[i] == MODE_EXACT);
	inputs[1].mean_ns = inputs[5].mean_ns = 10000;
	assert_int_equal(decide(inputs, 2, &bound).modes[1], MODE_BEGIN_ONLY);
	assert_int_equal(decide(inputs, COUNT_OF(inputs), &bound).modes[5], MODE_BEGIN_ONLY);

	bound.exact = true;
	decision = decide(inputs, COUNT_OF(inputs), &bound);
	for (i = 0; i < COUNT_OF(inputs); i++)
		assert_row(i, decision.modes[i] == MODE_EXACT);
}

static void memory_that_was_not_asked_for_must_be_cheap(void **state)
{
	struct mode_input inputs[] = { row_of(MODE_SUBJECT_MEMORY, 5) };
	struct mode_bound bound = bound_of(100000, 1000);

	(void)state;
	inputs[0].is_optional = true;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_EXACT);
	bound.attempt_ns--;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_OFF);
	bound.exact = true;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_OFF);
	inputs[0].is_optional = false;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_EXACT);
}

/* Tightens the bound and writes down who falls to which mode, in order. */
struct fall {
	size_t index;
	enum wire_mode mode;
};

static size_t falls_of(const struct mode_input *inputs, size_t count, struct mode_bound bound,
		       struct fall *falls)
{
	uint8_t before[INPUTS_MAX] = { MODE_EXACT };
	struct decision decision;
	size_t fall_count = 0, i;
	uint64_t permille, last_ns = UINT64_MAX;

	for (permille = bound.max_overhead_permille + 1; permille--;) {
		bound.max_overhead_permille = permille;
		decision = decide(inputs, count, &bound);
		assert_row(permille, decision.prediction.added_ns <= last_ns);
		last_ns = decision.prediction.added_ns;
		for (i = 0; i < count; i++) {
			assert_row(permille, decision.modes[i] >= before[i]);
			if (decision.modes[i] == before[i])
				continue;
			falls[fall_count++] = (struct fall){ i, decision.modes[i] };
			before[i] = decision.modes[i];
		}
	}
	return fall_count;
}

static void assert_falls(const struct mode_input *inputs, size_t count, struct mode_bound bound,
			 const struct fall *expected, size_t expected_count)
{
	struct fall falls[2 * INPUTS_MAX];
	size_t fall_count = falls_of(inputs, count, bound, falls), i;

	assert_int_equal(fall_count, expected_count);
	for (i = 0; i < fall_count; i++) {
		assert_row(i, falls[i].index == expected[i].index);
		assert_row(i, falls[i].mode == expected[i].mode);
	}
}

static void what_costs_most_for_what_it_explains_goes_first(void **state)
{
	/* 2 us of probes each; each explains more than twice what the one before does. */
	struct mode_input inputs[] = {
		row_of(0, 1),
		operator_of(MODE_SUBJECT_NODES, 1, 40000),
		row_of(MODE_SUBJECT_MEMORY, 2),
		operator_of(1, 1, 15000),
		row_of(MODE_SUBJECT_SEQUENCES, 2),
		operator_of(2, 1, 5000),
	};
	static const struct fall expected[] = {
		{ 4, MODE_OFF },	{ 2, MODE_OFF },	{ 5, MODE_BEGIN_ONLY },
		{ 3, MODE_BEGIN_ONLY }, { 1, MODE_BEGIN_ONLY }, { 5, MODE_OFF },
		{ 3, MODE_OFF },	{ 1, MODE_OFF },
	};
	struct mode_bound bound = bound_of(20000, 1000);

	(void)state;
	inputs[0].is_fixed = true;
	inputs[2].self_ns = 500000; /* goes early whatever it is said to explain */
	inputs[4].self_ns = 1000000;
	bound.exact = true; /* so that all steps are in one order */
	assert_falls(inputs, COUNT_OF(inputs), bound, expected, COUNT_OF(expected));
}

static void an_end_is_a_tenth_of_an_operator(void **state)
{
	struct mode_input inputs[] = { operator_of(0, 1, 100000), operator_of(1, 1, 19000),
				       operator_of(2, 1, 21000) };
	/* 10 us for each us, against 2 us for 19 and for 21. */
	static const struct fall expected[] = {
		{ 1, MODE_OFF }, { 0, MODE_BEGIN_ONLY }, { 2, MODE_OFF }, { 0, MODE_OFF }
	};
	struct mode_bound bound = bound_of(20000, 1000);

	(void)state;
	inputs[0].mean_ns = 100000;
	inputs[1].can_begin_only = inputs[2].can_begin_only = false;
	assert_falls(inputs, COUNT_OF(inputs), bound, expected, COUNT_OF(expected));
}

static void a_dear_beginning_goes_with_its_end(void **state)
{
	struct mode_input inputs[] = { operator_of(0, 1, 5000) };
	static const struct fall expected[] = { { 0, MODE_OFF } };
	struct mode_bound bound = bound_of(100000, 1000);

	(void)state;
	bound.exact = true;
	inputs[0].entry_cost_ns = 10001;
	assert_falls(inputs, 1, bound, expected, 1);
}

static void equals_go_in_order_of_subject(void **state)
{
	struct mode_input inputs[] = { operator_of(7, 1, 5000), operator_of(3, 1, 5000),
				       operator_of(5, 1, 5000) };
	static const struct fall expected[] = { { 1, MODE_OFF }, { 2, MODE_OFF }, { 0, MODE_OFF } };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(inputs); i++)
		inputs[i].can_begin_only = false;
	assert_falls(inputs, COUNT_OF(inputs), bound_of(20000, 1000), expected, COUNT_OF(expected));
}

static void what_costs_nothing_or_is_fixed_stays(void **state)
{
	struct mode_input inputs[] = {
		operator_of(0, 0, 0),	/* not seen in warmup */
		operator_of(1, 100, 0), /* fixed */
		operator_of(2, 100, 1000000),	row_of(MODE_SUBJECT_SEQUENCES, 0),
		row_of(MODE_SUBJECT_MEMORY, 3),
	};
	const struct mode_bound bound = bound_of(1000, 0);
	struct decision decision;

	(void)state;
	inputs[1].is_fixed = inputs[1].is_optional = true;
	decision = decide(inputs, COUNT_OF(inputs), &bound);
	assert_int_equal(decision.modes[0], MODE_EXACT);
	assert_int_equal(decision.modes[1], MODE_EXACT);
	assert_int_equal(decision.modes[2], MODE_OFF);
	assert_int_equal(decision.modes[3], MODE_EXACT);
	assert_int_equal(decision.modes[4], MODE_OFF);
	assert_int_equal(decision.prediction.added_ns, 200000);
}

static void the_bound_is_held_against_more_than_is_predicted(void **state)
{
	const struct mode_input inputs[] = { row_of(0, 10) };
	struct mode_bound bound = bound_of(100000, 130);

	(void)state;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_EXACT);
	bound.max_overhead_permille = 129;
	assert_int_equal(decide(inputs, 1, &bound).modes[0], MODE_OFF);
}

static void an_attempt_is_what_is_known_of_it(void **state)
{
	static const struct {
		struct mode_bound bound;
		uint64_t attempt_ns, added_ns;
	} rows[] = {
		/* 100 us of probes in the learned time. */
		{ { 1100000, 4, 300000, 9999, false }, 300000, 25000 },
		{ { 1100000, 4, 0, 9999, false }, 250000, 25000 },
		{ { 1100000, 0, 300000, 9999, false }, 300000, 30000 },
		{ { 1100000, 0, 0, 9999, false }, 1000000, 100000 },
		/* More probes than time: they ran on many threads. */
		{ { 90000, 1, 0, 99999, false }, 9000, 100000 },
		{ { 90000, 0, 18000, 99999, false }, 18000, 200000 },
		/* Nothing was learned. */
		{ { 0, 0, 300000, 9999, false }, 300000, 100000 },
	};
	const struct mode_input inputs[] = { row_of(0, 100) };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		const struct decision decision = decide(inputs, 1, &rows[i].bound);

		assert_row(i, decision.prediction.attempt_ns == rows[i].attempt_ns);
		assert_row(i, decision.prediction.added_ns == rows[i].added_ns);
		assert_row(i, decision.prediction.exact_added_ns == rows[i].added_ns);
		assert_row(i, modes_cost_ns(inputs, MODE_EXACT, &decision.prediction) ==
				      rows[i].added_ns);
		assert_row(i, modes_cost_ns(inputs, MODE_OFF, &decision.prediction) == 0);
	}
}

static void the_cost_of_a_mode_is_for_an_attempt(void **state)
{
	struct mode_input input = operator_of(0, 30, 5000);
	const struct mode_bound bound = { .learned_ns = 1000000,
					  .learned_attempts = 10,
					  .max_overhead_permille = 1000 };
	const struct decision decision = decide(&input, 1, &bound);

	(void)state;
	input.exit_cost_ns = 700;
	assert_int_equal(modes_cost_ns(&input, MODE_EXACT, &decision.prediction), 5100);
	assert_int_equal(modes_cost_ns(&input, MODE_BEGIN_ONLY, &decision.prediction), 3000);
	assert_int_equal(modes_cost_ns(&input, MODE_OFF, &decision.prediction), 0);
}

static void rare_operators_are_not_rounded_away(void **state)
{
	struct mode_input inputs[INPUTS_MAX];
	const struct mode_bound bound = { .learned_ns = 1000000000,
					  .learned_attempts = 1001,
					  .max_overhead_permille = 1000 };
	size_t i;

	(void)state;
	for (i = 0; i < INPUTS_MAX; i++)
		inputs[i] = row_of((uint32_t)i, 1); /* 0.999 ns an attempt */
	assert_int_equal(decide(inputs, INPUTS_MAX, &bound).prediction.added_ns, 15);
}

static void extreme_numbers_do_not_overflow(void **state)
{
	struct mode_input inputs[INPUTS_MAX];
	struct mode_bound bound;
	struct decision decision;
	size_t i;

	(void)state;
	memset(inputs, 0, sizeof(inputs));
	memset(&bound, 0, sizeof(bound));
	decision = decide(inputs, 0, &bound);
	assert_int_equal(decision.prediction.added_ns, 0);
	decision = decide(inputs, INPUTS_MAX, &bound);
	for (i = 0; i < INPUTS_MAX; i++) {
		assert_row(i, decision.modes[i] == MODE_EXACT);
		inputs[i] = (struct mode_input){
			.subject = (uint32_t)i,
			.hits = UINT64_MAX,
			.self_ns = UINT64_MAX,
			.mean_ns = UINT64_MAX,
			.entry_cost_ns = UINT64_MAX,
			.exit_cost_ns = UINT64_MAX,
			.can_begin_only = i % 2,
			.is_fixed = i < 2,
		};
	}
	bound = (struct mode_bound){ UINT64_MAX, 0, UINT64_MAX, 1000, false };
	decision = decide(inputs, INPUTS_MAX, &bound);
	for (i = 0; i < INPUTS_MAX; i++)
		assert_row(i, decision.modes[i] == (i < 2 ? MODE_EXACT : MODE_OFF));
	assert_true(decision.prediction.added_ns == UINT64_MAX);
	bound.learned_attempts = UINT64_MAX; /* a sum that has no number stays one */
	decision = decide(inputs, INPUTS_MAX, &bound);
	assert_true(decision.prediction.exact_added_ns == UINT64_MAX);
	bound.max_overhead_permille = UINT64_MAX;
	decision = decide(inputs, INPUTS_MAX, &bound);
	assert_int_equal(decision.modes[2], MODE_EXACT);
}

/* Numbers of any size, small ones as often as large ones. */
static uint64_t random_size(uint64_t *state, unsigned int bits_max)
{
	uint64_t bits = random_next(state) % (bits_max + 1);

	return bits ? random_next(state) >> (64 - bits) : 0;
}

static struct mode_input random_input(uint64_t *state, uint32_t subject, unsigned int bits)
{
	static const uint32_t others[] = { MODE_SUBJECT_NODES, MODE_SUBJECT_SEQUENCES,
					   MODE_SUBJECT_MEMORY };
	uint64_t flags = random_next(state);

	return (struct mode_input){
		.subject = subject < COUNT_OF(others) ? others[subject] : subject,
		.hits = random_size(state, bits),
		.self_ns = random_size(state, 2 * bits),
		.mean_ns = random_size(state, bits),
		.entry_cost_ns = random_size(state, bits),
		.exit_cost_ns = flags & 1 ? random_size(state, bits) : 0,
		.can_begin_only = flags & 2,
		.is_fixed = !(flags & (15 << 4)),
		.is_optional = !(flags & (15 << 8)),
	};
}

static long double input_cost(const struct mode_input *input, uint8_t mode)
{
	long double hit_ns = 0;

	if (mode != MODE_OFF)
		hit_ns += (long double)input->entry_cost_ns;
	if (mode == MODE_EXACT)
		hit_ns += (long double)input->exit_cost_ns;
	return hit_ns * (long double)input->hits;
}

static void check_prediction(const struct mode_input *inputs, size_t count,
			     const struct mode_bound *bound, const struct decision *decision)
{
	const struct mode_prediction *prediction = &decision->prediction;
	long double added_ns = 0, scale;
	bool can_give_up = false;
	size_t i;

	for (i = 0; i < count; i++) {
		assert_true(decision->modes[i] < MODE_CNT);
		assert_true(!inputs[i].is_fixed || decision->modes[i] == MODE_EXACT);
		assert_true(decision->modes[i] != MODE_BEGIN_ONLY || inputs[i].can_begin_only ||
			    inputs[i].subject == MODE_SUBJECT_NODES);
		added_ns += input_cost(&inputs[i], decision->modes[i]);
		can_give_up |=
			!inputs[i].is_fixed && input_cost(&inputs[i], decision->modes[i]) > 0;
	}
	scale = (long double)prediction->numerator / (long double)prediction->denominator;
	added_ns *= scale;
	assert_true(prediction->added_ns <= prediction->exact_added_ns);
	if (added_ns < 1e18L) {
		assert_true((long double)prediction->added_ns <= added_ns * 1.000001L);
		assert_true((long double)prediction->added_ns >= added_ns * 0.999999L - 1);
	}
	assert_true(!can_give_up || (long double)prediction->added_ns * 1.3L <=
					    (long double)prediction->attempt_ns *
						    (long double)bound->max_overhead_permille /
						    1000 * 1.000001L);
}

/* The same inputs in another order fall to the same modes, and a tighter bound keeps no more. */
static void check_order(const struct mode_input *inputs, size_t count, struct mode_bound bound,
			const struct decision *decision, uint64_t *random)
{
	struct mode_input turned[INPUTS_MAX];
	size_t turn = random_next(random) % count, i;
	struct decision other;

	for (i = 0; i < count; i++)
		turned[i] = inputs[(i + turn) % count];
	other = decide(turned, count, &bound);
	for (i = 0; i < count; i++)
		assert_int_equal(other.modes[i], decision->modes[(i + turn) % count]);
	bound.max_overhead_permille -= random_next(random) % (bound.max_overhead_permille + 1);
	other = decide(inputs, count, &bound);
	for (i = 0; i < count; i++)
		assert_true(other.modes[i] >= decision->modes[i]);
	assert_true(other.prediction.added_ns <= decision->prediction.added_ns);
}

static void any_input_keeps_the_bound_or_loses_all(void **state)
{
	uint64_t random = 20260401;
	int i;

	(void)state;
	for (i = 0; i < 20000; i++) {
		unsigned int bits = i % 4 ? 14 : 32; /* likely and absurd numbers */
		size_t count = 1 + random_next(&random) % INPUTS_MAX, at;
		struct mode_input inputs[INPUTS_MAX];
		struct mode_bound bound = {
			.learned_ns = random_size(&random, 2 * bits),
			.learned_attempts = random_size(&random, 4),
			.attempt_ns = i % 3 ? random_size(&random, 2 * bits) : 0,
			.max_overhead_permille = random_size(&random, 12),
			.exact = i % 5 == 0,
		};
		struct decision decision;

		for (at = 0; at < count; at++)
			inputs[at] = random_input(&random, (uint32_t)at, bits);
		decision = decide(inputs, count, &bound);
		check_prediction(inputs, count, &bound, &decision);
		check_order(inputs, count, bound, &decision, &random);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_given_up_where_it_costs_little),
		cmocka_unit_test(what_prefers_to_be_exact_gives_up_its_ends_for_the_bound_alone),
		cmocka_unit_test(a_bound_below_what_is_little_is_kept),
		cmocka_unit_test(short_and_steady_operators_lose_their_end),
		cmocka_unit_test(memory_that_was_not_asked_for_must_be_cheap),
		cmocka_unit_test(what_costs_most_for_what_it_explains_goes_first),
		cmocka_unit_test(an_end_is_a_tenth_of_an_operator),
		cmocka_unit_test(a_dear_beginning_goes_with_its_end),
		cmocka_unit_test(equals_go_in_order_of_subject),
		cmocka_unit_test(what_costs_nothing_or_is_fixed_stays),
		cmocka_unit_test(the_bound_is_held_against_more_than_is_predicted),
		cmocka_unit_test(an_attempt_is_what_is_known_of_it),
		cmocka_unit_test(the_cost_of_a_mode_is_for_an_attempt),
		cmocka_unit_test(rare_operators_are_not_rounded_away),
		cmocka_unit_test(extreme_numbers_do_not_overflow),
		cmocka_unit_test(any_input_keeps_the_bound_or_loses_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
