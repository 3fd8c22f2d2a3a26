#include "fault.h"

#include <stdexcept>
#include <utility>

namespace standin {

static thread_local Fault armed = Fault::none;
static thread_local int passes;

// A pointer: threads that never use one need no destructor.
static thread_local std::function<void()> *inside;
static thread_local int passes_inside;

void arm_fault(Fault fault, int skip)
{
	armed = fault;
	passes = skip;
}

bool fault_is_armed()
{
	return armed != Fault::none;
}

void fault_point(Fault fault)
{
	if (armed != fault || passes-- > 0)
		return;
	armed = Fault::none;
	throw std::runtime_error("injected by the stand-in");
}

void call_inside(std::function<void()> call, int skip)
{
	delete inside;
	inside = new std::function<void()>(std::move(call));
	passes_inside = skip;
}

void dispatch_point()
{
	fault_point(Fault::dispatched);
	if (!inside || passes_inside-- > 0)
		return;

	std::function<void()> call = std::move(*inside);

	delete inside;
	inside = nullptr;
	call();
}

} // namespace standin
