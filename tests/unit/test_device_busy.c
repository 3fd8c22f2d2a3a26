/* How long each device worked in each attempt. */
#include "support/test.h"

#include "analyze/device_busy.h"

static void add_attempt(struct attempt_log *attempts, uint64_t start_ns, uint64_t end_ns)
{
	const struct attempt attempt = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.phase = PHASE_ACTIVE,
	};

	assert_int_equal(attempt_log_add(attempts, &attempt), 0);
}

static struct device_work kernel(uint32_t device, uint64_t start_ns, uint64_t end_ns)
{
	return (struct device_work){
		.start_ns = start_ns,
		.end_ns = end_ns,
		.device = device,
		.kind = DEVICE_KERNEL,
	};
}

static void devices_have_rows_of_their_own(void **state)
{
	const struct device_work work[] = {
		kernel(3, 900, 1100),  /* from before the first attempt */
		kernel(0, 1000, 1200), /* the next two overlap, and touch the third */
		kernel(0, 1100, 1300), kernel(0, 1300, 1400),
		kernel(3, 1900, 2500), kernel(0, 2600, 9000), /* beyond the last one */
	};
	struct attempt_log attempts = { 0 };
	struct summary summary = { .attempts = &attempts };

	(void)state;
	add_attempt(&attempts, 1000, 2000);
	add_attempt(&attempts, 2000, 3000);
	assert_int_equal(device_busy(work, COUNT_OF(work), &summary), 0);
	assert_int_equal(summary.device.busy_count, 4);
	assert_int_equal(summary.device.busy[0].device, 0);
	assert_int_equal(summary.device.busy[0].busy_ns, 400);
	assert_int_equal(summary.device.busy[1].device, 3);
	assert_int_equal(summary.device.busy[1].busy_ns, 200);
	assert_int_equal(summary.device.busy[2].busy_ns, 400);
	assert_int_equal(summary.device.busy[2].idle_ns, 600);
	assert_int_equal(summary.device.busy[3].busy_ns, 500);
	device_busy_free(&summary);
	attempt_log_clear(&attempts);
}

/* A list of another program's making: the end is no later than the start. */
static void work_without_a_duration_keeps_no_device_busy(void **state)
{
	const struct device_work work[] = { kernel(0, 1500, 1500), kernel(0, 1600, 1400) };
	struct attempt_log attempts = { 0 };
	struct summary summary = { .attempts = &attempts };

	(void)state;
	add_attempt(&attempts, 1000, 2000);
	assert_int_equal(device_busy(work, COUNT_OF(work), &summary), 0);
	assert_int_equal(summary.device.busy_count, 0);
	device_busy_free(&summary);
	attempt_log_clear(&attempts);
}

/* To look at all work for each attempt, since the long one may reach into it, takes minutes. */
static void one_long_kernel_does_not_make_it_slow(void **state)
{
	enum {
		STEPS = 400000
	};
	struct device_work *work = calloc(STEPS + 1, sizeof(*work));
	struct attempt_log attempts = { 0 };
	struct summary summary = { .attempts = &attempts };
	uint64_t i;

	(void)state;
	assert_non_null(work);
	work[0] = kernel(1, 0, 100ULL * STEPS);
	for (i = 0; i < STEPS; i++) {
		work[i + 1] = kernel(0, 100 * i + 10, 100 * i + 40);
		add_attempt(&attempts, 100 * i + 1, 100 * i + 101);
	}
	assert_int_equal(device_busy(work, STEPS + 1, &summary), 0);
	assert_int_equal(summary.device.busy_count, 2 * STEPS);
	assert_int_equal(summary.device.busy[STEPS].busy_ns, 30);
	assert_int_equal(summary.device.busy[STEPS + 1].busy_ns, 100);
	device_busy_free(&summary);
	attempt_log_clear(&attempts);
	free(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_have_rows_of_their_own),
		cmocka_unit_test(work_without_a_duration_keeps_no_device_busy),
		cmocka_unit_test(one_long_kernel_does_not_make_it_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
