/* Beginnings and ends of ranges, paired and nested. */
#include "support/test.h"

#include "analyze/spans.h"
#include "support/records.h"
#include "support/span_recorder.h"

#define OPEN_MAX 8

struct fixture {
	struct name_table *names;
	struct span_recorder out;
	struct spans *spans;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, 100))
		return -1;
	span_recorder_init(&fixture->out);
	*state = fixture;
	return spans_new(&fixture->spans, fixture->names, &fixture->out.sink, OPEN_MAX);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	spans_free(fixture->spans);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static void begin(struct fixture *fixture, uint64_t time_ns, uint32_t tid, uint64_t object,
		  const char *name)
{
	struct wire_range_begin record = record_begin(time_ns, tid, object, name);
	struct event event = event_of(&record);

	assert_int_equal(spans_begin(fixture->spans, &event), 0);
}

static void end(struct fixture *fixture, uint64_t time_ns, uint32_t tid, uint64_t object)
{
	struct wire_range_end record = record_end(time_ns, tid, object);
	struct event event = event_of(&record);

	assert_int_equal(spans_end(fixture->spans, &event), 0);
}

static const struct span *found(const struct fixture *fixture, const char *name)
{
	const struct span *span = span_recorder_find(&fixture->out, name);

	assert_non_null(span);
	return span;
}

static void an_end_makes_a_span(void **state)
{
	struct fixture *fixture = *state;
	const struct span *span = &fixture->out.spans[0];

	begin(fixture, 100, 7, 0xa, "forward");
	assert_int_equal(fixture->out.count, 0);
	assert_int_equal(spans_open_count(fixture->spans), 1);
	end(fixture, 130, 7, 0xa);
	assert_int_equal(fixture->out.count, 1);
	assert_int_equal(spans_open_count(fixture->spans), 0);
	assert_string_equal(span->name, "forward");
	assert_ptr_equal(span->name, name_table_add(fixture->names, "forward", 7));
	assert_int_equal(span->id, 1);
	assert_int_equal(span->start_ns, 100);
	assert_int_equal(span->end_ns, 130);
	assert_int_equal(span->self_ns, 30);
	assert_int_equal(span->tid, 7);
	assert_int_equal(span->kind, SPAN_RANGE);
	assert_true(span->is_finished);
	assert_true(span->is_top);
	assert_false(span->is_async);
	assert_false(span->is_step);
	assert_false(span->is_inferred || span->is_unwound || span->is_merged);
	assert_true(span->sequence == WIRE_SEQUENCE_NONE);
	assert_null(span->overload);
	assert_null(span->shapes);
	assert_int_equal(spans_open_calls(fixture->spans), 0);
}

static void the_self_time_leaves_direct_children_out(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "parent");
	begin(fixture, 10, 7, 2, "first");
	begin(fixture, 20, 7, 3, "grandchild");
	end(fixture, 30, 7, 3);
	end(fixture, 40, 7, 2);
	begin(fixture, 50, 7, 2, "second");
	end(fixture, 70, 7, 2);
	end(fixture, 100, 7, 1);
	assert_int_equal(found(fixture, "parent")->self_ns, 50);
	assert_int_equal(found(fixture, "first")->self_ns, 20);
	assert_int_equal(found(fixture, "grandchild")->self_ns, 10);
	assert_int_equal(found(fixture, "second")->self_ns, 20);
	assert_true(found(fixture, "parent")->is_top);
	assert_false(found(fixture, "first")->is_top);
	assert_false(found(fixture, "grandchild")->is_top);
}

static void ids_count_beginnings(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "a");
	begin(fixture, 1, 8, 2, "b");
	begin(fixture, 2, 7, 3, "c");
	end(fixture, 3, 7, 3);
	end(fixture, 4, 8, 2);
	end(fixture, 5, 7, 1);
	assert_int_equal(found(fixture, "a")->id, 1);
	assert_int_equal(found(fixture, "b")->id, 2);
	assert_int_equal(found(fixture, "c")->id, 3);
}

static void threads_do_not_nest_in_each_other(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "main");
	begin(fixture, 10, 8, 2, "worker");
	end(fixture, 20, 8, 2);
	end(fixture, 30, 7, 1);
	assert_int_equal(found(fixture, "main")->self_ns, 30);
	assert_true(found(fixture, "worker")->is_top);
}

static void an_end_on_another_thread_stands_outside_the_nesting(void **state)
{
	struct fixture *fixture = *state;
	const struct span *async;

	begin(fixture, 0, 7, 1, "parent");
	begin(fixture, 10, 7, 2, "async");
	begin(fixture, 20, 7, 3, "inside");
	end(fixture, 30, 7, 3);
	end(fixture, 60, 8, 2);
	end(fixture, 100, 7, 1);
	async = found(fixture, "async");
	assert_true(async->is_async);
	assert_true(async->is_finished);
	assert_int_equal(async->tid, 7);
	assert_int_equal(async->end_ns, 60);
	assert_int_equal(async->self_ns, 0);
	assert_false(async->is_top);
	/* The asynchronous one takes nothing off its parent; what lies in both does. */
	assert_int_equal(found(fixture, "parent")->self_ns, 90);
}

static void an_end_without_a_beginning_is_passed_over(void **state)
{
	struct fixture *fixture = *state;

	end(fixture, 10, 7, 1);
	assert_int_equal(fixture->out.count, 0);
	begin(fixture, 20, 7, 1, "range");
	end(fixture, 30, 7, 1);
	end(fixture, 40, 7, 1);
	assert_int_equal(fixture->out.count, 1);
}

static void a_reused_object_ends_the_range_before(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 10, 7, 1, "stale");
	begin(fixture, 30, 8, 1, "fresh");
	assert_int_equal(fixture->out.count, 1);
	assert_false(found(fixture, "stale")->is_finished);
	assert_int_equal(found(fixture, "stale")->end_ns, 30);
	assert_int_equal(spans_open_count(fixture->spans), 1);
	end(fixture, 50, 8, 1);
	assert_true(found(fixture, "fresh")->is_finished);
	assert_int_equal(found(fixture, "fresh")->start_ns, 30);
	assert_false(found(fixture, "fresh")->is_async);
}

static void a_partial_overlap_is_nobodys_parent(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "early");
	begin(fixture, 10, 7, 2, "late");
	end(fixture, 20, 7, 1);
	begin(fixture, 25, 7, 3, "inner");
	end(fixture, 27, 7, 3);
	end(fixture, 40, 7, 2);
	assert_int_equal(found(fixture, "early")->self_ns, 20);
	assert_int_equal(found(fixture, "late")->self_ns, 28);
	assert_true(found(fixture, "early")->is_top);
	assert_true(found(fixture, "late")->is_top);
	assert_false(found(fixture, "inner")->is_top);
}

static void overlapping_children_do_not_make_a_negative_self_time(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 9, "parent");
	begin(fixture, 0, 7, 1, "early");
	begin(fixture, 5, 7, 2, "late");
	end(fixture, 25, 7, 1);
	end(fixture, 30, 7, 2);
	end(fixture, 30, 7, 9);
	assert_int_equal(found(fixture, "parent")->self_ns, 0);
}

static void an_end_before_its_beginning_has_no_duration(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 100, 7, 1, "range");
	end(fixture, 90, 7, 1);
	assert_int_equal(found(fixture, "range")->end_ns, 100);
	assert_int_equal(found(fixture, "range")->self_ns, 0);
}

static void open_ranges_are_closed_innermost_first(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "outer");
	begin(fixture, 10, 7, 2, "middle");
	begin(fixture, 30, 7, 3, "inner");
	begin(fixture, 5, 8, 4, "elsewhere");
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	assert_int_equal(spans_open_count(fixture->spans), 0);
	assert_int_equal(fixture->out.count, 4);
	assert_int_equal(found(fixture, "inner")->self_ns, 70);
	assert_int_equal(found(fixture, "middle")->self_ns, 20);
	assert_int_equal(found(fixture, "outer")->self_ns, 10);
	assert_int_equal(found(fixture, "elsewhere")->self_ns, 95);
	assert_int_equal(found(fixture, "outer")->end_ns, 100);
	assert_false(found(fixture, "outer")->is_finished);
	assert_true(found(fixture, "outer") > found(fixture, "middle"));
	assert_true(found(fixture, "middle") > found(fixture, "inner"));
	/* Their ends may still come. */
	end(fixture, 110, 7, 1);
	assert_int_equal(fixture->out.count, 4);
}

static void a_closed_range_encloses_a_child_that_ended_late(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "outer");
	begin(fixture, 10, 7, 2, "inner");
	end(fixture, 120, 7, 2);
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	assert_int_equal(found(fixture, "outer")->end_ns, 120);
	assert_int_equal(found(fixture, "outer")->self_ns, 10);
}

static void a_closed_range_encloses_a_child_that_began_late(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "outer");
	begin(fixture, 150, 7, 2, "inner");
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	assert_int_equal(found(fixture, "inner")->end_ns, 150);
	assert_true(found(fixture, "outer")->end_ns >= found(fixture, "inner")->end_ns);
}

static void ranges_over_the_bound_are_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;
	uint64_t object;

	for (object = 0; object < OPEN_MAX + 3; object++)
		begin(fixture, object, 7, object, "deep");
	assert_int_equal(spans_open_count(fixture->spans), OPEN_MAX);
	assert_int_equal(spans_dropped(fixture->spans), 3);
	end(fixture, 50, 7, OPEN_MAX); /* of a dropped one */
	assert_int_equal(fixture->out.count, 0);
	end(fixture, 50, 7, 0);
	begin(fixture, 51, 7, 0, "again");
	assert_int_equal(spans_dropped(fixture->spans), 3);
	/* A reused object makes its own room. */
	begin(fixture, 52, 7, 0, "reused");
	assert_int_equal(spans_dropped(fixture->spans), 3);
	assert_int_equal(spans_open_count(fixture->spans), OPEN_MAX);
}

static void ranges_without_a_name_are_counted(void **state)
{
	static const uint16_t flags[] = { WIRE_NAME_UNREADABLE, WIRE_NAME_MISSING,
					  WIRE_NAME_MISSING | WIRE_NAME_TRUNCATED };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(flags); i++) {
		struct wire_range_begin record = record_begin(i, 7, i, "garbage");
		struct event event = event_of(&record);

		record.header.flags = flags[i];
		assert_int_equal(spans_begin(fixture->spans, &event), 0);
		end(fixture, 10, 7, i);
		assert_string_equal(fixture->out.spans[i].name, "(unnamed range)");
	}
	assert_int_equal(spans_nameless(fixture->spans), 3);
}

static void cut_names_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_begin record = record_begin(0, 7, 1, "the beginning of a long na");
	struct event event = event_of(&record);

	record.header.flags = WIRE_NAME_TRUNCATED;
	assert_int_equal(spans_begin(fixture->spans, &event), 0);
	end(fixture, 10, 7, 1);
	assert_int_equal(spans_cut_names(fixture->spans), 1);
	assert_int_equal(spans_nameless(fixture->spans), 0);
	assert_string_equal(fixture->out.spans[0].name, "the beginning of a long na");
}

/* As torch.profiler's tables count it. */
static void an_only_child_of_the_same_name_waits_for_its_parent(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "forward");
	begin(fixture, 10, 7, 2, "forward");
	end(fixture, 30, 7, 2);
	assert_int_equal(fixture->out.count, 0);
	end(fixture, 100, 7, 1);
	assert_int_equal(fixture->out.count, 2);
	assert_true(fixture->out.spans[0].is_merged);
	assert_int_equal(fixture->out.spans[0].self_ns, 20);
	assert_int_equal(fixture->out.spans[1].self_ns, 100);
	/* One that another follows does not wait longer than that. */
	begin(fixture, 200, 7, 1, "forward");
	begin(fixture, 210, 7, 2, "forward");
	end(fixture, 230, 7, 2);
	begin(fixture, 240, 7, 2, "forward");
	assert_int_equal(fixture->out.count, 3);
	end(fixture, 250, 7, 2);
	assert_int_equal(fixture->out.count, 4);
	end(fixture, 300, 7, 1);
	assert_false(fixture->out.spans[2].is_merged);
	assert_false(fixture->out.spans[3].is_merged);
	assert_int_equal(fixture->out.spans[4].self_ns, 70);
}

static void a_child_that_waits_is_not_lost(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "forward");
	begin(fixture, 10, 7, 2, "forward");
	end(fixture, 30, 7, 2);
	assert_int_equal(spans_close_open(fixture->spans, 50), 0);
	assert_int_equal(fixture->out.count, 2);
	assert_true(fixture->out.spans[0].is_merged);
	/* Left open: freed. */
	begin(fixture, 100, 7, 1, "forward");
	begin(fixture, 110, 7, 2, "forward");
	end(fixture, 130, 7, 2);
	assert_int_equal(fixture->out.count, 2);
}

static void the_outermost_range_since_a_time_is_found(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(spans_outermost_open(fixture->spans, 7, 0), 0);
	begin(fixture, 10, 7, 1, "epoch");
	begin(fixture, 15, 8, 9, "of another thread");
	assert_int_equal(spans_begun(fixture->spans), 2);
	begin(fixture, 20, 7, 2, "train_step");
	begin(fixture, 30, 7, 3, "optimizer");
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 0), 1);
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 2), 3);
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 4), 0);
	assert_int_equal(spans_outermost_open(fixture->spans, 9, 0), 0);
	end(fixture, 40, 7, 2);
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 2), 4);
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct wire_range_end record = record_end(10, 7, 1);
	struct event event = event_of(&record);

	fixture->out.err = -EIO;
	begin(fixture, 0, 7, 1, "a");
	begin(fixture, 1, 7, 2, "b");
	assert_int_equal(spans_end(fixture->spans, &event), -EIO);
	assert_int_equal(spans_open_count(fixture->spans), 1);
	assert_int_equal(spans_close_open(fixture->spans, 20), -EIO);
}

/* Objects are reused, threads come and go; leaks show under a checker. */
static void many_ranges_leave_nothing_behind(void **state)
{
	struct fixture *fixture = *state;
	uint64_t i;

	for (i = 0; i < 100000; i++) {
		begin(fixture, i * 4, (uint32_t)(i % 50), 0x1000 + i % 3, "outer");
		begin(fixture, i * 4 + 1, (uint32_t)(i % 50), 0x2000, "inner");
		end(fixture, i * 4 + 2, (uint32_t)(i % 50), 0x2000);
		if (i % 100) /* some ends are lost */
			end(fixture, i * 4 + 3, (uint32_t)(i % 50), 0x1000 + i % 3);
	}
	assert_int_equal(spans_close_open(fixture->spans, i * 4), 0);
	assert_int_equal(spans_open_count(fixture->spans), 0);
	assert_int_equal(fixture->out.count, 200000);
	assert_int_equal(spans_dropped(fixture->spans), 0);
}

static void open_ranges_may_be_freed(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture, 0, 7, 1, "open");
	begin(fixture, 0, 8, 2, "open");
	spans_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_end_makes_a_span),
		TEST(the_self_time_leaves_direct_children_out),
		TEST(ids_count_beginnings),
		TEST(threads_do_not_nest_in_each_other),
		TEST(an_end_on_another_thread_stands_outside_the_nesting),
		TEST(an_end_without_a_beginning_is_passed_over),
		TEST(a_reused_object_ends_the_range_before),
		TEST(a_partial_overlap_is_nobodys_parent),
		TEST(overlapping_children_do_not_make_a_negative_self_time),
		TEST(an_end_before_its_beginning_has_no_duration),
		TEST(open_ranges_are_closed_innermost_first),
		TEST(a_closed_range_encloses_a_child_that_ended_late),
		TEST(a_closed_range_encloses_a_child_that_began_late),
		TEST(ranges_over_the_bound_are_dropped_and_counted),
		TEST(ranges_without_a_name_are_counted),
		TEST(cut_names_are_counted),
		TEST(an_only_child_of_the_same_name_waits_for_its_parent),
		TEST(a_child_that_waits_is_not_lost),
		TEST(the_outermost_range_since_a_time_is_found),
		TEST(the_error_of_the_sink_comes_back),
		TEST(many_ranges_leave_nothing_behind),
		TEST(open_ranges_may_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
