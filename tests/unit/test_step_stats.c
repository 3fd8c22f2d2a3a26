/* Medians of the step times by phase. */
#include "support/test.h"

#include "analyze/step_stats.h"

#define ATTEMPTS_MAX 16

struct fixture {
	struct attempt attempts[ATTEMPTS_MAX];
	struct summary summary;
	uint64_t now_ns;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->now_ns = 1000;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static struct attempt *add(struct fixture *fixture, enum wire_phase phase, uint64_t duration_ns)
{
	struct attempt *attempt = &fixture->attempts[fixture->summary.attempt_count++];

	attempt->phase = (uint8_t)phase;
	attempt->start_ns = fixture->now_ns;
	fixture->now_ns += duration_ns;
	attempt->end_ns = fixture->now_ns;
	return attempt;
}

static void summarize(struct fixture *fixture)
{
	struct attempt_log log = { 0 };
	size_t i;

	for (i = 0; i < fixture->summary.attempt_count; i++)
		assert_int_equal(attempt_log_add(&log, &fixture->attempts[i]), 0);
	fixture->summary.attempts = &log;
	step_stats_summarize(&fixture->summary);
	fixture->summary.attempts = NULL;
	attempt_log_clear(&log);
}

#define assert_median(fixture, phase, nanoseconds, of)                              \
	do {                                                                        \
		summarize(fixture);                                                 \
		assert_int_equal((fixture)->summary.median_ns[phase], nanoseconds); \
		assert_int_equal((fixture)->summary.median_of[phase], of);          \
	} while (0)

static void an_odd_number_has_a_middle(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_WAIT, 30);
	add(fixture, PHASE_WAIT, 10);
	add(fixture, PHASE_WAIT, 20);
	assert_median(fixture, PHASE_WAIT, 20, 3);
	assert_median(fixture, PHASE_ACTIVE, 0, 0);
}

static void an_even_number_has_two(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_WAIT, 40);
	add(fixture, PHASE_WAIT, 10);
	add(fixture, PHASE_WAIT, 30);
	add(fixture, PHASE_WAIT, 21);
	assert_median(fixture, PHASE_WAIT, 25, 4);
}

static void one_is_its_own_median(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_ACTIVE, 40);
	assert_median(fixture, PHASE_ACTIVE, 40, 1);
}

static void no_attempts_have_no_median(void **state)
{
	struct fixture *fixture = *state;
	unsigned int phase;

	for (phase = 0; phase < PHASE_CNT; phase++)
		assert_median(fixture, phase, 0, 0);
}

static void phases_do_not_mix(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_SKIP_FIRST, 1);
	add(fixture, PHASE_WAIT, 2);
	add(fixture, PHASE_WARMUP, 3);
	add(fixture, PHASE_ACTIVE, 4);
	add(fixture, PHASE_AFTER, 5);
	assert_median(fixture, PHASE_SKIP_FIRST, 1, 1);
	assert_median(fixture, PHASE_WAIT, 2, 1);
	assert_median(fixture, PHASE_WARMUP, 3, 1);
	assert_median(fixture, PHASE_ACTIVE, 4, 1);
	assert_median(fixture, PHASE_AFTER, 5, 1);
}

static void disturbed_attempts_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_ACTIVE, 50);
	add(fixture, PHASE_AFTER, 900)->is_disturbed = true;
	add(fixture, PHASE_AFTER, 40);
	add(fixture, PHASE_AFTER, 42);
	assert_median(fixture, PHASE_AFTER, 41, 2);
}

static void they_count_where_no_others_are_there(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_ACTIVE, 50);
	add(fixture, PHASE_AFTER, 900)->is_disturbed = true;
	add(fixture, PHASE_AFTER, 700)->is_disturbed = true;
	assert_median(fixture, PHASE_AFTER, 800, 2);
}

static void attempts_without_a_beginning_or_an_end_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_WAIT, 10)->start_ns = 0;
	add(fixture, PHASE_WAIT, 20)->end_ns = 0;
	add(fixture, PHASE_WAIT, 30);
	assert_median(fixture, PHASE_WAIT, 30, 1);
}

static void attempts_that_end_before_they_begin_are_left_out(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_WAIT, 10)->end_ns -= 20;
	add(fixture, PHASE_WAIT, 30);
	assert_median(fixture, PHASE_WAIT, 30, 1);
}

static void large_durations_do_not_overflow(void **state)
{
	struct fixture *fixture = *state;

	fixture->now_ns = 1;
	add(fixture, PHASE_WAIT, 1ULL << 62);
	fixture->now_ns = 1;
	add(fixture, PHASE_WAIT, (1ULL << 62) - 2);
	assert_median(fixture, PHASE_WAIT, (1ULL << 62) - 1, 2);
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Beside sorting, with many that are equal and lengths of every magnitude. */
static void medians_are_exact(void **state)
{
	uint64_t seed = 3, values[101];
	size_t count, round, i;

	(void)state;
	for (round = 0; round < 300; round++) {
		struct attempt_log log = { 0 };
		struct summary summary = { .attempts = &log };
		unsigned int keep = (unsigned int)(random_next(&seed) & 63);
		uint64_t expected;

		count = 1 + random_next(&seed) % COUNT_OF(values);
		for (i = 0; i < count; i++) {
			struct attempt attempt = { .start_ns = 1, .phase = PHASE_ACTIVE };

			values[i] = 1 + (random_next(&seed) >> 1 >> keep);
			attempt.end_ns = 1 + values[i];
			assert_int_equal(attempt_log_add(&log, &attempt), 0);
		}
		qsort(values, count, sizeof(*values), compare);
		expected = values[count / 2];
		if (count % 2 == 0)
			expected = values[count / 2 - 1] +
				   (values[count / 2] - values[count / 2 - 1]) / 2;
		step_stats_summarize(&summary);
		assert_row(round, summary.median_ns[PHASE_ACTIVE] == expected);
		assert_row(round, summary.median_of[PHASE_ACTIVE] == count);
		attempt_log_clear(&log);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_odd_number_has_a_middle),
		TEST(an_even_number_has_two),
		TEST(one_is_its_own_median),
		TEST(no_attempts_have_no_median),
		TEST(phases_do_not_mix),
		TEST(disturbed_attempts_are_left_out),
		TEST(they_count_where_no_others_are_there),
		TEST(attempts_without_a_beginning_or_an_end_are_left_out),
		TEST(attempts_that_end_before_they_begin_are_left_out),
		TEST(large_durations_do_not_overflow),
		TEST(medians_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
