/* inject_calls.c - see inject_calls.h. */
#include "attach/inject_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "attach/inject_frame.h"
#include "attach/inject_thread.h"
#include "attach/inject_trace.h"
#include "base/clock.h"
#include "base/text.h"

#define SEARCH_NS 2000000000ULL /* for a thread that can be taken */
#define RETRY_MS 20
#define CALL_STACK_BYTES (128UL << 10) /* for the loader; measured: some 15 KiB */

/* Large, and touched before a thread is stopped. */
struct hold {
	pid_t unfit[INJECT_THREADS_MAX]; /* were looked at, and are not stopped again */
	size_t unfit_count;
	struct inject_state state;
	struct inject_frame frame;
};

/* errno, and the text. */
struct frame_data {
	int32_t saved_errno;
	char text[INJECT_DATA_BYTES_MAX - sizeof(int32_t)];
};

static int refuse(struct inject_result *result, int err, const char *reason)
{
	text_copy(result->reason, sizeof(result->reason), reason);
	return err;
}

/* A byte that memccpy() will not find: it stops behind that. */
static uint64_t byte_not_in(int32_t number)
{
	unsigned char bytes[sizeof(number)];
	uint64_t byte = 1;

	memcpy(bytes, &number, sizeof(number));
	while (memchr(bytes, (int)byte, sizeof(bytes)))
		byte++;
	return byte;
}

static size_t add_call(struct inject_call *calls, size_t count, uint64_t function, uint64_t first,
		       uint64_t second, uint64_t third)
{
	calls[count] = (struct inject_call){ function, { first, second, third, 0, 0, 0 } };
	return count + 1;
}

/* In the end errno is what it was: no call that a thread makes may have changed it. */
static size_t list_calls(struct inject_call *calls, const struct inject_image *image,
			 const struct inject_order *order, uint64_t data, uint64_t errno_address,
			 int32_t saved_errno)
{
	const uint64_t *functions = image->functions;
	uint64_t text = data + offsetof(struct frame_data, text);
	size_t count = 0;

	if (order->work == INJECT_MEMORY) {
		count = add_call(calls, count, functions[INJECT_SYSCALL], SYS_memfd_create, text,
				 MFD_CLOEXEC);
	} else {
		count = add_call(calls, count, functions[INJECT_DLOPEN], text, RTLD_NOW, 0);
		/* What it may have said is not for who asks next. */
		count = add_call(calls, count, functions[INJECT_DLERROR], 0, 0, 0);
	}
	if (order->descriptor >= 0)
		count = add_call(calls, count, functions[INJECT_SYSCALL], SYS_close,
				 (uint64_t)order->descriptor, 0);
	count = add_call(calls, count, functions[INJECT_MEMCCPY], errno_address, data,
			 byte_not_in(saved_errno));
	calls[count - 1].arguments[3] = sizeof(saved_errno);
	return count;
}

static int build(struct hold *hold, const struct inject_thread *thread,
		 const struct inject_image *image, const struct inject_order *order)
{
	uint64_t errno_address = hold->state.registers.fs_base + (uint64_t)image->errno_offset;
	struct frame_data data = { .saved_errno = 0 };
	struct inject_list list = { .restorer = image->restorer, .data = &data };
	struct inject_call calls[INJECT_CALLS_MAX];
	long word;

	if (text_copy(data.text, sizeof(data.text), order->text))
		return -ENAMETOOLONG;
	list.data_bytes = offsetof(struct frame_data, text) + strlen(data.text) + 1;
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, thread->tid, (void *)errno_address, NULL);
	if (errno)
		return -errno;
	data.saved_errno = (int32_t)word;
	list.calls = calls;
	list.call_count =
		list_calls(calls, image, order, inject_frame_data(&hold->state, list.data_bytes),
			   errno_address, data.saved_errno);
	return inject_frame_build(&hold->frame, &hold->state, thread->wait.number, &list);
}

/* Of a thread that is stopped. *reason: why this one is not taken. */
static int redirect(struct hold *hold, const struct inject_thread *thread,
		    const struct inject_image *image, const struct inject_order *order,
		    const char **reason)
{
	int err = inject_trace_read(thread, &hold->state);

	if (err)
		return err;
	*reason = inject_trace_stack(thread, image, &hold->state,
				     CALL_STACK_BYTES + INJECT_FRAME_BYTES_MAX);
	if (!*reason && thread->has_filter)
		*reason = inject_trace_filters(thread, image);
	if (*reason)
		return -EAGAIN;
	/* Who loads a library may wait in there for what this thread holds. */
	if (!inject_image_is_idle(image, thread->tid))
		return -EAGAIN;
	err = build(hold, thread, image, order);
	if (!err)
		err = inject_trace_write(thread, &hold->frame);
	return err ? err : inject_trace_switch(thread, &hold->frame);
}

/* -EAGAIN: not this one, *reason may say why; another error ends the search. */
static int take_thread(struct inject_result *result, struct hold *hold,
		       const struct inject_thread *thread, const struct inject_image *image,
		       const struct inject_order *order, const char **reason)
{
	uint64_t since_ns, held_ns;
	int err = inject_trace_seize(thread);

	if (!err)
		err = inject_trace_stop(thread, &since_ns);
	if (err)
		return err == -ESRCH ? -EAGAIN : err;
	err = redirect(hold, thread, image, order, reason);
	inject_trace_release(thread);
	held_ns = clock_monotonic_ns() - since_ns;
	result->stops++;
	if (held_ns > result->held_ns)
		result->held_ns = held_ns;
	if (!err) {
		result->tid = thread->tid;
		result->taken++;
	}
	return err == -ESRCH ? -EAGAIN : err; /* a thread that ends is not the job */
}

static bool is_unfit(const struct hold *hold, pid_t tid)
{
	size_t i;

	for (i = 0; i < hold->unfit_count; i++) {
		if (hold->unfit[i] == tid)
			return true;
	}
	return false;
}

static int take_any(struct inject_result *result, struct hold *hold,
		    const struct inject_threads *threads, const struct inject_image *image,
		    const struct inject_order *order, const char **reason)
{
	int err = -EAGAIN;
	size_t i;

	for (i = 0; i < threads->count && err == -EAGAIN; i++) {
		const struct inject_thread *thread = &threads->threads[i];
		const char *why = NULL;

		if (is_unfit(hold, thread->tid) || (order->tid && order->tid != thread->tid))
			continue;
		err = take_thread(result, hold, thread, image, order, &why);
		if (!why)
			continue;
		*reason = why;
		if (hold->unfit_count < INJECT_THREADS_MAX)
			hold->unfit[hold->unfit_count++] = thread->tid;
	}
	return err;
}

static int explain(struct inject_result *result, int err, const char *reason)
{
	char text[INJECT_REASON_BYTES];

	if (err == -EPERM || err == -EACCES)
		return refuse(result, err,
			      "the job may not be traced (ptrace_scope, or CAP_SYS_PTRACE)");
	if (err == -ESRCH)
		return refuse(result, err, "the job has ended");
	if (err == -ETIMEDOUT)
		return refuse(result, err,
			      "the machine is too busy for a thread to come to a stop");
	if (err != -EAGAIN) {
		snprintf(text, sizeof(text), "a thread could not be taken: %s", strerror(-err));
		return refuse(result, err, text);
	}
	snprintf(text, sizeof(text), "no thread of the job waits where it can be taken safely%s%s",
		 reason ? "; of the last one: " : "", reason ? reason : "");
	return refuse(result, err, text);
}

static int search(struct inject_result *result, struct hold *hold, pid_t pid,
		  const struct inject_image *image, const struct inject_order *order)
{
	const struct timespec pause = { 0, RETRY_MS * 1000000L };
	uint64_t end_ns = clock_monotonic_ns() + SEARCH_NS;
	const char *reason = NULL;
	struct inject_threads threads;
	int err;

	do {
		err = inject_threads_find(&threads, pid);
		if (!err && threads.obstacle)
			return refuse(result, -EOPNOTSUPP, threads.obstacle);
		if (!err)
			err = take_any(result, hold, &threads, image, order, &reason);
		if (err == -EAGAIN)
			nanosleep(&pause, NULL);
	} while (err == -EAGAIN && clock_monotonic_ns() < end_ns);
	return err ? explain(result, err, reason) : 0;
}

int inject_calls_make(struct inject_result *result, pid_t pid, const struct inject_image *image,
		      const struct inject_order *order)
{
	struct hold *hold = calloc(1, sizeof(*hold));
	int err;

	if (!hold)
		return refuse(result, -ENOMEM, "out of memory");
	/* Touched: while a thread is held nothing of ours has to be fetched. */
	memset(hold, 0xff, sizeof(*hold));
	hold->unfit_count = 0;
	err = search(result, hold, pid, image, order);
	free(hold);
	return err;
}
