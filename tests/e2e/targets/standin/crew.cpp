#include "crew.h"

#include "model.h"
#include "ranges.h"

Crew::Crew(Truth &truth, int64_t threads, int64_t ranges) : truth_(truth), ranges_(ranges)
{
	for (int64_t i = 0; i < threads; i++)
		threads_.emplace_back(&Crew::work, this, static_cast<uint32_t>(i + 1));
}

Crew::~Crew()
{
	checksum();
}

void Crew::round()
{
	std::unique_lock<std::mutex> lock(mutex_);

	busy_ = static_cast<int64_t>(threads_.size());
	rounds_++;
	changed_.notify_all();
	changed_.wait(lock, [this] { return busy_ == 0; });
}

// Ends the threads.
uint64_t Crew::checksum()
{
	{
		std::lock_guard<std::mutex> lock(mutex_);

		stop_ = true;
		changed_.notify_all();
	}
	for (std::thread &thread : threads_)
		thread.join();
	threads_.clear();
	return checksum_;
}

void Crew::work(uint32_t seed)
{
	Model model(seed);
	int64_t seen = 0;
	std::unique_lock<std::mutex> lock(mutex_);

	for (;;) {
		changed_.wait(lock, [&] { return stop_ || rounds_ > seen; });
		if (stop_)
			break;
		seen = rounds_;
		lock.unlock();
		for (int64_t i = 0; i < ranges_; i++) {
			CountedRange range(truth_, "crew");

			model.forward();
			model.backward(false);
			model.update();
		}
		lock.lock();
		if (--busy_ == 0)
			changed_.notify_all();
	}
	checksum_ ^= model.checksum();
}
