// The training loop of the stand-in and everything that can be mixed into it.

#ifndef STANDIN_WORKLOAD_H
#define STANDIN_WORKLOAD_H

#include <atomic>
#include <memory>
#include <vector>

#include "bindings.h"
#include "crew.h"
#include "deeds.h"
#include "fault.h"
#include "gpu.h"
#include "lies.h"
#include "model.h"
#include "operator_work.h"
#include "options.h"
#include "ranges.h"
#include "throw_all.h"
#include "truth.h"
#include "workers.h"

class Workload
{
      public:
	Workload(const Options &options, char **argv);

	// Attempts, numbered from `first`, until there have been enough of them or `stop` is set,
	// then the totals. Returns the number of the next one if the library is to be given up, else
	// -1.
	int64_t run(const volatile int &stop, int64_t first = 0);

      private:
	void attempt(int64_t index);
	void train_step(int64_t index, bool overflow);
	void sleep();
	void spawn();
	uint64_t result() const;
	void backward(bool overflow);
	void reduce_gradients();
	void user_ranges();
	void mixed_in();
	void nested(int depth);
	void cross_thread();
	void compiled_region();
	void burst();
	void throw_some();
	void throw_one(int64_t kind);
	void throw_through_modules();
	void catching(standin::Fault fault, void (Workload::*call)(), int skip = 0);
	void enter_and_exit();
	void call_mm();
	void call_linear();
	void call_backward();
	void call_backward_deep();
	void call_item();
	void call_unscale();
	void call_model();
	bool optimizer();
	bool scaled_optimizer();
	void optimizer_step(bool fused, bool is_boundary);
	void update_scale();

	const Options &options_;
	char **argv_;
	Truth truth_;
	Model model_;
	Crew crew_, operator_crew_;
	OperatorWork operators_;
	ThrowAll throw_all_;
	Lies lies_;
	Workers workers_;
	Deeds deeds_;
	Gpu gpu_;
	std::atomic<uint64_t> spawned_checksum_{0};
	std::unique_ptr<CountedRange> around_, across_;
	int64_t range_begin_ns_ = 0, step_begin_ns_ = 0, step_end_ns_ = 0;
	bool is_step_nested_ = false;
};

#endif
