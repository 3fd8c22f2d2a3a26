// Memory as c10 hands it out: the functions that a tracer probes, and the allocators that call
// them. Lives in libc10.so.

#ifndef STANDIN_MEMORY_H
#define STANDIN_MEMORY_H

#include <stdexcept>

#include "torch_types.h"

namespace c10
{

// The signed and unsigned spellings reach the mangled names: they changed in 2.2.
#if STANDIN_TORCH < 202
using ProfiledSize = int64_t;
#else
using ProfiledSize = size_t;
#endif

class TORCH_API ProfiledCPUMemoryReporter
{
      public:
	void New(void *ptr, size_t nbytes);
	void Delete(void *ptr);
	void OutOfMemory(size_t nbytes);

      private:
	void *lock_ = nullptr;
	ProfiledSize allocated_ = 0;
};

TORCH_API void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size,
					   ProfiledSize total_allocated,
					   ProfiledSize total_reserved, Device device);
TORCH_API void reportOutOfMemoryToProfiler(int64_t alloc_size, ProfiledSize total_allocated,
					   ProfiledSize total_reserved, Device device);

} // namespace c10

namespace standin
{

struct OutOfMemory : std::runtime_error {
	using std::runtime_error::runtime_error;
};

// As DefaultCPUAllocator: 0 bytes are no block, and are reported all the same.
TORCH_API void *cpu_allocate(size_t size_bytes);
TORCH_API void cpu_free(void *block); // nullptr is no block, and is not reported

// Larger blocks fail on this thread; 0: no limit.
TORCH_API void cpu_limit(size_t size_bytes);

// As CUDACachingAllocator: addresses that cannot be read, and totals. Blocks are rounded up.
TORCH_API void *device_allocate(size_t size_bytes);
TORCH_API void device_free(void *block);

// Each function that reports memory, left by an exception; returns how many were.
TORCH_API int throw_through_reports();

// What both of the device allocator's totals are now.
TORCH_API uint64_t device_allocated();
TORCH_API uint64_t device_reserved();

} // namespace standin

#endif
