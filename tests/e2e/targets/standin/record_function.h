// at::RecordFunction and the functions of the profiler and the autograd engine that use it.

#ifndef STANDIN_RECORD_FUNCTION_H
#define STANDIN_RECORD_FUNCTION_H

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "torch_types.h"

namespace c10
{

struct FunctionSchema;

namespace detail
{
template <class T> struct intrusive_target_default_null_type {
};
} // namespace detail

template <class T, class NullType = detail::intrusive_target_default_null_type<T>>
class intrusive_ptr
{
      public:
	explicit intrusive_ptr(T *owned) : target_(owned)
	{
	}
	intrusive_ptr(const intrusive_ptr &) = delete;
	intrusive_ptr(intrusive_ptr &&other) noexcept : target_(other.target_)
	{
		other.target_ = nullptr;
	}
	~intrusive_ptr()
	{
		delete target_;
	}
	T *operator->() const
	{
		return target_;
	}
	T *release()
	{
		T *target = target_;

		target_ = nullptr;
		return target;
	}

      private:
	T *target_;
};

namespace ivalue
{

struct TORCH_API ConstantString {
	const void *vtable = nullptr;
	uint64_t refcount = 1;
	std::string text;
	static intrusive_ptr<ConstantString> create(std::string text);
	static intrusive_ptr<ConstantString> create(const char *text);
};

} // namespace ivalue
} // namespace c10

namespace at
{

enum class RecordScope : uint8_t {
	FUNCTION = 0,
	BACKWARD_FUNCTION = 1,
	USER_SCOPE = 7
};

struct StepCallbacks {
	void *callbacks = nullptr;

	StepCallbacks() = default;
	StepCallbacks(StepCallbacks &&other) noexcept : callbacks(other.callbacks)
	{
		other.callbacks = nullptr;
	}
	~StepCallbacks()
	{
		if (callbacks)
			free(callbacks);
	}
};

// Never engaged: there is no profiler in the stand-in.
TORCH_API std::optional<StepCallbacks> getStepCallbacksUnlessEmpty(RecordScope scope);
TORCH_API StepCallbacks getStepCallbacks(RecordScope scope);

// What is done with callbacks that are engaged.
TORCH_API void run_callbacks(StepCallbacks &callbacks);

class TORCH_API RecordFunction
{
      public:
	explicit RecordFunction(RecordScope scope);
	virtual ~RecordFunction();
	RecordFunction(const RecordFunction &) = delete;
	RecordFunction &operator=(const RecordFunction &) = delete;

	void end();

	// PyTorch's own number of this thread, from 1.
	static uint64_t currentThreadId();
#if STANDIN_TORCH >= 209
	using Name =
		std::variant<std::string_view, std::reference_wrapper<const c10::FunctionSchema>>;
	void before(Name name, int64_t sequence_nr);
#else
	void before(const char *name, int64_t sequence_nr);
#endif

      private:
	struct Callback {
		void (*start)(RecordFunction *);
		void (*end)(RecordFunction *, void *);
	};

	Callback *callbacks_ = nullptr;
	uint32_t callback_count_ = 0;
	[[maybe_unused]] char inline_storage_[84];
	// Offset 104, where the first instruction of end() looks.
	bool called_start_callbacks_ = false;
	void **contexts_ = nullptr;
	[[maybe_unused]] char name_and_inputs_[224];
};

} // namespace at

namespace torch::jit
{
struct Operator;
}

namespace torch::autograd
{

struct GraphTask;
struct ReadyQueue;
struct Node;

struct InputBuffer {
	at::Tensor gradient;
};

struct TORCH_API Engine {
	virtual ~Engine();
	void evaluate_function(std::shared_ptr<GraphTask> &graph_task, Node *node,
			       InputBuffer &inputs, const std::shared_ptr<ReadyQueue> &queue);
};

namespace profiler
{

struct PythonRecordFunction {
	const void *vtable = nullptr;
	uint64_t refcount = 1;
	at::RecordFunction record;
	explicit PythonRecordFunction(at::RecordScope scope) : record(scope)
	{
	}
};

TORCH_API c10::intrusive_ptr<PythonRecordFunction>
record_function_enter_new(const std::string &name, const c10::optional<std::string> &args);

} // namespace profiler
} // namespace torch::autograd

namespace standin
{

using torch::autograd::profiler::PythonRecordFunction;

// What PyTorch's dispatcher holds as function pointers, since the functions are static.
struct ProfilerOps {
	void (*exit_new)(const c10::intrusive_ptr<PythonRecordFunction> &record);
	at::Tensor (*enter_legacy)(const std::string &name, const c10::optional<std::string> &args);
	void (*exit_legacy)(const at::Tensor &handle);
};
TORCH_API const ProfilerOps &profiler_ops();

// What TorchDynamo does round a compiled region: a scope 0 guard that is given a name.
TORCH_API void run_compiled_region(const char *name);

// A range from C++ (RECORD_USER_SCOPE): scope 7, and its name is told to nobody.
TORCH_API void run_native_user_scope();

} // namespace standin

#endif
