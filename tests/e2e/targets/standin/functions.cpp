// A custom autograd.Function: what Python's Doubling.apply() does.

#include "autograd.h"
#include "bindings.h"
#include "ledger.h"
#include "operators.h"
#include "python.h"
#include "record_function.h"

static _typeobject type_type = {1, &type_type, 0, "type"};
static _typeobject doubling_type = {1, &type_type, 0, "Doubling"};
static _typeobject doubling_backward_type = {1, &type_type, 0, "DoublingBackward"};
static PyObject doubling_backward = {1, &doubling_backward_type};

namespace torch::autograd {

struct PyNode : Node {
	explicit PyNode(PyObject *object)
	{
#if STANDIN_TORCH >= 213
		pyobj_ = object;
#else
		obj = object;
#endif
	}
	~PyNode() override;
	at::Tensor apply(at::Tensor gradient) override
	{
		return at::_ops::mul_Tensor::call(gradient, gradient);
	}
	std::string name() const override
	{
		return "DoublingBackward";
	}
#if STANDIN_TORCH < 213
	PyObject *obj;
#endif
};

PyNode::~PyNode() {}

#if STANDIN_TORCH < 213
static_assert(sizeof(PyNode) == kNodeSize + sizeof(void *), "obj");
#endif

} // namespace torch::autograd

// The result of the forward, which Python would have got as an object.
static thread_local at::Tensor *result;

__attribute__((always_inline)) static inline PyObject *apply(PyObject *cls, PyObject *input)
{
	static const int row = standin::ledger::row("Doubling", standin::ledger::Kind::function);
	standin::ledger::Call call(row);
	at::RecordFunction guard(at::RecordScope::FUNCTION);
	const auto &tensor = *reinterpret_cast<const at::Tensor *>(input);

	if (standin::is_recording())
		standin::record_node(
			std::make_unique<torch::autograd::PyNode>(&doubling_backward));

	standin::Recording nothing(nullptr); // as autograd is off in Function.forward

	*result = at::_ops::add_Tensor::call(tensor, tensor, c10::Scalar(1));
	return cls;
}

#if STANDIN_TORCH >= 213
namespace {

PyObject *THPFunction_apply(PyObject *cls, PyObject *inputs, PyObject *)
{
	return apply(cls, inputs);
}

} // namespace
#else
TORCH_API PyObject *THPFunction_apply(PyObject *cls, PyObject *inputs)
{
	return apply(cls, inputs);
}
#endif

namespace standin {

// Python knows the function by its address alone.
TORCH_API extern void *const function_methods[];
void *const function_methods[] = {reinterpret_cast<void *>(THPFunction_apply), nullptr};

at::Tensor doubling_apply(const at::Tensor &tensor)
{
	at::Tensor out;
	auto *cls = reinterpret_cast<PyObject *>(&doubling_type);
	auto *inputs = reinterpret_cast<PyObject *>(const_cast<at::Tensor *>(&tensor));

	result = &out;
#if STANDIN_TORCH >= 213
	reinterpret_cast<PyObject *(*)(PyObject *, PyObject *, PyObject *)>(function_methods[0])(
		cls, inputs, nullptr);
#else
	reinterpret_cast<PyObject *(*)(PyObject *, PyObject *)>(function_methods[0])(cls, inputs);
#endif
	return out;
}

} // namespace standin
