// Threads beside the loop, which do one round of work an attempt: never between two of them, so
// that what they do belongs to a known attempt.

#ifndef STANDIN_CREW_H
#define STANDIN_CREW_H

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "truth.h"

// What one thread does.
class CrewWork
{
      public:
	virtual ~CrewWork();
	virtual void round() = 0;
	virtual uint64_t checksum() const = 0;
};

class Crew
{
      public:
	// Each thread makes its own work, numbered from 1.
	using Make = std::function<std::unique_ptr<CrewWork>(uint32_t number)>;

	Crew(int64_t threads, Make make);
	~Crew();

	void round();
	uint64_t checksum();

      private:
	void work(uint32_t number);

	Make make_;
	std::mutex mutex_;
	std::condition_variable changed_;
	int64_t rounds_ = 0, busy_ = 0;
	bool stop_ = false;
	uint64_t checksum_ = 0;
	std::vector<std::thread> threads_;
};

// Ranges `crew` round a step of a model.
Crew::Make crew_of_models(Truth &truth, int64_t ranges);

#endif
