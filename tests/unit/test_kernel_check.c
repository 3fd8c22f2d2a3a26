/* The check runs a real child; what the kernel would count is told by the test. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "attach/kernel_check.h"

struct kernel {
	int attach_result;
	uint32_t hits;
	int attached, detached;
	uint64_t file_offset;
};

static int attach(void *context, pid_t pid, const char *path, uint64_t file_offset)
{
	struct kernel *kernel = context;

	assert_true(pid > 0);
	assert_string_equal(path, "/proc/self/exe");
	kernel->file_offset = file_offset;
	kernel->attached += !kernel->attach_result;
	return kernel->attach_result;
}

static uint32_t hits(void *context)
{
	return ((struct kernel *)context)->hits;
}

static void detach(void *context)
{
	((struct kernel *)context)->detached++;
}

static int check(struct kernel *kernel, enum kernel_filter *filter)
{
	const struct kernel_check_ops ops = { attach, hits, detach, kernel };

	return kernel_check_filter(&ops, filter);
}

static void hits_of_both_threads_mean_a_process_filter(void **state)
{
	struct kernel kernel = { .hits = 2 };
	enum kernel_filter filter = KERNEL_NO_MULTI;

	(void)state;
	assert_int_equal(check(&kernel, &filter), 0);
	assert_int_equal(filter, KERNEL_FILTERS_PROCESS);
	assert_int_equal(kernel.detached, kernel.attached);
	assert_true(kernel.file_offset > 0);
}

static void a_hit_of_one_thread_means_a_thread_filter(void **state)
{
	struct kernel kernel = { .hits = 1 };
	enum kernel_filter filter = KERNEL_NO_MULTI;

	(void)state;
	assert_int_equal(check(&kernel, &filter), 0);
	assert_int_equal(filter, KERNEL_FILTERS_THREAD);
	assert_int_equal(kernel.detached, 1);
}

static void no_hit_means_that_multi_does_not_work(void **state)
{
	struct kernel kernel = { .hits = 0 };
	enum kernel_filter filter = KERNEL_FILTERS_PROCESS;

	(void)state;
	assert_int_equal(check(&kernel, &filter), 0);
	assert_int_equal(filter, KERNEL_NO_MULTI);
}

static void a_kernel_that_cannot_attach_in_bulk_is_told(void **state)
{
	struct kernel kernel = { .attach_result = -EINVAL };
	enum kernel_filter filter = KERNEL_FILTERS_PROCESS;

	(void)state;
	assert_int_equal(check(&kernel, &filter), 0);
	assert_int_equal(filter, KERNEL_NO_MULTI);
	assert_int_equal(kernel.detached, 0);
}

static void a_refusal_is_an_error(void **state)
{
	struct kernel kernel = { .attach_result = -EACCES };
	enum kernel_filter filter = KERNEL_FILTERS_PROCESS;

	(void)state;
	assert_int_equal(check(&kernel, &filter), -EPERM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hits_of_both_threads_mean_a_process_filter),
		cmocka_unit_test(a_hit_of_one_thread_means_a_thread_filter),
		cmocka_unit_test(no_hit_means_that_multi_does_not_work),
		cmocka_unit_test(a_kernel_that_cannot_attach_in_bulk_is_told),
		cmocka_unit_test(a_refusal_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
