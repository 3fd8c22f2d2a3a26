/*
 * A process that loads the whole job, gives it up when the job asks for it (--deed unload), and
 * loads it again. Each time the job runs in a thread of its own: what a thread keeps of a library
 * would hold it in memory.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

struct life {
	int argc;
	char **argv;
	int64_t first, next;
};

static volatile int stop;

static void on_sigterm(int number)
{
	(void)number;
	stop = 1;
}

static void fail(const char *what)
{
	fprintf(stderr, "standin-host: %s\n", what);
	_exit(3);
}

static void *load(void)
{
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	void *handle;

	path[length > 0 ? length : 0] = 0;
	if (strrchr(path, '/'))
		strcpy(strrchr(path, '/'), "/libstandin_job.so");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fail(dlerror());
	return handle;
}

static int is_mapped(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096];
	int found = 0;

	if (!maps)
		fail("/proc/self/maps cannot be read");
	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, name) != NULL;
	fclose(maps);
	return found;
}

static void *live(void *context)
{
	struct life *life = context;
	int64_t (*job)(int, char **, int64_t, const volatile int *);
	void *handle = load();

	*(void **)&job = dlsym(handle, "standin_job");
	if (!job)
		fail(dlerror());
	life->next = job(life->argc, life->argv, life->first, &stop);
	return handle;
}

int main(int argc, char **argv)
{
	struct life life = { argc, argv, 0, 0 };

	signal(SIGTERM, on_sigterm);
	do {
		pthread_t thread;
		void *handle;

		if (pthread_create(&thread, NULL, live, &life) || pthread_join(thread, &handle))
			fail("no thread");
		if (life.next < 0)
			break;
		if (dlclose(handle) || is_mapped("/libtorch_cpu"))
			fail("the libraries cannot be given up");
		printf("{\"unloaded\": %" PRId64 "}\n", life.next);
		fflush(stdout);
		usleep(20000);
		life.first = life.next;
	} while (!stop);
	return 0;
}
