/* cpu_ops.txt, against what key_averages().table() of PyTorch prints for the same rows. */
#include "support/test.h"

#include "base/text.h"
#include "support/summaries.h"

struct fixture {
	struct capture capture;
	struct table_options options;
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

static const char *table(struct fixture *fixture)
{
	assert_int_equal(capture_write(&fixture->capture, &fixture->memory, op_table_new), 0);
	return memory_sink_text(&fixture->memory);
}

/* Leaves one row of that name. */
static void name_one_row(struct fixture *fixture, const char *name)
{
	fixture->capture.rows[0].name = name;
	fixture->capture.summary.row_count = 1;
	fixture->capture.summary.self_total_ns = fixture->capture.rows[0].self_ns;
}

#define RULE_CELLS \
	"------------  ------------  ------------  ------------  ------------  ------------  \n"
#define HEAD_CELLS \
	"  Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls  \n"

static void the_table_is_laid_out_as_torch_does(void **state)
{
	static const char expected[] =
		"---------------------------  " RULE_CELLS
		"                       Name  " HEAD_CELLS
		"---------------------------  " RULE_CELLS "                    forward  "
		"      50.00%      20.000ms        75.00%      30.000ms      10.000ms             "
		"3  \n"
		"              ProfilerStep*  "
		"      25.00%      10.000ms       100.00%      40.000ms      13.333ms             "
		"3  \n"
		"    Optimizer.step#SGD.step  "
		"      25.00%      10.000ms        25.00%      10.001ms       3.334ms             "
		"3  \n"
		"---------------------------  " RULE_CELLS "Self CPU time total: 40.000ms\n";

	assert_string_equal(table(*state), expected);
}

static void the_devices_table_says_why_it_has_no_times(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.device.watch = DEVICE_UNAVAILABLE;
	fixture->capture.summary.device.reason = "no agent in the job";
	fixture->capture.summary.device.calls = 12;
	assert_int_equal(capture_write(&fixture->capture, &fixture->memory, device_table_new), 0);
	assert_string_equal(memory_sink_text(&fixture->memory),
			    "cuda timing: unavailable (no agent in the job)\n"
			    "calls of CUDA: 12, see cpu_ops.txt\n");
}

static void a_table_without_rows_is_the_head_alone(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.row_count = 0;
	fixture->capture.summary.self_total_ns = 0;
	assert_string_equal(table(fixture),
			    "----  " RULE_CELLS "Name  " HEAD_CELLS "----  " RULE_CELLS
			    "----  " RULE_CELLS "Self CPU time total: 0.000us\n");
}

static void shares_of_nothing_are_nan(void **state)
{
	struct fixture *fixture = *state;

	name_one_row(fixture, "async");
	fixture->capture.rows[0].self_ns = 0;
	fixture->capture.summary.self_total_ns = 0;
	assert_non_null(strstr(table(fixture), "    async           NaN       0.000us           NaN"
					       "      30.000ms      10.000ms             3  \n"));
}

/* The options of the tables, in effect from here on. */
static struct table_options *options(struct fixture *fixture)
{
	fixture->capture.summary.table = &fixture->options;
	return &fixture->options;
}

static const char *table_of(struct fixture *fixture,
			    int (*writer_new)(struct writer **, struct byte_sink *))
{
	memory_sink_fini(&fixture->memory);
	memory_sink_init(&fixture->memory);
	assert_int_equal(capture_write(&fixture->capture, &fixture->memory, writer_new), 0);
	return memory_sink_text(&fixture->memory);
}

static void give_rows(struct fixture *fixture)
{
	struct op_row *rows = fixture->capture.rows;

	rows[0] = (struct op_row){ .name = "aten::add",
				   .overload = "Tensor",
				   .shapes = "[[64, 512], []]",
				   .total_bytes = { 1536, 1LL << 31 },
				   .self_bytes = { 1536, 7 },
				   .flops = 24576,
				   .first_id = 3,
				   .total_ns = 30000000,
				   .self_ns = 20000000,
				   .count = 4 };
	rows[1].overload = "";
	rows[1].shapes = "[]";
	rows[1].self_bytes[SPAN_CPU] = -400896;
	rows[1].first_id = 1;
	rows[2].name = "aten::mm";
	rows[2].overload = "";
	rows[2].shapes = "[[64, 512], [512, 10]]";
	rows[2].total_bytes[SPAN_CPU] = 5 << 20;
	rows[2].self_bytes[SPAN_CPU] = 1023;
	rows[2].total_bytes[SPAN_GPU] = -(3 << 20);
	rows[2].self_bytes[SPAN_GPU] = -5;
	rows[2].flops = 16515072;
	rows[2].first_id = 2;
	fixture->capture.session.plan.activities = ACTIVITY_MEMORY;
}

/* What profiler_util.py of PyTorch 2.13.0 prints for these rows. */
static void every_column_is_where_torch_has_it(void **state)
{
	static const char expected[] =
		"-----------------  -----------------  ------------  ------------  ------------  "
		"------------  ------------  ------------  ------------  ------------  ----------"
		"--  ------------  --------------------------  ------------  \n"
		"             Name      Overload Name    Self CPU %      Self CPU   CPU total %  "
		"   CPU total  CPU time avg       CPU Mem  Self CPU Mem      CUDA Mem  Self CUDA "
		"Mem    # of Calls                Input Shapes  Total KFLOPs  \n"
		"-----------------  -----------------  ------------  ------------  ------------  "
		"------------  ------------  ------------  ------------  ------------  ----------"
		"--  ------------  --------------------------  ------------  \n"
		"        aten::add             Tensor        50.00%      20.000ms        75.00%  "
		"    30.000ms      10.000ms       1.50 KB       1.50 KB       2.00 GB           7"
		" B             3             [[64, 512], []]        24.576  \n"
		"    ProfilerStep*                           25.00%      10.000ms       100.00%  "
		"    40.000ms      13.333ms           0 B    -391.50 KB           0 B           0"
		" B             3                          []            --  \n"
		"         aten::mm                           25.00%      10.000ms        25.00%  "
		"    10.001ms       3.334ms       5.00 MB        1023 B      -3.00 MB          -5"
		" B             3      [[64, 512], [512, 10]]     16515.072  \n"
		"-----------------  -----------------  ------------  ------------  ------------  "
		"------------  ------------  ------------  ------------  ------------  ----------"
		"--  ------------  --------------------------  ------------  \n"
		"Self CPU time total: 40.000ms\n";
	struct fixture *fixture = *state;

	give_rows(fixture);
	fixture->capture.rows[0].count = 3;
	options(fixture)->with_flops = true;
	assert_string_equal(table_of(fixture, op_table_new), expected);
}

static void columns_of_what_was_not_recorded_are_left_out(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	give_rows(fixture);
	for (i = 0; i < COUNT_OF(fixture->capture.rows); i++) {
		fixture->capture.rows[i].overload = NULL;
		fixture->capture.rows[i].shapes = "[]";
		fixture->capture.rows[i].self_bytes[SPAN_GPU] = -1;
	}
	assert_null(strstr(table_of(fixture, op_table_new), "CUDA Mem"));
	assert_null(strstr(table_of(fixture, op_table_new), "Overload Name"));
	assert_null(strstr(table_of(fixture, op_table_new), "Input Shapes"));
	assert_null(strstr(table_of(fixture, op_table_new), "FLOPs"));
	assert_non_null(strstr(table_of(fixture, op_table_new), "Self CPU Mem"));
	fixture->capture.session.plan.activities = 0;
	assert_null(strstr(table_of(fixture, op_table_new), "Mem"));
	fixture->capture.summary.memory_events = 1; /* it was recorded for all that */
	assert_non_null(strstr(table_of(fixture, op_table_new), "Self CPU Mem"));
}

/* The names of the rows from the top: "add ProfilerStep* mm". */
static void assert_order(struct fixture *fixture, const char *text, const char *order)
{
	char got[64] = "";
	size_t shown = 0;

	while (shown < COUNT_OF(fixture->capture.rows)) {
		const char *first = NULL;
		size_t i, row = 0;

		for (i = 0; i < COUNT_OF(fixture->capture.rows); i++) {
			const char *at = strstr(text, fixture->capture.rows[i].name);

			if (at && (!first || at < first)) {
				first = at;
				row = i;
			}
		}
		if (!first)
			break;
		sprintf(got + strlen(got), "%s%zu", shown++ ? " " : "", row);
		text = first + 1;
	}
	assert_string_equal(got, order);
}

static void every_key_sorts_its_column(void **state)
{
	static const struct {
		enum sort_key key;
		const char *order;
	} rows[] = {
		{ SORT_SELF_CPU_TIME, "0 1 2" }, /* as the summary has them */
		{ SORT_CPU_TIME_TOTAL, "1 0 2" },
		{ SORT_CPU_TIME, "1 0 2" },
		{ SORT_CPU_MEMORY, "2 0 1" },
		{ SORT_SELF_CPU_MEMORY, "0 2 1" },
		{ SORT_DEVICE_MEMORY, "0 1 2" },
		{ SORT_SELF_DEVICE_MEMORY, "0 1 2" },
		{ SORT_COUNT, "0 1 2" },
		{ SORT_FLOPS, "2 0 1" },
		/* Nothing is known of these: in the order of the job. */
		{ SORT_DEVICE_TIME, "1 2 0" },
		{ SORT_DEVICE_TIME_TOTAL, "1 2 0" },
		{ SORT_SELF_DEVICE_TIME, "1 2 0" },
	};
	struct fixture *fixture = *state;
	size_t i;

	give_rows(fixture);
	assert_int_equal(COUNT_OF(rows), SORT_KEY_CNT);
	for (i = 0; i < COUNT_OF(rows); i++) {
		options(fixture)->sort_by = rows[i].key;
		assert_order(fixture, table_of(fixture, op_table_new), rows[i].order);
	}
	assert_order(fixture, table_of(fixture, cpu_memory_table_new), "0 2 1");
	assert_order(fixture, table_of(fixture, device_memory_table_new), "0 1 2");
}

static void rows_over_the_limit_are_said_to_be_missing(void **state)
{
	struct fixture *fixture = *state;
	const char *text;

	options(fixture)->row_limit = 2;
	text = table_of(fixture, op_table_new);
	assert_non_null(strstr(text, "ProfilerStep*"));
	/* The name that is left out still sets the width, and its time is in the sum, as in torch.
	 */
	assert_null(strstr(text, "Optimizer"));
	assert_non_null(strstr(text, "\n---------------------------  "));
	assert_non_null(strstr(text, "\nSelf CPU time total: 40.000ms\n"
				     "1 of 3 rows are not shown (--row-limit 2)\n"));
	options(fixture)->row_limit = 3;
	assert_null(strstr(table_of(fixture, op_table_new), "not shown"));
}

static void a_row_that_is_asynchronous_has_no_share(void **state)
{
	struct fixture *fixture = *state;

	name_one_row(fixture, "async");
	fixture->capture.rows[0].is_async = true;
	assert_non_null(strstr(table(fixture), "    async       100.00%      20.000ms             0"
					       "      30.000ms      10.000ms             3  \n"));
}

static void long_shapes_are_cut(void **state)
{
	struct fixture *fixture = *state;
	char shapes[200] = "[[";

	memset(shapes + 2, '7', 100);
	strcpy(shapes + 102, "], []]");
	name_one_row(fixture, "aten::add");
	fixture->capture.rows[0].shapes = shapes;
	shapes[190] = 0;
	assert_non_null(strstr(table(fixture), "             3  [["));
	assert_null(strstr(table_of(fixture, op_table_new), "]"));
}

static void memory_has_its_units(void **state)
{
	static const struct {
		int64_t value_bytes;
		const char *text;
	} rows[] = {
		{ 0, "           0 B" },
		{ 1023, "        1023 B" },
		{ -1023, "       -1023 B" },
		{ 1024, "       1.00 KB" },
		{ 1048575, "    1024.00 KB" },
		{ -1048576, "      -1.00 MB" },
		{ 1LL << 30, "       1.00 GB" },
		{ 5LL << 40, "    5120.00 GB" },
		{ INT64_MIN, "  -8589934592.00 GB" },
	};
	struct fixture *fixture = *state;
	size_t i;

	fixture->capture.session.plan.activities = ACTIVITY_MEMORY;
	name_one_row(fixture, "row");
	for (i = 0; i < COUNT_OF(rows); i++) {
		fixture->capture.rows[0].total_bytes[SPAN_CPU] = rows[i].value_bytes;
		assert_row(i, strstr(table_of(fixture, op_table_new), rows[i].text) != NULL);
	}
}

static void flops_have_the_unit_of_the_smallest(void **state)
{
	static const struct {
		uint64_t flops;
		const char *head, *text;
	} rows[] = {
		{ 1, "  Total FLOPs  ", "       1.000  " },
		{ 999, "  Total FLOPs  ", "     999.000  " },
		{ 1000, "Total KFLOPs  ", "       1.000  " },
		{ 15728640, "Total MFLOPs  ", "      15.729  " },
		{ 2000000000, "Total GFLOPs  ", "       2.000  " },
		{ 3500000000000, "Total TFLOPs  ", "       3.500  " },
		{ 4000000000000000, "Total PFLOPs  ", "       4.000  " },
		{ 4000000000000000000, "Total PFLOPs  ", "    4000.000  " },
	};
	struct fixture *fixture = *state;
	size_t i;

	options(fixture)->with_flops = true;
	name_one_row(fixture, "row");
	assert_null(strstr(table(fixture), "FLOPs")); /* none was counted */
	for (i = 0; i < COUNT_OF(rows); i++) {
		fixture->capture.rows[0].flops = rows[i].flops;
		assert_row(i, strstr(table_of(fixture, op_table_new), rows[i].head) != NULL);
		assert_row(i, strstr(table_of(fixture, op_table_new), rows[i].text) != NULL);
	}
}

#define FIFTY "12345678901234567890123456789012345678901234567890"

static void long_names_are_cut(void **state)
{
	static const struct {
		const char *name, *shown;
		int width;
	} rows[] = {
		{ FIFTY, "    " FIFTY "  ", 54 },
		{ FIFTY "1", "    " FIFTY "1  ", 55 },
		{ FIFTY "12", FIFTY "12...  ", 55 },
		{ FIFTY "123", FIFTY "12...  ", 55 },
		{ FIFTY FIFTY FIFTY FIFTY FIFTY "12345", FIFTY "12...  ", 55 },
	};
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		struct fixture *fixture = *state;
		const char *text, *line;

		memory_sink_fini(&fixture->memory);
		memory_sink_init(&fixture->memory);
		name_one_row(fixture, rows[i].name);
		text = table(fixture);
		assert_row(i, strcspn(text, " ") == (size_t)rows[i].width);
		line = strstr(text, rows[i].shown);
		assert_row(i, line && line[-1] == '\n');
	}
}

static void names_are_measured_in_characters(void **state)
{
	struct fixture *fixture = *state;
	const char *text;

	name_one_row(fixture, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z"); /* four characters */
	text = table(fixture);
	assert_int_equal(strcspn(text, " "), 8);
	assert_non_null(strstr(text, "\n    \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z       100.00%"));
}

static void names_are_cut_between_characters(void **state)
{
	struct fixture *fixture = *state;
	char name[2 * 60 + 1] = "";
	const char *text;
	int i;

	for (i = 0; i < 60; i++)
		strcat(name, "\xc3\xa4");
	name_one_row(fixture, name);
	text = table(fixture);
	name[2 * 52] = 0;
	text = strstr(text, name);
	assert_non_null(text);
	assert_int_equal(strncmp(text + 2 * 52, "...  ", 5), 0);
}

static void hostile_names_hold_no_controls(void **state)
{
	struct fixture *fixture = *state;
	const char *text;
	size_t left;

	name_one_row(fixture, HOSTILE_NAME);
	text = table(fixture);
	for (left = strlen(text); left;) {
		size_t length = text_utf8_length(text, left);

		assert_int_not_equal(length, 0);
		assert_true(*text == '\n' || (unsigned char)*text >= 0x20);
		assert_true(*text != 0x7f);
		text += length;
		left -= length;
	}
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	size_t size_bytes = strlen(table(fixture)), limit;

	for (limit = 0; limit < size_bytes; limit += 37) {
		struct memory_sink small;

		memory_sink_init_limited(&small, limit);
		assert_row(limit,
			   capture_write(&fixture->capture, &small, op_table_new) == -ENOSPC);
		assert_row(limit, small.failures == 1);
		memory_sink_fini(&small);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_table_is_laid_out_as_torch_does),
		TEST(a_table_without_rows_is_the_head_alone),
		TEST(the_devices_table_says_why_it_has_no_times),
		TEST(shares_of_nothing_are_nan),
		TEST(every_column_is_where_torch_has_it),
		TEST(columns_of_what_was_not_recorded_are_left_out),
		TEST(every_key_sorts_its_column),
		TEST(rows_over_the_limit_are_said_to_be_missing),
		TEST(a_row_that_is_asynchronous_has_no_share),
		TEST(long_shapes_are_cut),
		TEST(memory_has_its_units),
		TEST(flops_have_the_unit_of_the_smallest),
		TEST(long_names_are_cut),
		TEST(names_are_measured_in_characters),
		TEST(names_are_cut_between_characters),
		TEST(hostile_names_hold_no_controls),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
