// The operators of the stand-in, with the names, schemas and signatures of the real ones.
//
// One line an operator: class, overload name and schema, return type, parameters, arguments. A
// class is the overload's name with '_' for '.', as in PyTorch.

#ifndef STANDIN_OPERATOR_TABLE_H
#define STANDIN_OPERATOR_TABLE_H

#define STANDIN_OPTIONS_SCHEMA                                                  \
	"*, ScalarType? dtype=None, Layout? layout=None, Device? device=None, " \
	"bool? pin_memory=None"

#define STANDIN_OPERATORS_ARITHMETIC(X)                                                            \
	X(mm, "mm", "(Tensor self, Tensor mat2) -> Tensor", Tensor,                                \
	  (const Tensor &self, const Tensor &mat2), (self, mat2))                                  \
	X(mm_out, "mm.out", "(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)",         \
	  Tensor &, (const Tensor &self, const Tensor &mat2, Tensor &out), (self, mat2, out))      \
	X(addmm, "addmm",                                                                          \
	  "(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",   \
	  Tensor,                                                                                  \
	  (const Tensor &self, const Tensor &mat1, const Tensor &mat2, const Scalar &beta,         \
	   const Scalar &alpha),                                                                   \
	  (self, mat1, mat2, beta, alpha))                                                         \
	X(add_Tensor, "add.Tensor", "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",    \
	  Tensor, (const Tensor &self, const Tensor &other, const Scalar &alpha),                  \
	  (self, other, alpha))                                                                    \
	X(add__Tensor, "add_.Tensor",                                                              \
	  "(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)", Tensor &,            \
	  (Tensor & self, const Tensor &other, const Scalar &alpha), (self, other, alpha))         \
	X(sub_Tensor, "sub.Tensor", "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",    \
	  Tensor, (const Tensor &self, const Tensor &other, const Scalar &alpha),                  \
	  (self, other, alpha))                                                                    \
	X(mul_Tensor, "mul.Tensor", "(Tensor self, Tensor other) -> Tensor", Tensor,               \
	  (const Tensor &self, const Tensor &other), (self, other))                                \
	X(mul__Tensor, "mul_.Tensor", "(Tensor(a!) self, Tensor other) -> Tensor(a!)", Tensor &,   \
	  (Tensor & self, const Tensor &other), (self, other))                                     \
	X(div_Tensor, "div.Tensor", "(Tensor self, Tensor other) -> Tensor", Tensor,               \
	  (const Tensor &self, const Tensor &other), (self, other))                                \
	X(relu, "relu", "(Tensor self) -> Tensor", Tensor, (const Tensor &self), (self))           \
	X(relu_, "relu_", "(Tensor(a!) self) -> Tensor(a!)", Tensor &, (Tensor & self), (self))    \
	X(erf, "erf", "(Tensor self) -> Tensor", Tensor, (const Tensor &self), (self))             \
	X(special_erf, "special_erf", "(Tensor self) -> Tensor", Tensor, (const Tensor &self),     \
	  (self))                                                                                  \
	X(threshold_backward, "threshold_backward",                                                \
	  "(Tensor grad_output, Tensor self, Scalar threshold) -> Tensor", Tensor,                 \
	  (const Tensor &grad, const Tensor &self, const Scalar &threshold),                       \
	  (grad, self, threshold))                                                                 \
	X(linear, "linear", "(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor", Tensor,  \
	  (const Tensor &input, const Tensor &weight, const optional<Tensor> &bias),               \
	  (input, weight, bias))                                                                   \
	X(sum, "sum", "(Tensor self, *, ScalarType? dtype=None) -> Tensor", Tensor,                \
	  (const Tensor &self, optional<ScalarType> dtype), (self, dtype))                         \
	X(sum_dim_IntList, "sum.dim_IntList",                                                      \
	  "(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",   \
	  Tensor,                                                                                  \
	  (const Tensor &self, OptionalArrayRef<int64_t> dim, bool keepdim,                        \
	   optional<ScalarType> dtype),                                                            \
	  (self, dim, keepdim, dtype))                                                             \
	X(mean, "mean", "(Tensor self, *, ScalarType? dtype=None) -> Tensor", Tensor,              \
	  (const Tensor &self, optional<ScalarType> dtype), (self, dtype))                         \
	X(_log_softmax, "_log_softmax", "(Tensor self, int dim, bool half_to_float) -> Tensor",    \
	  Tensor, (const Tensor &self, int64_t dim, bool half_to_float),                           \
	  (self, dim, half_to_float))                                                              \
	X(_log_softmax_backward_data, "_log_softmax_backward_data",                                \
	  "(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",        \
	  Tensor, (const Tensor &grad, const Tensor &output, int64_t dim, ScalarType input_dtype), \
	  (grad, output, dim, input_dtype))                                                        \
	X(mse_loss, "mse_loss", "(Tensor self, Tensor target, int reduction=Mean) -> Tensor",      \
	  Tensor, (const Tensor &self, const Tensor &target, int64_t reduction),                   \
	  (self, target, reduction))                                                               \
	X(mse_loss_backward, "mse_loss_backward",                                                  \
	  "(Tensor grad_output, Tensor self, Tensor target, int reduction) -> Tensor", Tensor,     \
	  (const Tensor &grad, const Tensor &self, const Tensor &target, int64_t reduction),       \
	  (grad, self, target, reduction))

#define STANDIN_OPERATORS_VIEWS(X)                                                                 \
	X(t, "t", "(Tensor(a) self) -> Tensor(a)", Tensor, (const Tensor &self), (self))           \
	X(transpose_int, "transpose.int", "(Tensor(a) self, int dim0, int dim1) -> Tensor(a)",     \
	  Tensor, (const Tensor &self, int64_t dim0, int64_t dim1), (self, dim0, dim1))            \
	X(as_strided, "as_strided",                                                                \
	  "(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None)"          \
	  " -> Tensor(a)",                                                                         \
	  Tensor,                                                                                  \
	  (const Tensor &self, ArrayRef<SymInt> size, ArrayRef<SymInt> stride,                     \
	   optional<SymInt> storage_offset),                                                       \
	  (self, size, stride, storage_offset))                                                    \
	X(view, "view", "(Tensor(a) self, SymInt[] size) -> Tensor(a)", Tensor,                    \
	  (const Tensor &self, ArrayRef<SymInt> size), (self, size))                               \
	X(reshape, "reshape", "(Tensor(a) self, SymInt[] shape) -> Tensor(a)", Tensor,             \
	  (const Tensor &self, ArrayRef<SymInt> shape), (self, shape))                             \
	X(expand, "expand",                                                                        \
	  "(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)", Tensor,          \
	  (const Tensor &self, ArrayRef<SymInt> size, bool implicit), (self, size, implicit))      \
	X(detach, "detach", "(Tensor(a) self) -> Tensor(a)", Tensor, (const Tensor &self), (self)) \
	X(detach_, "detach_", "(Tensor(a!) self) -> Tensor(a!)", Tensor &, (Tensor & self),        \
	  (self))                                                                                  \
	X(lift_fresh, "lift_fresh", "(Tensor(a) self) -> Tensor(a)", Tensor, (const Tensor &self), \
	  (self))                                                                                  \
	X(resolve_conj, "resolve_conj", "(Tensor(a) self) -> Tensor(a)", Tensor,                   \
	  (const Tensor &self), (self))

#define STANDIN_OPERATORS_CREATION(X)                                                              \
	X(empty_memory_format, "empty.memory_format",                                              \
	  "(SymInt[] size, " STANDIN_OPTIONS_SCHEMA ", MemoryFormat? memory_format=None)"          \
	  " -> Tensor",                                                                            \
	  Tensor,                                                                                  \
	  (ArrayRef<SymInt> size, optional<ScalarType> dtype, optional<Layout> layout,             \
	   optional<Device> device, optional<bool> pin_memory,                                     \
	   optional<MemoryFormat> memory_format),                                                  \
	  (size, dtype, layout, device, pin_memory, memory_format))                                \
	X(empty_strided, "empty_strided",                                                          \
	  "(SymInt[] size, SymInt[] stride, " STANDIN_OPTIONS_SCHEMA ") -> Tensor", Tensor,        \
	  (ArrayRef<SymInt> size, ArrayRef<SymInt> stride, optional<ScalarType> dtype,             \
	   optional<Layout> layout, optional<Device> device, optional<bool> pin_memory),           \
	  (size, stride, dtype, layout, device, pin_memory))                                       \
	X(empty_like, "empty_like",                                                                \
	  "(Tensor self, " STANDIN_OPTIONS_SCHEMA ", MemoryFormat? memory_format=None)"            \
	  " -> Tensor",                                                                            \
	  Tensor,                                                                                  \
	  (const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,                \
	   optional<Device> device, optional<bool> pin_memory,                                     \
	   optional<MemoryFormat> memory_format),                                                  \
	  (self, dtype, layout, device, pin_memory, memory_format))                                \
	X(ones_like, "ones_like",                                                                  \
	  "(Tensor self, " STANDIN_OPTIONS_SCHEMA ", MemoryFormat? memory_format=None)"            \
	  " -> Tensor",                                                                            \
	  Tensor,                                                                                  \
	  (const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,                \
	   optional<Device> device, optional<bool> pin_memory,                                     \
	   optional<MemoryFormat> memory_format),                                                  \
	  (self, dtype, layout, device, pin_memory, memory_format))                                \
	X(to_dtype_layout, "to.dtype_layout",                                                      \
	  "(Tensor(a) self, " STANDIN_OPTIONS_SCHEMA ", bool non_blocking=False, "                 \
	  "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)",                       \
	  Tensor,                                                                                  \
	  (const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,                \
	   optional<Device> device, optional<bool> pin_memory, bool non_blocking, bool copy,       \
	   optional<MemoryFormat> memory_format),                                                  \
	  (self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format))            \
	X(_to_copy, "_to_copy",                                                                    \
	  "(Tensor self, " STANDIN_OPTIONS_SCHEMA ", bool non_blocking=False, "                    \
	  "MemoryFormat? memory_format=None) -> Tensor",                                           \
	  Tensor,                                                                                  \
	  (const Tensor &self, optional<ScalarType> dtype, optional<Layout> layout,                \
	   optional<Device> device, optional<bool> pin_memory, bool non_blocking,                  \
	   optional<MemoryFormat> memory_format),                                                  \
	  (self, dtype, layout, device, pin_memory, non_blocking, memory_format))                  \
	X(clone, "clone", "(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor", Tensor,  \
	  (const Tensor &self, optional<MemoryFormat> memory_format), (self, memory_format))       \
	X(contiguous, "contiguous",                                                                \
	  "(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)",        \
	  Tensor, (const Tensor &self, MemoryFormat memory_format), (self, memory_format))         \
	X(cat, "cat", "(Tensor[] tensors, int dim=0) -> Tensor", Tensor,                           \
	  (const IListRef<Tensor> &tensors, int64_t dim), (tensors, dim))                          \
	X(zero_, "zero_", "(Tensor(a!) self) -> Tensor(a!)", Tensor &, (Tensor & self), (self))    \
	X(fill__Scalar, "fill_.Scalar", "(Tensor(a!) self, Scalar value) -> Tensor(a!)", Tensor &, \
	  (Tensor & self, const Scalar &value), (self, value))                                     \
	X(copy_, "copy_", "(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)",  \
	  Tensor &, (Tensor & self, const Tensor &src, bool non_blocking),                         \
	  (self, src, non_blocking))

#define STANDIN_OPERATORS_OPTIMIZER(X)                                                         \
	X(_foreach_add__List, "_foreach_add_.List",                                            \
	  "(Tensor(a!)[] self, Tensor[] other, *, Scalar alpha=1) -> ()", void,                \
	  (TensorList self, TensorList other, const Scalar &alpha), (self, other, alpha))      \
	X(_amp_foreach_non_finite_check_and_unscale_,                                          \
	  "_amp_foreach_non_finite_check_and_unscale_",                                        \
	  "(Tensor(a!)[] self, Tensor(b!) found_inf, Tensor inv_scale) -> ()", void,           \
	  (TensorList self, Tensor & found_inf, const Tensor &inv_scale),                      \
	  (self, found_inf, inv_scale))                                                        \
	X(_amp_update_scale_, "_amp_update_scale_",                                            \
	  "(Tensor(a!) self, Tensor(b!) growth_tracker, Tensor found_inf, "                    \
	  "float scale_growth_factor, float scale_backoff_factor, int growth_interval)"        \
	  " -> Tensor(a!)",                                                                    \
	  Tensor &,                                                                            \
	  (Tensor & self, Tensor & growth_tracker, const Tensor &found_inf, double growth,     \
	   double backoff, int64_t interval),                                                  \
	  (self, growth_tracker, found_inf, growth, backoff, interval))                        \
	X(_fused_adam_, "_fused_adam_",                                                        \
	  "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "                    \
	  "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, *, "  \
	  "float lr, float beta1, float beta2, float weight_decay, float eps, bool amsgrad, "  \
	  "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",             \
	  void,                                                                                \
	  (TensorList self, TensorList grads, TensorList exp_avgs, TensorList exp_avg_sqs,     \
	   TensorList max_exp_avg_sqs, TensorList state_steps, double lr, double beta1,        \
	   double beta2, double weight_decay, double eps, bool amsgrad, bool maximize,         \
	   const optional<Tensor> &grad_scale, const optional<Tensor> &found_inf),             \
	  (self, grads, exp_avgs, exp_avg_sqs, max_exp_avg_sqs, state_steps, lr, beta1, beta2, \
	   weight_decay, eps, amsgrad, maximize, grad_scale, found_inf))                       \
	STANDIN_OPERATORS_FUSED_SGD(X)

#if STANDIN_TORCH >= 203
#define STANDIN_OPERATORS_FUSED_SGD(X)                                                        \
	X(_fused_sgd_, "_fused_sgd_",                                                         \
	  "(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] momentum_buffer_list, *, "    \
	  "float weight_decay, float momentum, float lr, float dampening, bool nesterov, "    \
	  "bool maximize, bool is_first_step, Tensor? grad_scale=None, "                      \
	  "Tensor? found_inf=None) -> ()",                                                    \
	  void,                                                                               \
	  (TensorList self, TensorList grads, TensorList momentum, double weight_decay,       \
	   double momentum_factor, double lr, double dampening, bool nesterov, bool maximize, \
	   bool is_first_step, const optional<Tensor> &grad_scale,                            \
	   const optional<Tensor> &found_inf),                                                \
	  (self, grads, momentum, weight_decay, momentum_factor, lr, dampening, nesterov,     \
	   maximize, is_first_step, grad_scale, found_inf))
#else
#define STANDIN_OPERATORS_FUSED_SGD(X)
#endif

#define STANDIN_OPERATORS_SHAPED(X)     \
	STANDIN_OPERATORS_ARITHMETIC(X) \
	STANDIN_OPERATORS_VIEWS(X)      \
	STANDIN_OPERATORS_CREATION(X)   \
	STANDIN_OPERATORS_OPTIMIZER(X)

// They return a Scalar, whose kinds the slow path tells apart.
#define STANDIN_OPERATORS_OF_SCALARS(X)                                                  \
	X(item, "item", "(Tensor self) -> Scalar", Scalar, (const Tensor &self), (self)) \
	X(_local_scalar_dense, "_local_scalar_dense", "(Tensor self) -> Scalar", Scalar, \
	  (const Tensor &self), (self))

#define STANDIN_OPERATORS(X)        \
	STANDIN_OPERATORS_SHAPED(X) \
	STANDIN_OPERATORS_OF_SCALARS(X)

#endif
