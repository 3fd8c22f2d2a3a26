/* Which moments are of a window, where a capture has several. */
#include "support/test.h"

#include "model/attempt_log.h"
#include "analyze/window_gaps.h"

struct fixture {
	struct attempt_log attempts;
	struct summary summary;
	struct window_gaps gaps;
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	window_gaps_free(&fixture->gaps);
	attempt_log_clear(&fixture->attempts);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, enum wire_phase phase, uint64_t start_ns, uint64_t end_ns)
{
	const struct attempt attempt = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.phase = (uint8_t)phase,
	};

	assert_int_equal(attempt_log_add(&fixture->attempts, &attempt), 0);
}

/* Two windows: 100 to 200, and 500 to 700. */
static void add_two_windows(struct fixture *fixture)
{
	add(fixture, PHASE_WAIT, 0, 40);
	add(fixture, PHASE_WARMUP, 40, 100);
	add(fixture, PHASE_ACTIVE, 100, 150);
	add(fixture, PHASE_ACTIVE, 150, 200);
	add(fixture, PHASE_WAIT, 200, 300);
	add(fixture, PHASE_WARMUP, 300, 500);
	add(fixture, PHASE_ACTIVE, 500, 700);
	add(fixture, PHASE_AFTER, 700, 800);
	fixture->summary.attempts = &fixture->attempts;
	fixture->summary.started_ns = 100;
	fixture->summary.ended_ns = 700;
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
}

static void what_lies_between_two_windows_is_of_none(void **state)
{
	static const struct {
		uint64_t time_ns;
		bool is_in_window;
	} moments[] = {
		{ 0, false },	{ 99, false },	{ 100, true },	{ 199, true }, { 200, false },
		{ 299, false }, { 300, false }, { 499, false }, { 500, true }, { 699, true },
		{ 700, false }, { 750, false }, { 900, false },
	};
	struct fixture *fixture = *state;
	size_t i;

	add_two_windows(fixture);
	for (i = 0; i < COUNT_OF(moments); i++)
		assert_row(i, window_gaps_is_in_window(&fixture->gaps, moments[i].time_ns) ==
				      moments[i].is_in_window);
}

/* The capture was ended in the middle of its second one. */
static void a_last_attempt_that_did_not_end_is_of_its_window(void **state)
{
	struct fixture *fixture = *state;

	add_two_windows(fixture);
	window_gaps_free(&fixture->gaps);
	fixture->summary.ended_ns = 5000;
	add(fixture, PHASE_WARMUP, 900, 1000);
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
	assert_false(window_gaps_is_in_window(&fixture->gaps, 950));
	assert_true(window_gaps_is_in_window(&fixture->gaps, 1000));
	assert_true(window_gaps_is_in_window(&fixture->gaps, 4999));
}

/* Nobody knows what it was. */
static void a_lost_attempt_is_no_gap(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_ACTIVE, 100, 200);
	add(fixture, PHASE_WAIT, 0, 0);
	add(fixture, PHASE_WAIT, 0, 300);
	add(fixture, PHASE_ACTIVE, 300, 400);
	fixture->summary.attempts = &fixture->attempts;
	fixture->summary.started_ns = 100;
	fixture->summary.ended_ns = 400;
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
	assert_int_equal(fixture->gaps.count, 0);
	assert_true(window_gaps_is_in_window(&fixture->gaps, 250));
}

/* From an end to a begin, in a long wait: it lasted for some time all the same. */
static void an_attempt_without_a_start_begins_where_the_one_before_ended(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, PHASE_ACTIVE, 100, 200);
	add(fixture, PHASE_WAIT, 0, 250);
	add(fixture, PHASE_WAIT, 250, 300);
	add(fixture, PHASE_WARMUP, 0, 350);
	add(fixture, PHASE_ACTIVE, 350, 400);
	fixture->summary.attempts = &fixture->attempts;
	fixture->summary.started_ns = 100;
	fixture->summary.ended_ns = 400;
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
	assert_int_equal(fixture->gaps.count, 1);
	assert_int_equal(fixture->gaps.gaps[0].begin_ns, 200);
	assert_int_equal(fixture->gaps.gaps[0].end_ns, 350);
}

static void without_attempts_the_edges_count(void **state)
{
	struct fixture *fixture = *state;

	fixture->summary.started_ns = 100;
	fixture->summary.ended_ns = 400;
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
	assert_true(window_gaps_is_in_window(&fixture->gaps, 399));
	assert_false(window_gaps_is_in_window(&fixture->gaps, 400));
}

/* Hundreds of cycles. */
static void there_may_be_many(void **state)
{
	struct fixture *fixture = *state;
	uint64_t i;

	for (i = 0; i < 500; i++) {
		add(fixture, PHASE_WARMUP, 1000 * i + 1, 1000 * i + 500);
		add(fixture, PHASE_ACTIVE, 1000 * i + 500, 1000 * i + 1000);
		add(fixture, PHASE_WAIT, 1000 * i + 1000, 1000 * i + 1001);
	}
	fixture->summary.attempts = &fixture->attempts;
	fixture->summary.started_ns = 500;
	fixture->summary.ended_ns = 500000;
	assert_int_equal(window_gaps_find(&fixture->gaps, &fixture->summary), 0);
	for (i = 500; i < 500000; i += 50)
		assert_row(i, window_gaps_is_in_window(&fixture->gaps, i) == (i % 1000 >= 500));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_lies_between_two_windows_is_of_none),
		TEST(a_last_attempt_that_did_not_end_is_of_its_window),
		TEST(a_lost_attempt_is_no_gap),
		TEST(an_attempt_without_a_start_begins_where_the_one_before_ended),
		TEST(without_attempts_the_edges_count),
		TEST(there_may_be_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
