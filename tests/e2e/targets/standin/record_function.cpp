// RecordFunction as it is with no profiler: constructed and ended for every range, never named.

#include "autograd.h"
#include "fault.h"
#include "record_function.h"

namespace at {

std::optional<StepCallbacks> getStepCallbacksUnlessEmpty(RecordScope)
{
	return std::nullopt;
}

StepCallbacks getStepCallbacks(RecordScope)
{
	standin::fault_point(standin::Fault::callbacks);
	return {};
}

void run_callbacks(StepCallbacks &callbacks)
{
	asm volatile("" : : "r"(&callbacks) : "memory");
}

RecordFunction::RecordFunction(RecordScope scope)
{
	// The call keeps a frame, and with it the `push` that the real constructor begins with.
	StepCallbacks callbacks = getStepCallbacks(scope);

	called_start_callbacks_ = callbacks.callbacks;
}

// It begins with a push, as the real one, not with the load of its vtable.
__attribute__((optimize("no-schedule-insns2"))) RecordFunction::~RecordFunction()
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
	StepCallbacks callbacks = getStepCallbacks(RecordScope::FUNCTION);

	called_start_callbacks_ = callbacks.callbacks;
}

// How the compiler addresses them is a part of the functions' shapes.
#if STANDIN_TORCH >= 213
#define STANDIN_TLS __attribute__((tls_model("local-dynamic")))
#else
#define STANDIN_TLS __attribute__((tls_model("global-dynamic")))
#endif

static thread_local uint64_t current_thread_id STANDIN_TLS;
static thread_local uint64_t sequence_nr STANDIN_TLS;
static std::atomic<uint64_t> next_thread_id;

uint64_t RecordFunction::currentThreadId()
{
	if (!current_thread_id)
		current_thread_id = ++next_thread_id;
	return current_thread_id;
}

namespace sequence_number {

uint64_t get_and_increment()
{
	return sequence_nr++;
}

} // namespace sequence_number
} // namespace at
