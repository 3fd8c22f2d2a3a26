// The operators' entry functions: an indirect call of the kernel, then the test of the optional
// that every real `call` holds, then `ret`. The kernel does little, but its result is deterministic.

#include "fault.h"
#include "kernels.h"
#include "operators.h"
#include "record_function.h"

namespace at::_ops {

// Variables, not constants: the compiler must not see through the call.
#define STANDIN_CALL(name, ret, params, args)                                                     \
	TORCH_API ret(*name##_kernel) params = standin::kernels::name;                            \
	ret name::call params                                                                     \
	{                                                                                         \
		std::optional<StepCallbacks> callbacks =                                          \
			getStepCallbacksUnlessEmpty(RecordScope::FUNCTION);                       \
                                                                                                  \
		return name##_kernel args;                                                        \
	}
STANDIN_OPERATORS(STANDIN_CALL)

} // namespace at::_ops
