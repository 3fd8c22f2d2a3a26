// Exceptions on demand: the workload arms one on its thread, the named place throws it.

#ifndef STANDIN_FAULT_H
#define STANDIN_FAULT_H

#include "torch_types.h"

namespace standin {

enum class Fault {
	none,
	enter_before_begin, // in record_function_enter*, before the range exists
	enter_after_begin,  // in record_function_enter*, the range is begun and unwound
	kernel,             // in the kernel of the next operator: through at::_ops::X::call
	kernel_done,        // the same, after the kernel has done its work
};

TORCH_API void arm_fault(Fault fault);

// Throws std::runtime_error if this fault is armed on this thread, and disarms it.
TORCH_API void fault_point(Fault fault);

} // namespace standin

#endif
