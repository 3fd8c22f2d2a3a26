// Forked processes that work on their own, as the workers of a DataLoader.

#ifndef STANDIN_WORKERS_H
#define STANDIN_WORKERS_H

#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "truth.h"

class Workers
{
      public:
	// Prints `worker PID` for each.
	void fork_some(int64_t count, int64_t iterations);

	// They live until here.
	void collect(Truth &truth);

      private:
	struct Worker {
		pid_t pid;
		int result_fd;
		int release_fd;
	};
	std::vector<Worker> workers_;
};

#endif
