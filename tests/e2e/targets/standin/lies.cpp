#include "lies.h"

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "autograd.h"
#include "memory.h"
#include "operators.h"

namespace ops = at::_ops;

using namespace std::string_literals;
using standin::Fault;

// As the C++ ABI has it.
struct TypeInfo {
	const void *vtable;
	const char *name;
};

static constexpr size_t kVtableWords = 16; // those of a node, and what stands before them

Lies::Lies(Truth &truth) : truth_(truth), scratch_(standin::make_tensor(4))
{
	size_t size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
	void *pages = mmap(nullptr, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page_ = static_cast<char *>(pages);
	page_end_ = page_ + size;
	memset(page_, 'A', size);
	mprotect(page_end_, size, PROT_NONE);
	nowhere_ = {0, 1, 8, 0x1000, 0x7ffffffffff8, uintptr_t{1} << 63, 0xffffffff81000000, UINTPTR_MAX - 7, UINTPTR_MAX,
		    reinterpret_cast<uintptr_t>(page_end_), reinterpret_cast<uintptr_t>(page_end_ - 4)};
}

Lies::~Lies()
{
	munmap(page_, 2 * static_cast<size_t>(page_end_ - page_));
}

void Lies::round()
{
	next_vtable_ = 0;
	tensors();
	layouts();
	lists();
	nodes();
}

void Lies::thrown(Fault fault, const std::function<void()> &call)
{
	standin::arm_fault(fault);
	try {
		call();
	} catch (const std::runtime_error &) {
		truth_.thrown();
	}
	standin::arm_fault(Fault::none);
	ops::relu_::call(scratch_); // the last one is over, as in throw_all.cpp
}

// The reference leads nowhere, or what it leads to does.
void Lies::tensors()
{
	for (uintptr_t address : nowhere_) {
		const auto *tensor = reinterpret_cast<const at::Tensor *>(address);
		const auto *through = reinterpret_cast<const at::Tensor *>(&address);

		thrown(Fault::dispatched, [&] { ops::mm::call(*tensor, scratch_); });
		thrown(Fault::dispatched, [&] { ops::mm::call(scratch_, *through); });
		thrown(Fault::dispatched, [&] {
			ops::linear::call(scratch_, *through,
					  *reinterpret_cast<const c10::optional<at::Tensor> *>(address));
		});
	}
}

// A tensor that is there and says what cannot be.
void Lies::layouts()
{
	static const uint64_t dimensions[] = {0, 1, 5, 6, 8, 64, 65, 255, uint64_t{1} << 32, UINT64_MAX};
	static const int64_t sizes[] = {0, -1, INT64_MAX, INT64_MIN, 1};

	for (uint64_t ndim : dimensions) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) + nowhere_.size(); i++) {
			alignas(16) char room[sizeof(c10::TensorImpl)];
			const void *impl = room;

			memcpy(room, static_cast<const void *>(scratch_.impl()), sizeof(room));
			auto *fields = reinterpret_cast<c10::TensorImpl *>(room);
			fields->sizes_and_strides.ndim = ndim;
			for (int64_t &size : fields->sizes_and_strides.sizes)
				size = i < nowhere_.size() ? static_cast<int64_t>(nowhere_[i]) : sizes[i - nowhere_.size()];
			fields->dtype = static_cast<uint16_t>(i * 0x1111);
			fields->numel = i % 2 ? fields->sizes_and_strides.sizes[0] : 4;
			fields->storage = reinterpret_cast<c10::StorageImpl *>(nowhere_[i % nowhere_.size()]);
			const auto *tensor = reinterpret_cast<const at::Tensor *>(&impl);
			thrown(Fault::dispatched, [&] { ops::mm::call(*tensor, *tensor); });
		}
	}
}

void Lies::lists()
{
	static const size_t counts[] = {1, 8, 9, 255, 256, 1 << 20, SIZE_MAX / 8, SIZE_MAX};

	for (uintptr_t address : nowhere_) {
		for (size_t count : counts) {
			const auto *values = reinterpret_cast<const c10::SymInt *>(address);

			thrown(Fault::dispatched, [&] { ops::reshape::call(scratch_, {values, count}); });
		}
	}
}

// Evaluated in the engine, which throws. Its class is what type_info says.
void Lies::node_of_type(const void *type_info)
{
	standin::Tape tape;
	auto node = std::make_unique<torch::autograd::AccumulateGrad>(scratch_);
	void ***vtable = reinterpret_cast<void ***>(node.get());
	void **own = *vtable;

	if (next_vtable_ == vtables_.size())
		vtables_.emplace_back(own - 2, own - 2 + kVtableWords);
	std::vector<void *> &lie = vtables_[next_vtable_];
	lie[1] = const_cast<void *>(type_info);
	*vtable = lie.data() + 2;
	node->sequence_nr_ = UINT64_MAX - next_vtable_;
	node->thread_id_ = UINT64_MAX - next_vtable_ % 2;
	next_vtable_++;
	tape.nodes.push_back(std::move(node));
	thrown(Fault::kernel, [&] { standin::run_backward(tape, scratch_); });
}

void Lies::nodes()
{
	static const std::string names[] = {
		""s,
		"*"s,
		"N"s,
		"N5torch8autograd9generated"s,
		"N5torch8autograd9generated4294967296AddE"s,
		"N5torch8autograd9generated-3AddE"s,
		"9999999999999999999999X"s,
		"N3foo99999barE"s,
		"quote\" backslash\\ \x1b[31m \x1b]0;title\x07 \x01\x7f\r\n"s,
		"not utf8 \xff\xfe\xc3( \xed\xa0\x80 \xc2\x9b"s,
		"bidi \xe2\x80\xae" "override \xe2\x80\xa8line"s,
		"%s%n%d%1$p</script>"s,
		"NS_S_S_S_S_S_S_S_S_E"s,
		std::string(64 * 1024, 'x'),
		std::string(64 * 1024, '\x1b'),
	};

	for (uintptr_t address : nowhere_) {
		TypeInfo nameless = {nullptr, reinterpret_cast<const char *>(address)};

		node_of_type(reinterpret_cast<const void *>(address));
		node_of_type(&nameless);
	}
	for (const std::string &name : names) {
		TypeInfo named = {nullptr, name.c_str()};

		node_of_type(&named);
	}
	TypeInfo endless = {nullptr, page_end_ - 40}; // no NUL before what cannot be read

	node_of_type(&endless);
}

void Lies::memory()
{
	static const size_t sizes[] = {0, 1, size_t{1} << 48, size_t{1} << 62, SIZE_MAX};
	c10::ProfiledCPUMemoryReporter reporter;

	for (uintptr_t address : nowhere_) {
		void *block = reinterpret_cast<void *>(address);

		for (size_t size : sizes) {
			reporter.New(block, size);
			c10::reportMemoryUsageToProfiler(block, static_cast<int64_t>(size), size, size,
							 c10::Device{static_cast<c10::DeviceType>(size), static_cast<int8_t>(address)});
			reporter.OutOfMemory(size);
		}
		reporter.Delete(block);
		reporter.Delete(block);
	}
}
