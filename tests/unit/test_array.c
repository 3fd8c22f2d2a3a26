/* Arrays that grow: what is in them stays, and where there is no room nothing is changed. */
#include "support/test.h"

#include "base/array.h"

static void what_is_in_it_stays(void **state)
{
	size_t capacity = 0, changes = 0, i;
	uint64_t *numbers = NULL;

	(void)state;
	for (i = 0; i < 100000; i++) {
		size_t before = capacity;

		assert_int_equal(ARRAY_RESERVE(numbers, capacity, i + 1), 0);
		assert_true(capacity > i);
		changes += capacity != before;
		numbers[i] = i * 3;
	}
	for (i = 0; i < 100000; i++)
		assert_int_equal(numbers[i], i * 3);
	assert_true(changes < 20);
	free(numbers);
}

static void as_much_as_is_asked_for_at_once(void **state)
{
	size_t capacity = 0;
	char *bytes = NULL;

	(void)state;
	assert_int_equal(ARRAY_RESERVE(bytes, capacity, 0), 0);
	assert_null(bytes);
	assert_int_equal(ARRAY_RESERVE(bytes, capacity, 1000), 0);
	assert_true(capacity >= 1000);
	memset(bytes, 7, capacity);
	free(bytes);
}

static void without_room_nothing_is_changed(void **state)
{
	static const size_t counts[] = { SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 8 + 2 };
	size_t capacity = 0, before, i;
	uint64_t *numbers = NULL, *kept;

	(void)state;
	assert_int_equal(ARRAY_RESERVE(numbers, capacity, 3), 0);
	numbers[2] = 5;
	before = capacity;
	kept = numbers;
	for (i = 0; i < COUNT_OF(counts); i++) {
		assert_row(i, ARRAY_RESERVE(numbers, capacity, counts[i]) == -ENOMEM);
		assert_row(i, numbers == kept && capacity == before && numbers[2] == 5);
	}
	free(numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_it_stays),
		cmocka_unit_test(as_much_as_is_asked_for_at_once),
		cmocka_unit_test(without_room_nothing_is_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
