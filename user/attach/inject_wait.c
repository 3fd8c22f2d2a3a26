/*
 * inject_wait.c - see inject_wait.h. Not among the fit calls: those that give EINTR to the job when
 * they are interrupted (epoll_wait, io_getevents, sigtimedwait, semop, receiving with a timeout),
 * which nothing could mend if we were killed in that moment; those that would begin anew with a
 * long timeout; and the futex calls of locks, whose thread may hold another one.
 */
#include "attach/inject_wait.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#define SHORT_S 1
#define UNNAMED_MAX 4
#define BARE_CALL_BYTES 64 /* of syscall() */
#define PAGE_BYTES 4096ULL
#define STACK_BYTES_MAX (1ULL << 32)
#define ABOVE_THREAD_MAX (16ULL << 20) /* a struct pthread is at the end of its stack */

/* A hexadecimal number behind a blank; *at moves behind it. */
static bool take_number(const char **at, uint64_t *number)
{
	char *end;

	if (**at != ' ')
		return false;
	*number = strtoull(*at + 1, &end, 16);
	if (end == *at + 1)
		return false;
	*at = end;
	return true;
}

bool thread_wait_parse(struct thread_wait *wait, const char *line)
{
	bool is_whole = true;
	const char *at;
	char *end;
	size_t i;

	memset(wait, 0, sizeof(*wait));
	wait->number = strtoll(line, &end, 10);
	if (end == line || wait->number < 0)
		return false;
	at = end;
	for (i = 0; i < 6; i++)
		is_whole = is_whole && take_number(&at, &wait->arguments[i]);
	return is_whole && take_number(&at, &wait->stack) && take_number(&at, &wait->place);
}

/* Of glibc's condition variables and semaphores; a lock's own wait is the plain operation. */
static enum wait_rank futex_rank(const uint64_t *arguments)
{
	uint64_t operation = arguments[1] & ~(uint64_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME);

	if (operation != FUTEX_WAIT_BITSET || (uint32_t)arguments[5] != FUTEX_BITSET_MATCH_ANY)
		return WAIT_UNFIT;
	return arguments[3] ? WAIT_UNTIL : WAIT_ENDLESS;
}

enum wait_rank wait_duration_rank(int64_t seconds, int64_t nanoseconds)
{
	if (seconds < 0 || nanoseconds < 0)
		return WAIT_UNFIT;
	return seconds < SHORT_S || (seconds == SHORT_S && !nanoseconds) ? WAIT_SHORT : WAIT_UNFIT;
}

static enum wait_rank poll_rank(int timeout_ms)
{
	if (timeout_ms < 0)
		return WAIT_ENDLESS;
	return wait_duration_rank(timeout_ms / 1000, timeout_ms % 1000);
}

static enum wait_rank sleep_rank(bool is_until, uint64_t time, struct wait_question *question)
{
	if (is_until)
		return WAIT_UNTIL;
	question->duration = time;
	return time ? WAIT_SHORT : WAIT_UNFIT;
}

static enum wait_rank read_rank(int descriptor, struct wait_question *question)
{
	question->descriptor = descriptor;
	return descriptor < 0 ? WAIT_UNFIT : WAIT_ENDLESS;
}

enum wait_rank thread_wait_rank(const struct thread_wait *wait, struct wait_question *question)
{
	const uint64_t *arguments = wait->arguments;

	*question =
		(struct wait_question){ .by_lock = wait->number == SYS_futex, .descriptor = -1 };
	switch (wait->number) {
	case SYS_futex:
		return futex_rank(arguments);
	case SYS_poll:
		return poll_rank((int)arguments[2]);
	case SYS_ppoll: /* the kernel writes what is left of these timeouts where it was read */
		return arguments[2] ? WAIT_UNTIL : WAIT_ENDLESS;
	case SYS_select:
	case SYS_pselect6:
		return arguments[4] ? WAIT_UNTIL : WAIT_ENDLESS;
	case SYS_clock_nanosleep:
		return sleep_rank(arguments[1] & TIMER_ABSTIME, arguments[2], question);
	case SYS_nanosleep:
		return sleep_rank(false, arguments[0], question);
	case SYS_read:
		return read_rank((int)arguments[0], question);
	case SYS_wait4:
	case SYS_waitid:
	case SYS_pause:
		return WAIT_ENDLESS;
	default:
		return WAIT_UNFIT;
	}
}

static bool is_in(const struct code_range *ranges, size_t count, uint64_t address)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (code_range_has(&ranges[i], address))
			return true;
	}
	return false;
}

enum caller {
	CALLER_UNKNOWN,
	CALLER_LOCK,
	CALLER_CONDITION,
};

/* Of the C library's functions that are named, the nearest one: others of its own may be before. */
static enum caller find_caller(const struct inject_image *image, const uint64_t *words,
			       size_t count)
{
	unsigned int unnamed = 0;
	size_t i;

	for (i = 0; i < count && unnamed < UNNAMED_MAX; i++) {
		if (is_in(image->locks, image->lock_count, words[i]))
			return CALLER_LOCK;
		if (is_in(image->waits, image->wait_count, words[i]))
			return CALLER_CONDITION;
		unnamed += code_range_has(&image->libc, words[i]) ||
			   code_range_has(&image->threads, words[i]);
	}
	return CALLER_UNKNOWN;
}

/*
 * A condition or a semaphore of the C library. A semaphore's wait is not seen on the stack, which
 * it leaves by a jump; but it waits while the word is 0, and no lock of the C library does so.
 */
static bool is_condition(const struct inject_image *image, const uint64_t *words, size_t count,
			 const struct thread_wait *futex)
{
	uint64_t bare = image->functions[INJECT_SYSCALL];
	enum caller caller = find_caller(image, words, count);

	if (!code_range_has(&image->libc, futex->place) &&
	    !code_range_has(&image->threads, futex->place))
		return false;
	if (futex->place >= bare && futex->place < bare + BARE_CALL_BYTES)
		return false;
	return caller == CALLER_CONDITION ||
	       (caller == CALLER_UNKNOWN && !(uint32_t)futex->arguments[2]);
}

const char *thread_stack_check(const struct inject_image *image, const uint64_t *words,
			       size_t count, const struct thread_wait *futex)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (code_range_has(&image->loader, words[i]) ||
		    code_range_has(&image->walk, words[i]))
			return "it is in the loader";
		/* What a handler interrupted may hold any lock of the C library. */
		if (words[i] == image->restorer)
			return "it is in a signal handler";
	}
	return futex && !is_condition(image, words, count, futex) ? "it may wait for a lock" : NULL;
}

/*
 * struct pthread has, one after the other: where the block of the stack begins, its size, and the
 * size of the guard at its begin. Where in the structure differs from version to version; that the
 * numbers fit does not happen by chance.
 */
bool thread_stack_find(struct thread_stack *stack, const uint64_t *words, size_t count,
		       uint64_t thread_pointer, uint64_t stack_pointer)
{
	size_t i;

	for (i = 0; i + 2 < count; i++) {
		uint64_t begin = words[i], size = words[i + 1], guard = words[i + 2];

		/* Without a guard it is a stack that the job brought along. */
		if (!begin || !guard || begin % PAGE_BYTES || size % PAGE_BYTES ||
		    guard % PAGE_BYTES || size > STACK_BYTES_MAX || guard >= size ||
		    begin > UINT64_MAX - size)
			continue;
		if (stack_pointer < begin + guard || stack_pointer >= thread_pointer ||
		    thread_pointer >= begin + size ||
		    begin + size - thread_pointer > ABOVE_THREAD_MAX)
			continue;
		stack->begin = begin + guard;
		stack->end = thread_pointer;
		return true;
	}
	return false;
}
