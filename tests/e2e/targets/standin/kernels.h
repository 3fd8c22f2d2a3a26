// The kernels behind the operators, one a name. Integer arithmetic on the bits of the numbers, so
// that every lost or repeated call shows in the final checksum. Loss scaling is done truly, on
// floats.

#ifndef STANDIN_KERNELS_H
#define STANDIN_KERNELS_H

#include "fault.h"
#include "operators.h"

namespace standin
{

// How often relu, and contiguous and clone in turn, are still to call themselves on this thread.
TORCH_API void recurse(int depth);

namespace kernels
{

using namespace at::_ops;
using at::Tensor;
using at::TensorList;

#define STANDIN_KERNEL(name, full, schema, ret, params, args) ret name params;
STANDIN_OPERATORS(STANDIN_KERNEL)
#undef STANDIN_KERNEL

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

bool recurses(); // and once less from now on

// into = f(into, from), element by element; from is repeated.
void mix(const Tensor &into, const Tensor &from, uint32_t salt);

// As many numbers as self has, in a new block.
Tensor mixed(const Tensor &self, const Tensor &other, uint32_t salt);
Tensor &mixed_in_place(Tensor &self, const Tensor &other, uint32_t salt);

} // namespace kernels
} // namespace standin

#endif
