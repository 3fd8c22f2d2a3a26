// Tensors and the memory behind them.

#include <cstdlib>
#include <new>

#include <sys/mman.h>

#include "memory.h"
#include "record_function.h"

namespace at {

// A view shares the storage, and with it the numbers.
void Tensor::release(c10::TensorImpl *impl)
{
	c10::StorageImpl *storage = impl->storage;

	// A legacy range handle owns its RecordFunction.
	delete static_cast<RecordFunction *>(impl->extra_meta);
	if (__atomic_sub_fetch(&storage->refcount, 1, __ATOMIC_ACQ_REL) == 0) {
		if (impl->device_type == static_cast<int8_t>(c10::DeviceType::CPU)) {
			standin::cpu_free(storage->block);
		} else {
			if (storage->block)
				standin::device_free(storage->block);
			if (storage->size_bytes)
				free(storage->data);
			free(impl->device_memory);
		}
		free(storage);
	}
	free(impl);
}

} // namespace at

namespace standin {

static void *unreadable_page()
{
	static void *page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page;
}

static void *allocated(size_t count, size_t size_bytes)
{
	void *memory = calloc(count, size_bytes ? size_bytes : 1);

	if (!memory)
		throw std::bad_alloc();
	return memory;
}

static c10::TensorImpl *new_impl(c10::StorageImpl *storage, int64_t numel)
{
	auto *impl = static_cast<c10::TensorImpl *>(allocated(1, sizeof(c10::TensorImpl)));

	impl->refcount = 1;
	impl->storage = storage;
	impl->sizes_and_strides.ndim = numel == 1 ? 0 : 1;
	impl->sizes_and_strides.sizes[0] = numel;
	impl->sizes_and_strides.strides[0] = 1;
	impl->numel = numel;
	impl->dtype = static_cast<uint16_t>(c10::ScalarType::Float);
	impl->device_index = -1;
	impl->device_engaged = 1;
	return impl;
}

static void set_device(c10::TensorImpl *impl, DeviceKind device, size_t size_bytes)
{
	c10::StorageImpl *storage = impl->storage;

	impl->device_type = static_cast<int8_t>(c10::DeviceType::CUDA);
	impl->device_index = 0;
	impl->device_memory = allocated(1, size_bytes);
	storage->data = storage->block ? storage->block : unreadable_page();
	if (device == DeviceKind::cuda_decoy) {
		storage->data = allocated(1, size_bytes);
		storage->size_bytes = size_bytes;
		*static_cast<float *>(storage->data) = 1.0F;
	}
}

at::Tensor make_tensor(int64_t numel, DeviceKind device)
{
	size_t size_bytes = static_cast<size_t>(numel) * sizeof(float);
	void *block = device == DeviceKind::cpu        ? cpu_allocate(size_bytes) :
		      device == DeviceKind::cuda_block ? device_allocate(size_bytes) :
							 nullptr;
	auto *storage = static_cast<c10::StorageImpl *>(allocated(1, sizeof(c10::StorageImpl)));
	c10::TensorImpl *impl = new_impl(storage, numel);

	storage->refcount = 1;
	storage->block = block;
	if (device == DeviceKind::cpu) {
		storage->data = block;
		storage->size_bytes = size_bytes;
		impl->device_memory = block;
	} else {
		set_device(impl, device, size_bytes);
	}
	return at::Tensor(impl);
}

at::Tensor make_view(const at::Tensor &base)
{
	c10::StorageImpl *storage = base.impl()->storage;
	c10::TensorImpl *impl = new_impl(storage, base.impl()->numel);

	__atomic_add_fetch(&storage->refcount, 1, __ATOMIC_RELAXED);
	impl->device_memory = base.impl()->device_memory;
	impl->device_type = base.impl()->device_type;
	impl->device_index = base.impl()->device_index;
	return at::Tensor(impl);
}

float *tensor_data(const at::Tensor &tensor)
{
	return static_cast<float *>(tensor.impl()->device_memory);
}

} // namespace standin
