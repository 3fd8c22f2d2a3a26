// The operators' entry functions: an indirect call of the kernel, then the test of the optional
// that every real `call` holds, then `ret`. Callbacks, which a profiler would engage, make a second
// way to the same end.

#include "autograd.h"
#include "device_hook.h"
#include "fault.h"
#include "kernels.h"
#include "ledger.h"
#include "operators.h"
#include "record_function.h"

namespace standin {

DeviceHook device_hook;

static void ask_device(const char *name)
{
	if (device_hook)
		device_hook(name);
}

} // namespace standin

namespace at::_ops {

using standin::ledger::Kind;

// Kernels are called through variables, not constants: the compiler must not see through the call.
#define STANDIN_DISPATCH(name, full, schema, ret, params, args)                                   \
	static ret name##_dispatched params                                                       \
	{                                                                                         \
		static const int row = standin::ledger::row("aten::" full, Kind::operation);      \
		standin::ledger::Call call(row);                                                  \
		standin::dispatch_point();                                                        \
		standin::AutogradKernel kernel(standin::OperatorId::name);                        \
		standin::ask_device(full);                                                        \
                                                                                                  \
		return standin::kernels::name args;                                               \
	}                                                                                         \
	TORCH_API ret(*name##_kernel) params = name##_dispatched;
STANDIN_OPERATORS(STANDIN_DISPATCH)

#define STANDIN_CALL(name, full, schema, ret, params, args)                                       \
	ret name::call params                                                                     \
	{                                                                                         \
		std::optional<StepCallbacks> callbacks =                                          \
			getStepCallbacksUnlessEmpty(RecordScope::FUNCTION);                       \
                                                                                                  \
		if (__builtin_expect(callbacks.has_value(), 0))                                   \
			run_callbacks(*callbacks);                                                \
		return name##_kernel args;                                                        \
	}
STANDIN_OPERATORS_SHAPED(STANDIN_CALL)

#if STANDIN_TORCH >= 213
// With callbacks the result becomes an IValue, by its kind: a jump table, which no exit site may
// lie behind.
#define STANDIN_KIND(n)                                                                           \
	case n:                                                                                   \
		asm volatile("nop" : : "i"(n), "r"(&output) : "memory");                          \
		break;

#define STANDIN_CALL_OF_SCALAR(name, full, schema, ret, params, args)                             \
	ret name::call params                                                                     \
	{                                                                                         \
		std::optional<StepCallbacks> callbacks =                                          \
			getStepCallbacksUnlessEmpty(RecordScope::FUNCTION);                       \
                                                                                                  \
		if (__builtin_expect(callbacks.has_value(), 0)) {                                 \
			run_callbacks(*callbacks);                                                \
			ret output = name##_kernel args;                                          \
			switch (output.tag) {                                                     \
				STANDIN_KIND(0)                                                   \
				STANDIN_KIND(1)                                                   \
				STANDIN_KIND(2)                                                   \
				STANDIN_KIND(3)                                                   \
				STANDIN_KIND(4)                                                   \
				STANDIN_KIND(5)                                                   \
				STANDIN_KIND(6)                                                   \
			default:                                                                  \
				break;                                                            \
			}                                                                         \
			return output;                                                            \
		}                                                                                 \
		return name##_kernel args;                                                        \
	}
STANDIN_OPERATORS_OF_SCALARS(STANDIN_CALL_OF_SCALAR)
#else
STANDIN_OPERATORS_OF_SCALARS(STANDIN_CALL)
#endif

} // namespace at::_ops
