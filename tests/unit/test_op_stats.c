/* The rows of the operator table. */
#include "support/test.h"

#include "analyze/op_stats.h"
#include "base/name_table.h"
#include "support/shapes.h"

struct fixture {
	struct name_table *names;
	struct op_stats *stats;
	struct summary summary;
};

#define NAMES_MAX 12

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, NAMES_MAX))
		return -1;
	*state = fixture;
	return op_stats_new(&fixture->stats, NULL);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	op_stats_free(fixture->stats);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static struct span span_of(struct fixture *fixture, const char *name, uint64_t total_ns,
			   uint64_t self_ns)
{
	return (struct span){
		.name = name_table_add(fixture->names, name, strlen(name)),
		.start_ns = 1000,
		.end_ns = 1000 + total_ns,
		.self_ns = self_ns,
		.is_finished = true,
	};
}

static void add(struct fixture *fixture, const char *name, uint64_t total_ns, uint64_t self_ns)
{
	struct span span = span_of(fixture, name, total_ns, self_ns);

	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
}

/* An operator's call. */
static struct span call_of(struct fixture *fixture, const char *name, const char *overload)
{
	struct span span = span_of(fixture, name, 100, 100);

	span.kind = SPAN_OPERATOR;
	span.overload = name_table_add(fixture->names, overload, strlen(overload));
	return span;
}

static void regroup(struct fixture *fixture, bool by_shape, bool by_overload)
{
	const struct table_options table = { .group_by_shape = by_shape,
					     .group_by_overload = by_overload };

	op_stats_free(fixture->stats);
	assert_int_equal(op_stats_new(&fixture->stats, &table), 0);
}

static const struct op_row *row(struct fixture *fixture, size_t index)
{
	assert_int_equal(op_stats_summarize(fixture->stats, &fixture->summary), 0);
	assert_true(index < fixture->summary.row_count);
	return &fixture->summary.rows[index];
}

static void calls_and_times_add_up_by_name(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "forward", 100, 60);
	add(fixture, "backward", 50, 50);
	add(fixture, "forward", 200, 110);
	assert_string_equal(row(fixture, 0)->name, "forward");
	assert_int_equal(row(fixture, 0)->count, 2);
	assert_int_equal(row(fixture, 0)->total_ns, 300);
	assert_int_equal(row(fixture, 0)->self_ns, 170);
	assert_int_equal(row(fixture, 0)->unfinished, 0);
	assert_int_equal(row(fixture, 0)->async, 0);
	assert_string_equal(row(fixture, 1)->name, "backward");
	assert_int_equal(fixture->summary.row_count, 2);
	assert_int_equal(fixture->summary.self_total_ns, 220);
}

static void steps_of_any_number_are_one_row(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "ProfilerStep#3", 100, 60);
	add(fixture, "ProfilerStep#4", 100, 30);
	add(fixture, "ProfilerStep", 10, 1);
	assert_string_equal(row(fixture, 0)->name, "ProfilerStep*");
	assert_int_equal(row(fixture, 0)->count, 2);
	assert_int_equal(row(fixture, 0)->self_ns, 90);
	assert_string_equal(row(fixture, 1)->name, "ProfilerStep");
}

/* The names of the job may fill the table; the steps are no name of the job. */
static void steps_keep_their_row_when_the_names_run_out(void **state)
{
	struct fixture *fixture = *state;
	const struct span step = { .name = "ProfilerStep#3",
				   .end_ns = 500,
				   .self_ns = 500,
				   .is_finished = true,
				   .is_step = true };
	char name[16];
	int i;

	for (i = 0; i < NAMES_MAX + 2; i++) {
		snprintf(name, sizeof(name), "range %d", i);
		add(fixture, name, 10, 10);
	}
	assert_int_equal(op_stats_add(fixture->stats, &step, NULL), 0);
	assert_string_equal(row(fixture, 0)->name, "ProfilerStep*");
	assert_int_equal(name_table_refused(fixture->names), 2);
}

static void rows_are_sorted_by_self_time_then_name(void **state)
{
	static const char *const expected[] = { "large", "a", "b", "c", "small" };
	struct fixture *fixture = *state;
	size_t i;

	add(fixture, "b", 900, 20);
	add(fixture, "small", 1000, 1);
	add(fixture, "c", 20, 20);
	add(fixture, "large", 30, 30);
	add(fixture, "a", 20, 20);
	for (i = 0; i < COUNT_OF(expected); i++)
		assert_string_equal(row(fixture, i)->name, expected[i]);
}

static void large_self_times_are_sorted_right(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "a", 1, 1);
	add(fixture, "b", 1ULL << 61, 1ULL << 61);
	add(fixture, "c", 1ULL << 32, 1ULL << 32);
	assert_string_equal(row(fixture, 0)->name, "b");
	assert_string_equal(row(fixture, 1)->name, "c");
}

static void one_name_of_two_kinds_is_two_rows(void **state)
{
	struct fixture *fixture = *state;
	struct span region = span_of(fixture, "forward", 10, 10);

	region.kind = SPAN_REGION;
	add(fixture, "forward", 20, 20);
	assert_int_equal(op_stats_add(fixture->stats, &region, NULL), 0);
	assert_int_equal(row(fixture, 0)->kind, SPAN_RANGE);
	assert_int_equal(row(fixture, 1)->kind, SPAN_REGION);
	assert_int_equal(fixture->summary.row_count, 2);
}

static void unfinished_and_asynchronous_calls_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct span unfinished = span_of(fixture, "forward", 10, 10);
	struct span async = span_of(fixture, "forward", 30, 0);

	unfinished.is_finished = false;
	async.is_async = true;
	add(fixture, "forward", 20, 20);
	assert_int_equal(op_stats_add(fixture->stats, &unfinished, NULL), 0);
	assert_int_equal(op_stats_add(fixture->stats, &async, NULL), 0);
	assert_int_equal(row(fixture, 0)->count, 3);
	assert_int_equal(row(fixture, 0)->unfinished, 1);
	assert_int_equal(row(fixture, 0)->async, 1);
	assert_int_equal(row(fixture, 0)->total_ns, 60);
	assert_int_equal(row(fixture, 0)->self_ns, 30);
}

static void the_cost_of_the_probes_is_taken_off(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of(fixture, "aten::mm", 1000, 700);
	struct span small = span_of(fixture, "aten::mm", 100, 50);

	span.probe_total_ns = 300;
	span.probe_self_ns = 100;
	small.probe_total_ns = small.probe_self_ns = 1000; /* the estimate is above the truth */
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_int_equal(op_stats_add(fixture->stats, &small, NULL), 0);
	assert_int_equal(row(fixture, 0)->total_ns, 700);
	assert_int_equal(row(fixture, 0)->self_ns, 600);
	assert_int_equal(row(fixture, 0)->raw_total_ns, 1100);
	assert_int_equal(row(fixture, 0)->raw_self_ns, 750);
	assert_int_equal(fixture->summary.self_total_ns, 600);
}

static void bytes_add_up_with_their_signs(void **state)
{
	struct fixture *fixture = *state;
	struct span allocates = span_of(fixture, "aten::empty", 10, 10);
	struct span frees = span_of(fixture, "aten::empty", 10, 10);

	allocates.self_bytes[SPAN_CPU] = 4096;
	allocates.total_bytes[SPAN_CPU] = 5000;
	frees.self_bytes[SPAN_CPU] = -8192;
	frees.total_bytes[SPAN_CPU] = -8192;
	frees.self_bytes[SPAN_GPU] = 512;
	assert_int_equal(op_stats_add(fixture->stats, &allocates, NULL), 0);
	assert_int_equal(op_stats_add(fixture->stats, &frees, NULL), 0);
	assert_int_equal(row(fixture, 0)->self_bytes[SPAN_CPU], -4096);
	assert_int_equal(row(fixture, 0)->total_bytes[SPAN_CPU], -3192);
	assert_int_equal(row(fixture, 0)->self_bytes[SPAN_GPU], 512);
	assert_int_equal(row(fixture, 0)->total_bytes[SPAN_GPU], 0);
}

/* key_averages() goes by the name: a torch.ops call is a call of that operator. */
static void calls_of_any_kind_are_one_row(void **state)
{
	static const uint8_t kinds[] = { SPAN_OPERATOR, SPAN_NODE, SPAN_NODE_OUTER, SPAN_FUNCTION };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		struct span span = span_of(fixture, "aten::add", 10, 10);

		span.kind = kinds[i];
		span.id = 10 - i;
		assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	}
	add(fixture, "aten::add", 5, 5); /* but a range of that name is none */
	assert_int_equal(row(fixture, 0)->count, 4);
	assert_int_equal(row(fixture, 0)->kind, SPAN_FUNCTION); /* which began first */
	assert_int_equal(row(fixture, 0)->first_id, 7);
	assert_int_equal(fixture->summary.row_count, 2);
}

static void merged_calls_are_not_counted(void **state)
{
	struct fixture *fixture = *state;
	struct span merged = span_of(fixture, "aten::add", 10, 10);

	merged.is_merged = true;
	add(fixture, "aten::add", 20, 20);
	assert_int_equal(op_stats_add(fixture->stats, &merged, NULL), 0);
	assert_int_equal(row(fixture, 0)->count, 1);
	assert_int_equal(fixture->summary.self_total_ns, 20);
}

static void what_torch_leaves_out_is_no_row(void **state)
{
	static const char *const names[] = {
		"[memory]",
		"[OutOfMemory]",
		"profiler::_record_function_enter",
		"profiler::_record_function_enter_new",
		"profiler::_record_function_exit",
		"aten::is_leaf",
		"aten::output_nr",
		"aten::_version",
	};
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(names); i++) {
		add(fixture, names[i], 10, 10);
		add(fixture, names[i], 10, 10);
	}
	add(fixture, "aten::is_leaf_", 7, 7);
	assert_string_equal(row(fixture, 0)->name, "aten::is_leaf_");
	assert_int_equal(fixture->summary.row_count, 1);
	assert_int_equal(fixture->summary.self_total_ns, 7);
}

static void equal_times_keep_the_order_of_the_job(void **state)
{
	struct fixture *fixture = *state;
	struct span late = span_of(fixture, "a", 10, 10), early = span_of(fixture, "b", 10, 10);

	late.id = 9;
	early.id = 3;
	assert_int_equal(op_stats_add(fixture->stats, &late, NULL), 0);
	assert_int_equal(op_stats_add(fixture->stats, &early, NULL), 0);
	assert_string_equal(row(fixture, 0)->name, "b");
}

static void overloads_are_apart_when_asked_for(void **state)
{
	static const char *const overloads[] = { "Tensor", "Scalar", "Tensor", "" };
	struct fixture *fixture = *state;
	unsigned int by_overload;
	size_t i;

	for (by_overload = 0; by_overload < 2; by_overload++) {
		struct span function = span_of(fixture, "aten::add", 1, 1);

		regroup(fixture, false, by_overload);
		for (i = 0; i < COUNT_OF(overloads); i++) {
			struct span span = call_of(fixture, "aten::add", overloads[i]);

			assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
		}
		function.kind = SPAN_FUNCTION; /* has no overload: as one without a name */
		assert_int_equal(op_stats_add(fixture->stats, &function, NULL), 0);
		assert_int_equal(row(fixture, 0)->count, by_overload ? 2 : 5);
		assert_int_equal(fixture->summary.row_count, by_overload ? 3 : 1);
		if (!by_overload) {
			assert_null(row(fixture, 0)->overload);
			continue;
		}
		assert_string_equal(row(fixture, 0)->overload, "Tensor");
		assert_string_equal(row(fixture, 1)->overload, "");
		assert_int_equal(row(fixture, 1)->count, 2);
		assert_string_equal(row(fixture, 2)->overload, "Scalar");
		assert_int_equal(fixture->summary.operator_kinds, 1);
	}
}

static void shapes_are_apart_when_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct wire_shapes small = shapes_none(), large = shapes_none();
	struct span span = call_of(fixture, "aten::mm", "");

	shapes_tensor(&small, 2, 3);
	shapes_tensor(&small, 3, 4);
	shapes_tensor(&large, 20, 30);
	shapes_tensor(&large, 30, 40);
	regroup(fixture, true, false);
	span.shapes = &small;
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	span.shapes = &large;
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	add(fixture, "forward", 1, 1);
	assert_string_equal(row(fixture, 0)->shapes, "[[2, 3], [3, 4]]");
	assert_int_equal(row(fixture, 0)->count, 2);
	assert_int_equal(row(fixture, 0)->flops, 2 * 48);
	assert_string_equal(row(fixture, 1)->shapes, "[[20, 30], [30, 40]]");
	assert_int_equal(row(fixture, 1)->flops, 48000);
	assert_string_equal(row(fixture, 2)->shapes, "[]");
	assert_true(fixture->summary.has_shapes);
	assert_int_equal(fixture->summary.operator_kinds, 1);
}

static void shapes_are_no_row_of_their_own_unless_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct wire_shapes shapes = shapes_none();
	struct span span = call_of(fixture, "aten::mm", "");

	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_null(row(fixture, 0)->shapes);
	assert_false(fixture->summary.has_shapes);
	shapes_tensor(&shapes, 2, 3);
	shapes_tensor(&shapes, 3, 4);
	span.shapes = &shapes;
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_int_equal(row(fixture, 0)->count, 2);
	assert_int_equal(row(fixture, 0)->flops, 48);
	assert_true(fixture->summary.has_shapes);
}

static void how_ends_were_seen_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct span span = call_of(fixture, "aten::t", "");

	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	span.is_inferred = true;
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	span.is_unwound = true;
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	span = call_of(fixture, "aten::mm", "");
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_int_equal(row(fixture, 0)->inferred, 2);
	assert_int_equal(row(fixture, 0)->unwound, 1);
	assert_int_equal(fixture->summary.operator_kinds, 2);
	assert_int_equal(fixture->summary.inferred_kinds, 1);
}

static void a_row_is_asynchronous_as_its_first_call_is(void **state)
{
	struct fixture *fixture = *state;
	struct span later = span_of(fixture, "wait", 10, 10), first = later;

	later.id = 8;
	first.id = 2;
	first.is_async = true;
	assert_int_equal(op_stats_add(fixture->stats, &later, NULL), 0);
	assert_false(row(fixture, 0)->is_async);
	assert_int_equal(op_stats_add(fixture->stats, &first, NULL), 0);
	assert_true(row(fixture, 0)->is_async);
}

static void no_spans_are_no_rows(void **state)
{
	struct fixture *fixture = *state;

	fixture->summary.self_total_ns = 42;
	assert_int_equal(op_stats_summarize(fixture->stats, &fixture->summary), 0);
	assert_int_equal(fixture->summary.row_count, 0);
	assert_int_equal(fixture->summary.self_total_ns, 0);
}

static void many_names_are_all_rows(void **state)
{
	struct fixture *fixture = *state;
	struct name_table *names;
	char name[16];
	int i;

	assert_int_equal(name_table_new(&names, 1000), 0);
	for (i = 0; i < 1000; i++) {
		struct span span = { .end_ns = 1, .self_ns = 1, .is_finished = true };
		int length = snprintf(name, sizeof(name), "name %03d", i);

		span.name = name_table_add(names, name, (size_t)length);
		assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	}
	assert_string_equal(row(fixture, 0)->name, "name 000");
	assert_string_equal(row(fixture, 999)->name, "name 999");
	assert_int_equal(fixture->summary.self_total_ns, 1000);
	name_table_free(names);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_and_times_add_up_by_name),
		TEST(steps_of_any_number_are_one_row),
		TEST(steps_keep_their_row_when_the_names_run_out),
		TEST(rows_are_sorted_by_self_time_then_name),
		TEST(large_self_times_are_sorted_right),
		TEST(one_name_of_two_kinds_is_two_rows),
		TEST(unfinished_and_asynchronous_calls_are_counted),
		TEST(the_cost_of_the_probes_is_taken_off),
		TEST(bytes_add_up_with_their_signs),
		TEST(calls_of_any_kind_are_one_row),
		TEST(merged_calls_are_not_counted),
		TEST(what_torch_leaves_out_is_no_row),
		TEST(equal_times_keep_the_order_of_the_job),
		TEST(overloads_are_apart_when_asked_for),
		TEST(shapes_are_apart_when_asked_for),
		TEST(shapes_are_no_row_of_their_own_unless_asked_for),
		TEST(how_ends_were_seen_is_counted),
		TEST(a_row_is_asynchronous_as_its_first_call_is),
		TEST(no_spans_are_no_rows),
		TEST(many_names_are_all_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
