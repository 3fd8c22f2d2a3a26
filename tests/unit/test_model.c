/* The spellings that the outputs share: one for each value, each a different one. */
#include "support/test.h"

#include "model/attempt.h"
#include "model/summary.h"

static const char *phase(unsigned int value)
{
	return attempt_phase_name((enum wire_phase)value);
}

static const char *outcome(unsigned int value)
{
	return attempt_outcome_name((enum wire_outcome)value);
}

static const char *stop(unsigned int value)
{
	return attempt_stop_name((enum wire_stop)value);
}

static const char *loss(unsigned int value)
{
	return summary_loss_name((enum wire_loss_cause)value);
}

static const char *window(unsigned int value)
{
	return summary_state_name((enum window_state)value);
}

static void every_value_has_its_own_spelling(void **state)
{
	static const struct {
		const char *(*name)(unsigned int value);
		unsigned int first, count;
	} rows[] = {
		{ phase, 0, PHASE_CNT },
		{ outcome, 0, OUTCOME_CNT },
		{ stop, STOP_NONE + 1, STOP_CNT },
		{ loss, 0, LOSS_CAUSE_CNT },
		{ window, 0, WINDOW_NO_CAPTURE + 1 },
	};
	unsigned int value, other;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		for (value = rows[i].first; value < rows[i].count; value++) {
			assert_non_null(rows[i].name(value));
			assert_int_not_equal(rows[i].name(value)[0], 0);
			for (other = rows[i].first; other < value; other++)
				assert_string_not_equal(rows[i].name(value), rows[i].name(other));
		}
	}
}

/* Readers of steps.csv and profile.json compare these. */
static void the_spellings_stay(void **state)
{
	(void)state;
	assert_string_equal(phase(PHASE_SKIP_FIRST), "skip_first");
	assert_string_equal(phase(PHASE_WAIT), "wait");
	assert_string_equal(phase(PHASE_WARMUP), "warmup");
	assert_string_equal(phase(PHASE_ACTIVE), "active");
	assert_string_equal(phase(PHASE_AFTER), "after");
	assert_string_equal(outcome(OUTCOME_UNKNOWN), "unknown");
	assert_string_equal(outcome(OUTCOME_APPLIED), "applied");
	assert_string_equal(outcome(OUTCOME_SKIPPED), "skipped");
	assert_string_equal(window(WINDOW_PENDING), "pending");
	assert_string_equal(window(WINDOW_COMPLETE), "complete");
	assert_string_equal(window(WINDOW_PARTIAL), "partial");
	assert_string_equal(window(WINDOW_NO_CAPTURE), "no_capture");
	assert_string_equal(stop(STOP_WINDOW_FINISHED), "window_finished");
	assert_string_equal(stop(STOP_INTERRUPTED), "interrupted");
	assert_string_equal(stop(STOP_TIMEOUT), "timeout");
	assert_string_equal(stop(STOP_TARGET_EXITED), "target_exited");
	assert_string_equal(stop(STOP_TARGET_EXEC), "target_exec");
	assert_string_equal(stop(STOP_OUTPUT_ERROR), "output_error");
}

static void values_outside_have_no_spelling_of_their_own(void **state)
{
	(void)state;
	assert_string_equal(phase(PHASE_CNT), "unknown");
	assert_string_equal(outcome(OUTCOME_CNT), "unknown");
	assert_null(stop(STOP_NONE));
	assert_null(stop(STOP_CNT));
	assert_string_equal(loss(LOSS_CAUSE_CNT), "unknown");
}

static void details_of_a_call_are_no_lost_data(void **state)
{
	unsigned int cause;

	(void)state;
	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		bool is_note = cause == LOSS_NAME_TRUNCATED || cause == LOSS_NAME_UNREADABLE ||
			       cause == LOSS_ARGUMENT_UNREADABLE;
		struct summary summary = { .loss = { 0 } };

		assert_false(summary_has_lost_data(&summary));
		summary.loss[cause] = 1;
		assert_int_equal(summary_loss_is_data((enum wire_loss_cause)cause), !is_note);
		assert_int_equal(summary_has_lost_data(&summary), !is_note);
	}
}

static void memory_adds_up_by_device(void **state)
{
	const struct memory_event events[] = {
		{ .size_bytes = 4096, .device_type = WIRE_DEVICE_CPU },
		{ .size_bytes = -1024, .device_type = WIRE_DEVICE_CPU },
		{ .size_bytes = 512, .device_type = 1 },
		{ .size_bytes = 1 << 20, .is_out_of_memory = true },
		{ .size_bytes = INT64_MAX, .device_type = 1 }, /* no such size, and no trap */
	};
	struct summary summary = { .memory_events = 0 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(events); i++)
		summary_add_memory(&summary, &events[i]);
	assert_int_equal(summary.memory_events, 5);
	assert_int_equal(summary.net_bytes[SPAN_CPU], 3072);
	assert_true(summary.net_bytes[SPAN_GPU] < 0);
}

static void memory_that_was_recorded_is_known(void **state)
{
	struct wire_session session = { .plan = { .activities = ACTIVITY_RANGES } };
	struct mode_row modes[] = { { .subject = MODE_SUBJECT_MEMORY, .mode = MODE_EXACT },
				    { .subject = MODE_SUBJECT_MEMORY, .mode = MODE_OFF } };
	struct summary summary = { .session = &session, .modes = modes };

	(void)state;
	assert_false(summary_has_memory(&summary));
	session.plan.activities |= ACTIVITY_MEMORY;
	assert_true(summary_has_memory(&summary)); /* none was allocated: that is an answer */
	summary.mode_count = 1;
	assert_true(summary_has_memory(&summary));
	summary.mode_count = 2; /* the last one counts */
	assert_int_equal(summary_mode(&summary, MODE_SUBJECT_MEMORY)->mode, MODE_OFF);
	assert_null(summary_mode(&summary, MODE_SUBJECT_NODES));
	assert_false(summary_has_memory(&summary));
	summary.old_frees = 1;
	assert_true(summary_has_memory(&summary));
}

static void device_memory_is_that_of_a_row(void **state)
{
	struct op_row rows[] = { { .self_bytes = { 1, -1 } }, { .self_bytes = { 0, 0 } } };
	struct summary summary = { .rows = rows, .row_count = COUNT_OF(rows) };

	(void)state;
	assert_false(summary_has_device_memory(&summary));
	rows[1].self_bytes[SPAN_GPU] = 1;
	assert_true(summary_has_device_memory(&summary));
}

static void shapes_are_missed_where_they_are_needed(void **state)
{
	struct table_options table = { .sort_by = SORT_COUNT };
	struct summary summary = { .table = NULL };

	(void)state;
	assert_int_equal(summary_table(&summary)->sort_by, SORT_SELF_CPU_TIME);
	assert_false(summary_lacks_shapes(&summary));
	summary.table = &table;
	assert_ptr_equal(summary_table(&summary), &table);
	assert_false(summary_lacks_shapes(&summary));
	table.group_by_shape = true;
	assert_true(summary_lacks_shapes(&summary));
	summary.has_shapes = true;
	assert_false(summary_lacks_shapes(&summary));
	table = (struct table_options){ .with_flops = true };
	summary.has_shapes = false;
	assert_true(summary_lacks_shapes(&summary));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_value_has_its_own_spelling),
		cmocka_unit_test(the_spellings_stay),
		cmocka_unit_test(values_outside_have_no_spelling_of_their_own),
		cmocka_unit_test(details_of_a_call_are_no_lost_data),
		cmocka_unit_test(memory_adds_up_by_device),
		cmocka_unit_test(memory_that_was_recorded_is_known),
		cmocka_unit_test(device_memory_is_that_of_a_row),
		cmocka_unit_test(shapes_are_missed_where_they_are_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
