// The training loop of the stand-in and everything that can be mixed into it.

#ifndef STANDIN_WORKLOAD_H
#define STANDIN_WORKLOAD_H

#include <memory>
#include <vector>

#include "bindings.h"
#include "crew.h"
#include "fault.h"
#include "model.h"
#include "options.h"
#include "ranges.h"
#include "truth.h"
#include "workers.h"

class Workload {
    public:
	Workload(const Options &options, char **argv);

	// Attempts until there have been enough of them or `stop` is set, then the totals.
	void run(const volatile int &stop);

    private:
	void attempt(int64_t index);
	void train_step(int64_t index, bool overflow);
	void user_ranges();
	void mixed_in();
	void nested(int depth);
	void cross_thread();
	void compiled_region();
	void burst();
	void throw_some();
	void throw_one(int64_t kind);
	void catching(standin::Fault fault, void (Workload::*call)());
	void enter_and_exit();
	void call_mm();
	void call_linear();
	void call_backward();
	void call_unscale();
	bool optimizer();
	bool scaled_optimizer();
	void optimizer_step(bool fused, bool is_boundary);
	void update_scale();

	const Options &options_;
	char **argv_;
	Truth truth_;
	Model model_;
	Crew crew_;
	Workers workers_;
	std::unique_ptr<CountedRange> around_, across_;
	int64_t step_begin_ns_ = 0, step_end_ns_ = 0;
};

#endif
