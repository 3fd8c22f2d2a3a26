#include "job.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include "options.h"
#include "workload.h"

// import torch maps the extension module too; nothing in it is called.
static void *map_extension_module()
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	std::string path(self, len > 0 ? static_cast<size_t>(len) : 0);
	void *handle;

	path.resize(path.rfind('/') + 1);
	path += "torch/_C.cpython-311-x86_64-linux-gnu.so";
	handle = dlopen(path.c_str(), RTLD_NOW);
	if (!handle)
		fprintf(stderr, "standin: %s\n", dlerror());
	return handle;
}

static void wait_for(const std::string &gate, const volatile int &stop)
{
	while (!gate.empty() && access(gate.c_str(), F_OK) && !stop)
		usleep(1000);
}

static void on_timer(int) {}

// Signals that come at any moment: in a probed instruction, too.
static void start_timer(int64_t period_us)
{
	struct sigaction action = {};
	itimerval timer = {{0, static_cast<suseconds_t>(period_us)},
			   {0, static_cast<suseconds_t>(period_us)}};

	if (period_us == 0)
		return;
	action.sa_handler = on_timer;
	action.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &timer, nullptr);
}

static int64_t attempts(const Options &options, char **argv, int64_t first,
			const volatile int &stop)
{
	int64_t next = -1;

	// Made here, so that a thread of the crew is there before anybody attaches.
	Workload workload(options, argv);

	if (first == 0) {
		printf("ready %d\n", static_cast<int>(getpid()));
		fflush(stdout);
		wait_for(options.gate, stop);
	}
	start_timer(options.timer_us);
	if (options.loop_thread)
		std::thread([&] { next = workload.run(stop, first); }).join();
	else
		next = workload.run(stop, first);
	return next;
}

int64_t standin_job(int argc, char **argv, int64_t first, const volatile int *stop)
{
	Options options = options_parse(argc, argv);
	if (first > 0) // it was done
		options.deed = "none";

	void *extension = map_extension_module();
	int64_t next = attempts(options, argv, first, *stop);

	if (next >= 0 && extension)
		dlclose(extension);
	return next;
}
