/* cpu_ops.txt, against what key_averages().table() of PyTorch prints for the same rows. */
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
		TEST(shares_of_nothing_are_nan),
		TEST(long_names_are_cut),
		TEST(names_are_measured_in_characters),
		TEST(names_are_cut_between_characters),
		TEST(hostile_names_hold_no_controls),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
