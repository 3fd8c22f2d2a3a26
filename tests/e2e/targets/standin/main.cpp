// A process that looks like a PyTorch training job from outside and knows its own counts.

#include <csignal>

#include "job.h"

static volatile int stop;

static void on_sigterm(int)
{
	stop = 1;
}

int main(int argc, char **argv)
{
	signal(SIGTERM, on_sigterm);
	return standin_job(argc, argv, 0, &stop) >= 0; // what the program is linked with stays
}
