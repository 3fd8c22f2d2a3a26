#include "memory.h"

#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "fault.h"
#include "ledger.h"

namespace c10 {

// What a profiler that runs would have put there.
struct MemoryReportingInfoBase {
	virtual void reportMemoryUsage(void *, int64_t, size_t, size_t, Device) = 0;
	virtual void reportOutOfMemory(int64_t, size_t, size_t, Device) = 0;
};

enum class DebugInfoKind : uint8_t { PRODUCER_INFO, MOBILE_RUNTIME_INFO, PROFILER_STATE };

TORCH_API MemoryReportingInfoBase *debug_info(DebugInfoKind)
{
	standin::fault_point(standin::Fault::report);
	return nullptr;
}

TORCH_API bool memoryProfilingEnabled()
{
	standin::fault_point(standin::Fault::report);
	return false;
}

// In a variable, as that of 2.13, which is loaded before the first push.
TORCH_API DebugInfoKind profiler_state = DebugInfoKind::PROFILER_STATE;

TORCH_API bool FLAGS_caffe2_report_cpu_memory_usage = false;

#if STANDIN_TORCH >= 213 || STANDIN_TORCH < 202
#define STANDIN_FRAME_FIRST __attribute__((optimize("no-shrink-wrap")))
#else
#define STANDIN_FRAME_FIRST
#endif

STANDIN_FRAME_FIRST void ProfiledCPUMemoryReporter::New(void *ptr, size_t nbytes)
{
	if (nbytes == 0)
		return;

	bool is_profiled = memoryProfilingEnabled();

	if (FLAGS_caffe2_report_cpu_memory_usage || is_profiled) {
		allocated_ += static_cast<ProfiledSize>(nbytes);
		reportMemoryUsageToProfiler(ptr, static_cast<int64_t>(nbytes), allocated_, 0,
					    Device{DeviceType::CPU, -1});
	}
}

void ProfiledCPUMemoryReporter::Delete(void *ptr)
{
	bool is_profiled = memoryProfilingEnabled();

	if (FLAGS_caffe2_report_cpu_memory_usage || is_profiled)
		reportMemoryUsageToProfiler(ptr, 0, allocated_, 0, Device{DeviceType::CPU, -1});
}

void ProfiledCPUMemoryReporter::OutOfMemory(size_t nbytes)
{
	bool is_profiled = memoryProfilingEnabled();

	if (FLAGS_caffe2_report_cpu_memory_usage || is_profiled)
		reportOutOfMemoryToProfiler(static_cast<int64_t>(nbytes), allocated_, 0,
					    Device{DeviceType::CPU, -1});
}

#if STANDIN_TORCH >= 213
#define STANDIN_PROFILER_STATE profiler_state
#else
#define STANDIN_PROFILER_STATE DebugInfoKind::PROFILER_STATE
#endif

void reportMemoryUsageToProfiler(void *ptr, int64_t alloc_size, ProfiledSize total_allocated,
				 ProfiledSize total_reserved, Device device)
{
	MemoryReportingInfoBase *reporter = debug_info(STANDIN_PROFILER_STATE);

	if (reporter)
		reporter->reportMemoryUsage(ptr, alloc_size, static_cast<size_t>(total_allocated),
					    static_cast<size_t>(total_reserved), device);
}

void reportOutOfMemoryToProfiler(int64_t alloc_size, ProfiledSize total_allocated,
				 ProfiledSize total_reserved, Device device)
{
	MemoryReportingInfoBase *reporter = debug_info(STANDIN_PROFILER_STATE);

	if (reporter)
		reporter->reportOutOfMemory(alloc_size, static_cast<size_t>(total_allocated),
					    static_cast<size_t>(total_reserved), device);
}

} // namespace c10

namespace standin {

namespace {

// In front of every block, so that a free knows what it frees.
struct Block {
	int64_t size_bytes;
	int64_t attempt;
	char padding[48];
};
static_assert(sizeof(Block) == 64, "blocks are aligned");

constexpr size_t kDeviceRounding = 512;
constexpr uint64_t kDeviceSegment = 2 << 20;
constexpr size_t kDeviceBytes = 1 << 30;

c10::ProfiledCPUMemoryReporter reporter;
thread_local size_t limit_bytes;

struct DeviceBlocks {
	std::mutex mutex;
	std::map<uint64_t, uint64_t> sizes;
	uint64_t next = UINT64_C(0x7e0000000000), allocated = 0, reserved = 0;
};

DeviceBlocks &device_blocks()
{
	static DeviceBlocks *blocks = new DeviceBlocks;

	return *blocks;
}

} // namespace

static_assert(sizeof(c10::Device) == 2, "passed in one register");

void *cpu_allocate(size_t size_bytes)
{
	void *data = nullptr;

	if (size_bytes && limit_bytes && size_bytes > limit_bytes) {
		ledger::out_of_memory();
		reporter.OutOfMemory(size_bytes);
		throw OutOfMemory("not enough memory for " + std::to_string(size_bytes) + " bytes");
	}
	if (size_bytes) {
		auto *block = static_cast<Block *>(calloc(1, sizeof(Block) + size_bytes));

		if (!block)
			throw std::bad_alloc();
		block->size_bytes = static_cast<int64_t>(size_bytes);
		block->attempt = ledger::attempt();
		data = block + 1;
		ledger::bytes(0, -1, block->size_bytes);
	}
	reporter.New(data, size_bytes);
	return data;
}

void cpu_free(void *data)
{
	if (!data)
		return;

	Block *block = static_cast<Block *>(data) - 1;

	ledger::bytes(0, block->attempt, -block->size_bytes);
	reporter.Delete(data);
	free(block);
}

void cpu_limit(size_t size_bytes)
{
	limit_bytes = size_bytes;
}

void *device_allocate(size_t size_bytes)
{
	DeviceBlocks &blocks = device_blocks();
	std::lock_guard<std::mutex> lock(blocks.mutex);
	uint64_t size = (size_bytes + kDeviceRounding - 1) / kDeviceRounding * kDeviceRounding;
	c10::Device device = {c10::DeviceType::CUDA, 0};

	if (size > kDeviceBytes) {
		ledger::out_of_memory();
		c10::reportOutOfMemoryToProfiler(static_cast<int64_t>(size),
						 static_cast<c10::ProfiledSize>(blocks.allocated),
						 static_cast<c10::ProfiledSize>(blocks.reserved),
						 device);
		throw OutOfMemory("CUDA out of memory");
	}

	uint64_t address = blocks.next;

	blocks.next += size;
	blocks.sizes[address] = size;
	blocks.allocated += size;
	if (blocks.reserved < blocks.allocated)
		blocks.reserved = (blocks.allocated / kDeviceSegment + 1) * kDeviceSegment;
	ledger::bytes(1, -1, static_cast<int64_t>(size));
	c10::reportMemoryUsageToProfiler(reinterpret_cast<void *>(address),
					 static_cast<int64_t>(size),
					 static_cast<c10::ProfiledSize>(blocks.allocated),
					 static_cast<c10::ProfiledSize>(blocks.reserved), device);
	return reinterpret_cast<void *>(address);
}

void device_free(void *block)
{
	DeviceBlocks &blocks = device_blocks();
	std::lock_guard<std::mutex> lock(blocks.mutex);
	auto found = blocks.sizes.find(reinterpret_cast<uint64_t>(block));

	if (found == blocks.sizes.end())
		abort();

	int64_t size = static_cast<int64_t>(found->second);

	blocks.allocated -= found->second;
	blocks.sizes.erase(found);
	ledger::bytes(1, -1, -size);
	c10::reportMemoryUsageToProfiler(block, -size,
					 static_cast<c10::ProfiledSize>(blocks.allocated),
					 static_cast<c10::ProfiledSize>(blocks.reserved),
					 {c10::DeviceType::CUDA, 0});
}

// What they tell is told before they throw: a block came, a block went, there was no room.
template <class Report> static int left_by_exception(Report report)
{
	arm_fault(Fault::report);
	try {
		report();
	} catch (const std::runtime_error &) {
		return 1;
	}
	arm_fault(Fault::none);
	return 0;
}

int throw_through_reports()
{
	static char block[64];
	constexpr auto size = static_cast<int64_t>(sizeof(block));
	c10::Device cuda = {c10::DeviceType::CUDA, 0};
	c10::ProfiledSize allocated = device_allocated(), reserved = device_reserved();
	int thrown = 0;

	ledger::bytes(0, -1, size);
	thrown += left_by_exception([&] { reporter.New(block, sizeof(block)); });
	ledger::bytes(0, ledger::attempt(), -size);
	thrown += left_by_exception([&] { reporter.Delete(block); });
	ledger::out_of_memory();
	thrown += left_by_exception([&] { reporter.OutOfMemory(sizeof(block)); });
	ledger::bytes(1, -1, size);
	thrown += left_by_exception(
		[&] { c10::reportMemoryUsageToProfiler(block, size, allocated, reserved, cuda); });
	ledger::bytes(1, -1, -size);
	thrown += left_by_exception(
		[&] { c10::reportMemoryUsageToProfiler(block, -size, allocated, reserved, cuda); });
	ledger::out_of_memory();
	thrown += left_by_exception(
		[&] { c10::reportOutOfMemoryToProfiler(size, allocated, reserved, cuda); });
	return thrown;
}

uint64_t device_allocated()
{
	std::lock_guard<std::mutex> lock(device_blocks().mutex);

	return device_blocks().allocated;
}

uint64_t device_reserved()
{
	std::lock_guard<std::mutex> lock(device_blocks().mutex);

	return device_blocks().reserved;
}

} // namespace standin
