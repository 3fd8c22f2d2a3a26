/* Rows of numbers, packed. */
#include "support/test.h"

#include "base/number_log.h"

#define COLUMNS 3

static void assert_next(struct number_cursor *cursor, const uint64_t *row)
{
	uint64_t read[COLUMNS];

	assert_true(number_cursor_next(cursor, read, COLUMNS));
	assert_memory_equal(read, row, sizeof(read));
}

static void an_empty_log_has_no_rows(void **state)
{
	struct number_log log = { 0 };
	struct number_cursor cursor;
	uint64_t row[COLUMNS];

	(void)state;
	number_cursor_init(&cursor, &log);
	assert_false(number_cursor_next(&cursor, row, COLUMNS));
	assert_false(number_cursor_next(&cursor, row, COLUMNS));
	number_log_clear(&log);
}

static void what_is_added_is_read(void **state)
{
	static const uint64_t rows[][COLUMNS] = {
		{ 1, 2, 3 },
		{ 0, 0, 0 },
		{ 0x7f, 0x80, 0x3fff },
		{ 0x4000, 0, UINT64_MAX },
		{ UINT64_MAX, UINT64_MAX - 1, 1ULL << 63 },
		{ 0, 0, 1 },
	};
	struct number_log log = { 0 };
	struct number_cursor cursor;
	uint64_t row[COLUMNS];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(number_log_add(&log, rows[i], COLUMNS), 0);
	number_cursor_init(&cursor, &log);
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_next(&cursor, rows[i]);
	assert_false(number_cursor_next(&cursor, row, COLUMNS));
	number_log_clear(&log);
	number_cursor_init(&cursor, &log);
	assert_false(number_cursor_next(&cursor, row, COLUMNS));
}

/* Of every length, so that each way to end a block comes up. */
static void rows_go_on_in_the_next_block(void **state)
{
	const size_t count = 100000;
	struct number_log log = { 0 };
	struct number_cursor cursor;
	uint64_t seed = 7, row[COLUMNS];
	size_t i, column;

	(void)state;
	for (i = 0; i < count; i++) {
		for (column = 0; column < COLUMNS; column++)
			row[column] = random_next(&seed) >> (random_next(&seed) & 63);
		assert_int_equal(number_log_add(&log, row, COLUMNS), 0);
	}
	seed = 7;
	number_cursor_init(&cursor, &log);
	for (i = 0; i < count; i++) {
		for (column = 0; column < COLUMNS; column++)
			row[column] = random_next(&seed) >> (random_next(&seed) & 63);
		assert_next(&cursor, row);
	}
	assert_false(number_cursor_next(&cursor, row, COLUMNS));
	number_log_clear(&log);
}

static void a_row_may_be_as_long_as_is_said(void **state)
{
	uint64_t row[NUMBER_LOG_ROW_MAX + 1] = { 0 }, read[NUMBER_LOG_ROW_MAX];
	struct number_log log = { 0 };
	struct number_cursor cursor;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(row); i++)
		row[i] = UINT64_MAX - i;
	assert_int_equal(number_log_add(&log, row, NUMBER_LOG_ROW_MAX + 1), -EINVAL);
	/* More than a block has room for. */
	for (i = 0; i < 100; i++)
		assert_int_equal(number_log_add(&log, row, NUMBER_LOG_ROW_MAX), 0);
	number_cursor_init(&cursor, &log);
	for (i = 0; i < 100; i++) {
		assert_true(number_cursor_next(&cursor, read, NUMBER_LOG_ROW_MAX));
		assert_memory_equal(read, row, sizeof(read));
	}
	assert_false(number_cursor_next(&cursor, read, NUMBER_LOG_ROW_MAX));
	number_log_clear(&log);
}

static void steps_lead_from_any_number_to_any_other(void **state)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 1000, 1ULL << 62, (1ULL << 63) - 1, 1ULL << 63, UINT64_MAX - 1, UINT64_MAX
	};
	size_t from, to;

	(void)state;
	for (from = 0; from < COUNT_OF(numbers); from++) {
		for (to = 0; to < COUNT_OF(numbers); to++) {
			uint64_t step = number_log_step(numbers[from], numbers[to]);

			assert_row(from, number_log_take_step(numbers[from], step) == numbers[to]);
			assert_row(from, (step == 0) == (from == to));
		}
	}
}

static void a_small_step_is_a_small_number(void **state)
{
	(void)state;
	assert_int_equal(number_log_step(1000, 1003), 6);
	assert_int_equal(number_log_step(1003, 1000), 5);
	assert_int_equal(number_log_step(UINT64_MAX, 1), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_log_has_no_rows),
		cmocka_unit_test(what_is_added_is_read),
		cmocka_unit_test(rows_go_on_in_the_next_block),
		cmocka_unit_test(a_row_may_be_as_long_as_is_said),
		cmocka_unit_test(steps_lead_from_any_number_to_any_other),
		cmocka_unit_test(a_small_step_is_a_small_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
