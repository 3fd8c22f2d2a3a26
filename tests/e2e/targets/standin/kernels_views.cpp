// Kernels that move nothing, and those that make tensors.

#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels.h"
#include "ledger.h"
#include "record_function.h"

namespace standin::kernels {

static std::vector<SymInt> size_of(const Tensor &tensor)
{
	return {tensor.impl()->numel};
}

Tensor t(const Tensor &self)
{
	return at::_ops::transpose_int::call(self, 0, 1);
}

Tensor transpose_int(const Tensor &self, int64_t, int64_t)
{
	std::vector<SymInt> size = size_of(self);

	return at::_ops::as_strided::call(self, {size.data(), 1}, {size.data(), 1},
					  optional<SymInt>());
}

Tensor as_strided(const Tensor &self, ArrayRef<SymInt>, ArrayRef<SymInt>, optional<SymInt>)
{
	FaultScope scope;

	return make_view(self);
}

Tensor view(const Tensor &self, ArrayRef<SymInt>)
{
	FaultScope scope;

	return make_view(self);
}

Tensor reshape(const Tensor &self, ArrayRef<SymInt> shape)
{
	return at::_ops::view::call(self, shape);
}

Tensor expand(const Tensor &self, ArrayRef<SymInt> size, bool)
{
	return at::_ops::as_strided::call(self, size, size, optional<SymInt>());
}

// Both hold a scope 0 guard of their own, which has a row of its own.
Tensor detach(const Tensor &self)
{
	static const int row = ledger::row("detach", ledger::Kind::function);
	ledger::Call call(row);
	at::RecordFunction guard(at::RecordScope::FUNCTION);

	fault_point(Fault::guarded);
	return make_view(self);
}

Tensor &detach_(Tensor &self)
{
	static const int row = ledger::row("detach_", ledger::Kind::function);
	ledger::Call call(row);
	at::RecordFunction guard(at::RecordScope::FUNCTION);

	fault_point(Fault::guarded);
	return self;
}

Tensor lift_fresh(const Tensor &self)
{
	return self;
}

Tensor resolve_conj(const Tensor &self)
{
	return self;
}

static Tensor new_tensor(ArrayRef<SymInt> size, const optional<Device> &device)
{
	bool is_cpu = !device || device->type == c10::DeviceType::CPU;
	int64_t numel = 1;

	for (size_t i = 0; i < size.size; i++)
		numel *= size.data[i].value;
	return make_tensor(numel, is_cpu ? DeviceKind::cpu : DeviceKind::cuda_block);
}

Tensor empty_memory_format(ArrayRef<SymInt> size, optional<ScalarType>, optional<Layout>,
			   optional<Device> device, optional<bool>, optional<MemoryFormat>)
{
	FaultScope scope;

	return new_tensor(size, device);
}

Tensor empty_strided(ArrayRef<SymInt> size, ArrayRef<SymInt>, optional<ScalarType>,
		     optional<Layout>, optional<Device> device, optional<bool>)
{
	FaultScope scope;

	return new_tensor(size, device);
}

Tensor empty_like(const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,
		  optional<Device> device, optional<bool> pin_memory, optional<MemoryFormat>)
{
	std::vector<SymInt> size = size_of(self);

	return at::_ops::empty_strided::call({size.data(), 1}, {size.data(), 1}, dtype, layout,
					     device, pin_memory);
}

Tensor ones_like(const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,
		 optional<Device> device, optional<bool> pin_memory,
		 optional<MemoryFormat> memory_format)
{
	Tensor out = at::_ops::empty_like::call(self, dtype, layout, device, pin_memory,
						memory_format);

	at::_ops::fill__Scalar::call(out, Scalar(1));
	return out;
}

// Tries again when the copy fails: an exception that ends in an operator's frame.
Tensor to_dtype_layout(const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,
		       optional<Device> device, optional<bool> pin_memory, bool non_blocking, bool,
		       optional<MemoryFormat> memory_format)
{
	try {
		return at::_ops::_to_copy::call(self, dtype, layout, device, pin_memory,
						non_blocking, memory_format);
	} catch (const std::runtime_error &) {
		return at::_ops::_to_copy::call(self, dtype, layout, device, pin_memory,
						non_blocking, memory_format);
	}
}

Tensor _to_copy(const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,
		optional<Device> device, optional<bool> pin_memory, bool non_blocking,
		optional<MemoryFormat>)
{
	std::vector<SymInt> size = size_of(self);
	Tensor out = at::_ops::empty_strided::call({size.data(), 1}, {size.data(), 1}, dtype,
						   layout, device, pin_memory);

	at::_ops::copy_::call(out, self, non_blocking);
	return out;
}

// clone and contiguous call each other as deep as recurse() says.
Tensor clone(const Tensor &self, optional<MemoryFormat> memory_format)
{
	if (recurses())
		return at::_ops::contiguous::call(self, MemoryFormat::Contiguous);

	Tensor out = at::_ops::empty_like::call(self, {}, {}, {}, {}, memory_format);

	at::_ops::copy_::call(out, self, false);
	return out;
}

Tensor contiguous(const Tensor &self, MemoryFormat memory_format)
{
	return recurses() ? at::_ops::clone::call(self, memory_format) : self;
}

// Halves what is too long: two children of one name, at the bottom none.
Tensor cat(const IListRef<Tensor> &tensors, int64_t dim)
{
	size_t half = tensors.size() / 2;

	if (tensors.size() == 1)
		return mixed(tensors.data()[0], tensors.data()[0], 27);

	Tensor left = at::_ops::cat::call({tensors.data(), half}, dim);
	Tensor right = at::_ops::cat::call({tensors.data() + half, tensors.size() - half}, dim);
	Tensor out = make_tensor(left.impl()->numel + right.impl()->numel);

	mix(out, left, 28);
	mix(out, right, 28);
	return out;
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

} // namespace standin::kernels
