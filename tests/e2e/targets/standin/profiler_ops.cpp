// The profiler::_record_function_* operators.
//
// A translation unit of its own, so that every call of RecordFunction goes through the PLT and
// record_function_exit_new becomes the three instructions `mov; add $16; jmp end`.

#include "fault.h"
#include "record_function.h"

namespace c10::ivalue {

intrusive_ptr<ConstantString> ConstantString::create(std::string text)
{
	auto *string = new ConstantString;

	string->text = std::move(text);
	return intrusive_ptr<ConstantString>(string);
}

intrusive_ptr<ConstantString> ConstantString::create(const char *text)
{
	return create(std::string(text));
}

} // namespace c10::ivalue

namespace torch::autograd {

namespace profiler {

__attribute__((noinline)) static void record_function_enter(const std::string &name,
							    const c10::optional<std::string> &args,
							    at::RecordFunction &record)
{
	standin::fault_point(standin::Fault::enter_after_begin);
	// An argument that nobody uses would not be passed at all, to a clone under another name.
	asm volatile("" : : "r"(&name), "r"(&args), "r"(&record) : "memory");
}

c10::intrusive_ptr<PythonRecordFunction>
record_function_enter_new(const std::string &name, const c10::optional<std::string> &args)
{
	standin::fault_point(standin::Fault::enter_before_begin);

	c10::intrusive_ptr<PythonRecordFunction> record(
		new PythonRecordFunction(at::RecordScope::USER_SCOPE));

	record_function_enter(name, args, record->record);
	return record;
}

static void record_function_exit_new(const c10::intrusive_ptr<PythonRecordFunction> &record)
{
	record->record.end();
}

// The legacy handle is a tensor that owns the object. Not of the allocator that reports its blocks:
// it is freed behind the range's end, which may be the end of the attempt.
static at::Tensor record_function_enter_legacy(const std::string &name,
					       const c10::optional<std::string> &args)
{
	standin::fault_point(standin::Fault::enter_before_begin);

	auto record = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
	at::Tensor handle = standin::make_tensor(1, standin::DeviceKind::cuda);

	record_function_enter(name, args, *record);
	handle.impl()->extra_meta = record.release();
	return handle;
}

static void record_function_exit_legacy(const at::Tensor &handle)
{
	static_cast<at::RecordFunction *>(handle.impl()->extra_meta)->end();
}

} // namespace profiler
} // namespace torch::autograd

namespace standin {

namespace profiler = torch::autograd::profiler;

const ProfilerOps &profiler_ops()
{
	static const ProfilerOps ops = {
		profiler::record_function_exit_new,
		profiler::record_function_enter_legacy,
		profiler::record_function_exit_legacy,
	};

	return ops;
}

void run_compiled_region(const char *name)
{
	at::RecordFunction guard(at::RecordScope::FUNCTION);

#if STANDIN_TORCH >= 209
	guard.before(std::string_view(name), -1);
#else
	guard.before(name, -1);
#endif
}

void run_native_user_scope()
{
	at::RecordFunction guard(at::RecordScope::USER_SCOPE);

	asm volatile("" : : : "memory");
}

} // namespace standin
