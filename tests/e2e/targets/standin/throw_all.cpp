// Each operator is called by the table, so that none is forgotten. What it is given is never used:
// the exception comes before its kernel.

#include "throw_all.h"

#include <cstring>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "autograd.h"
#include "bindings.h"
#include "memory.h"
#include "operators.h"
#include "record_function.h"

namespace ops = at::_ops;

using standin::Fault;

template <class T> static T argument(const at::Tensor &)
{
	return T{};
}

template <> at::Tensor argument<at::Tensor>(const at::Tensor &scratch)
{
	return scratch;
}

template <> c10::Scalar argument<c10::Scalar>(const at::Tensor &)
{
	return c10::Scalar(1);
}

template <>
c10::IListRef<at::Tensor> argument<c10::IListRef<at::Tensor>>(const at::Tensor &scratch)
{
	return {&scratch, 1};
}

template <class R, class... Parameters>
static void call_anyhow(R (*operation)(Parameters...), const at::Tensor &scratch)
{
	std::tuple<std::decay_t<Parameters>...> values(
		argument<std::decay_t<Parameters>>(scratch)...);

	std::apply([operation](auto &...value) { operation(static_cast<Parameters>(value)...); },
		   values);
}

ThrowAll::ThrowAll(Truth &truth) : truth_(truth), scratch_(standin::make_tensor(4)) {}

void ThrowAll::round()
{
	operators();
	ranges();
	nodes();
	functions();
	guards();
	for (int i = standin::throw_through_reports(); i > 0; i--)
		truth_.thrown();
}

void ThrowAll::thrown(Fault fault, const std::function<void()> &call, int skip)
{
	standin::arm_fault(fault, skip);
	try {
		call();
	} catch (const std::runtime_error &) {
		truth_.thrown();
	}
	standin::arm_fault(Fault::none);
	// From a frame above: who watches knows by it that the last one is over.
	ops::relu_::call(scratch_);
}

// Those that end an attempt are thrown through where attempts end: see --scaler with --throw. Those
// with a guard of their own have a row for it, which a tracer may have to take for granted.
static Fault fault_of(const char *name)
{
	if (!strncmp(name, "_amp_", 5))
		return Fault::none;
	return strncmp(name, "detach", 6) ? Fault::dispatched : Fault::guarded;
}

void ThrowAll::operators()
{
#define STANDIN_THROW(name, full, schema, ret, params, args)                                      \
	if (fault_of(#name) != Fault::none)                                                       \
		thrown(fault_of(#name), [this] { call_anyhow(ops::name::call, scratch_); });
	STANDIN_OPERATORS(STANDIN_THROW)
#undef STANDIN_THROW
}

void ThrowAll::ranges()
{
	auto enter_and_exit = [] { standin::range_exit(standin::range_enter("thrown")); };

	thrown(Fault::enter_before_begin, enter_and_exit);
	// The range has begun, and its destructor ends it.
	thrown(Fault::enter_after_begin, enter_and_exit);
	truth_.begun("thrown");
	truth_.ended("thrown");
}

// In the engine, and in an operator that the node calls.
void ThrowAll::nodes()
{
	for (int skip = 0; skip < 2; skip++) {
		standin::Tape tape;

		tape.nodes.push_back(
			std::make_unique<torch::autograd::AccumulateGrad>(scratch_));
		thrown(Fault::kernel, [&] { standin::run_backward(tape, scratch_); }, skip);
	}
}

void ThrowAll::functions()
{
	thrown(Fault::kernel, [this] { standin::doubling_apply(scratch_); });
	thrown(Fault::kernel, [this] { standin::boxed_scale(scratch_); });
}

// In the constructor, and in before(), which has told the name.
void ThrowAll::guards()
{
	static const char name[] = "Torch-Compiled Region: 0/0";

	thrown(Fault::callbacks, [] { standin::run_compiled_region(name); });
	thrown(Fault::callbacks, [] { standin::run_compiled_region(name); }, 1);
#if STANDIN_TORCH >= 202 // before, no guard is told that it is one of a compiled region
	truth_.begun(name);
	truth_.ended(name);
#endif
}
