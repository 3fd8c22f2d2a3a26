#include "workers.h"

#include <cstdio>

#include <sys/wait.h>
#include <unistd.h>

#include "model.h"
#include "ranges.h"

[[noreturn]] static void work(int64_t iterations, uint32_t seed, int result_fd, int release_fd)
{
	Truth own;
	Model model(seed);
	uint64_t checksum;
	char byte;

	for (int64_t i = 0; i < iterations; i++) {
		CountedRange range(own, "forked");

		model.forward();
		model.backward(false);
		model.update();
		usleep(1000);
	}
	checksum = model.checksum();
	if (write(result_fd, &checksum, sizeof(checksum)) != sizeof(checksum))
		_exit(1);
	while (read(release_fd, &byte, 1) > 0)
		;
	_exit(0);
}

void Workers::fork_some(int64_t count, int64_t iterations)
{
	for (int64_t i = 0; i < count; i++) {
		int result[2], release[2];
		pid_t pid;

		if (pipe(result) || pipe(release)) {
			perror("standin: pipe");
			_exit(1);
		}
		pid = fork();
		if (pid < 0) {
			perror("standin: fork");
			_exit(1);
		}
		if (pid == 0) {
			close(result[0]);
			close(release[1]);
			for (const Worker &other : workers_)
				close(other.release_fd);
			work(iterations, static_cast<uint32_t>(100 + i), result[1], release[0]);
		}
		close(result[1]);
		close(release[0]);
		workers_.push_back({pid, result[0], release[1]});
		printf("worker %d\n", static_cast<int>(pid));
		fflush(stdout);
	}
}

void Workers::collect(Truth &truth)
{
	for (const Worker &worker : workers_) {
		uint64_t checksum = 0;
		int status = -1;

		if (read(worker.result_fd, &checksum, sizeof(checksum)) != sizeof(checksum))
			checksum = 0;
		close(worker.release_fd);
		waitpid(worker.pid, &status, 0);
		truth.worker(checksum, status);
	}
	workers_.clear();
}
