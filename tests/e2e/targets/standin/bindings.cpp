// Python's side of record_function, one implementation for each way that PyTorch has had.

#include <vector>

#include "bindings.h"
#include "record_function.h"

#if STANDIN_TORCH >= 200

namespace standin {

struct PythonRange {
	c10::intrusive_ptr<PythonRecordFunction> record;
};

PythonRange *range_enter(const std::string &name)
{
	return new PythonRange{
		torch::autograd::profiler::record_function_enter_new(name, std::nullopt)};
}

void range_exit(PythonRange *range)
{
	profiler_ops().exit_new(range->record);
	delete range;
}

void range_leak(PythonRange *range)
{
	range->record.release();
	delete range;
}

} // namespace standin

#else // 1.13: a boxed operator, found and called by name, with a tensor as the handle

namespace c10 {
enum class DispatchKey : uint16_t { Undefined };
}

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

struct Schema {
	std::string name;
};
struct Operator {
	const Schema *schema;
};

static at::Tensor last_handle(const pybind11::object &object)
{
	return *static_cast<at::Tensor *>(object.ptr);
}

TORCH_API pybind11::object
invokeOperatorFromPython(const std::vector<std::shared_ptr<Operator>> &operations,
			 pybind11::args args, const pybind11::kwargs &,
			 c10::optional<c10::DispatchKey>)
{
	const standin::ProfilerOps &ops = standin::profiler_ops();

	if (operations[0]->schema->name == "profiler::_record_function_enter") {
		const FakeStr *text = static_cast<FakeTuple *>(args.ptr)->item;
		auto name = c10::ivalue::ConstantString::create(
			std::string(text->text, text->length));

		return pybind11::object(
			new at::Tensor(ops.enter_legacy(name->text, c10::optional<std::string>())));
	}
	ops.exit_legacy(last_handle(args));
	return pybind11::object();
}

} // namespace torch::jit

namespace standin {

struct PythonRange {
	at::Tensor *handle;
};

static pybind11::object invoke(const char *name, void *argument)
{
	torch::jit::Schema schema = {name};
	std::vector<std::shared_ptr<torch::jit::Operator>> operations = {
		std::make_shared<torch::jit::Operator>(torch::jit::Operator{&schema})};

	return torch::jit::invokeOperatorFromPython(operations, pybind11::args(argument),
						    pybind11::kwargs(),
						    c10::optional<c10::DispatchKey>());
}

PythonRange *range_enter(const std::string &name)
{
	auto memory = std::make_unique<char[]>(sizeof(FakeStr) + name.size() + 1);
	auto *text = new (memory.get()) FakeStr;
	FakeTuple tuple;

	text->length = name.size();
	name.copy(text->text, name.size());
	text->text[name.size()] = '\0';
	tuple.item = text;
	return new PythonRange{static_cast<at::Tensor *>(
		invoke("profiler::_record_function_enter", &tuple).ptr)};
}

void range_exit(PythonRange *range)
{
	invoke("profiler::_record_function_exit", range->handle);
	delete range->handle;
	delete range;
}

void range_leak(PythonRange *range)
{
	delete range;
}

} // namespace standin

#endif
