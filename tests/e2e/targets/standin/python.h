// The part of CPython 3.11 that a call of an nn.Module passes: frames on a thread's data stack, the
// code they run, and the function through which C enters Python. Lives in libpython3.11.so.

#ifndef STANDIN_PYTHON_H
#define STANDIN_PYTHON_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "torch_types.h"

// The memory of CPython's objects, as far as a tracer reads it.
struct _typeobject {
	uint64_t refcount;
	_typeobject *type;
	uint64_t size;
	const char *tp_name;
};
struct _object {
	uint64_t refcount;
	_typeobject *type;
};
static_assert(offsetof(_object, type) == 8, "ob_type");
static_assert(offsetof(_typeobject, tp_name) == 24, "tp_name");

using PyObject = _object;
struct PyCodeObject;
struct _PyInterpreterFrame;

namespace standin
{

// Functions of Python: what their code is called, and how large their frames are.
enum class Function {
	module_call,	       // torch.nn.Module.__call__
	module_implementation, // what it calls, with the same self; before 2.1 there is no other
	forward,
	project, // of the model's own
	train_step,
	run_backward, // reaches over the place of a module that train_step called
	compute_loss, // with the next two, over that of a module in the first one
	prepare,
	detach,
	backward,
	namesake,  // has the name of a module's implementation, and another file
	neighbour, // has the file of a module's call, and another name
};

// What Python does when it calls a function: nothing but to lay its frame, for as long as this lives.
class TORCH_API PythonFrame
{
      public:
	explicit PythonFrame(Function function, PyObject *self = nullptr);
	~PythonFrame();
	PythonFrame(const PythonFrame &) = delete;
	PythonFrame &operator=(const PythonFrame &) = delete;

      private:
	friend TORCH_API void call_python(Function, PyObject *, const std::function<void()> &);
	_PyInterpreterFrame *frame_;
};

// What C does when it calls a function of Python. body may throw.
TORCH_API void call_python(Function function, PyObject *self, const std::function<void()> &body);

enum class ModuleClass {
	Net,
	Linear,
	ReLU,
	LogSoftmax
};

class TORCH_API Module
{
      public:
	explicit Module(ModuleClass module_class);
	Module(const Module &) = delete;
	Module &operator=(const Module &) = delete;

	// module(...): through __call__ to forward(), which does `forward`.
	void operator()(const std::function<void()> &forward);

      private:
	PyObject object_;
	std::atomic<int64_t> *calls_;
};

// Calls of modules by class, of all threads, since it was last asked.
TORCH_API std::map<std::string, int64_t> collect_module_calls();

} // namespace standin

#endif
