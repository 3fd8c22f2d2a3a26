// Threads beside the loop, which do one round of work an attempt: never between two of them, so
// that what they do belongs to a known attempt.

#ifndef STANDIN_CREW_H
#define STANDIN_CREW_H

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "truth.h"

class Crew {
    public:
	Crew(Truth &truth, int64_t threads, int64_t ranges);
	~Crew();

	void round();
	uint64_t checksum();

    private:
	void work(uint32_t seed);

	Truth &truth_;
	int64_t ranges_;
	std::mutex mutex_;
	std::condition_variable changed_;
	int64_t rounds_ = 0, busy_ = 0;
	bool stop_ = false;
	uint64_t checksum_ = 0;
	std::vector<std::thread> threads_;
};

#endif
