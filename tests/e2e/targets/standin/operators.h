// A couple of dozen at::_ops::*::call with the names of the real ones.

#ifndef STANDIN_OPERATORS_H
#define STANDIN_OPERATORS_H

#include "torch_types.h"

namespace at::_ops {

using c10::ArrayRef;
using c10::OptionalArrayRef;
using c10::Scalar;
using c10::ScalarType;
using c10::SymInt;
using c10::optional;

// One line an operator: name, return type, parameters, arguments.
#define STANDIN_OPERATORS(X)                                                                      \
	X(mm, Tensor, (const Tensor &self, const Tensor &mat2), (self, mat2))                     \
	X(addmm, Tensor,                                                                          \
	  (const Tensor &self, const Tensor &mat1, const Tensor &mat2, const Scalar &beta,        \
	   const Scalar &alpha),                                                                  \
	  (self, mat1, mat2, beta, alpha))                                                        \
	X(add_Tensor, Tensor, (const Tensor &self, const Tensor &other, const Scalar &alpha),     \
	  (self, other, alpha))                                                                   \
	X(add__Tensor, Tensor &, (Tensor & self, const Tensor &other, const Scalar &alpha),       \
	  (self, other, alpha))                                                                   \
	X(sub_Tensor, Tensor, (const Tensor &self, const Tensor &other, const Scalar &alpha),     \
	  (self, other, alpha))                                                                   \
	X(mul_Tensor, Tensor, (const Tensor &self, const Tensor &other), (self, other))           \
	X(mul__Tensor, Tensor &, (Tensor & self, const Tensor &other), (self, other))             \
	X(div_Tensor, Tensor, (const Tensor &self, const Tensor &other), (self, other))           \
	X(relu, Tensor, (const Tensor &self), (self))                                             \
	X(threshold_backward, Tensor,                                                             \
	  (const Tensor &grad, const Tensor &self, const Scalar &threshold),                      \
	  (grad, self, threshold))                                                                \
	X(linear, Tensor,                                                                         \
	  (const Tensor &input, const Tensor &weight, const optional<Tensor> &bias),              \
	  (input, weight, bias))                                                                  \
	X(t, Tensor, (const Tensor &self), (self))                                                \
	X(transpose_int, Tensor, (const Tensor &self, int64_t dim0, int64_t dim1),                \
	  (self, dim0, dim1))                                                                     \
	X(view, Tensor, (const Tensor &self, ArrayRef<SymInt> size), (self, size))                \
	X(reshape, Tensor, (const Tensor &self, ArrayRef<SymInt> shape), (self, shape))           \
	X(detach, Tensor, (const Tensor &self), (self))                                           \
	X(sum_dim_IntList, Tensor,                                                                \
	  (const Tensor &self, OptionalArrayRef<int64_t> dim, bool keepdim,                       \
	   optional<ScalarType> dtype),                                                           \
	  (self, dim, keepdim, dtype))                                                            \
	X(_log_softmax, Tensor, (const Tensor &self, int64_t dim, bool half_to_float),            \
	  (self, dim, half_to_float))                                                             \
	X(zero_, Tensor &, (Tensor & self), (self))                                               \
	X(fill__Scalar, Tensor &, (Tensor & self, const Scalar &value), (self, value))            \
	X(copy_, Tensor &, (Tensor & self, const Tensor &src, bool non_blocking),                 \
	  (self, src, non_blocking))                                                              \
	X(_foreach_add__List, void, (TensorList self, TensorList other, const Scalar &alpha),     \
	  (self, other, alpha))                                                                   \
	X(item, Scalar, (const Tensor &self), (self))                                             \
	X(_local_scalar_dense, Scalar, (const Tensor &self), (self))                              \
	X(_amp_foreach_non_finite_check_and_unscale_, void,                                       \
	  (TensorList self, Tensor & found_inf, const Tensor &inv_scale),                         \
	  (self, found_inf, inv_scale))                                                           \
	X(_amp_update_scale_, Tensor &,                                                           \
	  (Tensor & self, Tensor & growth_tracker, const Tensor &found_inf, double growth,        \
	   double backoff, int64_t interval),                                                     \
	  (self, growth_tracker, found_inf, growth, backoff, interval))                           \
	X(_fused_adam_, void,                                                                     \
	  (TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,        \
	   TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,           \
	   double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,            \
	   const optional<Tensor> &grad_scale, const optional<Tensor> &found_inf),                \
	  (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2,    \
	   weight_decay, eps, amsgrad, maximize, grad_scale, found_inf))                          \
	STANDIN_OPERATORS_FUSED_SGD(X)

#if STANDIN_TORCH >= 203
#define STANDIN_OPERATORS_FUSED_SGD(X)                                                            \
	X(_fused_sgd_, void,                                                                      \
	  (TensorList self, TensorList grads, TensorList momentum, double weight_decay,           \
	   double momentum_factor, double lr, double dampening, bool nesterov, bool maximize,     \
	   bool is_first_step, const optional<Tensor> &grad_scale,                                \
	   const optional<Tensor> &found_inf),                                                    \
	  (self, grads, momentum, weight_decay, momentum_factor, lr, dampening, nesterov,         \
	   maximize, is_first_step, grad_scale, found_inf))
#else
#define STANDIN_OPERATORS_FUSED_SGD(X)
#endif

#define STANDIN_DECLARE(name, ret, params, args)                                                  \
	struct TORCH_API name {                                                                   \
		static ret call params;                                                           \
	};
STANDIN_OPERATORS(STANDIN_DECLARE)
#undef STANDIN_DECLARE

} // namespace at::_ops

#endif
