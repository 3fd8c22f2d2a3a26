/* How long a wait is, and whether that is worth taking probes off for. */
#include "support/test.h"

#include "wait_probes.h"

#define MS 1000000ULL

static void what_is_left_of_a_wait(void **state)
{
	static const struct {
		struct options options;
		enum wire_phase phase;
		uint32_t cycle, count, left;
	} rows[] = {
		{ { .skip_first = 10, .wait = 5 }, PHASE_SKIP_FIRST, 0, 0, 15 },
		{ { .skip_first = 10, .wait = 5 }, PHASE_SKIP_FIRST, 0, 9, 6 },
		{ { .skip_first = 10, .wait = 5, .skip_first_wait = true },
		  PHASE_SKIP_FIRST,
		  0,
		  4,
		  6 },
		{ { .wait = 5 }, PHASE_WAIT, 0, 0, 5 },
		{ { .wait = 5 }, PHASE_WAIT, 0, 4, 1 },
		{ { .wait = 5, .skip_first_wait = true }, PHASE_WAIT, 1, 2, 3 },
		{ { .wait = 5 }, PHASE_WAIT, 0, 9, 0 },
		{ { .wait = 5 }, PHASE_WARMUP, 0, 0, 0 },
		{ { .wait = 5 }, PHASE_ACTIVE, 0, 0, 0 },
		{ { .wait = 5 }, PHASE_AFTER, 0, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		uint64_t place = STATE_PACK(rows[i].phase, rows[i].cycle, rows[i].count, 77);

		assert_row(i, wait_probes_left(&rows[i].options, place) == rows[i].left);
	}
}

static void a_wait_is_long_by_time_and_by_attempts(void **state)
{
	static const struct {
		uint32_t left;
		uint64_t attempt_ns;
		bool is_begun, is_long;
	} rows[] = {
		{ 1000000, 1 * MS, false, true },
		{ 1001, 1 * MS, false, true },
		{ 1000, 1 * MS, false, false }, /* a second */
		{ 501, 1 * MS, true, true },
		{ 500, 1 * MS, true, false }, /* half a second before warmup they come back */
		{ 65, 10000 * MS, false, true },
		{ 64, 10000 * MS, false, false },
		{ 33, 10000 * MS, true, true },
		{ 32, 10000 * MS, true, false },
		{ 1000000, 0, false, false }, /* no attempt was timed yet */
		{ 1000000, 0, true, true },
		{ 0, 1 * MS, true, false },
		{ 0, 1 * MS, false, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, wait_probes_are_long(rows[i].left, rows[i].attempt_ns,
						   rows[i].is_begun) == rows[i].is_long);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_of_a_wait),
		cmocka_unit_test(a_wait_is_long_by_time_and_by_attempts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
