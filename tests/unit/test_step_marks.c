/* Where the ProfilerStep annotations begin and end, and what is their own time. */
#include "support/test.h"

#include "analyze/spans.h"
#include "analyze/step_marks.h"
#include "analyze/window.h"
#include "support/records.h"
#include "support/span_recorder.h"

#define MAIN 7
#define OTHER 8

/* As the pipeline has it: a window, spans, marks behind the spans. */
struct fixture {
	struct name_table *names;
	struct span_recorder out;
	struct step_marks *marks;
	struct spans *spans;
	struct window *window;
	uint32_t attempts;
	uint64_t objects;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, 100) || window_new(&fixture->window))
		return -1;
	span_recorder_init(&fixture->out);
	*state = fixture;
	if (step_marks_new(&fixture->marks, &fixture->out.sink))
		return -1;
	return spans_new(&fixture->spans, fixture->names, step_marks_sink(fixture->marks), 100);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	spans_free(fixture->spans);
	step_marks_free(fixture->marks);
	window_free(fixture->window);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static void attempt_on(struct fixture *fixture, uint32_t tid, uint64_t time_ns,
		       enum wire_phase phase, enum wire_phase next_phase)
{
	struct wire_attempt record =
		record_attempt(time_ns, tid, fixture->attempts++, phase, next_phase);
	struct event event = event_of(&record);
	size_t index;

	assert_int_equal(window_attempt(fixture->window, &event), 0);
	assert_int_equal(step_marks_attempt(fixture->marks, fixture->spans, &event,
					    window_last(fixture->window, &index)->start_ns),
			 0);
}

static void attempt(struct fixture *fixture, uint64_t time_ns, enum wire_phase phase,
		    enum wire_phase next_phase)
{
	attempt_on(fixture, MAIN, time_ns, phase, next_phase);
}

static void begin_on(struct fixture *fixture, uint32_t tid, uint64_t time_ns, uint64_t object,
		     const char *name)
{
	struct wire_range_begin record = record_begin(time_ns, tid, object, name);
	struct event event = event_of(&record);

	assert_int_equal(spans_begin(fixture->spans, &event), 0);
}

static void end_on(struct fixture *fixture, uint32_t tid, uint64_t time_ns, uint64_t object)
{
	struct wire_range_end record = record_end(time_ns, tid, object);
	struct event event = event_of(&record);

	assert_int_equal(spans_end(fixture->spans, &event), 0);
}

/* A whole range of the main thread. */
static void range(struct fixture *fixture, uint64_t start_ns, uint64_t end_ns, const char *name)
{
	uint64_t object = 0x1000 + fixture->objects++;

	begin_on(fixture, MAIN, start_ns, object, name);
	end_on(fixture, MAIN, end_ns, object);
}

static void finish(struct fixture *fixture, uint64_t end_ns)
{
	assert_int_equal(spans_close_open(fixture->spans, end_ns), 0);
	assert_int_equal(step_marks_finish(fixture->marks), 0);
}

static const struct span *mark(const struct fixture *fixture, const char *name)
{
	const struct span *span = span_recorder_find(&fixture->out, name);

	assert_non_null(span);
	assert_true(span->is_step);
	return span;
}

#define assert_mark(fixture, name, from, to, self)              \
	do {                                                    \
		const struct span *mark_ = mark(fixture, name); \
		assert_int_equal(mark_->start_ns, from);        \
		assert_int_equal(mark_->end_ns, to);            \
		assert_int_equal(mark_->self_ns, self);         \
	} while (0)

static void a_step_runs_from_boundary_to_boundary(void **state)
{
	struct fixture *fixture = *state;
	const struct span *first;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	range(fixture, 110, 130, "forward");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_AFTER);
	attempt(fixture, 400, PHASE_AFTER, PHASE_AFTER);
	finish(fixture, 300);
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 80);
	assert_mark(fixture, "ProfilerStep#2", 200, 300, 100);
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#0"));
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#3"));
	first = mark(fixture, "ProfilerStep#1");
	assert_int_equal(first->tid, MAIN);
	assert_int_equal(first->kind, SPAN_RANGE);
	assert_true(first->is_finished);
	assert_false(first->is_async);
	assert_false(step_marks_on_own_row(fixture->marks));
}

/* What the probes cost inside and what was allocated there belong to the step as well. */
static void a_step_has_what_its_spans_have(void **state)
{
	struct fixture *fixture = *state;
	struct span_sink *sink = step_marks_sink(fixture->marks);
	struct span span = {
		.name = "aten::mm",
		.id = 1,
		.start_ns = 110,
		.end_ns = 150,
		.probe_total_ns = 7,
		.total_bytes = { 64, -32 },
		.tid = MAIN,
		.is_top = true,
	};

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	assert_int_equal(sink->span(sink, &span), 0);
	span.is_top = false; /* counted by the one around it */
	assert_int_equal(sink->span(sink, &span), 0);
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 200);
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 60);
	assert_int_equal(mark(fixture, "ProfilerStep#1")->probe_total_ns, 7);
	assert_int_equal(mark(fixture, "ProfilerStep#1")->total_bytes[SPAN_CPU], 64);
	assert_int_equal(mark(fixture, "ProfilerStep#1")->total_bytes[SPAN_GPU], -32);
}

/* They are packed meanwhile: each is another one in all that it has. */
static void every_step_of_many_keeps_what_is_its_own(void **state)
{
	struct fixture *fixture = *state;
	struct span_sink *sink = step_marks_sink(fixture->marks);
	struct span spans[20], steps[COUNT_OF(spans)];
	uint64_t seed = 5, now_ns = 1000;
	size_t i;

	attempt(fixture, now_ns, PHASE_WARMUP, PHASE_ACTIVE);
	for (i = 0; i < COUNT_OF(spans); i++) {
		unsigned int keep = 30 + (unsigned int)i;
		uint32_t next_tid = i % 3 ? MAIN : OTHER;

		spans[i] = (struct span){
			.name = "aten::mm",
			.id = i + 1,
			.start_ns = now_ns,
			.end_ns = now_ns + (random_next(&seed) >> keep),
			.total_bytes = { (int64_t)random_next(&seed) >> keep,
					 (int64_t)random_next(&seed) >> keep },
			.tid = i % 3 == 1 ? OTHER : MAIN,
			.is_top = true,
		};
		spans[i].probe_total_ns = (spans[i].end_ns - now_ns) / 3;
		assert_int_equal(sink->span(sink, &spans[i]), 0);
		steps[i] = (struct span){ .start_ns = now_ns, .tid = next_tid };
		now_ns = spans[i].end_ns + i * 1000;
		steps[i].end_ns = now_ns;
		steps[i].self_ns = i * 1000;
		attempt_on(fixture, next_tid, now_ns, PHASE_ACTIVE, PHASE_ACTIVE);
	}
	finish(fixture, now_ns);
	for (i = 0; i < COUNT_OF(spans); i++) {
		const struct span *step = &fixture->out.spans[COUNT_OF(spans) + i];
		char name[32];

		snprintf(name, sizeof(name), "ProfilerStep#%zu", i + 1);
		assert_string_equal(step->name, name);
		assert_row(i, step->tid == steps[i].tid);
		assert_row(i, step->start_ns == steps[i].start_ns);
		assert_row(i, step->end_ns == steps[i].end_ns);
		assert_row(i, step->self_ns == steps[i].self_ns);
		assert_row(i, step->probe_total_ns == spans[i].probe_total_ns);
		assert_row(i, step->total_bytes[SPAN_CPU] == spans[i].total_bytes[SPAN_CPU]);
		assert_row(i, step->total_bytes[SPAN_GPU] == spans[i].total_bytes[SPAN_GPU]);
	}
}

static void annotations_have_ids_of_their_own(void **state)
{
	struct fixture *fixture = *state;
	size_t i, j;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	range(fixture, 110, 130, "forward");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	range(fixture, 210, 230, "forward");
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 300);
	assert_int_equal(fixture->out.count, 4);
	for (i = 0; i < 4; i++) {
		assert_int_not_equal(fixture->out.spans[i].id, 0);
		for (j = 0; j < i; j++)
			assert_int_not_equal(fixture->out.spans[i].id, fixture->out.spans[j].id);
	}
}

/* The boundary lies in Optimizer.step, inside train_step. */
static void an_edge_moves_to_the_end_of_the_enclosing_range(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 110, 1, "train_step");
	begin_on(fixture, MAIN, 150, 2, "Optimizer.step#SGD.step");
	end_on(fixture, MAIN, 195, 2);
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	end_on(fixture, MAIN, 220, 1);
	begin_on(fixture, MAIN, 230, 1, "train_step");
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_AFTER);
	end_on(fixture, MAIN, 310, 1);
	finish(fixture, 300);
	assert_false(step_marks_on_own_row(fixture->marks));
	/* Its own time: 100 to 110. */
	assert_mark(fixture, "ProfilerStep#1", 100, 220, 10);
	/* The next one begins where the one before ends. */
	assert_mark(fixture, "ProfilerStep#2", 220, 310, 10);
}

static void the_outermost_of_nested_ranges_moves_the_edge(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 110, 1, "batch");
	begin_on(fixture, MAIN, 120, 2, "train_step");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	end_on(fixture, MAIN, 210, 2);
	end_on(fixture, MAIN, 220, 1);
	finish(fixture, 200);
	assert_mark(fixture, "ProfilerStep#1", 100, 220, 10);
}

static void a_range_across_a_whole_step_gives_the_steps_a_row(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 150, 1, "epoch");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	range(fixture, 210, 250, "forward");
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_ACTIVE);
	end_on(fixture, MAIN, 350, 1);
	attempt(fixture, 400, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 400);
	assert_true(step_marks_on_own_row(fixture->marks));
	/* Nothing encloses anything on that row: all of a step is its own. */
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 100);
	assert_mark(fixture, "ProfilerStep#2", 200, 300, 100);
	assert_mark(fixture, "ProfilerStep#3", 300, 400, 100);
	for (i = 0; i < fixture->out.count; i++) {
		if (fixture->out.spans[i].is_step)
			assert_int_equal(fixture->out.spans[i].tid, 0);
	}
}

static void the_attempt_after_the_window_settles_the_last_edge(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 150, 1, "epoch");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	attempt(fixture, 300, PHASE_AFTER, PHASE_AFTER);
	finish(fixture, 200);
	assert_true(step_marks_on_own_row(fixture->marks));
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 100);
}

static void a_range_that_never_ends_does_not_move_the_edge(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 150, 1, "train_step");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 200);
	assert_false(step_marks_on_own_row(fixture->marks));
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 50);
}

static void ranges_of_other_threads_are_no_children(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, OTHER, 110, 1, "loader");
	end_on(fixture, OTHER, 160, 1);
	begin_on(fixture, OTHER, 170, 2, "loader");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_AFTER);
	end_on(fixture, OTHER, 320, 2);
	finish(fixture, 300);
	assert_false(step_marks_on_own_row(fixture->marks));
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 100);
	assert_mark(fixture, "ProfilerStep#2", 200, 300, 100);
}

static void an_asynchronous_range_is_no_child_and_no_edge(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 150, 1, "async");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	end_on(fixture, OTHER, 250, 1);
	finish(fixture, 200);
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 100);
}

static void nested_ranges_count_once(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	begin_on(fixture, MAIN, 110, 1, "outer");
	range(fixture, 120, 140, "inner");
	end_on(fixture, MAIN, 150, 1);
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 200);
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 60);
}

static void cycles_do_not_touch_each_other(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	range(fixture, 110, 150, "forward");
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_WAIT);
	attempt(fixture, 300, PHASE_WAIT, PHASE_WARMUP);
	attempt(fixture, 400, PHASE_WARMUP, PHASE_ACTIVE);
	range(fixture, 410, 430, "forward");
	attempt(fixture, 500, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 500);
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 60);
	assert_mark(fixture, "ProfilerStep#4", 400, 500, 80);
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#2"));
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#3"));
}

/* Its beginning is not known, so it has no annotation; the next one pays for nothing of it. */
static void a_step_behind_a_lost_boundary_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	fixture->attempts++; /* 1 is lost */
	range(fixture, 210, 290, "forward");
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_ACTIVE);
	range(fixture, 310, 320, "forward");
	attempt(fixture, 400, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 400);
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#1"));
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#2"));
	assert_mark(fixture, "ProfilerStep#3", 300, 400, 90);
}

static void a_first_attempt_that_is_active_is_left_out(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_ACTIVE, PHASE_ACTIVE);
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_AFTER);
	finish(fixture, 200);
	assert_null(span_recorder_find(&fixture->out, "ProfilerStep#0"));
	assert_mark(fixture, "ProfilerStep#1", 100, 200, 100);
}

static void spans_pass_through_unchanged(void **state)
{
	struct fixture *fixture = *state;
	const struct span span = { .name = "forward", .id = 5, .start_ns = 1, .end_ns = 2 };
	struct span_sink *sink = step_marks_sink(fixture->marks);

	assert_int_equal(sink->span(sink, &span), 0);
	assert_memory_equal(&fixture->out.spans[0], &span, sizeof(span));
	fixture->out.err = -EIO;
	assert_int_equal(sink->span(sink, &span), -EIO);
}

static void the_error_of_the_sink_ends_the_annotations(void **state)
{
	struct fixture *fixture = *state;

	attempt(fixture, 100, PHASE_WARMUP, PHASE_ACTIVE);
	attempt(fixture, 200, PHASE_ACTIVE, PHASE_ACTIVE);
	attempt(fixture, 300, PHASE_ACTIVE, PHASE_AFTER);
	fixture->out.err = -EIO;
	assert_int_equal(step_marks_finish(fixture->marks), -EIO);
	assert_int_equal(fixture->out.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_step_runs_from_boundary_to_boundary),
		TEST(a_step_has_what_its_spans_have),
		TEST(every_step_of_many_keeps_what_is_its_own),
		TEST(annotations_have_ids_of_their_own),
		TEST(an_edge_moves_to_the_end_of_the_enclosing_range),
		TEST(the_outermost_of_nested_ranges_moves_the_edge),
		TEST(a_range_across_a_whole_step_gives_the_steps_a_row),
		TEST(the_attempt_after_the_window_settles_the_last_edge),
		TEST(a_range_that_never_ends_does_not_move_the_edge),
		TEST(ranges_of_other_threads_are_no_children),
		TEST(an_asynchronous_range_is_no_child_and_no_edge),
		TEST(nested_ranges_count_once),
		TEST(cycles_do_not_touch_each_other),
		TEST(a_step_behind_a_lost_boundary_is_left_out),
		TEST(a_first_attempt_that_is_active_is_left_out),
		TEST(spans_pass_through_unchanged),
		TEST(the_error_of_the_sink_ends_the_annotations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
