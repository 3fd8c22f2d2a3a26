/* The attempts of a capture and the window that they make. */
#include "support/test.h"

#include "analyze/window.h"
#include "support/records.h"

static int setup(void **state)
{
	struct window *window = NULL;

	if (window_new(&window))
		return -1;
	*state = window;
	return 0;
}

static int teardown(void **state)
{
	window_free(*state);
	return 0;
}

static int attempt(struct window *window, uint64_t time_ns, uint32_t index, enum wire_phase phase,
		   enum wire_phase next_phase)
{
	struct wire_attempt record = record_attempt(time_ns, 7, index, phase, next_phase);
	struct event event = event_of(&record);

	return window_attempt(window, &event);
}

static struct attempt attempt_of(const struct summary *summary, size_t index)
{
	const struct attempt *found = NULL;
	struct attempt_cursor cursor;
	size_t i;

	attempt_cursor_init(&cursor, summary->attempts);
	for (i = 0; i <= index; i++) {
		found = attempt_cursor_next(&cursor);
		assert_non_null(found);
	}
	return *found;
}

static void a_window_runs_from_boundary_to_boundary(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };
	size_t index = 0;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WARMUP), 0);
	assert_false(window_is_active(window));
	assert_int_equal(attempt(window, 200, 1, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_true(window_is_active(window));
	assert_int_equal(window_last_start_ns(window), 200);
	assert_int_equal(window_last_end_ns(window), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_ACTIVE, PHASE_ACTIVE), 0);
	assert_true(window_is_active(window));
	assert_int_equal(attempt(window, 450, 3, PHASE_ACTIVE, PHASE_AFTER), 0);
	assert_false(window_is_active(window));
	assert_int_equal(window_last_end_ns(window), 450);
	assert_int_equal(attempt(window, 500, 4, PHASE_AFTER, PHASE_AFTER), 0);

	window_summarize(window, STOP_WINDOW_FINISHED, &summary);
	assert_int_equal(summary.state, WINDOW_COMPLETE);
	assert_int_equal(summary.stop, STOP_WINDOW_FINISHED);
	assert_int_equal(summary.attempt_count, 5);
	assert_int_equal(summary.active_count, 2);
	assert_int_equal(summary.outcome_count[OUTCOME_APPLIED], 5);
	assert_int_equal(summary.started_ns, 200);
	assert_int_equal(summary.ended_ns, 450);
	assert_int_equal(summary.window_ns, 250);
	assert_int_equal(window_last(window, &index)->end_ns, 500);
	assert_int_equal(index, 4);
}

static void an_attempt_keeps_its_boundaries(void **state)
{
	struct window *window = *state;
	struct wire_attempt record = record_attempt(250, 9, 1, PHASE_WARMUP, PHASE_ACTIVE);
	struct event event = event_of(&record);
	const struct attempt *last;
	size_t index;

	assert_null(window_last(window, &index));
	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WARMUP), 0);
	last = window_last(window, &index);
	assert_int_equal(last->start_ns, 0); /* what came before the first one was not seen */
	assert_int_equal(last->end_ns, 100);
	record.cycle = 2;
	record.outcome = OUTCOME_SKIPPED;
	assert_int_equal(window_attempt(window, &event), 0);
	last = window_last(window, &index);
	assert_int_equal(last->start_ns, 100);
	assert_int_equal(last->end_ns, 250);
	assert_int_equal(last->tid, 9);
	assert_int_equal(last->cycle, 2);
	assert_int_equal(last->phase, PHASE_WARMUP);
	assert_int_equal(last->outcome, OUTCOME_SKIPPED);
}

static void a_gap_is_filled_with_lost_attempts(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 400, 3, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 500, 4, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(window_lost_attempts(window), 2);
	window_summarize(window, STOP_TIMEOUT, &summary);
	assert_int_equal(summary.attempt_count, 5);
	assert_int_equal(attempt_of(&summary, 1).end_ns, 0);
	assert_int_equal(attempt_of(&summary, 2).end_ns, 0);
	assert_int_equal(attempt_of(&summary, 2).start_ns, 0);
	assert_int_equal(attempt_of(&summary, 3).start_ns, 0); /* its boundary was the lost one */
	assert_int_equal(attempt_of(&summary, 3).end_ns, 400);
	assert_int_equal(attempt_of(&summary, 4).start_ns, 400);
	assert_int_equal(summary.outcome_count[OUTCOME_UNKNOWN], 2);
	assert_int_equal(summary.outcome_count[OUTCOME_APPLIED], 3);
}

static void attempts_before_the_first_record_are_lost_ones(void **state)
{
	struct window *window = *state;

	assert_int_equal(attempt(window, 100, 2, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(window_lost_attempts(window), 2);
}

static void an_index_that_goes_back_is_refused(void **state)
{
	struct window *window = *state;
	size_t index;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 300, 1, PHASE_WARMUP, PHASE_ACTIVE), -EPROTO);
	assert_int_equal(attempt(window, 300, 0, PHASE_WARMUP, PHASE_ACTIVE), -EPROTO);
	assert_false(window_is_active(window));
	assert_int_equal(window_last(window, &index)->end_ns, 200);
	assert_int_equal(window_lost_attempts(window), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_WAIT, PHASE_WAIT), 0);
}

static void an_absurd_gap_is_refused(void **state)
{
	struct window *window = *state;
	size_t index;

	assert_int_equal(attempt(window, 100, UINT32_MAX, PHASE_WAIT, PHASE_WAIT), -EPROTO);
	assert_null(window_last(window, &index));
	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 100, 0x7fffffff, PHASE_WAIT, PHASE_WAIT), -EPROTO);
	assert_int_equal(window_lost_attempts(window), 0);
}

static void a_lost_boundary_into_the_window_opens_it_late(void **state)
{
	struct window *window = *state;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WARMUP), 0);
	/* 1, warmup, is lost: the beginning of 2 is not known, its end is the first sure time. */
	assert_int_equal(attempt(window, 300, 2, PHASE_ACTIVE, PHASE_ACTIVE), 0);
	assert_true(window_is_active(window));
	assert_int_equal(window_last_start_ns(window), 300);
	assert_int_equal(attempt(window, 400, 3, PHASE_ACTIVE, PHASE_AFTER), 0);
	assert_int_equal(window_last_end_ns(window), 400);
}

/* Records that contradict each other: the attempt's own phase counts. */
static void an_active_attempt_that_nobody_announced_opens_the_window(void **state)
{
	struct window *window = *state;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WARMUP), 0);
	assert_int_equal(attempt(window, 300, 1, PHASE_ACTIVE, PHASE_ACTIVE), 0);
	assert_true(window_is_active(window));
	assert_int_equal(window_last_start_ns(window), 100);
}

static void a_lost_boundary_out_of_the_window_is_made_good_by_the_next(void **state)
{
	struct window *window = *state;

	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_AFTER, PHASE_AFTER), 0);
	assert_false(window_is_active(window));
	assert_int_equal(window_last_end_ns(window), 300);
}

static void a_stop_closes_an_open_window(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };

	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_ACTIVE, PHASE_ACTIVE), 0);
	window_stop(window, 250);
	assert_false(window_is_active(window));
	assert_int_equal(window_last_end_ns(window), 250);
	window_summarize(window, STOP_INTERRUPTED, &summary);
	assert_int_equal(summary.window_ns, 150);
	assert_int_equal(summary.active_count, 1);
	assert_int_equal(summary.state, WINDOW_PARTIAL);
}

static void a_stop_leaves_a_closed_window_alone(void **state)
{
	struct window *window = *state;

	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_ACTIVE, PHASE_AFTER), 0);
	window_stop(window, 900);
	assert_int_equal(window_last_end_ns(window), 200);
}

static void a_stop_before_its_beginning_gives_no_negative_window(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };

	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	window_stop(window, 50);
	window_summarize(window, STOP_INTERRUPTED, &summary);
	assert_int_equal(summary.window_ns, 0);
}

static void repeated_windows_add_up(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };

	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_ACTIVE, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_WAIT, PHASE_WARMUP), 0);
	assert_int_equal(attempt(window, 400, 3, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(window_last_start_ns(window), 400);
	assert_int_equal(window_last_end_ns(window), 200);
	assert_int_equal(attempt(window, 450, 4, PHASE_ACTIVE, PHASE_AFTER), 0);
	window_summarize(window, STOP_WINDOW_FINISHED, &summary);
	assert_int_equal(summary.started_ns, 100);
	assert_int_equal(summary.ended_ns, 450);
	assert_int_equal(summary.window_ns, 150);
	assert_int_equal(summary.active_count, 2);
}

static void attempts_outside_that_ran_with_probes_are_disturbed(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };
	size_t i;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WARMUP), 0);
	window_attached(window, 110);
	assert_int_equal(attempt(window, 200, 1, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_ACTIVE, PHASE_AFTER), 0);
	assert_int_equal(attempt(window, 400, 3, PHASE_AFTER, PHASE_AFTER), 0);
	window_detached(window, 450);
	assert_int_equal(attempt(window, 500, 4, PHASE_AFTER, PHASE_AFTER), 0);
	assert_int_equal(attempt(window, 600, 5, PHASE_AFTER, PHASE_AFTER), 0);
	window_summarize(window, STOP_WINDOW_FINISHED, &summary);
	for (i = 0; i < 6; i++)
		assert_row(i, attempt_of(&summary, i).is_disturbed == (i == 3 || i == 4));
}

static void attempts_from_the_time_of_detaching_on_are_undisturbed(void **state)
{
	struct window *window = *state;
	size_t index;

	window_attached(window, 110);
	assert_int_equal(attempt(window, 200, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 300, 1, PHASE_ACTIVE, PHASE_WAIT), 0);
	window_detached(window, 400);
	assert_int_equal(attempt(window, 400, 2, PHASE_WAIT, PHASE_WAIT), 0);
	assert_true(window_last(window, &index)->is_disturbed);
	assert_int_equal(attempt(window, 500, 3, PHASE_WAIT, PHASE_WARMUP), 0);
	assert_false(window_last(window, &index)->is_disturbed);
}

/* A stop just behind the boundary into warmup. */
static void attempts_before_the_probes_are_undisturbed(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_WAIT, PHASE_WARMUP), 0);
	window_attached(window, 210);
	window_detached(window, 250);
	window_summarize(window, STOP_TIMEOUT, &summary);
	assert_false(attempt_of(&summary, 0).is_disturbed);
	assert_false(attempt_of(&summary, 1).is_disturbed);
}

/* The log of attempts is read from time to time, by a collector that may just have attached. */
static void attempts_that_are_read_late_are_undisturbed(void **state)
{
	struct window *window = *state;
	struct summary summary = { .session = NULL };
	size_t i;

	assert_int_equal(attempt(window, 100, 0, PHASE_WAIT, PHASE_WAIT), 0);
	window_attached(window, 310);
	assert_int_equal(attempt(window, 200, 1, PHASE_WAIT, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 300, 2, PHASE_WAIT, PHASE_WARMUP), 0);
	assert_int_equal(attempt(window, 400, 3, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 500, 4, PHASE_ACTIVE, PHASE_WAIT), 0);
	assert_int_equal(attempt(window, 600, 5, PHASE_WAIT, PHASE_WAIT), 0);
	window_summarize(window, STOP_INTERRUPTED, &summary);
	for (i = 0; i < 6; i++)
		assert_row(i, attempt_of(&summary, i).is_disturbed == (i == 5));
}

static int told_attempt(struct window *window, uint64_t time_ns, uint32_t index,
			enum wire_boundary boundary)
{
	struct wire_attempt record = record_attempt(time_ns, 7, index, PHASE_WAIT, PHASE_WAIT);
	struct event event = event_of(&record);

	record.boundary = boundary;
	return window_attempt(window, &event);
}

/* From an end to a begin is less than an attempt, from a begin to an end is more. */
static void an_attempt_between_two_kinds_of_boundaries_has_no_duration(void **state)
{
	static const struct {
		enum wire_boundary boundary;
		uint64_t start_ns;
	} rows[] = {
		{ BOUNDARY_END, 0 },	 { BOUNDARY_END, 100 },	     { BOUNDARY_BEGIN, 0 },
		{ BOUNDARY_BEGIN, 300 }, { BOUNDARY_DOUBTFUL, 400 }, { BOUNDARY_BEGIN, 500 },
		{ BOUNDARY_END, 0 },	 { BOUNDARY_END, 700 },
	};
	struct window *window = *state;
	struct summary summary = { .session = NULL };
	uint32_t i;

	for (i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(told_attempt(window, 100 * (i + 1), i, rows[i].boundary), 0);
	window_summarize(window, STOP_INTERRUPTED, &summary);
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, attempt_of(&summary, i).start_ns == rows[i].start_ns);
		assert_row(i, attempt_of(&summary, i).end_ns == 100 * (i + 1));
	}
	assert_int_equal(summary.attempt_count, COUNT_OF(rows));
	assert_int_equal(summary.begin_count, 3);
	assert_int_equal(summary.doubtful_count, 1);
}

static void the_reason_of_the_stop_gives_the_state(void **state)
{
	static const struct {
		enum wire_stop reason;
		enum window_state with_window, without;
	} rows[] = {
		{ STOP_NONE, WINDOW_PENDING, WINDOW_PENDING },
		{ STOP_WINDOW_FINISHED, WINDOW_COMPLETE, WINDOW_NO_CAPTURE },
		{ STOP_INTERRUPTED, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_TIMEOUT, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_TARGET_EXITED, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_TARGET_EXEC, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_OUTPUT_ERROR, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_ATTACH_FAILED, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
		{ STOP_CAPTURE_TRUNCATED, WINDOW_PARTIAL, WINDOW_NO_CAPTURE },
	};
	struct window *window = *state;
	size_t i;

	assert_int_equal(COUNT_OF(rows), STOP_CNT);
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct summary summary = { .session = NULL };

		window_summarize(window, rows[i].reason, &summary);
		assert_row(i, summary.state == rows[i].without);
	}
	assert_int_equal(attempt(window, 100, 0, PHASE_WARMUP, PHASE_ACTIVE), 0);
	assert_int_equal(attempt(window, 200, 1, PHASE_ACTIVE, PHASE_AFTER), 0);
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct summary summary = { .session = NULL };

		window_summarize(window, rows[i].reason, &summary);
		assert_row(i, summary.state == rows[i].with_window);
		assert_row(i, summary.stop == rows[i].reason);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_window_runs_from_boundary_to_boundary),
		TEST(an_attempt_keeps_its_boundaries),
		TEST(a_gap_is_filled_with_lost_attempts),
		TEST(attempts_before_the_first_record_are_lost_ones),
		TEST(an_index_that_goes_back_is_refused),
		TEST(an_absurd_gap_is_refused),
		TEST(a_lost_boundary_into_the_window_opens_it_late),
		TEST(an_active_attempt_that_nobody_announced_opens_the_window),
		TEST(a_lost_boundary_out_of_the_window_is_made_good_by_the_next),
		TEST(a_stop_closes_an_open_window),
		TEST(a_stop_leaves_a_closed_window_alone),
		TEST(a_stop_before_its_beginning_gives_no_negative_window),
		TEST(repeated_windows_add_up),
		TEST(attempts_outside_that_ran_with_probes_are_disturbed),
		TEST(attempts_from_the_time_of_detaching_on_are_undisturbed),
		TEST(attempts_before_the_probes_are_undisturbed),
		TEST(attempts_that_are_read_late_are_undisturbed),
		TEST(an_attempt_between_two_kinds_of_boundaries_has_no_duration),
		TEST(the_reason_of_the_stop_gives_the_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
