/* The two clocks. */
#include "support/test.h"

#include <time.h>

#include "base/clock.h"

static void monotonic_time_never_goes_back(void **state)
{
	uint64_t last = clock_monotonic_ns(), first = last;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++) {
		uint64_t now = clock_monotonic_ns();

		assert_true(now >= last);
		last = now;
	}
	assert_true(last > first);
}

static void the_offset_leads_to_real_time(void **state)
{
	int64_t real_ns = (int64_t)clock_monotonic_ns() + clock_real_offset_ns();
	int64_t now_ns = (int64_t)time(NULL) * 1000000000LL;

	(void)state;
	/* Wide enough for a slow machine, far too narrow for a mistaken clock. */
	assert_true(real_ns > now_ns - 60000000000LL);
	assert_true(real_ns < now_ns + 60000000000LL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(monotonic_time_never_goes_back),
		cmocka_unit_test(the_offset_leads_to_real_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
