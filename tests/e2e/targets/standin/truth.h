// What the stand-in did, counted by itself and printed as JSON lines.
//
// A name is printed with one code point a byte (encode it as latin-1): names need not be text.

#ifndef STANDIN_TRUTH_H
#define STANDIN_TRUTH_H

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

// Just before the optimizer's range begins, and just before and after the call that ends the attempt.
struct StepTimes {
	int64_t range_begin_ns, step_begin_ns, step_end_ns;
};

class Truth
{
      public:
	// The attempts' lines tell their operators too.
	void tell_operators();

	void begun(const std::string &name, int64_t count = 1);
	void ended(const std::string &name, int64_t count = 1);
	void thrown();

	// The attempt's boundary lies between these two times (CLOCK_MONOTONIC).
	// `result` is what was computed so far.
	void attempt(int64_t index, bool applied, const StepTimes &times, uint64_t result);
	void worker(uint64_t checksum, int status);
	void totals(uint64_t checksum);

      private:
	std::mutex mutex_;
	std::map<std::string, int64_t> begun_, ended_, begun_in_attempt_;
	std::vector<uint64_t> worker_checksums_;
	std::vector<int> worker_statuses_;
	bool tells_operators_ = false;
	int64_t attempts_ = 0, applied_ = 0, skipped_ = 0, thrown_ = 0;
};

int64_t monotonic_ns();

#endif
