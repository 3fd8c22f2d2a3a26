// libc10.so: there because a PyTorch process maps one.

#include "torch_types.h"

namespace c10 {

TORCH_API void reportMemoryUsageToProfiler(void *, int64_t, uint64_t, uint64_t, Device)
{
	asm volatile("" : : : "memory");
}

} // namespace c10
