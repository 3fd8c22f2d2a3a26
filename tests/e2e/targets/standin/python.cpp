// Frames as CPython 3.11 lays them out: Include/internal/pycore_frame.h, Python/pystate.c.

#include "python.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace {

// PyASCIIObject: a str of ASCII, its characters behind the head.
struct Text {
	PyObject base = {1, nullptr};
	uint64_t length;
	uint64_t hash = 0;
	uint32_t state = 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7; // 1 byte each, compact, ascii, ready
	uint32_t padding = 0;
	const void *wstr = nullptr;
	char characters[72];

	explicit Text(const char *text) : length(strlen(text))
	{
		strncpy(characters, text, sizeof(characters) - 1);
		characters[sizeof(characters) - 1] = 0;
	}
};
static_assert(offsetof(Text, length) == 16, "length");
static_assert(offsetof(Text, state) == 32, "state");
static_assert(offsetof(Text, characters) == 48, "characters of a compact ASCII str");

} // namespace

struct PyCodeObject {
	PyCodeObject(const char *file, const char *name, int locals, int stack)
		: co_stacksize(stack), co_nlocalsplus(locals), file_(file), name_(name)
	{
	}
	PyCodeObject(const PyCodeObject &) = delete;
	PyCodeObject &operator=(const PyCodeObject &) = delete;

	PyObject base = {1, nullptr};
	char head[52] = {};
	int32_t co_stacksize;
	int32_t co_firstlineno = 1;
	int32_t co_nlocalsplus;
	char counts[32] = {};
	const Text *co_filename = &file_;
	const Text *co_name = &name_;

      private:
	Text file_, name_; // the stand-in's own
};

struct _PyInterpreterFrame {
	PyObject *f_func, *f_globals, *f_builtins, *f_locals;
	const PyCodeObject *f_code;
	void *frame_obj;
	_PyInterpreterFrame *previous;
	const void *prev_instr;
	int32_t stacktop;
	bool is_entry;
	char owner;
	void *localsplus[1];
};

// The second local is what a function's instructions are to CPython.
static constexpr int kSelf = 0, kBody = 1;
static constexpr size_t kFrameHead = offsetof(_PyInterpreterFrame, localsplus) / sizeof(uint64_t);

// _PyStackChunk: 16 KB each in CPython. So small, a model's frames lie on two of them.
struct StackChunk {
	StackChunk *previous;
	uint64_t size, top;
	uint64_t data[1];
};
static constexpr size_t kChunkBytes = 1024;

// CPython has one for each time that it is entered; here there is one for each thread.
struct _PyCFrame {
	uint64_t use_tracing = 0;
	_PyInterpreterFrame *current_frame = nullptr;
	_PyCFrame *previous = nullptr;
};

struct PyThreadState {
	PyThreadState() = default;
	~PyThreadState();
	char head[56] = {};
	_PyCFrame *cframe = &root_cframe;
	char middle[208] = {};
	_PyCFrame root_cframe;
	StackChunk *datastack_chunk = nullptr;
	uint64_t *datastack_top = nullptr;
	uint64_t *datastack_limit = nullptr;
};

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // it is where a tracer looks, standard or not
static_assert(offsetof(PyCodeObject, co_filename) == 112, "co_filename");
static_assert(offsetof(PyCodeObject, co_name) == 120, "co_name");
static_assert(offsetof(PyThreadState, cframe) == 56, "cframe");
static_assert(offsetof(PyThreadState, datastack_chunk) == 296, "datastack_chunk");
static_assert(offsetof(PyThreadState, datastack_top) == 304, "datastack_top");
#pragma GCC diagnostic pop
static_assert(offsetof(_PyInterpreterFrame, f_code) == 32, "f_code");
static_assert(offsetof(_PyInterpreterFrame, previous) == 48, "previous");
static_assert(offsetof(_PyInterpreterFrame, localsplus) == 72, "localsplus");
static_assert(offsetof(StackChunk, data) == 24, "data");

PyThreadState::~PyThreadState()
{
	while (datastack_chunk) {
		StackChunk *previous = datastack_chunk->previous;

		free(datastack_chunk);
		datastack_chunk = previous;
	}
}

static thread_local PyThreadState thread_state;

static uint64_t *push_chunk(PyThreadState &thread, size_t words)
{
	auto *chunk = static_cast<StackChunk *>(malloc(kChunkBytes));
	uint64_t *base;

	if (!chunk)
		throw std::bad_alloc();
	chunk->previous = thread.datastack_chunk;
	chunk->size = kChunkBytes;
	chunk->top = 0;
	if (thread.datastack_chunk)
		thread.datastack_chunk->top = static_cast<uint64_t>(
			thread.datastack_top - thread.datastack_chunk->data);
	thread.datastack_chunk = chunk;
	thread.datastack_limit = reinterpret_cast<uint64_t *>(chunk) + kChunkBytes / sizeof(*base);
	// A place that no frame begins at, so that the first part is never given back.
	base = &chunk->data[chunk->previous ? 0 : 1];
	thread.datastack_top = base + words;
	return base;
}

static uint64_t *push(PyThreadState &thread, size_t words)
{
	uint64_t *base = thread.datastack_top;

	if (!base || base + words >= thread.datastack_limit)
		return push_chunk(thread, words);
	thread.datastack_top = base + words;
	return base;
}

static void pop(PyThreadState &thread, uint64_t *base)
{
	StackChunk *chunk = thread.datastack_chunk, *previous = chunk->previous;

	if (base != chunk->data) {
		thread.datastack_top = base;
		return;
	}
	thread.datastack_top = &previous->data[previous->top];
	thread.datastack_chunk = previous;
	thread.datastack_limit =
		reinterpret_cast<uint64_t *>(previous) + previous->size / sizeof(*base);
	free(chunk);
}

// What it does is in its frame, and nothing of it is known before: it keeps both over the call, in
// registers that it has to save, and so begins as CPython's does, with a push.
extern "C" TORCH_API __attribute__((noinline, noclone)) PyObject *
_PyEval_EvalFrameDefault(PyThreadState *thread, _PyInterpreterFrame *frame, int)
{
	frame->is_entry = true;
	frame->previous = thread->cframe->current_frame;
	thread->cframe->current_frame = frame;
	(*static_cast<const std::function<void()> *>(frame->localsplus[kBody]))();
	thread->cframe->current_frame = frame;
	return frame->f_func;
}

namespace standin {

static const char kModuleFile[] = "/usr/lib/python3/dist-packages/torch/nn/modules/module.py";
static const char kModelFile[] = "/job/model.py", kTrainFile[] = "/job/train.py";

// Words of their frames, of which 124 are there in the first part (as from 2.1 on):
//
//	train_step 29, a module's call 18, what it calls 41, forward 17 (76 the three)
//
// So of the modules in Net some are called where the first part ends and go on in the second; those
// that `project` calls are called there. compute_loss, with what it calls, reaches over the place of
// the first ones; run_backward, that nothing calls, over the place of Net and LogSoftmax. What lay
// there stays as it was: it is where their values would lie.
static const PyCodeObject &code_of(Function function)
{
	static const PyCodeObject codes[] = {
		{kModuleFile, "_wrapped_call_impl", 3, 6},
		{kModuleFile, "_call_impl", 22, 10},
		{kModelFile, "forward", 3, 5},
		{kModelFile, "project", 4, 8},
		{kTrainFile, "train_step", 12, 8},
		{kTrainFile, "run_backward", 10, 18},
		{kTrainFile, "compute_loss", 10, 10},
		{kTrainFile, "prepare", 10, 10},
		{kTrainFile, "detach", 4, 14},
		{"/usr/lib/python3/dist-packages/torch/_tensor.py", "backward", 10, 10},
		{"/usr/lib/python3/dist-packages/other/nn/modules/module.py", "_call_impl", 3, 6},
		{kModuleFile, "__setattr__", 3, 6},
	};

	return codes[static_cast<int>(function)];
}

// As CPython, it clears the locals and leaves what lay where the values will.
PythonFrame::PythonFrame(Function function, PyObject *self)
{
	const PyCodeObject &code = code_of(function);
	PyThreadState &thread = thread_state;
	size_t locals = static_cast<size_t>(code.co_nlocalsplus);
	uint64_t *base =
		push(thread, kFrameHead + locals + static_cast<size_t>(code.co_stacksize));

	memset(base, 0, (kFrameHead + locals) * sizeof(*base));
	frame_ = reinterpret_cast<_PyInterpreterFrame *>(base);
	frame_->f_code = &code;
	frame_->previous = thread.cframe->current_frame;
	frame_->stacktop = code.co_nlocalsplus;
	frame_->localsplus[kSelf] = self;
	thread.cframe->current_frame = frame_;
}

PythonFrame::~PythonFrame()
{
	PyThreadState &thread = thread_state;

	thread.cframe->current_frame = frame_->previous;
	pop(thread, reinterpret_cast<uint64_t *>(frame_));
}

void call_python(Function function, PyObject *self, const std::function<void()> &body)
{
	PythonFrame frame(function, self);

	// Entered through C, it runs from in there on.
	thread_state.cframe->current_frame = frame.frame_->previous;
	frame.frame_->localsplus[kBody] = const_cast<std::function<void()> *>(&body);
	_PyEval_EvalFrameDefault(&thread_state, frame.frame_, 0);
}

static const char *const class_names[] = {"Net", "Linear", "ReLU", "LogSoftmax"};
static constexpr size_t kClasses = sizeof(class_names) / sizeof(class_names[0]);

static std::atomic<int64_t> class_calls[kClasses];

static _typeobject *type_of(ModuleClass module_class)
{
	static _typeobject type_type = {1, &type_type, 0, "type"};
	static _typeobject types[kClasses] = {
		{1, &type_type, 0, class_names[0]},
		{1, &type_type, 0, class_names[1]},
		{1, &type_type, 0, class_names[2]},
		{1, &type_type, 0, class_names[3]},
	};

	return &types[static_cast<int>(module_class)];
}

Module::Module(ModuleClass module_class)
	: object_{1, type_of(module_class)}, calls_(&class_calls[static_cast<int>(module_class)])
{
}

// Each calls what it calls as CALL_FUNCTION_EX does: through C. What forward() is called by in its
// turn depends on the version; here it is Python itself.
void Module::operator()(const std::function<void()> &forward)
{
	auto implementation = [&] {
		PythonFrame frame(Function::forward, &object_);

		forward();
	};

	calls_->fetch_add(1, std::memory_order_relaxed);
#if STANDIN_TORCH >= 201
	call_python(Function::module_call, &object_, [&] {
		call_python(Function::module_implementation, &object_, implementation);
	});
#else
	call_python(Function::module_implementation, &object_, implementation);
#endif
}

std::map<std::string, int64_t> collect_module_calls()
{
	std::map<std::string, int64_t> calls;

	for (size_t i = 0; i < kClasses; i++)
		calls[class_names[i]] = class_calls[i].exchange(0);
	return calls;
}

} // namespace standin
