// The kernels behind the operators, one a name.

#ifndef STANDIN_KERNELS_H
#define STANDIN_KERNELS_H

#include "operators.h"

namespace standin::kernels {

using namespace at::_ops;
using at::Tensor;
using at::TensorList;

#define STANDIN_KERNEL(name, ret, params, args) ret name params;
STANDIN_OPERATORS(STANDIN_KERNEL)
#undef STANDIN_KERNEL

} // namespace standin::kernels

#endif
