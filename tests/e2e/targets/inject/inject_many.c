/*
 * inject_many.c - what `--gpu inject` does, again and again on one job, which the program itself
 * does not: it finds the agent of the first time.
 *
 *   inject_many PID COUNT AGENT DIR   loads COUNT copies of AGENT, made in DIR, each on a thread
 * that is drawn; every tenth as the program does it. A JSON line each. inject_many PID check says
 * whether it could be done, and stops nothing inject_many PID hold SECONDS      traces the job's
 * threads, as a debugger does, without a stop
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject.h"
#include "attach/inject_calls.h"
#include "attach/inject_thread.h"
#include "attach/process.h"
#include "base/clock.h"

#define LOADED_NS 20000000000ULL

static void pause_ms(long ms)
{
	const struct timespec time = { 0, ms * 1000000L };

	nanosleep(&time, NULL);
}

static int copy(const char *from, const char *to)
{
	int source = open(from, O_RDONLY | O_CLOEXEC);
	int target = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat file;

	if (source < 0 || target < 0 || fstat(source, &file) ||
	    sendfile(target, source, NULL, (size_t)file.st_size) != file.st_size)
		return -1;
	close(source);
	return target;
}

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	return mapping->is_executable && !strcmp(mapping->path, context);
}

static int wait_mapped(pid_t pid, const char *path)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADED_NS;

	while (clock_monotonic_ns() < end_ns) {
		int found = process_each_mapping(pid, on_mapping, (void *)(uintptr_t)path);

		if (found)
			return found > 0 ? 0 : found;
		pause_ms(1);
	}
	return -ETIMEDOUT;
}

/* The best one is always the same: here each gets its turn. */
static pid_t draw(pid_t pid)
{
	struct inject_threads threads;
	unsigned int tries;

	for (tries = 0; tries < 50; tries++) {
		if (inject_threads_find(&threads, pid) || threads.obstacle)
			return 0;
		if (threads.count)
			return threads.threads[(size_t)rand() % threads.count].tid;
	}
	return 0;
}

static int load(struct inject_result *result, pid_t pid, const char *path, int fd, bool whole)
{
	struct inject_order order = { INJECT_LOAD, path, -1, 0 };
	struct inject_image image;
	int err = -EAGAIN;

	memset(result, 0, sizeof(*result));
	if (whole)
		return inject_library(result, pid, fd, path);
	err = inject_image_read(&image, pid);
	if (err)
		return err;
	order.tid = draw(pid);
	return inject_calls_make(result, pid, &image, &order);
}

static void say(unsigned int number, int err, const struct inject_result *result)
{
	printf("{\"number\": %u, \"err\": %d, \"thread\": %d, \"held_ns\": %" PRIu64
	       ", \"stops\": %u, \"taken\": %u, \"memory\": %s, \"reason\": \"%s\"}\n",
	       number, err, result->tid, result->held_ns, result->stops, result->taken,
	       result->by_memory ? "true" : "false", result->reason);
}

static int many(pid_t pid, unsigned int count, const char *agent, const char *directory)
{
	struct inject_result result;
	const struct sched_param parameters = { .sched_priority = 1 };
	char path[PATH_MAX];
	unsigned int i, tries = 0;

	/* As the program's child. */
	sched_setscheduler(0, SCHED_FIFO, &parameters);
	for (i = 0; i < count; i++) {
		int err, fd;

		snprintf(path, sizeof(path), "%s/libtpbpf-agent-%u.so", directory, i);
		fd = copy(agent, path);
		if (fd < 0)
			return 1;
		do { /* the one that was drawn may be awake, the one before still loading */
			err = load(&result, pid, path, fd, i % 10 == 9);
			pause_ms(err ? 2 : 0);
		} while ((err == -EAGAIN || err == -EBUSY) && tries++ < 100 * count);
		if (!err)
			err = wait_mapped(pid, path);
		say(i, err, &result);
		close(fd);
		if (err)
			return 1;
	}
	return 0;
}

static int whole(pid_t pid, const char *agent)
{
	int err, fd = open(agent, O_RDONLY | O_CLOEXEC);
	struct inject_result result;

	if (fd < 0)
		return 1;
	err = inject_library(&result, pid, fd, agent);
	say(0, err, &result);
	close(fd);
	return err != 0;
}

static int check(pid_t pid)
{
	struct inject_result result;
	size_t threads;
	int err = inject_check(&result, pid, &threads);

	printf("{\"err\": %d, \"threads\": %zu, \"reason\": \"%s\"}\n", err, threads,
	       result.reason);
	return 0;
}

static int seize(void *context, pid_t tid)
{
	(void)context;
	return ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? -errno : 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	srand((unsigned int)pid);
	if (pid > 0 && argc == 3 && !strcmp(argv[2], "check"))
		return check(pid);
	if (pid > 0 && argc == 4 && !strcmp(argv[2], "whole"))
		return whole(pid, argv[3]);
	if (pid > 0 && argc == 4 && !strcmp(argv[2], "hold")) {
		if (process_each_thread(pid, seize, NULL))
			return 1;
		printf("ready %d\n", getpid());
		sleep((unsigned int)strtoul(argv[3], NULL, 10));
		return 0;
	}
	if (pid > 0 && argc == 5)
		return many(pid, (unsigned int)strtoul(argv[2], NULL, 10), argv[3], argv[4]);
	fprintf(stderr, "inject_many: bad arguments\n");
	return 2;
}
