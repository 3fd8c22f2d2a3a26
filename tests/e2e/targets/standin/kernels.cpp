// Kernels: integer arithmetic on the bits of the numbers, so that every lost or repeated call shows
// in the final checksum. Loss scaling is done truly, on floats.

#include <cmath>
#include <cstring>
#include <new>

#include <sys/mman.h>

#include "fault.h"
#include "kernels.h"
#include "record_function.h"

namespace at {

void Tensor::release(c10::TensorImpl *impl)
{
	// A legacy range handle owns its RecordFunction.
	delete static_cast<RecordFunction *>(impl->extra_meta);
	if (impl->device_memory != impl->storage->data)
		free(impl->device_memory);
	if (impl->storage->size_bytes)
		free(impl->storage->data);
	free(impl->storage);
	free(impl);
}

} // namespace at

namespace standin {

static void *unreadable_page()
{
	static void *page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return page;
}

at::Tensor make_tensor(int64_t numel, DeviceKind device)
{
	auto *impl = static_cast<c10::TensorImpl *>(calloc(1, sizeof(c10::TensorImpl)));
	auto *storage = static_cast<c10::StorageImpl *>(calloc(1, sizeof(c10::StorageImpl)));
	size_t bytes = static_cast<size_t>(numel) * sizeof(float);

	impl->device_memory = calloc(1, bytes);
	if (device == DeviceKind::cuda) {
		storage->data = unreadable_page();
	} else {
		storage->data =
			device == DeviceKind::cpu ? impl->device_memory : calloc(1, bytes);
		storage->size_bytes = bytes;
	}
	if (device == DeviceKind::cuda_decoy)
		*static_cast<float *>(storage->data) = 1.0F;
	storage->refcount = 1;
	impl->refcount = 1;
	impl->storage = storage;
	impl->sizes_and_strides.ndim = numel == 1 ? 0 : 1;
	impl->sizes_and_strides.sizes[0] = numel;
	impl->sizes_and_strides.strides[0] = 1;
	impl->numel = numel;
	impl->dtype = static_cast<uint16_t>(c10::ScalarType::Float);
	impl->device_type = device == DeviceKind::cpu ? 0 : 1;
	impl->device_index = device == DeviceKind::cpu ? -1 : 0;
	impl->device_engaged = 1;
	return at::Tensor(impl);
}

float *tensor_data(const at::Tensor &tensor)
{
	return static_cast<float *>(tensor.impl()->device_memory);
}

namespace kernels {

// Both points of an injected exception, round the work of one kernel.
struct FaultScope {
	FaultScope()
	{
		fault_point(Fault::kernel);
	}
	~FaultScope() noexcept(false)
	{
		fault_point(Fault::kernel_done);
	}
};

static void mix(const Tensor &into, const Tensor &from, uint32_t salt)
{
	float *out = tensor_data(into);
	const float *in = tensor_data(from);
	int64_t count = into.impl()->numel;
	int64_t period = from.impl()->numel;

	for (int64_t i = 0; i < count; i++) {
		uint32_t a, b;

		memcpy(&a, &out[i], sizeof(a));
		memcpy(&b, &in[i % period], sizeof(b));
		a = (a * 1664525U + b + salt) & 0x3fffffffU; // stays a small finite number
		memcpy(&out[i], &a, sizeof(a));
	}
}

static Tensor mixed(const Tensor &self, const Tensor &other, uint32_t salt)
{
	FaultScope scope;
	Tensor out = make_tensor(self.impl()->numel);

	mix(out, self, salt);
	mix(out, other, salt);
	return out;
}

static Tensor &mixed_in_place(Tensor &self, const Tensor &other, uint32_t salt)
{
	FaultScope scope;

	mix(self, other, salt);
	return self;
}

Tensor mm(const Tensor &self, const Tensor &mat2)
{
	return mixed(self, mat2, 1);
}

Tensor addmm(const Tensor &self, const Tensor &mat1, const Tensor &mat2, const Scalar &,
	     const Scalar &)
{
	Tensor product = mixed(mat1, mat2, 2);

	return mixed(product, self, 2);
}

Tensor add_Tensor(const Tensor &self, const Tensor &other, const Scalar &)
{
	return mixed(self, other, 3);
}

Tensor &add__Tensor(Tensor &self, const Tensor &other, const Scalar &)
{
	return mixed_in_place(self, other, 4);
}

Tensor sub_Tensor(const Tensor &self, const Tensor &other, const Scalar &)
{
	return mixed(self, other, 5);
}

Tensor mul_Tensor(const Tensor &self, const Tensor &other)
{
	return mixed(self, other, 6);
}

Tensor &mul__Tensor(Tensor &self, const Tensor &other)
{
	return mixed_in_place(self, other, 7);
}

Tensor div_Tensor(const Tensor &self, const Tensor &other)
{
	return mixed(self, other, 8);
}

Tensor relu(const Tensor &self)
{
	return mixed(self, self, 9);
}

Tensor threshold_backward(const Tensor &grad, const Tensor &self, const Scalar &)
{
	return mixed(grad, self, 10);
}

// Calls operators itself, as the real one does: nested entries on one stack.
Tensor linear(const Tensor &input, const Tensor &weight, const optional<Tensor> &bias)
{
	FaultScope scope;
	Tensor transposed = at::_ops::t::call(weight);

	if (!bias)
		return at::_ops::mm::call(input, transposed);
	return at::_ops::addmm::call(*bias, input, transposed, Scalar(1), Scalar(1));
}

Tensor t(const Tensor &self)
{
	return at::_ops::transpose_int::call(self, 0, 1);
}

Tensor transpose_int(const Tensor &self, int64_t, int64_t)
{
	return mixed(self, self, 11);
}

Tensor view(const Tensor &self, ArrayRef<SymInt>)
{
	return mixed(self, self, 12);
}

Tensor reshape(const Tensor &self, ArrayRef<SymInt> shape)
{
	return at::_ops::view::call(self, shape);
}

Tensor detach(const Tensor &self)
{
	// The real one holds a scope 0 guard of its own.
	at::RecordFunction guard(at::RecordScope::FUNCTION);

	return mixed(self, self, 13);
}

Tensor sum_dim_IntList(const Tensor &self, OptionalArrayRef<int64_t>, bool, optional<ScalarType>)
{
	return mixed(self, self, 14);
}

Tensor _log_softmax(const Tensor &self, int64_t, bool)
{
	return mixed(self, self, 15);
}

Tensor &zero_(Tensor &self)
{
	FaultScope scope;

	memset(tensor_data(self), 0, static_cast<size_t>(self.impl()->numel) * sizeof(float));
	return self;
}

Tensor &fill__Scalar(Tensor &self, const Scalar &value)
{
	FaultScope scope;

	for (int64_t i = 0; i < self.impl()->numel; i++)
		tensor_data(self)[i] = static_cast<float>(value.value);
	return self;
}

Tensor &copy_(Tensor &self, const Tensor &src, bool)
{
	return mixed_in_place(self, src, 16);
}

void _foreach_add__List(TensorList self, TensorList other, const Scalar &)
{
	FaultScope scope;

	for (size_t i = 0; i < self.size; i++)
		mix(self.data[i], other.data[i], 17);
}

Scalar item(const Tensor &self)
{
	return at::_ops::_local_scalar_dense::call(self);
}

Scalar _local_scalar_dense(const Tensor &self)
{
	FaultScope scope;

	return Scalar(tensor_data(self)[0]);
}

void _amp_foreach_non_finite_check_and_unscale_(TensorList self, Tensor &found_inf,
						const Tensor &inv_scale)
{
	FaultScope scope;

	for (size_t i = 0; i < self.size; i++) {
		float *data = tensor_data(self.data[i]);

		for (int64_t k = 0; k < self.data[i].impl()->numel; k++) {
			if (!std::isfinite(data[k]))
				tensor_data(found_inf)[0] = 1.0F;
			data[k] *= tensor_data(inv_scale)[0];
		}
	}
}

Tensor &_amp_update_scale_(Tensor &self, Tensor &growth_tracker, const Tensor &found_inf,
			   double growth, double backoff, int64_t interval)
{
	FaultScope scope;
	float *scale = tensor_data(self);
	float *tracker = tensor_data(growth_tracker);

	if (tensor_data(found_inf)[0] != 0.0F) {
		*scale *= static_cast<float>(backoff);
		*tracker = 0;
	} else if (++*tracker >= static_cast<float>(interval)) {
		*scale *= static_cast<float>(growth);
		*tracker = 0;
	}
	return self;
}

static void fused_update(TensorList self, TensorList grads, const optional<Tensor> &found_inf)
{
	FaultScope scope;

	if (found_inf && tensor_data(*found_inf)[0] != 0.0F)
		return;
	for (size_t i = 0; i < self.size; i++)
		mix(self.data[i], grads.data[i], 18);
}

void _fused_adam_(TensorList self, TensorList grads, TensorList, TensorList, TensorList, TensorList,
		  double, double, double, double, double, bool, bool, const optional<Tensor> &,
		  const optional<Tensor> &found_inf)
{
	fused_update(self, grads, found_inf);
}

#if STANDIN_TORCH >= 203
void _fused_sgd_(TensorList self, TensorList grads, TensorList, double, double, double, double,
		 bool, bool, bool, const optional<Tensor> &, const optional<Tensor> &found_inf)
{
	fused_update(self, grads, found_inf);
}
#endif

} // namespace kernels
} // namespace standin
