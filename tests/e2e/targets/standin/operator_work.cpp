#include "operator_work.h"

#include <cstring>
#include <stdexcept>
#include <thread>

#include <unistd.h>

#include "bindings.h"
#include "fault.h"
#include "kernels.h"
#include "memory.h"

namespace ops = at::_ops;

using at::Tensor;
using c10::Scalar;
using standin::Fault;

static constexpr int64_t kWidth = 48;

OperatorWork::OperatorWork(Truth &truth, const Options &options, uint32_t seed)
	: truth_(truth), options_(options), state_(standin::make_tensor(kWidth)),
	  gradient_(standin::make_tensor(kWidth))
{
	for (int64_t i = 0; i < kWidth; i++) {
		seed = seed * 1103515245U + 12345U;
		standin::tensor_data(state_)[i] = static_cast<float>(seed >> 8) / 16777216.0F;
	}
}

void OperatorWork::round()
{
	standin::Tape tape;

	forward(tape);
	pause();
	backward(tape);
	pause();
	recursion();
	pause();
	views();
	memory();
	if (options_.device_memory)
		device_memory();
	if (options_.boxed)
		python();
	errors();
}

void OperatorWork::pause() const
{
	if (options_.op_pause_us > 0)
		usleep(static_cast<useconds_t>(options_.op_pause_us));
}

uint64_t OperatorWork::checksum() const
{
	uint64_t sum = 0xcbf29ce484222325U;

	for (const Tensor *tensor : {&state_, &gradient_}) {
		for (int64_t i = 0; i < kWidth; i++) {
			uint32_t bits;

			memcpy(&bits, &standin::tensor_data(*tensor)[i], sizeof(bits));
			sum = (sum ^ bits) * 0x100000001b3U;
		}
	}
	return sum;
}

void OperatorWork::forward(standin::Tape &tape)
{
	standin::Recording recording(&tape);

	standin::record_node(std::make_unique<torch::autograd::AccumulateGrad>(gradient_));

	Tensor x = ops::linear::call(state_, state_, state_);

	x = ops::relu::call(x);
	x = standin::doubling_apply(x);
	x = ops::mul_Tensor::call(x, state_);
	x = ops::sub_Tensor::call(ops::add_Tensor::call(x, state_, Scalar(1)), x, Scalar(1));
	x = ops::lift_fresh::call(x);
	x = ops::to_dtype_layout::call(x, {}, {}, {}, {}, false, false, {});
	x = ops::special_erf::call(x);
	ops::copy_::call(state_, x, false);
	x = ops::_log_softmax::call(x, 1, false);
	x = ops::mse_loss::call(x, state_, 1);
	ops::item::call(x);
}

// On this thread, or on one of the engine's.
void OperatorWork::backward(standin::Tape &tape)
{
	Tensor gradient = ops::ones_like::call(state_, {}, {}, {}, {}, {});

	if (options_.backward_thread) {
		std::thread([&] {
			gradient = standin::run_backward(tape, std::move(gradient));
		}).join();
	} else {
		gradient = standin::run_backward(tape, std::move(gradient));
	}
	ops::add__Tensor::call(gradient_, gradient, Scalar(1));
}

void OperatorWork::recursion()
{
	standin::recurse(static_cast<int>(options_.op_depth));
	Tensor deep = ops::relu::call(state_);
	standin::recurse(static_cast<int>(options_.op_depth));
	Tensor in_turn = ops::clone::call(deep, {});
	Tensor halves[] = {deep, in_turn, state_, deep, state_};
	standin::recurse(0);

	Tensor joined = ops::cat::call({halves, 5}, 0);

	ops::mm_out::call(joined, deep, state_);
}

void OperatorWork::views()
{
	std::vector<c10::SymInt> size = {kWidth};
	Tensor view = ops::reshape::call(state_, {size.data(), 1});

	view = ops::expand::call(view, {size.data(), 1}, false);
	view = ops::resolve_conj::call(view);
	view = ops::detach::call(view);
	ops::detach_::call(view);
	ops::relu_::call(view);
	ops::mul__Tensor::call(view, ops::mean::call(view, {}));
}

static Tensor empty(int64_t numel, c10::optional<c10::Device> device = {})
{
	std::vector<c10::SymInt> size = {numel};

	return ops::empty_memory_format::call({size.data(), 1}, {}, {}, device, {}, {});
}

// Blocks of known sizes: one of none, one that another thread frees, some that were too large.
void OperatorWork::memory()
{
	Tensor nothing = empty(0);
	Tensor elsewhere = empty(1000);

	std::thread([&elsewhere] { elsewhere = Tensor(); }).join();
	retry_smaller();
}

void OperatorWork::retry_smaller()
{
	int64_t numel = 64000;

	standin::cpu_limit(8000 * sizeof(float));
	for (;;) {
		try {
			Tensor fits = empty(numel);

			ops::zero_::call(fits);
			break;
		} catch (const std::runtime_error &) {
			truth_.thrown();
			numel /= 2;
		}
	}
	standin::cpu_limit(0);
}

void OperatorWork::device_memory()
{
	c10::Device cuda = {c10::DeviceType::CUDA, 0};
	Tensor small = empty(100, cuda);
	Tensor large = empty(1 << 20, cuda);

	small = Tensor();
	try {
		empty(INT64_C(1) << 29, cuda);
	} catch (const std::runtime_error &) {
		truth_.thrown();
	}
	empty(1, cuda);
}

// Called from Python by name: no at::_ops call of its own.
void OperatorWork::python()
{
	Tensor scaled = standin::boxed_scale(state_);

	ops::add__Tensor::call(state_, scaled, Scalar(1));
}

void OperatorWork::errors()
{
	for (int64_t i = 0; i < options_.op_errors; i++) {
		try {
			error(i);
		} catch (const std::runtime_error &) {
		}
		if (!standin::fault_is_armed())
			truth_.thrown();
		standin::arm_fault(Fault::none);
		standin::recurse(0);
	}
	if (options_.op_errors > 0)
		error(-1);
}

void OperatorWork::error(int64_t kind)
{
	standin::Tape tape;

	switch (kind % 7) {
	case 0: // the operator itself
		standin::arm_fault(Fault::kernel);
		ops::mul__Tensor::call(state_, state_);
		break;
	case 1: // once it is done
		standin::arm_fault(Fault::kernel_done);
		ops::add__Tensor::call(state_, state_, Scalar(1));
		break;
	case 2: // through four frames: as_strided, transpose, t, linear
		standin::arm_fault(Fault::kernel, 1);
		ops::linear::call(state_, state_, state_);
		break;
	case 3: // caught in the frame of an operator, which then goes on
		standin::arm_fault(Fault::kernel);
		ops::to_dtype_layout::call(state_, {}, {}, {}, {}, false, false, {});
		break;
	case 4: // the innermost of five of one name
		standin::recurse(4);
		standin::arm_fault(Fault::kernel, 4);
		ops::relu::call(state_);
		break;
	case 5: // the exit of both is their `ret`
		standin::arm_fault(Fault::kernel);
		ops::item::call(state_);
		break;
	case 6: // in an operator of a node: through the engine and its guard
		tape.nodes.push_back(
			std::make_unique<torch::autograd::AccumulateGrad>(gradient_));
		standin::arm_fault(Fault::kernel, 1);
		standin::run_backward(tape, state_);
		break;
	default: // none, from the same frame: who watches knows by it that the last one is over
		ops::relu_::call(state_);
		break;
	}
}

Crew::Make crew_of_operators(Truth &truth, const Options &options)
{
	return [&truth, &options](uint32_t number) {
		return std::make_unique<OperatorWork>(truth, options, number);
	};
}
