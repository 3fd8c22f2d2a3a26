// RecordFunction as it is with no profiler: constructed and ended for every range, never named.

#include <stdexcept>

#include "fault.h"
#include "record_function.h"

namespace at {

std::optional<StepCallbacks> getStepCallbacksUnlessEmpty(RecordScope)
{
	return std::nullopt;
}

RecordFunction::RecordFunction(RecordScope scope)
{
	// The call keeps a frame, and with it the `push` that the real constructor begins with.
	std::optional<StepCallbacks> callbacks = getStepCallbacksUnlessEmpty(scope);

	called_start_callbacks_ = callbacks.has_value();
}

RecordFunction::~RecordFunction()
{
	end();
	free(callbacks_);
	free(contexts_);
}

void RecordFunction::end()
{
	if (!called_start_callbacks_)
		return;
	for (uint32_t i = 0; i < callback_count_; i++) {
		if (callbacks_[i].end)
			callbacks_[i].end(this, contexts_[i]);
	}
	callback_count_ = 0;
}

#if STANDIN_TORCH >= 209
void RecordFunction::before(Name name, int64_t)
#else
void RecordFunction::before(const char *name, int64_t)
#endif
{
	// Keeps the argument alive in a frame; nothing else is done with a name nobody listens to.
	asm volatile("" : : "r"(&name) : "memory");
	std::optional<StepCallbacks> callbacks = getStepCallbacksUnlessEmpty(RecordScope::FUNCTION);

	called_start_callbacks_ = callbacks.has_value();
}

} // namespace at

namespace standin {

static thread_local Fault armed = Fault::none;

void arm_fault(Fault fault)
{
	armed = fault;
}

void fault_point(Fault fault)
{
	if (armed != fault)
		return;
	armed = Fault::none;
	throw std::runtime_error("injected by the stand-in");
}

} // namespace standin
