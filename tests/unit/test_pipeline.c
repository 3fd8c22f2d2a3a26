/* Scripted records through the whole pipeline into files. */
#include "support/test.h"

#include <sys/stat.h>

#include "analyze/modules.h"
#include "support/call_records.h"
#include "support/pipeline_run.h"
#include "support/stderr_capture.h"

static void a_complete_capture_writes_every_file(void **state)
{
	struct run run;
	cJSON *trace;
	char *text;

	run_begin(&run, *state, "out", false);
	push_complete(&run);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->state, WINDOW_COMPLETE);
	assert_false(summary_has_lost_data(run.summary));
	assert_state(&run, "complete", "window_finished");
	trace = read_trace(&run);
	assert_int_equal(count_events(trace, "forward"), 2);
	assert_int_equal(count_events(trace, "ProfilerStep#2"), 1);
	assert_int_equal(count_events(trace, "ProfilerStep#3"), 1);
	assert_int_equal(count_events(trace, "thread_name"), 1);
	cJSON_Delete(trace);
	assert_true(temporary_dir_has(run.path,
				      "trace/node-1_42.1000000000001000000.pt.trace.json.gz"));
	text = temporary_dir_read(run.path, "cpu_ops.txt", NULL);
	assert_non_null(strstr(text, "ProfilerStep*        65.00%      13.000ms       100.00%"));
	assert_non_null(strstr(text, "Self CPU time total: 20.000ms"));
	free(text);
	text = temporary_dir_read(run.path, "steps.csv", NULL);
	assert_string_equal(text, "attempt,phase,start_ns,duration_ns,outcome\n"
				  "0,wait,,,applied\n"
				  "1,warmup,10000000,10000000,applied\n"
				  "2,active,20000000,10000000,applied\n"
				  "3,active,30000000,10000000,applied\n"
				  "4,after,40000000,10000000,applied\n");
	free(text);
	assert_non_null(
		strstr(memory_sink_text(&run.terminal), "complete: 2 active of 5 attempts"));
	assert_false(temporary_dir_has(run.path, "capture.raw"));
	assert_int_equal(count_temporary(&run), 0);
	run_end(&run);
}

static void the_profile_is_pending_meanwhile(void **state)
{
	struct run run;
	uint64_t last_ns;

	run_begin(&run, *state, "out", false);
	assert_false(temporary_dir_has(run.path, "profile.json"));
	push_session(&run);
	assert_state(&run, "pending", NULL);
	assert_int_equal(pipeline_attempts(run.pipeline, &last_ns), 0);
	assert_int_equal(last_ns, 0);
	push_attempt(&run, 10, 0, PHASE_WARMUP, PHASE_ACTIVE);
	push_attempt(&run, 25, 1, PHASE_ACTIVE, PHASE_ACTIVE);
	assert_int_equal(pipeline_attempts(run.pipeline, &last_ns), 2);
	assert_int_equal(last_ns, 15);
	push_begin(&run, 30, 1, "forward");
	assert_int_equal(pipeline_open_spans(run.pipeline), 1);
	assert_false(temporary_dir_has(run.path, "trace.json.gz"));
	run_end(&run);
	assert_int_equal(count_temporary(&run), 0);
}

static void a_window_that_is_cut_short_is_partial(void **state)
{
	struct run run;
	cJSON *trace;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 10, 0, PHASE_WARMUP, PHASE_ACTIVE);
	push_attempt(&run, 20, 1, PHASE_ACTIVE, PHASE_ACTIVE);
	push_begin(&run, 25, 1, "open");
	push_stop(&run, 30, STOP_INTERRUPTED);
	assert_int_equal(run_finish(&run), 0);
	assert_state(&run, "partial", "interrupted");
	assert_int_equal(run.summary->window_ns, 20);
	trace = read_trace(&run);
	assert_int_equal(count_events(trace, "open"), 1);
	assert_int_equal(run.summary->rows[1].unfinished, 1);
	cJSON_Delete(trace);
	run_end(&run);
}

static void no_window_is_no_capture(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_begin(&run, 5, 1, "outside");
	push_attempt(&run, 10, 0, PHASE_WAIT, PHASE_WAIT);
	push_stop(&run, 30, STOP_TIMEOUT);
	assert_int_equal(run_finish(&run), 0);
	assert_state(&run, "no_capture", "timeout");
	assert_false(temporary_dir_has(run.path, "trace.json.gz"));
	assert_false(temporary_dir_has(run.path, "cpu_ops.txt"));
	assert_true(temporary_dir_has(run.path, "steps.csv"));
	assert_int_equal(run.summary->row_count, 0);
	run_end(&run);
}

static void records_without_an_end_are_truncated(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_window(&run);
	assert_int_equal(run_finish(&run), 0);
	assert_state(&run, "partial", "capture_truncated");
	assert_int_equal(run.summary->loss[LOSS_CAPTURE_TRUNCATED], 1);
	assert_true(summary_has_lost_data(run.summary));
	run_end(&run);
}

static void an_open_window_that_is_truncated_ends_with_the_last_record(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 2000000, 0, PHASE_WARMUP, PHASE_ACTIVE);
	push_begin(&run, 2000500, 1, "open");
	push_begin(&run, 2000700, 2, "inner");
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->ended_ns, 2000700);
	assert_int_equal(run.summary->window_ns, 700);
	run_end(&run);
}

static void nothing_is_made_of_records_without_a_session(void **state)
{
	struct stderr_capture capture;
	struct run run;
	int err;

	run_begin(&run, *state, "out", false);
	push_window(&run);
	stderr_capture_begin(&capture);
	err = run_finish(&run);
	stderr_capture_end(&capture);
	assert_int_equal(err, -ENOEXEC);
	assert_false(temporary_dir_has(run.path, "profile.json"));
	run_end(&run);
}

static void only_the_first_session_counts(void **state)
{
	struct wire_session other = record_session(2);
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	strcpy(other.job.host, "elsewhere");
	push(&run, &other);
	push_stop(&run, 30, STOP_TIMEOUT);
	assert_int_equal(run_finish(&run), 0);
	assert_string_equal(run.summary->session->job.host, "node-1");
	run_end(&run);
}

static void losses_of_all_stages_are_told(void **state)
{
	struct wire_loss loss = { .header = record_header(WIRE_LOSS, sizeof(loss), 0, 60) };
	struct wire_header unknown = record_header(WIRE_WAKE, sizeof(unknown), 0, 60);
	struct wire_range_begin cut = record_begin(25000000, MAIN, 0xb, "cut");
	struct run run;

	loss.count[LOSS_RING_FULL] = 5;
	unknown.kind = 999;
	cut.header.flags = WIRE_NAME_TRUNCATED;
	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 10000000, 0, PHASE_WAIT, PHASE_WARMUP);
	push_attempt(&run, 20000000, 1, PHASE_WARMUP, PHASE_ACTIVE);
	push(&run, &cut);
	push(&run, &unknown);
	push(&run, &loss);
	push(&run, &loss);
	push_attempt(&run, 40000000, 4, PHASE_ACTIVE, PHASE_AFTER); /* 2 and 3 are lost */
	push_attempt(&run, 50000000, 3, PHASE_AFTER, PHASE_AFTER);  /* cannot be */
	push_stop(&run, 55000000, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->loss[LOSS_RING_FULL], 10);
	assert_int_equal(run.summary->loss[LOSS_ATTEMPT_LOG], 2);
	assert_int_equal(run.summary->loss[LOSS_BAD_RECORD], 2);
	assert_int_equal(run.summary->loss[LOSS_NAME_TRUNCATED], 1);
	run_end(&run);
}

/* The boundary into a window of one attempt is lost: what there is has its trace all the same. */
static void a_window_whose_beginning_is_lost_has_a_trace(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 10000000, 0, PHASE_WAIT, PHASE_WARMUP);
	push_attempt(&run, 30000000, 2, PHASE_ACTIVE, PHASE_AFTER);
	push_stop(&run, 55000000, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_true(run.summary->state == WINDOW_NO_CAPTURE ||
		    temporary_dir_has(run.path, "trace.json.gz"));
	run_end(&run);
}

static void push_module(struct run *run, uint64_t time_ns, enum wire_module_kind kind)
{
	struct wire_module record = record_module(time_ns, MAIN, kind, 0, 0xa, 0x10);

	push(run, &record);
}

static void calls_of_modules_are_those_of_the_window(void **state)
{
	const struct wire_symbol symbol = record_symbol(SYMBOL_PYTHON, 0x10, "Net");
	struct run run;
	cJSON *trace;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 10, 0, PHASE_WARMUP, PHASE_WARMUP);
	push(&run, &symbol);
	push_module(&run, 11, MODULE_BEGIN);
	push_attempt(&run, 20, 1, PHASE_WARMUP, PHASE_ACTIVE);
	push_module(&run, 21, MODULE_BEGIN); /* the one of warmup is over */
	push_begin(&run, 22, 1, "forward");
	push_end(&run, 25, 1);
	push_module(&run, 29, MODULE_END);
	push_module(&run, 30, MODULE_BEGIN);
	push_attempt(&run, 40, 2, PHASE_ACTIVE, PHASE_AFTER);
	push_stop(&run, 50, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->module_calls, 2);
	trace = read_trace(&run);
	assert_int_equal(count_events(trace, "nn.Module: Net_0"), 2);
	cJSON_Delete(trace);
	run_end(&run);
}

static void calls_of_modules_over_the_bound_are_lost_by_their_name(void **state)
{
	struct wire_module record;
	struct run run;
	unsigned int depth;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_attempt(&run, 20, 0, PHASE_WARMUP, PHASE_ACTIVE);
	for (depth = 0; depth < MODULES_OPEN_MAX + 3; depth++) {
		record = record_module(21 + depth, MAIN, MODULE_BEGIN, depth, 0xa, 0x10);
		push(&run, &record);
	}
	push_attempt(&run, 100, 1, PHASE_ACTIVE, PHASE_AFTER);
	push_stop(&run, 110, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->module_calls, MODULES_OPEN_MAX);
	assert_int_equal(run.summary->loss[LOSS_MODULE_TABLE_FULL], 3);
	assert_int_equal(run.summary->loss[LOSS_SYMBOL_TABLE_FULL], 0);
	run_end(&run);
}

static void a_second_clock_reading_is_the_drift(void **state)
{
	struct wire_clock later = record_clock(52000000, OFFSET_NS - 250);
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	push_window(&run);
	push(&run, &later);
	push_stop(&run, 55000000, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->real_offset_ns, OFFSET_NS);
	assert_int_equal(run.summary->real_offset_drift_ns, -250);
	run_end(&run);
}

/* The window's, and what was still there at the end. */
static void the_longest_detaching_is_told(void **state)
{
	static const uint32_t last_us[] = { 300, 90000 };
	static const uint64_t want_ns[] = { 40000000, 90000000 };
	static const char *const names[] = { "first", "second" };
	size_t i;

	for (i = 0; i < COUNT_OF(last_us); i++) {
		struct wire_probes off = {
			.header = record_header(WIRE_PROBES, sizeof(off), 0, 52000000),
			.duration_ns = 40000000,
		};
		struct wire_stop_record stop = record_stop(55000000, STOP_WINDOW_FINISHED);
		struct run run;

		stop.detach_us = last_us[i];
		run_begin(&run, *state, names[i], false);
		push_session(&run);
		push_window(&run);
		push(&run, &off);
		push(&run, &stop);
		assert_int_equal(run_finish(&run), 0);
		assert_row(i, run.summary->detach_ns == want_ns[i]);
		run_end(&run);
	}
}

static void push_probes(struct run *run, bool is_attached, bool is_part, uint64_t duration_ns,
			uint64_t time_ns)
{
	struct wire_probes record = {
		.header = record_header(WIRE_PROBES, sizeof(record), 0, time_ns),
		.duration_ns = duration_ns,
		.is_attached = is_attached,
		.is_part = is_part,
	};

	push(run, &record);
}

/* What counts attempts came first; and some of the window's went early. */
static void a_part_that_takes_longest_is_told_and_is_not_the_window(void **state)
{
	struct run run;

	run_begin(&run, *state, "parts", false);
	push_session(&run);
	push_probes(&run, true, true, 7000000, 1000000);
	push_attempt(&run, 10000000, 0, PHASE_WAIT, PHASE_WAIT);
	push_attempt(&run, 20000000, 1, PHASE_WAIT, PHASE_WAIT);
	push_probes(&run, true, false, 5000000, 21000000);
	push_probes(&run, false, true, 9000000, 22000000);
	push_attempt(&run, 30000000, 2, PHASE_WAIT, PHASE_WAIT);
	push_attempt(&run, 90000000, 3, PHASE_WAIT, PHASE_WAIT);
	push_probes(&run, false, false, 3000000, 91000000);
	assert_int_equal(run_finish(&run), 0);
	assert_int_equal(run.summary->attach_ns, 7000000);
	assert_int_equal(run.summary->detach_ns, 9000000);
	assert_int_equal(run.summary->median_ns[PHASE_WAIT], 10000000);
	run_end(&run);
}

/* Another file stands where an output should go. */
static void an_output_error_is_told_and_the_rest_is_written(void **state)
{
	struct stderr_capture capture;
	char path[TEMPORARY_PATH_BYTES];
	struct run run;
	int err;

	run_begin(&run, *state, "out", false);
	push_complete(&run);
	assert_int_equal(pipeline_output_error(run.pipeline), 0);
	temporary_dir_path(path, run.path, "cpu_ops.txt");
	assert_int_equal(mkdir(path, 0755), 0);
	stderr_capture_begin(&capture);
	err = run_finish(&run);
	assert_non_null(strstr(stderr_capture_end(&capture), "cpu_ops.txt"));
	assert_int_equal(err, 0);
	assert_int_equal(pipeline_output_error(run.pipeline), -EISDIR);
	assert_state(&run, "partial", "output_error");
	assert_true(temporary_dir_has(run.path, "trace.json.gz"));
	assert_true(temporary_dir_has(run.path, "steps.csv"));
	assert_int_equal(count_temporary(&run), 0);
	run_end(&run);
}

static void a_trace_that_cannot_be_made_is_an_output_error(void **state)
{
	struct stderr_capture capture;
	char path[TEMPORARY_PATH_BYTES];
	struct run run;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	temporary_dir_path(path, run.path, ".trace.json.gz.tmp");
	assert_int_equal(mkdir(path, 0755), 0);
	stderr_capture_begin(&capture);
	push_window(&run);
	stderr_capture_end(&capture);
	assert_int_equal(pipeline_output_error(run.pipeline), -EEXIST);
	push_stop(&run, 55000000, STOP_OUTPUT_ERROR);
	assert_int_equal(run_finish(&run), 0);
	assert_state(&run, "partial", "output_error");
	assert_false(temporary_dir_has(run.path, "trace.json.gz"));
	run_end(&run);
}

static void a_cancelled_capture_gives_up(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", true);
	push_complete(&run);
	run.cancelled = true;
	assert_int_equal(run_finish(&run), -ECANCELED);
	pipeline_free(run.pipeline);
	run.pipeline = NULL;
	out_dir_remove(run.dir);
	assert_int_not_equal(access(run.path, F_OK), 0);
	run_end(&run);
}

static void what_cannot_be_printed_is_no_failure(void **state)
{
	struct run run;

	run_begin(&run, *state, "out", false);
	push_complete(&run);
	run.terminal.limit_bytes = 20;
	assert_int_equal(run_finish(&run), 0); /* the files are there */
	assert_state(&run, "complete", "window_finished");
	run_end(&run);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, temporary_dir_setup, temporary_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_complete_capture_writes_every_file),
		TEST(the_profile_is_pending_meanwhile),
		TEST(a_window_that_is_cut_short_is_partial),
		TEST(no_window_is_no_capture),
		TEST(records_without_an_end_are_truncated),
		TEST(an_open_window_that_is_truncated_ends_with_the_last_record),
		TEST(nothing_is_made_of_records_without_a_session),
		TEST(only_the_first_session_counts),
		TEST(losses_of_all_stages_are_told),
		TEST(a_window_whose_beginning_is_lost_has_a_trace),
		TEST(calls_of_modules_are_those_of_the_window),
		TEST(calls_of_modules_over_the_bound_are_lost_by_their_name),
		TEST(a_second_clock_reading_is_the_drift),
		TEST(the_longest_detaching_is_told),
		TEST(a_part_that_takes_longest_is_told_and_is_not_the_window),
		TEST(an_output_error_is_told_and_the_rest_is_written),
		TEST(a_trace_that_cannot_be_made_is_an_output_error),
		TEST(a_cancelled_capture_gives_up),
		TEST(what_cannot_be_printed_is_no_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
