// Exceptions on demand: the workload arms one on its thread, the named place throws it. Lives in
// libc10.so, since what reports memory throws too.

#ifndef STANDIN_FAULT_H
#define STANDIN_FAULT_H

#include <functional>

#include "torch_types.h"

namespace standin
{

enum class Fault {
	none,
	enter_before_begin, // in record_function_enter*, before the range exists
	enter_after_begin,  // in record_function_enter*, the range is begun and unwound
	kernel,		    // in the kernel of the next operator: through at::_ops::X::call
	kernel_done,	    // the same, after the kernel has done its work
	dispatched,	    // in the next operator, whichever it is, before its kernel
	guarded,	    // in a kernel that holds a guard of its own, inside of that
	callbacks, // where a RecordFunction looks for callbacks: in its constructor, in before()
	report,	   // in the functions that report memory
};

// skip: so many places let it pass before one throws.
TORCH_API void arm_fault(Fault fault, int skip = 0);
TORCH_API bool fault_is_armed();

// Throws std::runtime_error if this fault is armed on this thread, and disarms it.
TORCH_API void fault_point(Fault fault);

// Calls this once in the middle of an operator, the one after the next `skip` of this thread.
TORCH_API void call_inside(std::function<void()> call, int skip);

// Where every operator passes, between its entry and its kernel.
TORCH_API void dispatch_point();

} // namespace standin

#endif
