// The few PyTorch types whose names reach a mangled symbol and whose layout a tracer reads.
//
// Only what can be seen from outside matters here: the mangled spelling of every type in the
// signature of a probed function, and the offsets of the fields that are read out of a tensor.
// STANDIN_TORCH picks the PyTorch version that is imitated (113, 204 or 213), since both moved.

#ifndef STANDIN_TORCH_TYPES_H
#define STANDIN_TORCH_TYPES_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#ifndef STANDIN_TORCH
#define STANDIN_TORCH 213
#endif

#define TORCH_API __attribute__((visibility("default")))

namespace c10
{

enum class ScalarType : int8_t {
	Int = 3,
	Long = 4,
	Float = 6,
	Double = 7
};
enum class Layout : int8_t {
	Strided
};
enum class MemoryFormat : int8_t {
	Contiguous
};
enum class DeviceType : int8_t {
	CPU = 0,
	CUDA = 1
};

struct Device {
	DeviceType type;
	int8_t index;
};

template <class T> struct ArrayRef {
	const T *data;
	size_t size;
};

template <class T> struct OptionalArrayRef {
	std::optional<ArrayRef<T>> value;
};

// Of tensors, by reference; in PyTorch also of other kinds of lists.
template <class T> class IListRef
{
      public:
	IListRef(const T *data, size_t size) : data_(data), size_(size)
	{
	}
	const T *data() const
	{
		return data_;
	}
	size_t size() const
	{
		return size_;
	}

      private:
	const T *data_;
	size_t size_;
};

// Not trivial in PyTorch either, which is why it is passed by address.
struct SymInt {
	int64_t value;
	SymInt(int64_t v) : value(v)
	{
	}
	~SymInt()
	{
	}
};

struct Scalar {
	uint32_t tag = 0; // 0 is a double
	alignas(16) double value = 0;
	Scalar(double v) : value(v)
	{
	}
};
static_assert(sizeof(Scalar) == 32 && offsetof(Scalar, value) == 16, "layout of c10::Scalar");

#if STANDIN_TORCH < 202
// Its own class up to PyTorch 2.1, so the mangled names differ.
template <class T> class optional : public std::optional<T>
{
      public:
	using std::optional<T>::optional;
};
#else
using std::optional;
#endif

struct StorageImpl {
	const void *vtable;
	uint64_t refcount;
#if STANDIN_TORCH < 203
	uint64_t weakcount;
#endif
	void *data;
	void *block; // of an allocator, or nullptr
	void *context[2];
	uint64_t size_bytes;
};

struct SizesAndStrides {
	uint64_t ndim;
	int64_t sizes[5];
	int64_t strides[5];
};

struct TensorImpl {
	const void *vtable;
	std::atomic<uint64_t> refcount;
#if STANDIN_TORCH < 203
	uint64_t weakcount;
#endif
	StorageImpl *storage;
	// PyTorch's autograd_meta_; here the memory of a "device", which nothing outside may read.
	void *device_memory;
	void *extra_meta;
	void *version_counter;
	void *pyobj[STANDIN_TORCH >= 213 ? 1 : 2];
	SizesAndStrides sizes_and_strides;
	int64_t storage_offset;
	int64_t numel;
	uint16_t dtype;
#if STANDIN_TORCH < 202
	uint8_t device_engaged;
	int8_t device_type;
	int8_t device_index;
#else
	int8_t device_type;
	int8_t device_index;
	uint8_t device_engaged;
#endif
	uint64_t key_set;
};

constexpr size_t kStorage = STANDIN_TORCH < 203 ? 24 : 16;
constexpr size_t kSizes = STANDIN_TORCH < 203 ? 72 : STANDIN_TORCH < 213 ? 64 : 56;

static_assert(offsetof(StorageImpl, data) == kStorage, "data_ptr_");
static_assert(offsetof(StorageImpl, size_bytes) == kStorage + 32, "size_bytes_");
static_assert(offsetof(TensorImpl, storage) == kStorage, "storage_");
static_assert(offsetof(TensorImpl, sizes_and_strides) == kSizes, "sizes_and_strides_");
static_assert(offsetof(TensorImpl, storage_offset) == kSizes + 88, "storage_offset_");
static_assert(offsetof(TensorImpl, numel) == kSizes + 96, "numel_");
static_assert(offsetof(TensorImpl, dtype) == kSizes + 104, "data_type_");
static_assert(offsetof(TensorImpl, key_set) == kSizes + 112, "key_set_");

} // namespace c10

namespace at
{

// One counted pointer with a destructor: always passed by address, as the real one.
class Tensor
{
      public:
	Tensor() = default;
	explicit Tensor(c10::TensorImpl *owned) : impl_(owned)
	{
	}
	Tensor(const Tensor &other) : impl_(other.impl_)
	{
		if (impl_)
			impl_->refcount.fetch_add(1, std::memory_order_relaxed);
	}
	Tensor(Tensor &&other) noexcept : impl_(other.impl_)
	{
		other.impl_ = nullptr;
	}
	Tensor &operator=(Tensor other) noexcept
	{
		c10::TensorImpl *mine = impl_;

		impl_ = other.impl_;
		other.impl_ = mine;
		return *this;
	}
	~Tensor()
	{
		if (impl_ && impl_->refcount.fetch_sub(1, std::memory_order_acq_rel) == 1)
			release(impl_);
	}
	c10::TensorImpl *impl() const
	{
		return impl_;
	}

      private:
	TORCH_API static void release(c10::TensorImpl *impl);
	c10::TensorImpl *impl_ = nullptr;
};

using TensorList = c10::ArrayRef<Tensor>;

} // namespace at

namespace standin
{

enum class DeviceKind {
	cpu,
	cuda,	    // its data pointer leads to memory that cannot be read
	cuda_decoy, // its data pointer leads to host memory that holds a wrong value
	cuda_block, // of the device allocator of memory.h
};

// A float tensor of one dimension, all zero. Throws OutOfMemory.
TORCH_API at::Tensor make_tensor(int64_t numel, DeviceKind device = DeviceKind::cpu);

// Another tensor of the same numbers.
TORCH_API at::Tensor make_view(const at::Tensor &base);

// Where the numbers really are, on whatever device; for kernels and the workload, not for a tracer.
TORCH_API float *tensor_data(const at::Tensor &tensor);

} // namespace standin

#endif
