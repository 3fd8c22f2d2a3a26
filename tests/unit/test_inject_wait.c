/* What /proc says of a thread, as it is on Linux and glibc, and whether it may be taken. */
#include "support/test.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>

#include "attach/inject_wait.h"

#define POINTER 0x7ffdb72e9120ULL

static void lines_are_read(void **state)
{
	struct thread_wait wait;

	(void)state;
	assert_true(thread_wait_parse(&wait, "202 0x7ffdb72e9120 0x189 0x0 0x0 0x0 0xffffffff "
					     "0x7fb3c053cc70 0x7fb3c05c3f16\n"));
	assert_int_equal(wait.number, SYS_futex);
	assert_int_equal(wait.arguments[0], POINTER);
	assert_int_equal(wait.arguments[5], 0xffffffff);
	assert_int_equal(wait.stack, 0x7fb3c053cc70);
	assert_int_equal(wait.place, 0x7fb3c05c3f16);
	assert_false(thread_wait_parse(&wait, "running\n"));
	/* Blocked by a fault: no system call. */
	assert_false(thread_wait_parse(&wait, "-1 0x7fb3c053cc70 0x7fb3c05c3f16\n"));
	assert_false(thread_wait_parse(&wait, "202 0x7ffdb72e9120 0x189\n"));
	assert_false(thread_wait_parse(&wait, ""));
}

static void calls_are_ranked(void **state)
{
	static const struct {
		struct thread_wait wait;
		enum wait_rank rank;
	} rows[] = {
		/* conditions and semaphores */
		{ { SYS_futex, { POINTER, 0x189, 0, 0, 0, 0xffffffff }, 0, 0 }, WAIT_ENDLESS },
		{ { SYS_futex, { POINTER, 0x89, 0, POINTER, 0, 0xffffffff }, 0, 0 }, WAIT_UNTIL },
		/* a lock's own wait, with priorities too; a bit set of somebody else */
		{ { SYS_futex, { POINTER, 0x80, 2, 0, 0, 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_futex, { POINTER, FUTEX_LOCK_PI, 0, 0, 0, 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_futex, { POINTER, 0x89, 0, 0, 0, 1 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_futex, { POINTER, FUTEX_WAIT_REQUEUE_PI, 0, 0, 0, 0xffffffff }, 0, 0 },
		  WAIT_UNFIT },
		{ { SYS_poll, { POINTER, 1, (uint32_t)-1 }, 0, 0 }, WAIT_ENDLESS },
		{ { SYS_poll, { POINTER, 1, 1000 }, 0, 0 }, WAIT_SHORT },
		{ { SYS_poll, { POINTER, 1, 1001 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_ppoll, { POINTER, 1, 0 }, 0, 0 }, WAIT_ENDLESS },
		{ { SYS_ppoll, { POINTER, 1, POINTER }, 0, 0 }, WAIT_UNTIL },
		{ { SYS_select, { 1, POINTER, 0, 0, 0 }, 0, 0 }, WAIT_ENDLESS },
		{ { SYS_pselect6, { 1, POINTER, 0, 0, POINTER }, 0, 0 }, WAIT_UNTIL },
		{ { SYS_clock_nanosleep, { 1, TIMER_ABSTIME, POINTER }, 0, 0 }, WAIT_UNTIL },
		{ { SYS_clock_nanosleep, { 1, 0, 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_wait4, { 1 }, 0, 0 }, WAIT_ENDLESS },
		{ { SYS_pause, { 0 }, 0, 0 }, WAIT_ENDLESS },
		/* these say EINTR when they are interrupted */
		{ { SYS_epoll_wait, { 3, POINTER, 1, (uint32_t)-1 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_epoll_pwait, { 3, POINTER, 1, (uint32_t)-1 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_rt_sigtimedwait, { POINTER }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_semop, { 1 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_recvfrom, { 3 }, 0, 0 }, WAIT_UNFIT },
		/* these are inside of something */
		{ { SYS_restart_syscall, { 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_mmap, { 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_brk, { 0 }, 0, 0 }, WAIT_UNFIT },
		{ { SYS_ioctl, { 3 }, 0, 0 }, WAIT_UNFIT },
	};
	struct wait_question question;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, thread_wait_rank(&rows[i].wait, &question) == rows[i].rank);
		assert_row(i, question.by_lock == (rows[i].wait.number == SYS_futex));
		assert_row(i, question.descriptor == -1 && !question.duration);
	}
}

static void some_calls_ask_more(void **state)
{
	const struct thread_wait reading = { SYS_read, { 7, POINTER, 1 }, 0, 0 };
	const struct thread_wait sleeping = { SYS_nanosleep, { POINTER, 0 }, 0, 0 };
	const struct thread_wait until = { SYS_clock_nanosleep, { 1, 0, POINTER }, 0, 0 };
	struct wait_question question;

	(void)state;
	assert_int_equal(thread_wait_rank(&reading, &question), WAIT_ENDLESS);
	assert_int_equal(question.descriptor, 7);
	assert_int_equal(thread_wait_rank(&sleeping, &question), WAIT_SHORT);
	assert_int_equal(question.duration, POINTER);
	assert_int_equal(thread_wait_rank(&until, &question), WAIT_SHORT);
	assert_int_equal(question.duration, POINTER);
	assert_int_equal(wait_duration_rank(0, 999999999), WAIT_SHORT);
	assert_int_equal(wait_duration_rank(1, 0), WAIT_SHORT);
	assert_int_equal(wait_duration_rank(1, 1), WAIT_UNFIT);
	assert_int_equal(wait_duration_rank(-1, 5), WAIT_UNFIT);
	assert_int_equal(wait_duration_rank(INT64_MAX, 0), WAIT_UNFIT);
}

static const struct inject_image image = {
	.functions = { [INJECT_SYSCALL] = 0x15000 },
	.restorer = 0x15300,
	.loader = { 0x1000, 0x2000 },
	.walk = { 0x15100, 0x15200 },
	.libc = { 0x10000, 0x20000 },
	.threads = { 0x30000, 0x40000 },
	.waits = { { 0x11000, 0x11400 }, { 0x31000, 0x31400 } },
	.wait_count = 2,
	.locks = { { 0x12000, 0x12400 } },
	.lock_count = 1,
};

static void the_loader_is_seen_on_a_stack(void **state)
{
	const uint64_t words[] = { 1, 0x50000, 0x14567, 0, 0x2000, 0xfff, 0x1fff };
	const uint64_t walk[] = { 0x15200, 0x15100 };
	const uint64_t handler[] = { 0x15301, 0x15300 };

	(void)state;
	assert_null(thread_stack_check(&image, words, 6, NULL));
	assert_non_null(thread_stack_check(&image, words, 7, NULL));
	assert_null(thread_stack_check(&image, words, 0, NULL));
	assert_null(thread_stack_check(&image, walk, 1, NULL));
	assert_non_null(thread_stack_check(&image, walk, 2, NULL));
	assert_null(thread_stack_check(&image, handler, 1, NULL));
	assert_non_null(thread_stack_check(&image, handler, 2, NULL));
}

static void locks_are_told_from_conditions(void **state)
{
	static const struct {
		uint64_t words[5];
		uint64_t place, value;
		bool is_fit;
	} rows[] = {
		{ { 0, 0x99, 0x113ff, 0x12345 }, 0x16000, 5, true },
		{ { 0, 0x99, 0x31000, 0x12345 }, 0x36000, 5, true },
		{ { 0x13000, 0x99, 0x13100, 0x11000, 0x12000 }, 0x16000, 5, true },
		/* a lock is nearer; none is near, but the value tells; too far up to be the caller
		 */
		{ { 0, 0x99, 0x12000, 0x11000 }, 0x16000, 0, false },
		{ { 0x13000, 0x13100, 0, 0, 0 }, 0x16000, 0, true },
		{ { 0x13000, 0x13100, 0, 0, 0 }, 0x16000, 2, false },
		{ { 0x13000, 0x13100, 0x13200, 0x13300, 0x11000 }, 0x16000, 2, false },
		/* not the C library's own: nobody knows what it means */
		{ { 0, 0x99, 0x113ff, 0 }, 0x50000, 0, false },
		{ { 0, 0x99, 0x113ff, 0 }, 0x1501d, 0, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		const struct thread_wait futex = { SYS_futex,
						   { POINTER, 0x189, rows[i].value, 0, 0,
						     0xffffffff },
						   0x70000,
						   rows[i].place };
		const char *reason = thread_stack_check(&image, rows[i].words, 5, &futex);

		assert_row(i, !reason == rows[i].is_fit);
	}
}

#define STACK 0x7f0000000000ULL
#define SIZE 0x800000ULL
#define GUARD 0x1000ULL
#define THREAD (STACK + SIZE - 0x900)

static bool finds(uint64_t begin, uint64_t size, uint64_t guard, uint64_t stack_pointer)
{
	/* As it lies among other words of struct pthread. */
	const uint64_t words[] = { THREAD, 0, THREAD, 5, begin, size, guard, guard, 0 };
	struct thread_stack stack = { 0, 0 };
	bool found = thread_stack_find(&stack, words, COUNT_OF(words), THREAD, stack_pointer);

	assert_int_equal(stack.begin, found ? begin + guard : 0);
	assert_int_equal(stack.end, found ? THREAD : 0);
	return found;
}

static void a_stack_is_known_by_its_record(void **state)
{
	struct thread_stack stack;

	(void)state;
	assert_true(finds(STACK, SIZE, GUARD, THREAD - 64));
	assert_true(finds(STACK, SIZE, GUARD, STACK + GUARD));
	/* The stack pointer is elsewhere: a fiber's, the guard, an alternate stack. */
	assert_false(finds(STACK, SIZE, GUARD, STACK + GUARD - 8));
	assert_false(finds(STACK, SIZE, GUARD, THREAD));
	assert_false(finds(STACK, SIZE, GUARD, 0x601000));
	/* The thread's own structure is not on it; the job brought the stack along. */
	assert_false(finds(STACK, SIZE - 0x1000, GUARD, STACK + 0x4000));
	assert_false(finds(STACK, SIZE, 0, THREAD - 64));
	/* No sizes that could be. */
	assert_false(finds(STACK, SIZE + 1, GUARD, THREAD - 64));
	assert_false(finds(STACK, SIZE, SIZE, THREAD - 64));
	assert_false(finds(STACK, UINT64_MAX & ~0xfffULL, GUARD, THREAD - 64));
	assert_false(thread_stack_find(&stack, NULL, 0, THREAD, THREAD - 64));
}

static void the_place_of_errno(void **state)
{
	static const uint8_t glibc[48] = { 0x48, 0x8b, 0x05, 0x79, 0xb7, 0x1a, 0x00, 0x64, 0x48,
					   0x03, 0x04, 0x25, 0,	   0,	 0,    0,    0xc3 };
	static const uint8_t landing[48] = { 0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x8b, 0x05,
					     0x79, 0xb7, 0x1a, 0x00, 0x64, 0x48, 0x03,
					     0x04, 0x25, 0,    0,    0,	   0,	 0xc3 };
	static const uint8_t turned[48] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0,	0,    0,   0,
					    0x48, 0x03, 0x05, 0xf0, 0xff, 0xff, 0xff, 0xc3 };
	static const uint8_t number[48] = { 0x64, 0x48, 0x8b, 0x04, 0x25, 0,	0,    0,
					    0,	  0x48, 0x05, 0xc0, 0xff, 0xff, 0xff, 0xc3 };
	static const uint8_t other[48] = { 0x55, 0x48, 0x89, 0xe5 };
	int64_t offset = 0;
	uint64_t slot;

	(void)state;
	assert_true(inject_errno_code(glibc, sizeof(glibc), 0x27660, &slot, &offset));
	assert_int_equal(slot, 0x1d2de0);
	assert_true(inject_errno_code(landing, sizeof(landing), 0x2765c, &slot, &offset));
	assert_int_equal(slot, 0x1d2de0);
	assert_true(inject_errno_code(turned, sizeof(turned), 0x1000, &slot, &offset));
	assert_int_equal(slot, 0x1000);
	assert_true(inject_errno_code(number, sizeof(number), 0x1000, &slot, &offset));
	assert_int_equal(slot, 0);
	assert_int_equal(offset, -64);
	assert_false(inject_errno_code(other, sizeof(other), 0x1000, &slot, &offset));
	assert_false(inject_errno_code(glibc, 16, 0x27660, &slot, &offset));
}

static void the_locks_of_the_loader(void **state)
{
	uint32_t data[128] = { 0 };
	size_t offset = 0;

	(void)state;
	data[4] = 1; /* one alone is something else */
	assert_int_equal(inject_loader_locks((uint8_t *)data, sizeof(data), &offset), 0);
	data[40 + 4] = data[50 + 4] = 1;
	assert_int_equal(inject_loader_locks((uint8_t *)data, sizeof(data), &offset), 2);
	assert_int_equal(offset, 160);
	data[60 + 4] = 1;
	assert_int_equal(inject_loader_locks((uint8_t *)data, sizeof(data), &offset), 3);
	assert_int_equal(offset, 160);
	/* one is held */
	data[50] = 1;
	data[50 + 2] = 4711;
	assert_int_equal(inject_loader_locks((uint8_t *)data, sizeof(data), &offset), 0);
	assert_int_equal(inject_loader_locks((uint8_t *)data, 79, &offset), 0);
	assert_int_equal(inject_loader_locks((uint8_t *)data, 0, &offset), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_read),
		cmocka_unit_test(calls_are_ranked),
		cmocka_unit_test(some_calls_ask_more),
		cmocka_unit_test(the_loader_is_seen_on_a_stack),
		cmocka_unit_test(locks_are_told_from_conditions),
		cmocka_unit_test(a_stack_is_known_by_its_record),
		cmocka_unit_test(the_place_of_errno),
		cmocka_unit_test(the_locks_of_the_loader),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
