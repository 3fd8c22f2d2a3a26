// torch.ops: operators that are found and called by name, their arguments in a box.

#include "bindings.h"

#include <map>
#include <memory>
#include <vector>

#include "ledger.h"
#include "operators.h"
#include "record_function.h"

namespace c10 {
enum class DispatchKey : uint16_t { Undefined };
}

namespace pybind11 {

class TORCH_API object {
    public:
	explicit object(void *p = nullptr) : ptr(p) {}
	~object() {}
	void *ptr;
};
class TORCH_API args : public object {
	using object::object;
};
class TORCH_API kwargs : public object {
	using object::object;
};

} // namespace pybind11

namespace torch::jit {

struct OperatorDef {
	std::string name;
};

struct Operator {
	const OperatorDef *def;
	void *(*kernel)(void *arguments);
};

using Operators = std::vector<std::shared_ptr<Operator>>;

static pybind11::object run(const Operator &operation, void *arguments)
{
	std::optional<at::StepCallbacks> callbacks =
		at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION);

	return pybind11::object(operation.kernel(arguments));
}

#if STANDIN_TORCH >= 209
// Calls come through the second one, which is hidden; the first is still exported.
TORCH_API pybind11::object invokeOperatorFromPython(const Operators &operations,
						    const pybind11::args &args,
						    const pybind11::kwargs &,
						    std::optional<c10::DispatchKey>)
{
	return run(*operations[0], args.ptr);
}

__attribute__((noinline, noclone, used)) pybind11::object
invokeOperatorFromPython(c10::ArrayRef<std::shared_ptr<Operator>> operations,
			 const pybind11::args &args, const pybind11::kwargs &,
			 std::optional<c10::DispatchKey>)
{
	return run(*operations.data[0], args.ptr);
}
#else
TORCH_API pybind11::object invokeOperatorFromPython(const Operators &operations,
						    pybind11::args args, const pybind11::kwargs &,
						    c10::optional<c10::DispatchKey>)
{
	return run(*operations[0], args.ptr);
}
#endif

// As PyTorch's registry: an operator is made once and stays where it is.
static Operators registered(const char *name, void *(*kernel)(void *))
{
	return {std::make_shared<Operator>(Operator{new OperatorDef{name}, kernel})};
}

static void *invoke(const Operators &operations, void *argument)
{
	pybind11::args args(argument);
	pybind11::kwargs none;

#if STANDIN_TORCH >= 209
	return invokeOperatorFromPython({operations.data(), operations.size()}, args, none,
					std::nullopt)
		.ptr;
#else
	return invokeOperatorFromPython(operations, args, none, c10::optional<c10::DispatchKey>())
		.ptr;
#endif
}

} // namespace torch::jit

namespace standin {

using torch::jit::Operators;
using torch::jit::registered;

static void *scale(void *tensor)
{
	const auto &self = *static_cast<const at::Tensor *>(tensor);

	return new at::Tensor(at::_ops::mul_Tensor::call(self, self));
}

at::Tensor boxed_scale(const at::Tensor &tensor)
{
	static const Operators operations = registered("mylib::scale", scale);
	static const int row = ledger::row("mylib::scale", ledger::Kind::function);
	ledger::Call call(row);
	std::unique_ptr<at::Tensor> result(static_cast<at::Tensor *>(
		torch::jit::invoke(operations, const_cast<at::Tensor *>(&tensor))));

	return *result;
}

#if STANDIN_TORCH >= 200

struct PythonRange {
	c10::intrusive_ptr<PythonRecordFunction> record;
};

static void *enter_new(void *name)
{
	return new PythonRange{torch::autograd::profiler::record_function_enter_new(
		*static_cast<const std::string *>(name), std::nullopt)};
}

static void *exit_new(void *range)
{
	profiler_ops().exit_new(static_cast<PythonRange *>(range)->record);
	return nullptr;
}

PythonRange *range_enter(const std::string &name)
{
	static const Operators operations =
		registered("profiler::_record_function_enter_new", enter_new);

	return static_cast<PythonRange *>(
		torch::jit::invoke(operations, const_cast<std::string *>(&name)));
}

void range_exit(PythonRange *range)
{
	static const Operators operations =
		registered("profiler::_record_function_exit", exit_new);

	torch::jit::invoke(operations, range);
	delete range;
}

void range_leak(PythonRange *range)
{
	range->record.release();
	delete range;
}

#else // 1.13: a tensor is the handle

// The memory of CPython 3.11's compact ASCII str and of a tuple, as far as a tracer reads it.
struct FakeStr {
	uint64_t refcount = 1;
	const void *type = nullptr;
	uint64_t length;
	uint64_t hash = 0;
	uint32_t state = 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7; // 1 byte a character, compact, ascii, ready
	uint32_t padding = 0;
	const void *wstr = nullptr;
	char text[];
};
static_assert(offsetof(FakeStr, text) == 48, "text of a compact ASCII str");

struct FakeTuple {
	uint64_t refcount = 1;
	const void *type = nullptr;
	uint64_t length = 1;
	FakeStr *item;
};
static_assert(offsetof(FakeTuple, item) == 24, "items of a tuple");

struct PythonRange {
	at::Tensor *handle;
};

static void *enter_legacy(void *arguments)
{
	const FakeStr *text = static_cast<FakeTuple *>(arguments)->item;
	auto name = c10::ivalue::ConstantString::create(std::string(text->text, text->length));

	return new at::Tensor(
		profiler_ops().enter_legacy(name->text, c10::optional<std::string>()));
}

static void *exit_legacy(void *handle)
{
	profiler_ops().exit_legacy(*static_cast<at::Tensor *>(handle));
	return nullptr;
}

PythonRange *range_enter(const std::string &name)
{
	static const Operators operations =
		registered("profiler::_record_function_enter", enter_legacy);
	auto memory = std::make_unique<char[]>(sizeof(FakeStr) + name.size() + 1);
	auto *text = new (memory.get()) FakeStr;
	FakeTuple tuple;

	text->length = name.size();
	name.copy(text->text, name.size());
	text->text[name.size()] = '\0';
	tuple.item = text;
	return new PythonRange{static_cast<at::Tensor *>(torch::jit::invoke(operations, &tuple))};
}

void range_exit(PythonRange *range)
{
	static const Operators operations =
		registered("profiler::_record_function_exit", exit_legacy);

	torch::jit::invoke(operations, range->handle);
	delete range->handle;
	delete range;
}

void range_leak(PythonRange *range)
{
	delete range;
}

#endif

} // namespace standin
