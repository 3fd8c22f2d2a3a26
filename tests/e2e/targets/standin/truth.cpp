#include "truth.h"

#include <cinttypes>
#include <cstdio>
#include <ctime>

#include "ledger.h"
#include "memory.h"
#include "python.h"

static std::string quoted(const std::string &bytes)
{
	std::string out = "\"";
	char escape[8];

	for (unsigned char c : bytes) {
		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
			out += static_cast<char>(c);
			continue;
		}
		snprintf(escape, sizeof(escape), "\\u%04x", c);
		out += escape;
	}
	return out + "\"";
}

static std::string object(const std::map<std::string, int64_t> &counts)
{
	std::string out = "{";

	for (const auto &[name, count] : counts)
		out += (out.size() > 1 ? ", " : "") + quoted(name) + ": " + std::to_string(count);
	return out + "}";
}

template <class T> static std::string array(const std::vector<T> &values)
{
	std::string out = "[";

	for (const T &value : values)
		out += (out.size() > 1 ? ", " : "") + std::to_string(value);
	return out + "]";
}

int64_t monotonic_ns()
{
	timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void Truth::tell_operators()
{
	tells_operators_ = true;
}

void Truth::begun(const std::string &name, int64_t count)
{
	std::lock_guard<std::mutex> lock(mutex_);

	begun_[name] += count;
	begun_in_attempt_[name] += count;
}

void Truth::ended(const std::string &name, int64_t count)
{
	std::lock_guard<std::mutex> lock(mutex_);

	ended_[name] += count;
}

void Truth::thrown()
{
	std::lock_guard<std::mutex> lock(mutex_);

	thrown_++;
}

void Truth::attempt(int64_t index, bool applied, const StepTimes &times, uint64_t result)
{
	std::lock_guard<std::mutex> lock(mutex_);
	std::string merged = object(standin::ledger::merged_ranges());
	std::string operators = standin::ledger::collect();

	attempts_++;
	(applied ? applied_ : skipped_)++;
	printf("{\"attempt\": %" PRId64 ", \"outcome\": \"%s\", \"range_begin\": %" PRId64
	       ", \"step_begin\": %" PRId64 ", \"step_end\": %" PRId64 ", \"result\": \"%016" PRIx64
	       "\", \"thrown\": %" PRId64 ", \"begun\": %s, \"merged\": %s, \"modules\": %s",
	       index, applied ? "applied" : "skipped", times.range_begin_ns, times.step_begin_ns,
	       times.step_end_ns, result, thrown_,
	       object(begun_in_attempt_).c_str(), merged.c_str(),
	       object(standin::collect_module_calls()).c_str());
	if (tells_operators_) {
		printf(", \"device_totals\": [%" PRIu64 ", %" PRIu64 "], %s",
		       standin::device_allocated(), standin::device_reserved(),
		       operators.c_str());
	}
	printf("}\n");
	fflush(stdout);
	begun_in_attempt_.clear();
}

void Truth::worker(uint64_t checksum, int status)
{
	std::lock_guard<std::mutex> lock(mutex_);

	worker_checksums_.push_back(checksum);
	worker_statuses_.push_back(status);
}

void Truth::totals(uint64_t checksum)
{
	std::lock_guard<std::mutex> lock(mutex_);

	printf("{\"done\": true, \"attempts\": %" PRId64 ", \"applied\": %" PRId64
	       ", \"skipped\": %" PRId64 ", \"thrown\": %" PRId64 ", \"begun\": %s, \"ended\": %s"
	       ", \"worker_checksums\": %s, \"worker_statuses\": %s, \"operator_calls\": %" PRIu64
	       ", \"checksum\": \"%016" PRIx64 "\"}\n",
	       attempts_, applied_, skipped_, thrown_, object(begun_).c_str(),
	       object(ended_).c_str(), array(worker_checksums_).c_str(),
	       array(worker_statuses_).c_str(), standin::ledger::calls_so_far(), checksum);
	fflush(stdout);
}
