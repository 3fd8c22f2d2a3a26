#include "crew.h"

#include "model.h"
#include "ranges.h"

CrewWork::~CrewWork() {}

Crew::Crew(int64_t threads, Make make) : make_(std::move(make))
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

void Crew::work(uint32_t number)
{
	std::unique_ptr<CrewWork> work = make_(number);
	int64_t seen = 0;
	std::unique_lock<std::mutex> lock(mutex_);

	for (;;) {
		changed_.wait(lock, [&] { return stop_ || rounds_ > seen; });
		if (stop_)
			break;
		seen = rounds_;
		lock.unlock();
		work->round();
		lock.lock();
		if (--busy_ == 0)
			changed_.notify_all();
	}
	checksum_ ^= work->checksum();
}

namespace {

class ModelWork : public CrewWork {
    public:
	ModelWork(Truth &truth, int64_t ranges, uint32_t seed)
		: truth_(truth), ranges_(ranges), model_(seed)
	{
	}
	void round() override
	{
		for (int64_t i = 0; i < ranges_; i++) {
			CountedRange range(truth_, "crew");

			model_.forward();
			model_.backward(false);
			model_.update();
		}
	}
	uint64_t checksum() const override
	{
		return model_.checksum();
	}

    private:
	Truth &truth_;
	int64_t ranges_;
	Model model_;
};

} // namespace

Crew::Make crew_of_models(Truth &truth, int64_t ranges)
{
	return [&truth, ranges](uint32_t number) {
		return std::make_unique<ModelWork>(truth, ranges, number);
	};
}
