/*
 * modules.bpf.h - calls of nn.Module, seen where C calls Python. CPython (3.11 to 3.13) runs a
 * function that Python calls without leaving its loop, but an object's __call__ goes through C and
 * enters the loop anew: _PyEval_EvalFrameDefault(thread, frame), whose frame names the code that
 * runs and holds its arguments. So each call of a module is hit once, at its beginning.
 *
 * No instruction of its own ends it. Its frame lies on the thread's data stack, which is last in,
 * first out: the call is over when the stack ends below its frame, or another code has taken the
 * frame's place. That is looked at whenever anything else is recorded of the thread.
 */
#ifndef MODULES_BPF_H
#define MODULES_BPF_H

#include "calls.bpf.h"

#define CODE_UNREADABLE 0 /* not now: looked at again */
#define CODE_OTHER 1	  /* no module's */
#define CODE_CALL 2	  /* torch.nn.Module.__call__: _wrapped_call_impl, before 2.1 _call_impl */
#define CODE_IMPLEMENTATION 3 /* may have been called by the first */

/* In PyASCIIObject, CPython 3.11 to 3.13: the length in characters and the state's bits. */
#define TEXT_LENGTH 16
#define TEXT_STATE 32
#define TEXT_IS_COMPACT_ASCII 0x60

/* A part of the data stack: _PyStackChunk. */
struct stack_chunk {
	__u64 previous, size, top; /* top: in words behind this head, when another part followed */
};

#define CHUNKS_MAX 8 /* parts between here and a module's call: 16 KB each, or more */

/* Reads the characters of a str of ASCII; false: it is no such thing, or of another length. */
static __always_inline bool text_read(__u64 text, char *to, __u32 size, bool is_tail)
{
	__u64 length = read_word(text + TEXT_LENGTH), from = text + config.text_characters;

	if (((__u32)read_word(text + TEXT_STATE) & TEXT_IS_COMPACT_ASCII) != TEXT_IS_COMPACT_ASCII)
		return false;
	if (is_tail ? length < size : length != size)
		return false;
	if (is_tail)
		from += length - size;
	return !bpf_probe_read_user(to, size, (void *)from);
}

static __always_inline bool same_bytes(const char *a, const char *b, __u32 size)
{
	__u32 i;

	for (i = 0; i < size; i++) {
		if (a[i] != b[i])
			return false;
	}
	return true;
}

static __always_inline __u8 code_look(__u64 code)
{
	static const char file[] = "torch/nn/modules/module.py";
	static const char call[] = "_wrapped_call_impl", implementation[] = "_call_impl";
	char text[sizeof(file)] = {};
	__u64 name = read_word(code + config.code_file + sizeof(__u64));
	__u8 found = CODE_OTHER;

	if (!name || !read_word(name + TEXT_STATE)) /* no str has a state of 0 */
		return CODE_UNREADABLE;
	if (text_read(name, text, sizeof(call) - 1, false) &&
	    same_bytes(text, call, sizeof(call) - 1))
		found = CODE_CALL;
	else if (text_read(name, text, sizeof(implementation) - 1, false) &&
		 same_bytes(text, implementation, sizeof(implementation) - 1))
		found = CODE_IMPLEMENTATION;
	if (found != CODE_OTHER &&
	    (!text_read(read_word(code + config.code_file), text, sizeof(file) - 1, true) ||
	     !same_bytes(text, file, sizeof(file) - 1)))
		found = CODE_OTHER;
	return found;
}

/* Looked at once. With no room left each call is looked at, which is slower and as right. */
static __always_inline __u8 code_kind(__u64 code)
{
	const __u8 *known = bpf_map_lookup_elem(&python_codes, &code);
	__u8 kind;

	if (known)
		return *known;
	kind = code_look(code);
	if (kind != CODE_UNREADABLE)
		bpf_map_update_elem(&python_codes, &code, &kind, BPF_ANY);
	return kind;
}

/* The frame still lies on the data stack that ends at top in this part, or in one before it. */
static __always_inline bool is_on_stack(__u64 chunk, __u64 top, __u64 frame)
{
	int i;

	for (i = 0; i < CHUNKS_MAX && chunk; i++) {
		struct stack_chunk head = {};

		if (bpf_probe_read_user(&head, sizeof(head), (void *)chunk))
			return false;
		if (frame - chunk < head.size)
			return frame < top;
		chunk = head.previous;
		/* A part that is not the last one ends where it did when the next one began. */
		if (bpf_probe_read_user(&head, sizeof(head), (void *)chunk))
			return false;
		top = chunk + sizeof(head) + head.top * sizeof(__u64);
	}
	return false;
}

/* How many of the thread's calls go on. frame: all at it and above it are over; 0: of none known.
 */
static __always_inline __u32 modules_alive(const struct module_stack *stack, __u64 frame)
{
	struct {
		__u64 chunk, top;
	} ends = {};
	__u32 depth = stack->depth, i;

	if (bpf_probe_read_user(&ends, sizeof(ends), (void *)(stack->thread + config.thread_chunk)))
		return 0;
	for (i = 0; i < MODULES_OPEN_MAX && depth; i++) {
		__u32 last = (depth - 1) & (MODULES_OPEN_MAX - 1);
		const struct module_frame *open = &stack->frames[last];

		if (open->frame != frame &&
		    read_word(open->frame + config.frame_code) == open->code &&
		    is_on_stack(ends.chunk, ends.top, open->frame))
			break;
		depth--;
	}
	return depth;
}

static __always_inline void emit_module(__u32 tid, __u64 now_ns, __u32 kind, __u64 object,
					__u64 type, __u32 depth)
{
	struct wire_module *record = emit_reserve(sizeof(*record), WIRE_MODULE, kind, tid, now_ns);

	if (!record)
		return;
	record->object = object;
	record->type = type;
	record->depth = depth;
	record->reserved = 0;
	emit_submit(record);
}

/* Something happens on the thread: tells which of its calls of modules are over. */
static __always_inline void modules_look(__u32 tid, __u64 now_ns)
{
	struct module_stack *stack = bpf_map_lookup_elem(&module_stacks, &tid);
	__u32 depth;

	if (!stack)
		return;
	depth = modules_alive(stack, 0);
	if (depth == stack->depth)
		return;
	stack->depth = depth;
	emit_module(tid, now_ns, MODULE_END, 0, 0, depth);
	if (!depth)
		bpf_map_delete_elem(&module_stacks, &tid);
}

static __always_inline struct module_stack *modules_of(__u32 tid, __u64 thread)
{
	struct module_stack *stack = bpf_map_lookup_elem(&module_stacks, &tid);

	if (!stack) {
		bpf_map_update_elem(&module_stacks, &tid, &no_module_stack, BPF_NOEXIST);
		stack = bpf_map_lookup_elem(&module_stacks, &tid);
	}
	if (!stack) {
		loss_count(LOSS_THREAD_TABLE_FULL);
		return NULL;
	}
	if (stack->thread != thread) { /* C has made the thread a new one of Python's */
		stack->thread = thread;
		stack->depth = 0;
	}
	return stack;
}

static __always_inline void on_python_call(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	struct module_frame call = { .frame = ARGUMENT_1(ctx) };
	struct module_stack *stack;
	__u64 type;
	__u8 kind;
	__u32 depth;

	if (phase_now() == PHASE_WARMUP)
		__sync_fetch_and_add(&python_calls, 1);
	call.code = read_word(call.frame + config.frame_code);
	kind = code_kind(call.code);
	if (kind != CODE_CALL && kind != CODE_IMPLEMENTATION) {
		modules_look(tid, now_ns);
		return;
	}
	call.object = read_word(call.frame + config.frame_locals);
	stack = modules_of(tid, ARGUMENT_0(ctx));
	if (!stack)
		return;
	depth = modules_alive(stack, call.frame);
	if (depth && kind == CODE_IMPLEMENTATION &&
	    stack->frames[(depth - 1) & (MODULES_OPEN_MAX - 1)].object == call.object) {
		stack->depth = depth;
		return; /* what the call does, not another one */
	}
	if (depth >= MODULES_OPEN_MAX) {
		loss_count(LOSS_MODULE_DEPTH);
		return;
	}
	type = python_type(read_word(call.object + PY_OBJECT_TYPE), tid, now_ns);
	stack->frames[depth & (MODULES_OPEN_MAX - 1)] = call;
	stack->depth = depth + 1;
	emit_module(tid, now_ns, MODULE_BEGIN, call.object, type, depth);
}

/* Memory comes from within calls; whatever else comes may come from behind one. */
static __always_inline bool may_end_modules(__u32 kind)
{
	return config.watches_modules && kind != PROBE_SEQUENCE && kind != PROBE_PYTHON_CALL &&
	       !(kind >= PROBE_MEMORY_NEW && kind <= PROBE_DEVICE_OUT) && calls_are_wanted();
}

#endif /* MODULES_BPF_H */
