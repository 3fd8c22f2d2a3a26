/*
 * modules.bpf.h - calls of nn.Module, seen where C calls Python. CPython (3.11 to 3.13) runs a
 * function that Python calls without leaving its loop, but an object's __call__ goes through C and
 * enters the loop anew: _PyEval_EvalFrameDefault(thread, frame), whose frame names the code that
 * runs and holds its arguments. So each call of a module is hit once, at its beginning.
 *
 * No instruction of its own ends it. It is over when its frame is no more among those that lead to
 * the one that runs. That is looked at whenever anything else is recorded of the thread.
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

#define FRAMES_MAX 256 /* that are looked at for one hit */

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

static __always_inline __u8 code_look(__u64 code)
{
	/* Without a NUL, as a string would lie where the kernel finds no variable. */
	static const char file[26] = { 't', 'o', 'r', 'c', 'h', '/', 'n', 'n', '/',
				       'm', 'o', 'd', 'u', 'l', 'e', 's', '/', 'm',
				       'o', 'd', 'u', 'l', 'e', '.', 'p', 'y' };
	static const char call[18] = { '_', 'w', 'r', 'a', 'p', 'p', 'e', 'd', '_',
				       'c', 'a', 'l', 'l', '_', 'i', 'm', 'p', 'l' };
	static const char implementation[10] = { '_', 'c', 'a', 'l', 'l', '_', 'i', 'm', 'p', 'l' };
	char text[sizeof(file)] = {};
	__u64 path = read_word(code + config.code_file);
	__u64 name = read_word(code + config.code_file + sizeof(__u64));
	__u8 found = CODE_OTHER;

	/* No str has a state of 0. */
	if (!read_word(name + TEXT_STATE) || !read_word(path + TEXT_STATE))
		return CODE_UNREADABLE;
	if (text_read(name, text, sizeof(call), false) && same_bytes(text, call, sizeof(call)))
		found = CODE_CALL;
	else if (text_read(name, text, sizeof(implementation), false) &&
		 same_bytes(text, implementation, sizeof(implementation)))
		found = CODE_IMPLEMENTATION;
	if (found != CODE_OTHER &&
	    (!text_read(path, text, sizeof(file), true) || !same_bytes(text, file, sizeof(file))))
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

/* The frame that the thread of Python's runs, or ran when it left for C. */
static __always_inline __u64 current_frame(__u64 thread)
{
	__u64 frame = read_word(thread + config.thread_frame);

	return config.has_cframe ? read_word(frame + config.cframe_frame) : frame;
}

/*
 * How many of the thread's calls go on: those whose frames are among the callers of the one that
 * runs. entered: the frame of a call that begins, and so of none that goes on; else 0. From within,
 * so that the first that is found ends it: the frames around it are there too. What has not been
 * found within the bound is looked for again at the next hit. Not static: it is verified once. The
 * mask tells the verifier, not the compiler, that depth is small.
 */
__attribute__((noinline)) int modules_alive(__u32 tid, __u64 entered)
{
	struct module_stack *stack = bpf_map_lookup_elem(&module_stacks, &tid);
	__u64 innermost, frame;
	__u32 depth, i;

	if (!stack)
		return 0;
	innermost = current_frame(stack->thread);
	frame = innermost;
	depth = stack->depth;
	if (depth > MODULES_OPEN_MAX)
		return 0;
	for (i = 0; i < FRAMES_MAX && depth; i++) {
		const struct module_frame *open;
		__u32 last = depth - 1;

		barrier_var(last);
		last &= MODULES_OPEN_MAX - 1;
		open = &stack->frames[last];
		if (frame == open->frame && frame != entered &&
		    read_word(frame + config.frame_code) == open->code)
			break;
		if (!frame || frame == open->frame) { /* gone, or another one is in its place */
			depth = last;
			frame = innermost;
			continue;
		}
		frame = read_word(frame + config.frame_previous);
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
	depth = modules_alive(tid, 0);
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
	struct module_frame *last;
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
	call.is_wrapper = kind == CODE_CALL;
	wrapper_seen |= call.is_wrapper;
	stack = modules_of(tid, ARGUMENT_0(ctx));
	if (!stack)
		return;
	depth = modules_alive(tid, call.frame);
	last = &stack->frames[(depth - 1) & (MODULES_OPEN_MAX - 1)];
	if (depth && kind == CODE_IMPLEMENTATION && last->is_wrapper &&
	    last->object == call.object) {
		last->is_wrapper = 0;
		stack->depth = depth;
		return;
	}
	if (depth >= MODULES_OPEN_MAX) {
		if (phase_now() == PHASE_ACTIVE && (call.is_wrapper || !wrapper_seen))
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
