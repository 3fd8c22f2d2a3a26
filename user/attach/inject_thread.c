/* inject_thread.c - see inject_thread.h. */
#include "attach/inject_thread.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "attach/process.h"
#include "base/text.h"

#define LOOK_MS 10

/* What a thread's status says that matters here. */
struct thread_status {
	char state;
	pid_t tracer;
	unsigned int seccomp; /* 0: none, 1: strict, 2: a filter */
	bool has_shadow_stack;
	uint64_t switches; /* how often it has gone to sleep */
};

static FILE *open_thread_file(pid_t pid, pid_t tid, const char *name)
{
	char path[80];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, name);
	return fopen(path, "re");
}

static void read_status_line(struct thread_status *status, const char *line)
{
	if (text_has_prefix(line, "State:\t"))
		status->state = line[7];
	else if (text_has_prefix(line, "TracerPid:\t"))
		status->tracer = (pid_t)strtol(line + 11, NULL, 10);
	else if (text_has_prefix(line, "Seccomp:\t"))
		status->seccomp = (unsigned int)strtoul(line + 9, NULL, 10);
	else if (text_has_prefix(line, "x86_Thread_features:\t"))
		status->has_shadow_stack = strstr(line, "shstk");
	else if (text_has_prefix(line, "voluntary_ctxt_switches:\t"))
		status->switches = strtoull(line + 25, NULL, 10);
}

static bool read_status(pid_t pid, pid_t tid, struct thread_status *status)
{
	FILE *file = open_thread_file(pid, tid, "status");
	char line[512];

	memset(status, 0, sizeof(*status));
	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		read_status_line(status, line);
	fclose(file);
	return status->state;
}

static int read_wait(pid_t pid, pid_t tid, struct thread_wait *wait)
{
	FILE *file = open_thread_file(pid, tid, "syscall");
	char line[256];
	int err = 0;

	if (!file)
		return errno == ENOENT ? -ESRCH : -errno;
	errno = 0;
	if (!fgets(line, sizeof(line), file))
		err = errno ? -errno : -ESRCH;
	else if (!thread_wait_parse(wait, line))
		err = -EBUSY;
	fclose(file);
	return err;
}

/* Reading from anything else may end with EINTR, or has a timeout of its own. */
static bool is_pipe(pid_t pid, int descriptor)
{
	char path[64], target[32];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, descriptor);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return false;
	target[length] = 0;
	return text_has_prefix(target, "pipe:[");
}

struct look {
	struct inject_threads *threads;
	pid_t pid;
	int err;
	uint64_t switches[INJECT_THREADS_MAX];
};

static const char *obstacle_of(const struct thread_status *status)
{
	if (status->tracer)
		return "the job is being traced";
	if (status->has_shadow_stack)
		return "the job has shadow stacks";
	if (status->seccomp == 1)
		return "the job is confined by seccomp";
	return NULL;
}

static bool is_short(pid_t pid, uint64_t address)
{
	int64_t time[2] = { -1, -1 };
	struct iovec to = { time, sizeof(time) };
	struct iovec from = { (void *)(uintptr_t)address, sizeof(time) };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) == (ssize_t)sizeof(time) &&
	       wait_duration_rank(time[0], time[1]) == WAIT_SHORT;
}

static bool is_fit(pid_t pid, struct inject_thread *thread)
{
	struct wait_question question;

	thread->rank = thread_wait_rank(&thread->wait, &question);
	thread->by_lock = question.by_lock;
	return thread->rank != WAIT_UNFIT &&
	       (question.descriptor < 0 || is_pipe(pid, question.descriptor)) &&
	       (!question.duration || is_short(pid, question.duration));
}

static int on_thread(void *context, pid_t tid)
{
	struct look *look = context;
	struct inject_threads *threads = look->threads;
	struct inject_thread thread = { .tid = tid };
	struct thread_status status;
	int err;

	if (!read_status(look->pid, tid, &status))
		return 0;
	threads->obstacle = obstacle_of(&status);
	if (threads->obstacle)
		return 1;
	err = read_wait(look->pid, tid, &thread.wait);
	if (err == -EPERM || err == -EACCES) {
		look->err = err;
		return 1;
	}
	if (err || tid == look->pid || status.state != 'S' ||
	    threads->count == INJECT_THREADS_MAX || !is_fit(look->pid, &thread))
		return 0;
	thread.has_filter = status.seccomp;
	look->switches[threads->count] = status.switches;
	threads->threads[threads->count++] = thread;
	return 0;
}

/* Waits again or still; one that has not been awake since is taken first. */
static bool look_again(const struct look *look, size_t i)
{
	struct inject_thread *thread = &look->threads->threads[i];
	struct thread_status status;

	if (!read_status(look->pid, thread->tid, &status) || status.state != 'S' ||
	    read_wait(look->pid, thread->tid, &thread->wait))
		return false;
	thread->is_restless = status.switches != look->switches[i];
	return is_fit(look->pid, thread);
}

static int compare(const void *left, const void *right)
{
	const struct inject_thread *a = left, *b = right;

	if (a->is_restless != b->is_restless)
		return a->is_restless ? 1 : -1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a->tid < b->tid ? -1 : 1;
}

static void keep_those_that_wait(struct look *look)
{
	struct inject_threads *threads = look->threads;
	size_t kept = 0, i;

	for (i = 0; i < threads->count; i++) {
		if (look_again(look, i))
			threads->threads[kept++] = threads->threads[i];
	}
	threads->count = kept;
	qsort(threads->threads, kept, sizeof(threads->threads[0]), compare);
}

int inject_threads_find(struct inject_threads *threads, pid_t pid)
{
	const struct timespec pause = { 0, LOOK_MS * 1000000L };
	struct look look = { .threads = threads, .pid = pid };
	int err;

	memset(threads, 0, sizeof(*threads));
	err = process_each_thread(pid, on_thread, &look);
	if (err < 0 || look.err || threads->obstacle) {
		threads->count = 0;
		return err < 0 ? err : look.err;
	}
	nanosleep(&pause, NULL);
	keep_those_that_wait(&look);
	return 0;
}
