/*
 * main.c - the simulated job: like a training process that uses CUDA, on the stand-ins of
 * tests/fakes. Says "ready PID" when its libraries are loaded and CUDA is initialized, JSON lines
 * as it goes, and its result at the end.
 *
 *   cuda_job [--threads N] [--steps N] [--pause-us N] [--gate FILE] [--hold FILE] [--truth FILE]
 *            [--cupti FILE] [--slow-kernel-ms N] [--fork] [--no-cuda]
 *     --gate FILE    wait for FILE before the first step
 *     --hold FILE    after the last step say {"finished": true} and wait for FILE
 *     --truth FILE   write what the device did
 *     --cupti FILE   load this libcupti, as libtorch does
 *     --fork         in the middle, fork a child that uses no CUDA and ends in good order
 *     --no-cuda      never call CUDA
 */
#include <dlfcn.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "work.h"

#define THREADS_MAX 64

struct options {
	unsigned int threads, steps, pause_us, slow_kernel_ms;
	const char *gate, *hold, *truth, *cupti;
	int fork, no_cuda;
};

struct thread {
	pthread_t id;
	struct worker *worker;
	const struct options *options;
};

int cuInit(unsigned int flags);

static void pause_us(unsigned int us)
{
	struct timespec time = { us / 1000000, (long)(us % 1000000) * 1000L };

	nanosleep(&time, NULL);
}

static void wait_for(const char *file)
{
	while (file && access(file, F_OK))
		pause_us(5000);
}

static int parse(int argc, char **argv, struct options *options)
{
	enum {
		THREADS,
		STEPS,
		PAUSE,
		GATE,
		HOLD,
		TRUTH,
		CUPTI,
		SLOW,
		FORK,
		NO_CUDA
	};
	static const struct option names[] = {
		{ "threads", 1, NULL, THREADS },
		{ "steps", 1, NULL, STEPS },
		{ "pause-us", 1, NULL, PAUSE },
		{ "gate", 1, NULL, GATE },
		{ "hold", 1, NULL, HOLD },
		{ "truth", 1, NULL, TRUTH },
		{ "cupti", 1, NULL, CUPTI },
		{ "slow-kernel-ms", 1, NULL, SLOW },
		{ "fork", 0, NULL, FORK },
		{ "no-cuda", 0, NULL, NO_CUDA },
		{ NULL, 0, NULL, 0 },
	};
	unsigned int *const numbers[] = { &options->threads, &options->steps, &options->pause_us };
	const char **const texts[] = { &options->gate, &options->hold, &options->truth,
				       &options->cupti };
	int which;

	while ((which = getopt_long(argc, argv, "", names, NULL)) != -1) {
		if (which >= THREADS && which <= PAUSE)
			*numbers[which] = (unsigned int)strtoul(optarg, NULL, 10);
		else if (which >= GATE && which <= CUPTI)
			*(texts[which - GATE]) = optarg;
		else if (which == SLOW)
			options->slow_kernel_ms = (unsigned int)strtoul(optarg, NULL, 10);
		else if (which == FORK)
			options->fork = 1;
		else if (which == NO_CUDA)
			options->no_cuda = 1;
		else
			return -1;
	}
	return options->threads >= 1 && options->threads <= THREADS_MAX ? 0 : -1;
}

static void *run(void *argument)
{
	struct thread *thread = argument;
	unsigned int step;

	for (step = 0; step < thread->options->steps; step++) {
		worker_step(thread->worker, step);
		if (thread->options->pause_us)
			pause_us(thread->options->pause_us);
	}
	return NULL;
}

static int fork_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (!child) {
		/* As a data loader's worker: works for a while, uses no CUDA, and exits. */
		char *memory = malloc(1 << 20);

		pause_us(300000);
		free(memory);
		exit(3);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

static uint64_t work(const struct options *options)
{
	struct thread threads[THREADS_MAX];
	uint64_t checksum = 0;
	unsigned int i;

	for (i = 0; i < options->threads; i++) {
		threads[i].worker = worker_new(i);
		threads[i].options = options;
	}
	if (options->slow_kernel_ms)
		worker_slow_kernel(threads[0].worker, options->slow_kernel_ms);
	for (i = 1; i < options->threads; i++)
		pthread_create(&threads[i].id, NULL, run, &threads[i]);
	run(&threads[0]);
	for (i = 0; i < options->threads; i++) {
		if (i)
			pthread_join(threads[i].id, NULL);
		checksum = checksum * 1000003 + worker_checksum(threads[i].worker);
		worker_free(threads[i].worker);
	}
	return checksum;
}

int main(int argc, char **argv)
{
	struct options options = { .threads = 2, .steps = 20 };
	uint64_t checksum = 0;
	int child = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (parse(argc, argv, &options)) {
		fprintf(stderr, "cuda_job: bad arguments\n");
		return 2;
	}
	if (options.cupti && !dlopen(options.cupti, RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "cuda_job: %s\n", dlerror());
		return 2;
	}
	if (!options.no_cuda)
		cuInit(0);
	printf("ready %d\n", getpid());
	wait_for(options.gate);
	if (!options.no_cuda)
		checksum = work(&options);
	if (options.fork)
		child = fork_child();
	printf("{\"finished\": true, \"child\": %d}\n", child);
	wait_for(options.hold);
	if (options.truth && fake_write_truth(options.truth)) {
		fprintf(stderr, "cuda_job: cannot write %s\n", options.truth);
		return 1;
	}
	printf("{\"done\": true, \"checksum\": \"%016" PRIx64 "\"}\n", checksum);
	return 0;
}
