/* capture.raw through the pipeline again, and records that no kernel would have written. */
#include "support/test.h"

#include "ingest/capture_file.h"
#include "support/pipeline_run.h"
#include "support/stderr_capture.h"

static void assert_same_file(const struct run *left, const struct run *right, const char *name)
{
	size_t left_size = 0, right_size = 0;
	char *left_bytes = temporary_dir_read(left->path, name, &left_size);
	char *right_bytes = temporary_dir_read(right->path, name, &right_size);

	if (!left_bytes || !right_bytes || left_size != right_size ||
	    memcmp(left_bytes, right_bytes, left_size))
		fail_msg("%s differs", name);
	free(left_bytes);
	free(right_bytes);
}

static void replay(const struct run *from, struct run *into)
{
	char path[TEMPORARY_PATH_BYTES];
	bool truncated = true;
	FILE *file;

	temporary_dir_path(path, from->path, "capture.raw");
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(capture_file_replay(file, pipeline_sink(into->pipeline), &truncated), 0);
	assert_false(truncated);
	fclose(file);
}

static void a_replay_gives_identical_files(void **state)
{
	static const char *const names[] = {
		"profile.json",
		"trace.json.gz",
		"trace/node-1_42.1000000000001000000.pt.trace.json.gz",
		"cpu_ops.txt",
		"steps.csv",
		"capture.raw",
	};
	struct run live, again;
	size_t i;

	run_begin(&live, *state, "live", true);
	push_complete(&live);
	assert_int_equal(run_finish(&live), 0);
	run_begin(&again, *state, "again", true);
	replay(&live, &again);
	assert_int_equal(run_finish(&again), 0);
	for (i = 0; i < COUNT_OF(names); i++)
		assert_same_file(&live, &again, names[i]);
	run_end(&live);
	run_end(&again);
}

#define HOSTILE "\x1b[2J\"},{\\\xff\xed\xa0\x80\n\x7f"

static void hostile_strings_leave_the_files_readable(void **state)
{
	struct wire_session session = record_session(1000000);
	struct wire_thread thread = record_thread(1, MAIN, "\"\\\x1b");
	struct run run;
	cJSON *trace;

	run_begin(&run, *state, "out", false);
	strcpy(session.job.host, "../../" HOSTILE);
	strcpy(session.job.process_name, HOSTILE);
	strcpy(session.job.command_line, HOSTILE);
	push(&run, &session);
	push(&run, &thread);
	push_attempt(&run, 20000000, 0, PHASE_WARMUP, PHASE_ACTIVE);
	push_begin(&run, 21000000, 0xa, HOSTILE);
	push_end(&run, 24000000, 0xa);
	push_attempt(&run, 30000000, 1, PHASE_ACTIVE, PHASE_AFTER);
	push_stop(&run, 55000000, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	assert_state(&run, "complete", "window_finished");
	trace = read_trace(&run);
	cJSON_Delete(trace);
	assert_null(strpbrk(memory_sink_text(&run.terminal), "\x1b\x7f"));
	/* The second name of the trace stays inside its directory. */
	assert_int_equal(run.summary->file_count, 4);
	assert_true(temporary_dir_has(run.path, run.summary->files[1].name));
	assert_null(strstr(run.summary->files[1].name + strlen("trace/"), "/"));
	run_end(&run);
}

/* Every number at its edge; a checker sees what overflows. */
static void hostile_numbers_do_not_overflow(void **state)
{
	static const int64_t offsets[] = { INT64_MAX, INT64_MIN, 0 };
	const uint64_t late_ns = 1ULL << 62;
	size_t i, j;

	for (i = 0; i < COUNT_OF(offsets); i++) {
		struct wire_session session = record_session(late_ns);
		struct run run;
		char name[16];
		cJSON *trace;

		snprintf(name, sizeof(name), "out%zu", i);
		run_begin(&run, *state, name, false);
		session.job.rank = INT32_MIN;
		session.job.namespace_pid = UINT32_MAX;
		push(&run, &session);
		for (j = 0; j < COUNT_OF(offsets); j++) {
			struct wire_clock clock =
				record_clock(late_ns, offsets[(i + j) % COUNT_OF(offsets)]);

			push(&run, &clock);
		}
		push_attempt(&run, late_ns, 0, PHASE_WARMUP, PHASE_ACTIVE);
		push_begin(&run, 0, 0xa, "early");
		push_end(&run, late_ns, 0xa);
		push_attempt(&run, 1, 1, PHASE_ACTIVE, PHASE_AFTER);
		push_stop(&run, 0, STOP_WINDOW_FINISHED);
		assert_int_equal(run_finish(&run), 0);
		assert_state(&run, "complete", "window_finished");
		trace = read_trace(&run);
		cJSON_Delete(trace);
		run_end(&run);
	}
}

static void random_records_do_no_harm(void **state)
{
	uint64_t random = 4711;
	struct stderr_capture capture;
	struct run run;
	int i;

	run_begin(&run, *state, "out", false);
	push_session(&run);
	for (i = 0; i < 20000; i++) {
		struct record_sink *sink = pipeline_sink(run.pipeline);
		struct wire_range_begin record =
			record_begin((uint64_t)i * 1000, MAIN, random_next(&random) % 8, "name");
		uint64_t draw = random_next(&random);

		if (draw % 4 == 1) {
			struct wire_attempt attempt = record_attempt(
				(uint64_t)i * 1000, MAIN, (uint32_t)i / 4 + (uint32_t)(draw >> 62),
				(enum wire_phase)((draw >> 8) % PHASE_CNT),
				(enum wire_phase)((draw >> 16) % PHASE_CNT));

			memcpy(&record, &attempt, sizeof(attempt));
		} else if (draw % 4 == 2) {
			record.header.kind = WIRE_RANGE_END;
		}
		if (draw % 64 == 63)
			((unsigned char *)&record)[(draw >> 8) % 48] = (unsigned char)(draw >> 32);
		assert_int_equal(sink->record(sink, &record,
					      record.header.size < sizeof(record)
						      ? record.header.size
						      : sizeof(record)),
				 0);
	}
	push_stop(&run, 30000000, STOP_WINDOW_FINISHED);
	stderr_capture_begin(&capture);
	i = run_finish(&run);
	stderr_capture_end(&capture);
	assert_int_equal(i, 0);
	run_end(&run);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, temporary_dir_setup, temporary_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_replay_gives_identical_files),
		TEST(hostile_strings_leave_the_files_readable),
		TEST(hostile_numbers_do_not_overflow),
		TEST(random_records_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
