/* kernel_check.c - see kernel_check.h. The child dies with us and touches nothing but its pipes. */
#include "attach/kernel_check.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process.h"
#include "base/privilege.h"

#define CHILD_TIMEOUT_MS 5000

/* The probed function. Not inlined, not merged with another, and with an effect. */
static __attribute__((noinline, noclone)) void probed_function(volatile int *calls)
{
	*calls = *calls + 1;
}

static void *call_once(void *calls)
{
	probed_function(calls);
	return NULL;
}

/* Never returns: the parent's state is not ours to unwind. */
static __attribute__((noreturn)) void run_child(int go, int done)
{
	volatile int calls = 0;
	pthread_t thread;
	char byte = 0;

	privilege_keep(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (read(go, &byte, 1) != 1)
		_exit(1);
	if (pthread_create(&thread, NULL, call_once, (void *)&calls))
		_exit(1);
	pthread_join(thread, NULL);
	probed_function(&calls);
	if (write(done, &byte, 1) != 1)
		_exit(1);
	pause();
	_exit(0);
}

static bool wait_for_child(int done)
{
	struct pollfd fd = { .fd = done, .events = POLLIN };
	char byte;

	return poll(&fd, 1, CHILD_TIMEOUT_MS) > 0 && read(done, &byte, 1) == 1;
}

static int watch(const struct kernel_check_ops *ops, pid_t child, int go, int done,
		 enum kernel_filter *filter)
{
	uint64_t file_offset;
	uint32_t hits;
	bool has_run;
	int err = process_file_offset(getpid(), (uint64_t)(uintptr_t)probed_function, &file_offset);

	if (err)
		return err;
	err = ops->attach(ops->context, child, "/proc/self/exe", file_offset);
	if (err == -EPERM || err == -EACCES)
		return -EPERM;
	if (err) {
		*filter = KERNEL_NO_MULTI;
		return 0;
	}
	has_run = write(go, "", 1) == 1 && wait_for_child(done);
	hits = ops->hits(ops->context);
	ops->detach(ops->context);
	if (!has_run)
		return -EIO;
	*filter = hits >= 2   ? KERNEL_FILTERS_PROCESS
		  : hits == 1 ? KERNEL_FILTERS_THREAD
			      : KERNEL_NO_MULTI;
	return 0;
}

int kernel_check_filter(const struct kernel_check_ops *ops, enum kernel_filter *filter)
{
	int go[2], done[2], err;
	pid_t child;

	if (pipe(go))
		return -errno;
	if (pipe(done)) {
		err = -errno;
		close(go[0]);
		close(go[1]);
		return err;
	}
	child = fork();
	if (!child) {
		close(go[1]);
		close(done[0]);
		run_child(go[0], done[1]);
	}
	err = child < 0 ? -errno : 0;
	close(go[0]);
	close(done[1]);
	if (!err)
		err = watch(ops, child, go[1], done[0], filter);
	close(go[1]);
	close(done[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return err;
}
