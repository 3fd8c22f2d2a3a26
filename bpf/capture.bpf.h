/*
 * capture.bpf.h - what each kind of probe hit does. Where the build has symbols for it, one
 * function sees both the name and the object of a Python range. Elsewhere they are seen by two, so
 * the name waits in the thread's entry for the constructor that follows.
 */
#ifndef CAPTURE_BPF_H
#define CAPTURE_BPF_H

#include "calls.bpf.h"
#include "filter.bpf.h"

#define SCOPE_USER 7 /* at::RecordScope::USER_SCOPE, PyTorch 1.13 to 2.14 */

static __always_inline struct thread_state *thread_get(__u32 tid)
{
	struct thread_state *thread = bpf_map_lookup_elem(&threads, &tid);

	if (thread)
		return thread;
	bpf_map_update_elem(&threads, &tid, &no_thread_state, BPF_NOEXIST);
	thread = bpf_map_lookup_elem(&threads, &tid);
	if (!thread)
		loss_count(LOSS_THREAD_TABLE_FULL);
	return thread;
}

static __always_inline void thread_put(struct thread_state *thread, __u32 tid)
{
	if (!thread->attempt_object && !thread->has_name && !thread->name_expected)
		bpf_map_delete_elem(&threads, &tid);
}

/* The window's probes are attached in these phases; names of ranges are wanted. */
static __always_inline bool phase_wants_names(__u32 phase)
{
	return phase == PHASE_WARMUP || phase == PHASE_ACTIVE;
}

/* Reads a name into a buffer of WIRE_NAME_BYTES; *flags says what is wrong with it. */
static __always_inline __u16 read_name(char *to, const char *name, __u16 *flags)
{
	long size = bpf_probe_read_user_str(to, WIRE_NAME_BYTES, name);
	char next = 0;

	*flags = 0;
	if (size < 1) {
		*flags = WIRE_NAME_UNREADABLE;
		return 0;
	}
	/* A full buffer may also be an exact fit: look whether the string goes on. */
	if (size == WIRE_NAME_BYTES) {
		bpf_probe_read_user(&next, 1, name + WIRE_NAME_BYTES - 1);
		if (next)
			*flags = WIRE_NAME_TRUNCATED;
	}
	return size - 1;
}

/* A string's characters are at the address in its first word, in both string ABIs. */
static __always_inline const char *string_characters(const void *string)
{
	const char *characters = NULL;

	bpf_probe_read_user(&characters, sizeof(characters), string);
	return characters;
}

static __always_inline bool name_is_unwanted(struct thread_state *thread)
{
	if (!config.name_first)
		return false;
	if (!thread || !thread->name_expected)
		return true;
	thread->name_expected = 0;
	return false;
}

/* Looks at a name for what it says of attempts. True: a range of this name is one. */
static __always_inline bool name_seen(const char *name)
{
	char head[STEP_PATTERN_BYTES] = {};

	if (bpf_probe_read_user_str(head, sizeof(head), name) < 0)
		head[0] = 0;
	if (name_is_optimizer_step(head))
		optimizer_range_seen();
	return attempt_is_named(head);
}

static __always_inline void on_range_name(struct pt_regs *ctx, __u32 tid)
{
	struct thread_state *thread = bpf_map_lookup_elem(&threads, &tid);
	const char *name = string_characters((void *)ARGUMENT_1(ctx));
	bool is_attempt;

	if (name_is_unwanted(thread))
		return;
	is_attempt = name_seen(name);
	if (!is_attempt && !phase_wants_names(phase_now())) {
		if (thread)
			thread_put(thread, tid);
		return;
	}
	if (!thread)
		thread = thread_get(tid);
	if (!thread)
		return;
	thread->name_size = read_name(thread->name, name, &thread->name_flags);
	thread->has_name = 1;
	thread->is_attempt = is_attempt;
}

static __always_inline void on_range_name_reset(__u32 tid)
{
	struct thread_state *thread = thread_get(tid);

	if (thread)
		thread->name_expected = 1;
}

#define NESTED_MAX 8

/*
 * Only the outermost range of an attempt's name is an attempt: a subclass's step() calls its
 * parent's. An attempt whose end never comes must not swallow all that follow.
 */
static __always_inline bool attempt_begins(__u32 tid, __u64 object)
{
	struct thread_state *thread = thread_get(tid);
	__u64 outer;

	attempt_range_begins(object);
	if (!thread)
		return true;
	outer = thread->attempt_object;
	if (outer && outer != object && thread->nested < NESTED_MAX &&
	    bpf_map_lookup_elem(&open_ranges, &outer)) {
		thread->nested++;
		plain_begins = 0;
		return false;
	}
	thread->attempt_object = object;
	thread->nested = 0;
	return true;
}

static __always_inline void attempt_object_ended(__u32 begin_tid, __u64 object, __u32 tid,
						 __u64 now_ns)
{
	struct thread_state *thread = bpf_map_lookup_elem(&threads, &begin_tid);

	if (thread && thread->attempt_object == object) {
		thread->attempt_object = 0;
		thread_put(thread, begin_tid);
	}
	attempt_range_ended(tid, now_ns);
}

/* What of the record means something; the ring's reservation is always the largest. */
static __always_inline __u32 range_begin_size(__u32 name_size)
{
	return (offsetof(struct wire_range_begin, name) + name_size + 8) & ~7U;
}

static __always_inline struct open_range *open_range_find(__u64 object)
{
	if (!*(volatile __u32 *)&open_range_count)
		return NULL;
	return bpf_map_lookup_elem(&open_ranges, &object);
}

static __always_inline void open_range_forget(__u64 object)
{
	if (!bpf_map_delete_elem(&open_ranges, &object))
		__sync_fetch_and_add(&open_range_count, -1);
}

/* Remembers a range whose end matters. True: it is recorded. */
static __always_inline bool range_open(__u32 tid, __u64 object, bool is_attempt)
{
	struct open_range range = { .tid = tid };

	if (phase_now() == PHASE_ACTIVE)
		range.flags |= OPEN_RECORDED;
	if (is_attempt && attempt_begins(tid, object))
		range.flags |= OPEN_ATTEMPT;
	/* An earlier one at this address has ended unseen. */
	if (open_range_find(object))
		open_range_forget(object);
	if (!range.flags)
		return false;
	/* Counted first: who looks meanwhile finds nothing at worst, but looks. */
	__sync_fetch_and_add(&open_range_count, 1);
	if (bpf_map_update_elem(&open_ranges, &object, &range, BPF_NOEXIST)) {
		__sync_fetch_and_add(&open_range_count, -1);
		loss_count(LOSS_RANGE_TABLE_FULL);
		return false;
	}
	return range.flags & OPEN_RECORDED;
}

/* The record of a range that is open by now. NULL: no room, and the end is not recorded either. */
static __always_inline struct wire_range_begin *range_reserve(__u32 tid, __u64 now_ns, __u64 object,
							      __u8 range)
{
	struct wire_range_begin *record = emit_range_reserve(tid, now_ns, object, range);
	struct open_range *open;

	if (record)
		return record;
	open = bpf_map_lookup_elem(&open_ranges, &object);
	if (open)
		open->flags &= ~OPEN_RECORDED;
	return NULL;
}

static __always_inline void range_submit(struct wire_range_begin *record)
{
	record->header.size = range_begin_size(record->name_size);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* A Python range: name and object at once. */
static __always_inline void on_range_enter(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	const char *name = string_characters((void *)ARGUMENT_0(ctx));
	__u64 object = ARGUMENT_2(ctx);
	struct wire_range_begin *record;
	bool is_attempt;

	is_attempt = name_seen(name);
	begin_seen(object);
	if (begins_suffice() && is_attempt) {
		if (open_range_find(object)) /* its end was not seen */
			open_range_forget(object);
		attempt_told_by_begin(tid, now_ns, object);
		return;
	}
	if (!range_open(tid, object, is_attempt))
		return;
	record = range_reserve(tid, now_ns, object, RANGE_USER);
	if (!record)
		return;
	record->name_size = read_name(record->name, name, &record->header.flags);
	range_submit(record);
}

static __always_inline void range_emit_kept(struct thread_state *thread, __u32 tid, __u64 now_ns,
					    __u64 object)
{
	struct wire_range_begin *record = range_reserve(tid, now_ns, object, RANGE_USER);

	if (!record)
		return;
	if (thread && thread->has_name) {
		record->header.flags = thread->name_flags;
		record->name_size = thread->name_size;
		__builtin_memcpy(record->name, thread->name, sizeof(record->name));
	} else {
		record->header.flags = WIRE_NAME_MISSING;
		__builtin_memset(record->name, 0, sizeof(record->name));
	}
	range_submit(record);
}

static __always_inline void on_range_begin(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	__u64 object = ARGUMENT_0(ctx);
	struct thread_state *thread;

	thread = bpf_map_lookup_elem(&threads, &tid);
	if (range_open(tid, object, thread && thread->is_attempt))
		range_emit_kept(thread, tid, now_ns, object);
	if (!thread)
		return;
	thread->has_name = 0;
	thread->is_attempt = 0;
	thread_put(thread, tid);
}

/* RecordFunction::end() runs again from the destructor: only the first one for an object counts. */
static __always_inline void on_range_end(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	__u64 object = ARGUMENT_0(ctx);
	struct open_range *found = open_range_find(object);
	struct open_range range;

	if (!found)
		return;
	range = *found;
	open_range_forget(object);
	if (range.flags & OPEN_RECORDED)
		emit_range_end(tid, now_ns, object);
	if (range.flags & OPEN_ATTEMPT)
		attempt_object_ended(range.tid, object, tid, now_ns);
}

/* A range that ends otherwise than by an end of its own, or what the collector knows better. */
static __always_inline void on_guard_end(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	__u64 object = ARGUMENT_0(ctx);

	if (open_range_find(object))
		on_range_end(ctx, tid, now_ns);
	else if (calls_are_wanted())
		emit_guard_end(ctx, tid, now_ns);
}

/*
 * RecordFunction::before() without a profiler is called for dynamo's regions alone. With one it is
 * called for everything; those names begin otherwise.
 */
static __always_inline void region_begin(__u32 tid, __u64 now_ns, __u64 object, const char *name,
					 __u32 size)
{
	struct wire_range_begin *record;
	char head[5] = {};
	long length;

	if (phase_now() != PHASE_ACTIVE || bpf_probe_read_user(head, sizeof(head), name))
		return;
	if (head[0] != 'T' || head[1] != 'o' || head[2] != 'r' || head[3] != 'c' || head[4] != 'h')
		return;
	if (!range_open(tid, object, false))
		return;
	record = range_reserve(tid, now_ns, object, RANGE_REGION);
	if (!record)
		return;
	if (size > sizeof(record->name)) {
		size = sizeof(record->name);
		record->header.flags = WIRE_NAME_TRUNCATED;
	}
	length = bpf_probe_read_user_str(record->name, size, name);
	if (length < 1)
		record->header.flags = WIRE_NAME_UNREADABLE;
	else
		record->name_size = length - 1;
	range_submit(record);
}

static __always_inline void on_region_cstring(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	region_begin(tid, now_ns, ARGUMENT_0(ctx), (const char *)ARGUMENT_1(ctx), WIRE_NAME_BYTES);
}

/* std::variant<std::string_view, ...> by value: length, pointer and index lie on the stack. */
static __always_inline void on_region_view(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	struct {
		__u64 size;
		const char *characters;
		__u8 index;
	} view;

	if (bpf_probe_read_user(&view, sizeof(view), (void *)(STACK_POINTER(ctx) + 8)))
		return;
	if (view.index)
		return;
	if (view.size >= WIRE_NAME_BYTES)
		view.size = WIRE_NAME_BYTES;
	region_begin(tid, now_ns, ARGUMENT_0(ctx), view.characters, (__u32)view.size + 1);
}

static __always_inline void scaler_is_seen(void)
{
	scaler_seen = 1;
	begin_watch.has_scaler = 1;
}

static __always_inline void on_unscale(void)
{
	scaler_is_seen();
	__sync_fetch_and_add(&unscale_calls, 1);
}

#define SCALAR_FLOAT 6 /* c10::ScalarType::Float */
#define DEVICE_CPU 0

/* The overflow flag, if it is a float in this process's memory; checked against the layout. */
static __always_inline __u32 tensor_outcome(const void *tensor)
{
	struct {
		__u64 storage_offset;
		__s64 numel;
		__u16 type;
		__u8 device[3]; /* one of them says engaged: before 2.2 the first, since then the
				   last */
	} tail;
	__u64 impl = 0, storage = 0, data = 0, dimensions = 0;
	__u32 bits = 0;

	if (!config.tensor_sizes || bpf_probe_read_user(&impl, sizeof(impl), tensor))
		return OUTCOME_UNKNOWN;
	if (bpf_probe_read_user(&dimensions, sizeof(dimensions),
				(void *)(impl + config.tensor_sizes)) ||
	    bpf_probe_read_user(&tail, sizeof(tail), (void *)(impl + config.tensor_sizes + 88)) ||
	    bpf_probe_read_user(&storage, sizeof(storage), (void *)(impl + config.tensor_storage)))
		return OUTCOME_UNKNOWN;
	if (dimensions > 1 || tail.numel != 1 || tail.type != SCALAR_FLOAT ||
	    tail.storage_offset > 4096)
		return OUTCOME_UNKNOWN;
	if (!((tail.device[0] == DEVICE_CPU && tail.device[2] == 1) ||
	      (tail.device[0] == 1 && tail.device[1] == DEVICE_CPU && tail.device[2] == 0xff)))
		return OUTCOME_UNKNOWN;
	if (bpf_probe_read_user(&data, sizeof(data), (void *)(storage + config.storage_data)) ||
	    bpf_probe_read_user(&bits, sizeof(bits), (void *)(data + 4 * tail.storage_offset)))
		return OUTCOME_UNKNOWN;
	return bits << 1 ? OUTCOME_SKIPPED : OUTCOME_APPLIED; /* -0.0 is no overflow either */
}

static __always_inline bool attempts_have_begun(void)
{
	return STATE_TOTAL(*(volatile __u64 *)&attempt_state) > 0;
}

/* The first attempt ended before it was known that a scaler runs. */
static __always_inline void attempt_amend_first(__u64 now_ns, __u8 outcome)
{
	if (STATE_TOTAL(*(volatile __u64 *)&attempt_state) != 1)
		return;
	attempts[0].time_ns = now_ns;
	if (attempts[0].outcome == OUTCOME_UNKNOWN)
		attempts[0].outcome = outcome;
}

static __always_inline void on_scale_update(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	bool is_known = scaler_seen;

	found_inf = tensor_outcome((void *)ARGUMENT_2(ctx));
	scaler_is_seen();
	if (config.step_mode != STEP_AUTO)
		return;
	/* Attached before the step's end: that was counted as the attempt. It ends here. */
	if (!is_known && attempts_have_begun() && !optimizer_ranges) {
		attempt_amend_first(now_ns, found_inf);
		__sync_lock_test_and_set(&found_inf, OUTCOME_UNKNOWN);
		__sync_lock_test_and_set(&fused_calls, 0);
		return;
	}
	attempt_end(tid, now_ns);
}

/* Outside of the window a range matters only if its name may be an attempt's. */
static __always_inline bool range_is_irrelevant(__u64 object, const char *name)
{
	__u64 head = 0, wanted;
	__u32 tid = 0;

	if (phase_wants_names(phase_now()) || config.step_mode != STEP_AUTO)
		return false;
	/* Hits of forked children come here as well. */
	if (object == last_object && !last_is_gone && filter_thread(&tid))
		begin_seen(object);
	/* It stands where an attempt's range stood, whose end was not seen. */
	if (open_range_find(object))
		return false;
	/* Bytes 8 to 14 of "Optimizer.step#" tell it from "Optimizer.zero_grad#" as well. */
	if (bpf_probe_read_user(&head, 7, name + 8))
		return false;
	__builtin_memcpy(&wanted, "r.step#", 8);
	return head != wanted;
}

/*
 * Most hits outside of the window are of ranges that are no attempts: the job pays for each of
 * them, so they are told apart before anything else is done. Sees hits of forked children as well.
 */
static __always_inline bool is_irrelevant(struct pt_regs *ctx, __u32 kind)
{
	__u64 object = ARGUMENT_0(ctx);

	switch (kind) {
	case PROBE_RANGE_ENTER:
		object = ARGUMENT_2(ctx);
		return range_is_irrelevant(object, string_characters((void *)ARGUMENT_0(ctx)));
	case PROBE_RANGE_EXIT:
	case PROBE_REGION_EXIT:
	case PROBE_RANGE_END:
		return !open_range_find(object);
	case PROBE_RANGE_BEGIN:
		return (ARGUMENT_1(ctx) & 0xff) != SCOPE_USER;
	case PROBE_OP_END:
		return *(volatile __u32 *)&calls_closed;
	case PROBE_OP_BEGIN:
	case PROBE_OP_SHAPES:
	case PROBE_NODE_BEGIN:
	case PROBE_APPLY_BEGIN:
	case PROBE_BOXED_BEGIN:
	case PROBE_BOXED_VECTOR:
	case PROBE_MEMORY_NEW:
	case PROBE_MEMORY_DELETE:
	case PROBE_MEMORY_OUT:
	case PROBE_DEVICE_MEMORY:
	case PROBE_DEVICE_OUT:
	case PROBE_PYTHON_CALL:
		return !calls_are_wanted();
	default:
		return false;
	}
}

#endif /* CAPTURE_BPF_H */
