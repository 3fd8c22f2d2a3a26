/* What /proc/meminfo and control groups say. */
#include "support/test.h"

#include "base/memory.h"

static uint64_t field(const char *text, const char *name)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
	uint64_t bytes;

	assert_non_null(file);
	bytes = memory_field_bytes(file, name);
	fclose(file);
	return bytes;
}

static void a_field_is_found_by_its_whole_name(void **state)
{
	static const char text[] = "MemTotal:       24672916 kB\n"
				   "MemAvailableX:         1 kB\n"
				   "MemAvailable:   20000000 kB\n"
				   "Cached:\n";

	(void)state;
	assert_int_equal(field(text, "MemTotal"), 24672916ULL * 1024);
	assert_int_equal(field(text, "MemAvailable"), 20000000ULL * 1024);
	assert_int_equal(field(text, "MemFree"), 0);
	assert_int_equal(field(text, "Cached"), 0);
}

static void a_limit_leaves_what_is_not_used(void **state)
{
	static const struct {
		const char *max, *current;
		uint64_t left;
	} rows[] = {
		{ "max\n", "1000\n", UINT64_MAX }, { "", "", UINT64_MAX },
		{ "5000\n", "", UINT64_MAX },	   { "", "1000\n", UINT64_MAX },
		{ "5000\n", "1000\n", 4000 },	   { "5000\n", "5000\n", 0 },
		{ "5000\n", "6000\n", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, memory_left_bytes(rows[i].max, rows[i].current) == rows[i].left);
}

static void this_machine_has_some(void **state)
{
	(void)state;
	assert_true(memory_available_bytes() > 1 << 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_field_is_found_by_its_whole_name),
		cmocka_unit_test(a_limit_leaves_what_is_not_used),
		cmocka_unit_test(this_machine_has_some),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
