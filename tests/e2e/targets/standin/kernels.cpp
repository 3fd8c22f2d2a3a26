// Kernels that compute.

#include "kernels.h"

#include <cmath>
#include <cstring>

namespace standin {

static thread_local int recursion;

void recurse(int depth)
{
	recursion = depth;
}

namespace kernels {

bool recurses()
{
	if (recursion <= 0)
		return false;
	recursion--;
	return true;
}

void mix(const Tensor &into, const Tensor &from, uint32_t salt)
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

Tensor mixed(const Tensor &self, const Tensor &other, uint32_t salt)
{
	FaultScope scope;
	Tensor out = make_tensor(self.impl()->numel);

	mix(out, self, salt);
	mix(out, other, salt);
	return out;
}

Tensor &mixed_in_place(Tensor &self, const Tensor &other, uint32_t salt)
{
	FaultScope scope;

	mix(self, other, salt);
	return self;
}

// One number, as that of a reduction.
static Tensor reduced(const Tensor &self, uint32_t salt)
{
	FaultScope scope;
	Tensor out = make_tensor(1);

	for (int64_t i = 0; i < self.impl()->numel; i++) {
		Tensor &into = out;
		uint32_t a, b;

		memcpy(&a, tensor_data(into), sizeof(a));
		memcpy(&b, &tensor_data(self)[i], sizeof(b));
		a = (a * 1664525U + b + salt) & 0x3fffffffU;
		memcpy(tensor_data(into), &a, sizeof(a));
	}
	return out;
}

Tensor mm(const Tensor &self, const Tensor &mat2)
{
	return mixed(self, mat2, 1);
}

Tensor &mm_out(const Tensor &self, const Tensor &mat2, Tensor &out)
{
	FaultScope scope;

	mix(out, self, 19);
	mix(out, mat2, 19);
	return out;
}

// The product is freed by the same call that allocated it.
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

// The only child of its name, as deep as recurse() says.
Tensor relu(const Tensor &self)
{
	FaultScope scope;

	if (recurses())
		return at::_ops::relu::call(self);
	return mixed(self, self, 9);
}

Tensor &relu_(Tensor &self)
{
	return mixed_in_place(self, self, 20);
}

Tensor erf(const Tensor &self)
{
	return mixed(self, self, 21);
}

Tensor special_erf(const Tensor &self)
{
	return at::_ops::erf::call(self);
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

Tensor sum(const Tensor &self, optional<ScalarType>)
{
	return reduced(self, 22);
}

Tensor sum_dim_IntList(const Tensor &self, OptionalArrayRef<int64_t>, bool, optional<ScalarType>)
{
	return mixed(self, self, 14);
}

Tensor mean(const Tensor &self, optional<ScalarType>)
{
	return reduced(self, 23);
}

Tensor _log_softmax(const Tensor &self, int64_t, bool)
{
	return mixed(self, self, 15);
}

Tensor _log_softmax_backward_data(const Tensor &grad, const Tensor &output, int64_t, ScalarType)
{
	return mixed(grad, output, 24);
}

Tensor mse_loss(const Tensor &self, const Tensor &target, int64_t)
{
	Tensor difference = mixed(self, target, 25);

	return reduced(difference, 25);
}

Tensor mse_loss_backward(const Tensor &grad, const Tensor &self, const Tensor &target, int64_t)
{
	Tensor difference = mixed(self, target, 26);

	return mixed(grad, difference, 26);
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
