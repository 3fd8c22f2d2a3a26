/*
 * A capture file may be made by anybody: its work grows as its size does, whatever the records are.
 * Eight times the records may take three times eight times the time; work that grows with the
 * square takes sixty-four times.
 */
#include "support/pipeline_run.h"

#include <time.h>

#define SMALL 2000
#define LARGE (8 * SMALL)

typedef void (*filler)(struct run *run, uint32_t count);

static clock_t time_of(const char *parent, filler fill, uint32_t count)
{
	clock_t start = clock();
	struct run run;
	char name[32];

	snprintf(name, sizeof(name), "out-%u", count);
	run_begin(&run, parent, name, false);
	push_session(&run);
	fill(&run, count);
	push_stop(&run, 1000000000, STOP_WINDOW_FINISHED);
	assert_int_equal(run_finish(&run), 0);
	run_end(&run);
	return clock() - start;
}

static void assert_grows_evenly(const char *parent, filler fill)
{
	/* what stands for a small one must be more than noise */
	clock_t small = time_of(parent, fill, SMALL) + CLOCKS_PER_SEC / 200;

	assert_true(time_of(parent, fill, LARGE) < 3 * 8 * small);
}

/* Each step looks for the outermost range that it began itself. */
static void fill_open_ranges(struct run *run, uint32_t count)
{
	uint32_t i;

	push_attempt(run, 2000000, 0, PHASE_WARMUP, PHASE_ACTIVE);
	for (i = 0; i < count; i++)
		push_begin(run, 2000001, i, "epoch");
	for (i = 0; i < count; i++)
		push_attempt(run, 2000002 + i, 1 + i, PHASE_ACTIVE, PHASE_ACTIVE);
}

/* At the end of each window what is open is closed, thread by thread. */
static void fill_threads_and_windows(struct run *run, uint32_t count)
{
	uint32_t i;

	push_attempt(run, 2000000, 0, PHASE_WARMUP, PHASE_ACTIVE);
	for (i = 0; i < count; i++) {
		struct wire_range_begin record = record_begin(2000001, 1000 + i, i, "work");

		push(run, &record);
	}
	for (i = 0; i < count; i++) {
		push_attempt(run, 2000002 + 2 * i, 1 + 2 * i, PHASE_ACTIVE, PHASE_WAIT);
		push_attempt(run, 2000003 + 2 * i, 2 + 2 * i, PHASE_WAIT, PHASE_ACTIVE);
	}
}

static void steps_below_ranges_that_stay_open(void **state)
{
	assert_grows_evenly(*state, fill_open_ranges);
}

static void windows_of_many_threads(void **state)
{
	assert_grows_evenly(*state, fill_threads_and_windows);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, temporary_dir_setup, temporary_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(steps_below_ranges_that_stay_open),
		TEST(windows_of_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
