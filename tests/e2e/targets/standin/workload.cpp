#include "workload.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "fault.h"
#include "hostile_names.h"
#include "operators.h"
#include "python.h"
#include "ranges.h"
#include "record_function.h"
#include "tick.h"

using standin::Fault;

static constexpr int kNestedDepth = 8;
static constexpr int64_t kPieceUs = 1000;
static constexpr int64_t kForwardPlaces = 19; // that may throw: 4 in linear, 2 in relu, 1 behind

static standin::DeviceKind device_kind(const Options &options)
{
	if (options.scaler != "cuda" && options.scaler != "fused-cuda")
		return standin::DeviceKind::cpu;
	return options.decoy ? standin::DeviceKind::cuda_decoy : standin::DeviceKind::cuda;
}

static const char *zero_grad_name(const Options &options)
{
	return options.optimizer == "adam" ? "Optimizer.zero_grad#Adam.zero_grad" :
					     "Optimizer.zero_grad#SGD.zero_grad";
}

Workload::Workload(const Options &options, char **argv)
	: options_(options), argv_(argv), model_(1, device_kind(options)),
	  crew_(options.threads, crew_of_models(truth_, options.ranges)),
	  operator_crew_(options.op_threads, crew_of_operators(truth_, options)),
	  operators_(truth_, options, 1000), throw_all_(truth_), lies_(truth_), deeds_(options, argv),
	  gpu_(options.gpu)
{
	if (options.operators > 0 || options.op_threads > 0 || options.lies || !options.gpu.empty())
		truth_.tell_operators();
}

int64_t Workload::run(const volatile int &stop, int64_t first)
{
	int64_t i = first;

	for (; !stop && (options_.attempts == 0 || i < options_.attempts); i++) {
		attempt(i);
		if (deeds_.wants_unload())
			return i + 1;
	}
	workers_.collect(truth_);
	gpu_.write_truth(options_.gpu_truth);
	truth_.totals(model_.checksum() ^ crew_.checksum() ^ operator_crew_.checksum() ^
		      operators_.checksum());
	deeds_.finish();
	return -1;
}

uint64_t Workload::result() const
{
	return model_.checksum() ^ operators_.checksum() ^ spawned_checksum_;
}

void Workload::attempt(int64_t index)
{
	bool overflow = options_.overflow_every > 0 &&
			index % options_.overflow_every == options_.overflow_every - 1;

	if (options_.fork_workers > 0 && index == options_.fork_at)
		workers_.fork_some(options_.fork_workers, options_.worker_iterations);
	if (index == options_.exec_at && !getenv("STANDIN_SECOND_LIFE")) {
		setenv("STANDIN_SECOND_LIFE", "1", 1);
		execv("/proc/self/exe", argv_);
		_exit(126);
	}
	train_step(index, overflow);

	across_.reset();

	// Begun after the boundary, so it belongs to the next attempt.
	CountedRange report(truth_, "report");
}

void Workload::train_step(int64_t index, bool overflow)
{
	CountedRange train_step(truth_, "train_step");

	if (index == options_.exit_at)
		_exit(7);
	if (index == options_.abort_at)
		abort();
	gpu_.copy_in();
	user_ranges();
	spawn();
	crew_.round();
	operator_crew_.round();
	for (int64_t i = 0; i < options_.operators; i++)
		operators_.round();
	if (!options_.inside_step)
		mixed_in();
	sleep();
	{
		CountedRange range(truth_, zero_grad_name(options_));

		model_.zero_grad();
	}
	model_.forward();
	backward(overflow);
	reduce_gradients();
	is_step_nested_ = options_.nested_step_from && index >= options_.nested_step_from;
	bool applied = optimizer();

	truth_.attempt(index, applied, {range_begin_ns_, step_begin_ns_, step_end_ns_}, result());
}

// In short pieces where something may be asked of it meanwhile; signals do not shorten it.
void Workload::sleep()
{
	int64_t end_ns = monotonic_ns() + options_.step_us * 1000, left_us;

	do {
		if (!options_.trigger.empty())
			deeds_.poll();
		left_us = (end_ns - monotonic_ns()) / 1000;
		if (!options_.trigger.empty())
			left_us = std::min(left_us, kPieceUs);
		if (left_us > 0)
			usleep(static_cast<useconds_t>(left_us));
	} while (left_us > 0);
}

// Threads that are new, work for a moment, and are gone before the attempt is over.
void Workload::spawn()
{
	std::vector<std::thread> threads;

	for (int64_t i = 0; i < options_.spawn_threads; i++) {
		threads.emplace_back([this, i] {
			CountedRange range(truth_, "spawned");
			at::Tensor tensor = standin::make_tensor(4);

			standin::tensor_data(tensor)[0] = static_cast<float>(i + 1);
			catching(Fault::kernel, &Workload::call_mm);
			at::_ops::relu_::call(tensor);
			spawned_checksum_ +=
				static_cast<uint64_t>(standin::tensor_data(tensor)[0] * 1024.0F);
		});
	}
	for (std::thread &thread : threads)
		thread.join();
}

void Workload::backward(bool overflow)
{
	std::optional<standin::PythonFrame> run_backward;

	if (options_.old_frames)
		run_backward.emplace(standin::Function::run_backward);
	model_.backward(overflow);
}

// As DistributedDataParallel, in one piece.
void Workload::reduce_gradients()
{
	if (!gpu_.is_there())
		return;
	{
		CountedRange range(truth_, "nccl:all_reduce");

		gpu_.all_reduce();
	}
	gpu_.wait();
}

void Workload::user_ranges()
{
	for (int64_t i = 0; i < options_.ranges; i++) {
		CountedRange range(truth_, "user_" + std::to_string(i));

		model_.forward();
	}
}

void Workload::mixed_in()
{
	if (options_.nested)
		nested(kNestedDepth);
	if (options_.leak_ranges)
		CountedRange(truth_, "leaked").leak();
	if (options_.cross_thread_end)
		cross_thread();
	if (options_.compiled_region)
		compiled_region();
	if (options_.native_scope)
		standin::run_native_user_scope();
	if (options_.hostile_names)
		hostile_ranges(truth_);
	burst();
	throw_some();
	throw_through_modules();
	for (int64_t i = 0; i < options_.throw_all; i++)
		throw_all_.round();
	if (options_.lies)
		lies_.round();
	if (options_.memory_lies)
		lies_.memory();
}

void Workload::nested(int depth)
{
	CountedRange range(truth_, "nested");

	if (depth > 1)
		nested(depth - 1);
}

void Workload::cross_thread()
{
	CountedRange range(truth_, "crossing");

	std::thread([&range] { range.end(); }).join();
}

void Workload::compiled_region()
{
	static const char name[] = "Torch-Compiled Region: 0/0";

	standin::run_compiled_region(name);
	truth_.begun(name);
	truth_.ended(name);
}

// Counted after the fact: the ring is to be filled as fast as it goes.
void Workload::burst()
{
	static const std::string name = "burst";

	if (options_.range_rate == 0)
		return;
	for (int64_t i = 0; i < options_.range_rate; i++)
		standin::range_exit(standin::range_enter(name));
	truth_.begun(name, options_.range_rate);
	truth_.ended(name, options_.range_rate);
}

void Workload::throw_some()
{
	for (int64_t i = 0; i < options_.throws; i++)
		throw_one(i);
}

void Workload::throw_one(int64_t kind)
{
	switch (kind % 9) {
	case 0:
		catching(Fault::enter_before_begin, &Workload::enter_and_exit);
		break;
	case 1:
		// The range has begun, and its destructor ends it.
		catching(Fault::enter_after_begin, &Workload::enter_and_exit);
		truth_.begun("thrown");
		truth_.ended("thrown");
		break;
	case 2:
		catching(Fault::kernel, &Workload::call_mm);
		break;
	case 3:
		catching(Fault::kernel_done, &Workload::call_linear);
		break;
	case 4:
		catching(Fault::kernel, &Workload::call_backward);
		break;
	case 5:
		catching(Fault::kernel, options_.scaler == "none" ? &Workload::call_mm :
								    &Workload::call_unscale);
		break;
	case 6:
		// Through as_strided, transpose, t and linear.
		catching(Fault::kernel, &Workload::call_linear, 1);
		break;
	case 7:
		catching(Fault::kernel, &Workload::call_backward_deep, 1);
		break;
	case 8:
		catching(Fault::kernel, &Workload::call_item);
		break;
	}
}

// From each of the places in turn that a forward passes.
void Workload::throw_through_modules()
{
	for (int64_t i = 0; i < options_.module_errors; i++)
		catching(Fault::kernel, &Workload::call_model,
			 static_cast<int>(i % kForwardPlaces));
}

void Workload::catching(Fault fault, void (Workload::*call)(), int skip)
{
	standin::arm_fault(fault, skip);
	try {
		(this->*call)();
	} catch (const std::runtime_error &) {
		truth_.thrown();
	}
	standin::arm_fault(Fault::none);
}

void Workload::enter_and_exit()
{
	standin::range_exit(standin::range_enter("thrown"));
}

void Workload::call_mm()
{
	at::Tensor tensor = standin::make_tensor(4);

	at::_ops::mm::call(tensor, tensor);
}

void Workload::call_linear()
{
	at::Tensor tensor = standin::make_tensor(4);

	at::_ops::linear::call(tensor, tensor, std::nullopt);
}

void Workload::call_backward()
{
	standin::Tape tape;

	tape.nodes.push_back(
		std::make_unique<torch::autograd::AccumulateGrad>(standin::make_tensor(4)));
	standin::run_backward(tape, standin::make_tensor(4));
}

// The second place that may throw is in an operator that the node calls.
void Workload::call_backward_deep()
{
	call_backward();
}

void Workload::call_item()
{
	at::Tensor tensor = standin::make_tensor(1);

	at::_ops::item::call(tensor);
}

void Workload::call_unscale()
{
	model_.unscale();
}

void Workload::call_model()
{
	model_.forward();
}

bool Workload::optimizer()
{
	if (options_.scaler != "none")
		return scaled_optimizer();
	optimizer_step(false, true);
	return true;
}

// As torch.amp.GradScaler: unscale, look (not when fused), step, update.
bool Workload::scaled_optimizer()
{
	bool fused = options_.scaler == "fused" || options_.scaler == "fused-cuda";
	bool applied;

	model_.unscale();
	if (fused || !model_.item_found_inf())
		optimizer_step(fused, false);
	applied = !model_.overflowed();
	step_begin_ns_ = monotonic_ns();
	update_scale();
	step_end_ns_ = monotonic_ns();
	return applied;
}

void Workload::optimizer_step(bool fused, bool is_boundary)
{
	bool adam = options_.optimizer == "adam";
	std::string name = adam ? "Optimizer.step#Adam.step" : "Optimizer.step#SGD.step";
	std::unique_ptr<CountedRange> range, inner;

	range_begin_ns_ = monotonic_ns();
	if (options_.interleave)
		around_ = std::make_unique<CountedRange>(truth_, "ends in the step");
	if (!options_.no_optimizer_range)
		range = std::make_unique<CountedRange>(truth_, name);
	if (range && is_step_nested_)
		inner = std::make_unique<CountedRange>(truth_, name);
	inner.reset();
	if (options_.interleave)
		across_ = std::make_unique<CountedRange>(truth_, "begins in the step");
	around_.reset();
	if (options_.inside_step)
		mixed_in();
	if (fused)
		model_.fused_update(adam);
	else
		model_.update();
	if (is_boundary)
		step_begin_ns_ = monotonic_ns();
	standin_tick();
	range.reset();
	if (is_boundary)
		step_end_ns_ = monotonic_ns();
}

// With --throw it throws once it is done: one attempt, whatever happens to the call.
void Workload::update_scale()
{
	if (options_.throws > 0)
		standin::arm_fault(Fault::kernel_done);
	try {
		model_.update_scale();
	} catch (const std::runtime_error &) {
		truth_.thrown();
	}
	standin::arm_fault(Fault::none);
}
