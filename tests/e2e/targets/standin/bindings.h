// What Python does: `with record_function(name):`, torch.ops calls and custom autograd.Functions,
// the way the imitated PyTorch version does it. Lives in libtorch_python.so.

#ifndef STANDIN_BINDINGS_H
#define STANDIN_BINDINGS_H

#include <string>

#include "torch_types.h"

namespace standin
{

struct PythonRange;

// Throws what record_function_enter* throws; there is no range then.
TORCH_API PythonRange *range_enter(const std::string &name);

// Ends the range and destroys its object, on whatever thread.
TORCH_API void range_exit(PythonRange *range);

// Destroys nothing and ends nothing: the range is begun and forgotten.
TORCH_API void range_leak(PythonRange *range);

// torch.ops.mylib.scale(tensor): no at::_ops call of its own, one inside.
TORCH_API at::Tensor boxed_scale(const at::Tensor &tensor);

// Doubling.apply(tensor): its backward is a node that Python names DoublingBackward.
TORCH_API at::Tensor doubling_apply(const at::Tensor &tensor);

} // namespace standin

#endif
