/* The rows of the operator table. */
#include "support/test.h"

#include "analyze/op_stats.h"
#include "base/name_table.h"

struct fixture {
	struct name_table *names;
	struct op_stats *stats;
	struct summary summary;
};

#define NAMES_MAX 5

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, NAMES_MAX))
		return -1;
	*state = fixture;
	return op_stats_new(&fixture->stats);
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

	assert_int_equal(op_stats_add(fixture->stats, &span), 0);
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
	assert_int_equal(op_stats_add(fixture->stats, &step), 0);
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

	region.range = RANGE_REGION;
	add(fixture, "forward", 20, 20);
	assert_int_equal(op_stats_add(fixture->stats, &region), 0);
	assert_int_equal(row(fixture, 0)->range, RANGE_USER);
	assert_int_equal(row(fixture, 1)->range, RANGE_REGION);
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
	assert_int_equal(op_stats_add(fixture->stats, &unfinished), 0);
	assert_int_equal(op_stats_add(fixture->stats, &async), 0);
	assert_int_equal(row(fixture, 0)->count, 3);
	assert_int_equal(row(fixture, 0)->unfinished, 1);
	assert_int_equal(row(fixture, 0)->async, 1);
	assert_int_equal(row(fixture, 0)->total_ns, 60);
	assert_int_equal(row(fixture, 0)->self_ns, 30);
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
		assert_int_equal(op_stats_add(fixture->stats, &span), 0);
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
		TEST(no_spans_are_no_rows),
		TEST(many_names_are_all_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
