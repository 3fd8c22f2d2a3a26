// A process that looks like a PyTorch training job from outside and knows its own counts.

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <unistd.h>

#include "options.h"
#include "workload.h"

static volatile int stop;

static void on_sigterm(int)
{
	stop = 1;
}

// import torch maps the extension module too; nothing in it is called.
static void map_extension_module()
{
	char self[4096];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	std::string path(self, len > 0 ? static_cast<size_t>(len) : 0);

	path.resize(path.rfind('/') + 1);
	path += "torch/_C.cpython-311-x86_64-linux-gnu.so";
	if (!dlopen(path.c_str(), RTLD_NOW))
		fprintf(stderr, "standin: %s\n", dlerror());
}

static void wait_for(const std::string &gate)
{
	while (!gate.empty() && access(gate.c_str(), F_OK) && !stop)
		usleep(1000);
}

int main(int argc, char **argv)
{
	Options options = options_parse(argc, argv);

	signal(SIGTERM, on_sigterm);
	map_extension_module();

	// Made here, so that a thread of the crew is there before anybody attaches.
	Workload workload(options, argv);

	printf("ready %d\n", static_cast<int>(getpid()));
	fflush(stdout);
	wait_for(options.gate);
	if (options.loop_thread)
		std::thread([&workload] { workload.run(stop); }).join();
	else
		workload.run(stop);
	return 0;
}
