/* The lines on stdout. */
#include "support/test.h"

#include "base/text.h"
#include "support/summaries.h"

struct fixture {
	struct capture capture;
	struct memory_sink memory;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	capture_init(&fixture->capture);
	memory_sink_init(&fixture->memory);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	memory_sink_fini(&fixture->memory);
	free(fixture);
	return 0;
}

static const char *lines(struct fixture *fixture)
{
	memory_sink_fini(&fixture->memory);
	memory_sink_init(&fixture->memory);
	assert_int_equal(capture_write(&fixture->capture, &fixture->memory, terminal_new), 0);
	return memory_sink_text(&fixture->memory);
}

#define assert_line(fixture, line) assert_non_null(strstr(lines(fixture), line "\n"))
#define assert_no_line(fixture, part) assert_null(strstr(lines(fixture), part))

static void a_complete_capture_is_told(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(strncmp(lines(fixture),
				 "complete: 2 active of 5 attempts seen "
				 "(5 applied, 0 skipped); window 25.0 ms\n",
				 77),
			 0);
	assert_line(fixture, "step time: unwatched 10.0 ms, active 12.5 ms (1.25x), after 10.0 ms");
	assert_line(fixture, "   50.0 %     1.5 calls/step  forward");
	assert_line(fixture, "   25.0 %     1.5 calls/step  ProfilerStep*");
	assert_line(fixture, "not seen: the cheap end of an attempt (range exit is missing in this "
			     "build)");
	assert_line(fixture,
		    "files: out/ (trace.json.gz 1.2 MB opens in ui.perfetto.dev, steps.csv 300 B)");
	assert_no_line(fixture, "LOST");
	assert_no_line(fixture, "no attempt was seen");
}

static void every_state_has_its_line(void **state)
{
	static const struct {
		enum window_state state;
		enum wire_stop stop;
		const char *begins, *ends;
	} rows[] = {
		{ WINDOW_PARTIAL, STOP_INTERRUPTED, "partial: ", "; interrupted\n" },
		{ WINDOW_PARTIAL, STOP_TIMEOUT, "partial: ", "; the timeout has passed\n" },
		{ WINDOW_PARTIAL, STOP_TARGET_EXITED, "partial: ", "; the job has exited\n" },
		{ WINDOW_PARTIAL, STOP_TARGET_EXEC, "partial: ", "(exec)\n" },
		{ WINDOW_PARTIAL, STOP_OUTPUT_ERROR, "partial: ", "could not be written\n" },
		{ WINDOW_PARTIAL, STOP_ATTACH_FAILED, "partial: ", "could not be attached\n" },
		{ WINDOW_PARTIAL, STOP_CAPTURE_TRUNCATED, "partial: ", "ends early\n" },
		{ WINDOW_NO_CAPTURE, STOP_TIMEOUT, "no_capture: ", "has passed\n" },
		{ WINDOW_PENDING, STOP_NONE, "pending: ", "; still running\n" },
	};
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		const char *text, *end;

		fixture->capture.summary.state = rows[i].state;
		fixture->capture.summary.stop = rows[i].stop;
		text = lines(fixture);
		end = strstr(text, rows[i].ends);
		assert_row(i, text_has_prefix(text, rows[i].begins));
		assert_row(i, end && end < strchr(text, '\n'));
	}
}

static void cuda_timing_is_unavailable_for_a_reason(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	summary->device.watch = DEVICE_NOT_USED;
	summary->device.reason = "the job does not use CUDA";
	assert_line(fixture, "not seen: GPU activity (the job does not use CUDA)");
	summary->device.watch = DEVICE_UNAVAILABLE;
	summary->device.reason = "no agent in the job";
	assert_line(fixture, "not seen: GPU activity; cuda timing: unavailable (no agent in the "
			     "job)");
	fixture->capture.session.plan.activities |= ACTIVITY_CUDA_CALLS;
	summary->cuda_calls_found = 415;
	summary->device.calls = 12;
	assert_line(fixture, "CUDA: 12 calls, seen by probes");
	assert_line(fixture, "not seen: GPU activity but its calls; cuda timing: unavailable (no "
			     "agent in the job)");
	fixture->capture.session.plan.activities =
		ACTIVITY_RANGES | ACTIVITY_CUDA_CALLS_UNSUPPORTED;
	assert_line(fixture, "not seen: GPU activity; cuda timing: unavailable (no agent in the "
			     "job; nor can this kernel probe the calls)");
	summary->device.watch = DEVICE_WATCHED;
	assert_no_line(fixture, "unavailable");
}

static void unknown_outcomes_are_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.outcome_count[OUTCOME_SKIPPED] = 1;
	fixture->capture.summary.outcome_count[OUTCOME_UNKNOWN] = 7;
	assert_non_null(strstr(lines(fixture), "(5 applied, 1 skipped, 7 unknown)"));
}

static void doubtful_attempts_are_told(void **state)
{
	struct fixture *fixture = *state;

	assert_null(strstr(lines(fixture), "a begin"));
	fixture->capture.summary.doubtful_count = 3;
	assert_non_null(
		strstr(lines(fixture),
		       "note: 3 attempts of the wait were told by a begin that may lie inside "
		       "of the attempt before it\n"));
}

static void no_attempts_are_explained(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	summary->state = WINDOW_NO_CAPTURE;
	summary->stop = STOP_TIMEOUT;
	summary->attempt_count = 0;
	summary->active_count = 0;
	summary->outcome_count[OUTCOME_APPLIED] = 0;
	summary->window_ns = 0;
	summary->row_count = 0;
	memset(summary->median_ns, 0, sizeof(summary->median_ns));
	assert_line(fixture, "no_capture: 0 active of 0 attempts seen (0 applied, 0 skipped); "
			     "the timeout has passed");
	assert_non_null(strstr(lines(fixture), "no attempt was seen: "));
	assert_no_line(fixture, "step time");
	assert_no_line(fixture, "where the step goes");
}

static void times_that_are_not_known_are_left_out(void **state)
{
	static const struct {
		uint64_t wait_ns, active_ns, after_ns;
		const char *line;
	} rows[] = {
		{ 10000000, 0, 0, "step time: unwatched 10.0 ms\n" },
		{ 0, 9990000, 0, "step time: active 9.99 ms\n" },
		{ 0, 12000000, 10000000, "step time: active 12.0 ms (1.20x), after 10.0 ms\n" },
		{ 0, 0, 999000, "step time: after 999 us\n" },
		{ 2000000000, 0, 1500000000, "step time: unwatched 2.00 s, after 1.50 s\n" },
	};
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		fixture->capture.summary.median_ns[PHASE_WAIT] = rows[i].wait_ns;
		fixture->capture.summary.median_ns[PHASE_ACTIVE] = rows[i].active_ns;
		fixture->capture.summary.median_ns[PHASE_AFTER] = rows[i].after_ns;
		assert_row(i, strstr(lines(fixture), rows[i].line) != NULL);
	}
}

static void losses_are_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.loss[LOSS_RING_FULL] = 12;
	fixture->capture.summary.loss[LOSS_NAME_TRUNCATED] = 3;
	assert_line(fixture, "LOST: ring_full 12");
	assert_line(fixture, "note: name_truncated 3");
}

static void what_found_the_rings_full_is_told(void **state)
{
	static const struct hole holes[] = { { 23000000, 24000000, 4, 0, 0 },
					     { 30000000, 30500000, 8, 0, 0 } };
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	summary->rings.count = 4;
	summary->rings.ring_bytes = 1 << 20;
	assert_no_line(fixture,
		       "  the rings were full (1.0 MB for each CPU): --ring-size takes more");
	summary->loss[LOSS_RING_FULL] = 12;
	summary->rings.lost[WIRE_OP_BEGIN] = 7;
	summary->rings.lost[WIRE_MEMORY] = 5;
	summary->holes = holes;
	summary->hole_count = 2;
	assert_line(fixture, "LOST: ring_full 12");
	assert_line(fixture,
		    "  of them 7 operator begins, 5 memory events; in 2 stretches of 1.50 ms "
		    "together, marked in the trace");
	assert_line(fixture, "  the rings were full (1.0 MB for each CPU): --ring-size takes more");
}

static void inferred_ends_are_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.operator_kinds = 41;
	assert_no_line(fixture, "operators:");
	fixture->capture.summary.inferred_kinds = 12;
	assert_line(fixture, "operators: 41 kinds, 12 of them with inferred ends (short ones; "
			     "--exact probes every end)");
}

static void what_was_given_up_is_told(void **state)
{
	struct fixture *fixture = *state;

	capture_record_all(&fixture->capture);
	capture_add_mode(&fixture->capture, 3, "aten::mm", MODE_BEGIN_ONLY);
	assert_no_line(fixture, "given up");
	capture_add_mode(&fixture->capture, 4, "aten::t", MODE_OFF);
	capture_add_mode(&fixture->capture, MODE_SUBJECT_NODES, "nodes", MODE_OFF);
	capture_add_mode(&fixture->capture, MODE_SUBJECT_MEMORY, "memory", MODE_OFF);
	assert_line(fixture,
		    "given up for its cost (--max-overhead 10%): 1 operator, autograd nodes, "
		    "memory; see timing.modes in profile.json");
	fixture->capture.modes[1].mode = MODE_EXACT;
	assert_line(fixture,
		    "given up for its cost (--max-overhead 10%): autograd nodes, memory; see "
		    "timing.modes in profile.json");
}

static void modules_are_told_where_they_were_asked_for(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.module_calls = 63;
	assert_no_line(fixture, "modules");
	fixture->capture.session.plan.activities |= ACTIVITY_MODULES;
	assert_line(fixture, "modules: 63 calls of nn.Module, in the trace");
	fixture->capture.summary.module_calls = 0;
	assert_line(fixture, "modules: none (no module was called in the window)");
}

static void how_probes_were_attached_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	fixture->capture.session.attached = ATTACHED_IN_BULK;
	summary->attach_ns = 77900000;
	assert_no_line(fixture, "probes");
	fixture->capture.session.attached = ATTACHED_BY_THREAD;
	assert_non_null(strstr(lines(fixture), "note: this kernel probes thread by thread"));
	fixture->capture.session.attached = ATTACHED_ONE_BY_ONE;
	assert_line(fixture, "note: 1 probes, attached one by one (no uprobe_multi); it took "
			     "up to 77.9 ms at a time");
	summary->detach_ns = 198000000;
	assert_line(fixture, "note: 1 probes, attached one by one (no uprobe_multi); it took "
			     "up to 77.9 ms at a time; to take them off up to 198.0 ms");
	fixture->capture.probes[0].activity = ACTIVITY_OPERATORS; /* found, and not attached */
	assert_non_null(strstr(lines(fixture), "note: 0 probes"));
}

static void what_the_kernel_cannot_do_is_told(void **state)
{
	struct fixture *fixture = *state;

	assert_no_line(fixture, "not seen: operators");
	fixture->capture.session.plan.activities = ACTIVITY_RANGES | ACTIVITY_UNSUPPORTED;
	assert_line(fixture, "not seen: operators, autograd, memory (this kernel cannot probe "
			     "them: uprobe_multi with a filter by process is missing)");
}

static void memory_is_told(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	assert_no_line(fixture, "memory:");
	summary->memory_events = 341;
	summary->net_bytes[SPAN_CPU] = 1258291;
	assert_line(fixture, "memory: net +1.2 MB on the CPU, 341 events");
	summary->net_bytes[SPAN_CPU] = -512;
	summary->net_bytes[SPAN_GPU] = 3 << 20;
	summary->old_frees = 12;
	summary->out_of_memory = 2;
	assert_line(fixture, "memory: net -512 B on the CPU, +3.0 MB on devices, 341 events; out "
			     "of memory 2 times; 12 frees of blocks older than the "
			     "window are not counted");
	summary->net_bytes[SPAN_CPU] = INT64_MIN;
	assert_non_null(strstr(lines(fixture), "memory: net -8388608.0 TB on the CPU"));
}

static void an_optional_site_is_not_missed(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.probes[1].optional = 1;
	assert_no_line(fixture, "is missing in this build");
}

static void no_directory_is_no_line(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.directory = NULL;
	assert_no_line(fixture, "files:");
}

/* What a terminal may be given: whole characters, no controls but the ends of lines. */
static void assert_harmless(const char *text)
{
	size_t left = strlen(text);

	while (left) {
		size_t length = text_utf8_length(text, left);
		unsigned char c = (unsigned char)*text;

		if (!length)
			fail_msg("no UTF-8: %.20s", text);
		if ((c < 0x20 && c != '\n') || c == 0x7f ||
		    (c == 0xc2 && (unsigned char)text[1] < 0xa0))
			fail_msg("a control byte: %#x", c);
		text += length;
		left -= length;
	}
}

static void hostile_names_do_not_reach_the_terminal(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.rows[0].name = HOSTILE_NAME;
	fixture->capture.summary.directory = HOSTILE_NAME;
	strcpy(fixture->capture.summary.files[2].name, "\x1b[31m");
	assert_harmless(lines(fixture));
}

/* A capture file that anybody may have written holds the plan as well. */
static void hostile_probe_points_do_not_reach_the_terminal(void **state)
{
	struct fixture *fixture = *state;

	strcpy(fixture->capture.probes[1].point, "\x1b]0;owned\x07");
	strcpy(fixture->capture.probes[1].cost, HOSTILE_NAME);
	assert_harmless(lines(fixture));
}

static void long_names_are_cut_between_characters(void **state)
{
	struct fixture *fixture = *state;
	char name[256] = "x";
	int i;

	for (i = 0; i < 100; i++)
		strcat(name, "\xc3\xa4");
	fixture->capture.rows[0].name = name;
	assert_harmless(lines(fixture));
}

static void a_line_tells_one_row(void **state)
{
	struct fixture *fixture = *state;
	const char *at = lines(fixture);
	int breaks = 0;

	for (; *at; at++)
		breaks += *at == '\n';
	/* State, times, head and three rows, two not seen, files. */
	assert_int_equal(breaks, 9);
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	size_t size_bytes = strlen(lines(fixture)), limit;

	for (limit = 0; limit < size_bytes; limit += 23) {
		struct memory_sink small;

		memory_sink_init_limited(&small, limit);
		assert_row(limit,
			   capture_write(&fixture->capture, &small, terminal_new) == -ENOSPC);
		memory_sink_fini(&small);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_complete_capture_is_told),
		TEST(every_state_has_its_line),
		TEST(unknown_outcomes_are_told),
		TEST(cuda_timing_is_unavailable_for_a_reason),
		TEST(doubtful_attempts_are_told),
		TEST(no_attempts_are_explained),
		TEST(times_that_are_not_known_are_left_out),
		TEST(losses_are_told),
		TEST(what_found_the_rings_full_is_told),
		TEST(inferred_ends_are_told),
		TEST(what_was_given_up_is_told),
		TEST(modules_are_told_where_they_were_asked_for),
		TEST(how_probes_were_attached_is_told),
		TEST(what_the_kernel_cannot_do_is_told),
		TEST(memory_is_told),
		TEST(an_optional_site_is_not_missed),
		TEST(no_directory_is_no_line),
		TEST(hostile_names_do_not_reach_the_terminal),
		TEST(hostile_probe_points_do_not_reach_the_terminal),
		TEST(long_names_are_cut_between_characters),
		TEST(a_line_tells_one_row),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
