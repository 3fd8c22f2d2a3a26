/*
 * calls.bpf.h - operators, autograd nodes, memory: what their probes record. Nothing is decided
 * here and nothing is kept but names that were told and numbers that were taken: a record per hit,
 * paired by the collector.
 */
#ifndef CALLS_BPF_H
#define CALLS_BPF_H

#include "attempt.bpf.h"

/* Calls are recorded while the window's probes are on; warmup learns from them. */
static __always_inline bool calls_are_wanted(void)
{
	__u32 phase = phase_now();

	if (*(volatile __u32 *)&calls_closed)
		return false;
	return phase == PHASE_WARMUP || phase == PHASE_ACTIVE;
}

static __always_inline void on_op(struct pt_regs *ctx, __u32 tid, __u64 now_ns, __u16 kind,
				  __u32 index)
{
	struct wire_op *record = emit_reserve(sizeof(*record), kind, index, tid, now_ns);

	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	emit_submit(record);
}

/* What costs are measured by: the same work as an operator's entry. */
static __always_inline void on_cost(struct pt_regs *ctx)
{
	struct wire_op *record;

	if (phase_now() >= PHASE_CNT)
		return;
	record = emit_try(sizeof(*record), WIRE_WAKE, 0, bpf_ktime_get_ns());
	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	emit_submit(record);
}

struct symbol_request {
	__u64 type;
	const char *name;
	__u32 kind;
	__u32 tid;
	__u64 now_ns;
};

#define SYMBOL_TOLD 1	 /* the collector has the name */
#define SYMBOL_PY_NODE 2 /* torch::autograd::PyNode: its Python class names it */
#define SYMBOL_HIDDEN 3	 /* of the profiler's own operators */

static __always_inline void symbol_keep(__u64 type, __u8 state, __u64 now_ns)
{
	struct told_symbol told = { .told_ns = now_ns, .state = state };

	if (bpf_map_update_elem(&symbols, &type, &told, BPF_ANY))
		loss_count(LOSS_SYMBOL_TABLE_FULL);
}

/*
 * What is known of a type at the time of a record; 0: nothing. Another thread may just have told
 * its name, with a time after ours: our record will come before that, and must not be nameless.
 */
static __always_inline __u8 symbol_known(__u64 type, __u64 now_ns)
{
	const struct told_symbol *told = bpf_map_lookup_elem(&symbols, &type);

	if (!told || (told->state == SYMBOL_TOLD && told->told_ns > now_ns))
		return 0;
	return told->state;
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

static __always_inline bool name_is_py_node(const char *name)
{
	static const char py_node[24] = { 'N', '5', 't', 'o', 'r', 'c', 'h', '8',
					  'a', 'u', 't', 'o', 'g', 'r', 'a', 'd',
					  '6', 'P', 'y', 'N', 'o', 'd', 'e', 'E' };

	return same_bytes(name, py_node, sizeof(py_node)) && !name[sizeof(py_node)];
}

/* record_function goes through torch.ops: "profiler::_record_function_..." */
static __always_inline bool name_is_profilers(const char *name)
{
	static const char prefix[10] = { 'p', 'r', 'o', 'f', 'i', 'l', 'e', 'r', ':', ':' };

	return same_bytes(name, prefix, sizeof(prefix));
}

static __always_inline __u8 symbol_state_of(const char *name, __u32 kind)
{
	if (kind == SYMBOL_RTTI && name_is_py_node(name))
		return SYMBOL_PY_NODE;
	if (kind == SYMBOL_OPERATOR && name_is_profilers(name))
		return SYMBOL_HIDDEN;
	return SYMBOL_TOLD;
}

/* Tells the name of a type once. Returns SYMBOL_*; 0: not told, for want of room. */
static __always_inline __u8 symbol_tell(const struct symbol_request *request)
{
	__u8 state = symbol_known(request->type, request->now_ns);
	struct wire_symbol *record;
	long size;

	if (state)
		return state;
	record = emit_reserve(sizeof(*record), WIRE_SYMBOL, request->kind, request->tid,
			      request->now_ns);
	if (!record)
		return 0;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	record->type = request->type;
	record->name_size = 0;
	size = bpf_probe_read_user_str(record->name, sizeof(record->name), request->name);
	if (size < 1) {
		record->name[0] = 0;
		record->header.flags = WIRE_NAME_UNREADABLE;
		size = 1;
	}
	if (size == sizeof(record->name))
		record->header.flags = WIRE_NAME_TRUNCATED; /* or an exact fit, which no name has */
	record->name_size = size - 1;
	state = symbol_state_of(record->name, request->kind);
	if (state == SYMBOL_TOLD)
		emit_submit(record);
	else
		bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
	symbol_keep(request->type, state, request->now_ns);
	return state;
}

static __always_inline __u64 read_word(__u64 address)
{
	__u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

#define TYPE_INFO_NAME 8   /* in std::type_info */
#define PY_OBJECT_TYPE 8   /* in PyObject */
#define PY_TYPE_NAME 24	   /* in PyTypeObject */
#define VTABLE_TYPE_INFO 8 /* before the address that objects point to */

static __always_inline __u64 python_type(__u64 type, __u32 tid, __u64 now_ns)
{
	struct symbol_request request = {
		.type = type, .kind = SYMBOL_PYTHON, .tid = tid, .now_ns = now_ns
	};

	if (!symbol_known(type, now_ns))
		request.name = (const char *)read_word(type + PY_TYPE_NAME);
	symbol_tell(&request);
	return type;
}

/* A node's class: its vtable, or the Python class of a custom Function. */
static __always_inline __u64 node_type(__u64 node, __u32 tid, __u64 now_ns)
{
	struct symbol_request request = {
		.type = read_word(node), .kind = SYMBOL_RTTI, .tid = tid, .now_ns = now_ns
	};
	__u64 object;

	if (!symbol_known(request.type, now_ns))
		request.name = (const char *)read_word(read_word(request.type - VTABLE_TYPE_INFO) +
						       TYPE_INFO_NAME);
	if (symbol_tell(&request) != SYMBOL_PY_NODE || !config.node_object)
		return request.type;
	object = read_word(node + config.node_object);
	return python_type(read_word(object + PY_OBJECT_TYPE), tid, now_ns);
}

/* In Node, the thread's number stands behind the sequence number in all releases. */
struct node_numbers {
	__u64 sequence, topological, has_parent, thread_number;
};

static __always_inline void on_node_begin(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	__u64 node = ARGUMENT_2(ctx), type = node_type(node, tid, now_ns);
	struct node_numbers numbers = { .sequence = WIRE_SEQUENCE_NONE };
	struct wire_node_begin *record;

	if (config.node_sequence &&
	    bpf_probe_read_user(&numbers, sizeof(numbers), (void *)(node + config.node_sequence))) {
		numbers.sequence = WIRE_SEQUENCE_NONE;
		numbers.thread_number = 0;
	}
	record = emit_reserve(sizeof(*record), WIRE_NODE_BEGIN, 0, tid, now_ns);
	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	record->type = type;
	record->sequence = numbers.sequence;
	record->thread_number = numbers.thread_number;
	emit_submit(record);
}

static __always_inline void emit_guard_end(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	struct wire_guard_end *record =
		emit_reserve(sizeof(*record), WIRE_GUARD_END, 0, tid, now_ns);

	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	record->object = ARGUMENT_0(ctx);
	emit_submit(record);
}

static __always_inline void emit_function(struct pt_regs *ctx, __u32 tid, __u64 now_ns,
					  __u32 function, __u64 type)
{
	struct wire_function_begin *record =
		emit_reserve(sizeof(*record), WIRE_FUNCTION_BEGIN, function, tid, now_ns);

	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	record->type = type;
	emit_submit(record);
}

static __always_inline void on_apply_begin(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	__u64 type = python_type(ARGUMENT_0(ctx), tid, now_ns);

	emit_function(ctx, tid, now_ns, FUNCTION_APPLY, type);
}

/* An Operator begins with a pointer to its definition, and that with its name. */
static __always_inline void on_boxed(struct pt_regs *ctx, __u32 tid, __u64 now_ns, __u64 list)
{
	struct symbol_request request = {
		.type = read_word(list), .kind = SYMBOL_OPERATOR, .tid = tid, .now_ns = now_ns
	};
	char head[10] = {}; /* as long as their prefix */

	if (!symbol_known(request.type, now_ns)) {
		request.name = (const char *)read_word(read_word(request.type));
		/* Known for what they are with no room in the ring, too. */
		if (!bpf_probe_read_user(head, sizeof(head), request.name) &&
		    name_is_profilers(head)) {
			symbol_keep(request.type, SYMBOL_HIDDEN, now_ns);
			return;
		}
	}
	if (symbol_tell(&request) != SYMBOL_HIDDEN)
		emit_function(ctx, tid, now_ns, FUNCTION_BOXED, request.type);
}

/* What a linker leaves for __tls_get_addr. */
struct tls_index {
	__u64 module, offset;
};

/*
 * glibc's: the thread's control block begins with its own address and that of the vector of its
 * modules' blocks: slots of 16 bytes by module, before them how many there are.
 */
#define CONTROL_BLOCK_VECTOR 8
#define VECTOR_SLOT_BYTES 16
#define BLOCK_UNALLOCATED (~0ULL)

struct thread_numbers {
	__u64 sequence, thread_number;
};

/* The address of the variable; 0: the thread has not touched its module's block yet. */
static __always_inline bool sequence_address(struct pt_regs *ctx, __u64 *address)
{
	__u64 task = bpf_get_current_task(), control = 0, vector, block = 0;
	struct tls_index index = {};

	*address = 0;
	if (!config.task_fsbase ||
	    bpf_probe_read_kernel(&control, sizeof(control), (void *)(task + config.task_fsbase)) ||
	    bpf_probe_read_user(&index, sizeof(index),
				(void *)(INSTRUCTION_POINTER(ctx) + config.sequence_index)))
		return false;
	vector = read_word(control + CONTROL_BLOCK_VECTOR);
	if (!vector)
		return false;
	if (index.module > read_word(vector - VECTOR_SLOT_BYTES))
		return true;
	if (bpf_probe_read_user(&block, sizeof(block),
				(void *)(vector + index.module * VECTOR_SLOT_BYTES)) ||
	    !block)
		return false;
	if (block != BLOCK_UNALLOCATED)
		*address = block + index.offset + config.sequence_displacement;
	return true;
}

static __always_inline bool read_numbers(struct pt_regs *ctx, struct thread_numbers *numbers)
{
	__u64 address;

	numbers->sequence = 0;
	numbers->thread_number = 0;
	if (!sequence_address(ctx, &address))
		return false;
	if (!address)
		return true;
	return !bpf_probe_read_user(&numbers->sequence, sizeof(__u64), (void *)address) &&
	       !bpf_probe_read_user(&numbers->thread_number, sizeof(__u64),
				    (void *)(address + config.thread_number_distance));
}

static __always_inline void on_sequence(struct pt_regs *ctx, __u32 tid, __u64 now_ns)
{
	struct thread_numbers numbers;
	struct wire_sequence *record;

	if (!read_numbers(ctx, &numbers)) {
		numbers.sequence = WIRE_SEQUENCE_NONE;
		numbers.thread_number = 0;
	}
	record = emit_reserve(sizeof(*record), WIRE_SEQUENCE, SEQUENCE_TAKEN, tid, now_ns);
	if (!record)
		return;
	record->thread_number = numbers.thread_number;
	record->sequence = numbers.sequence;
	record->sp = STACK_POINTER(ctx);
	emit_submit(record);
}

static __always_inline void emit_memory(struct pt_regs *ctx, __u32 tid, __u64 now_ns,
					const struct memory_hit *hit)
{
	struct wire_memory *record =
		emit_reserve(sizeof(*record), WIRE_MEMORY, hit->action, tid, now_ns);

	if (!record)
		return;
	record->sp = STACK_POINTER(ctx);
	record->address = hit->address;
	record->size_bytes = hit->size_bytes;
	record->total_allocated_bytes = hit->total_allocated_bytes;
	record->total_reserved_bytes = hit->total_reserved_bytes;
	record->device_type = hit->device;
	record->device_index = hit->device >> 8;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	emit_submit(record);
}

#define DEVICE_CPU_ANY 0xff00 /* type 0, index -1 */

/* False: it is no hit of a memory probe. */
static __always_inline bool memory_of_cpu(struct pt_regs *ctx, __u32 kind, struct memory_hit *hit)
{
	hit->device = DEVICE_CPU_ANY;
	switch (kind) {
	case PROBE_MEMORY_NEW:
		hit->action = MEMORY_ALLOCATED;
		hit->address = ARGUMENT_1(ctx);
		hit->size_bytes = ARGUMENT_2(ctx);
		return true;
	case PROBE_MEMORY_DELETE:
		hit->action = MEMORY_FREED;
		hit->address = ARGUMENT_1(ctx);
		return true;
	case PROBE_MEMORY_OUT:
		hit->action = MEMORY_OUT;
		hit->size_bytes = ARGUMENT_1(ctx);
		return true;
	default:
		return false;
	}
}

static __always_inline bool memory_of_device(struct pt_regs *ctx, __u32 kind,
					     struct memory_hit *hit)
{
	switch (kind) {
	case PROBE_DEVICE_MEMORY:
		hit->action = MEMORY_REPORTED;
		hit->address = ARGUMENT_0(ctx);
		hit->size_bytes = ARGUMENT_1(ctx);
		hit->total_allocated_bytes = ARGUMENT_2(ctx);
		hit->total_reserved_bytes = ARGUMENT_3(ctx);
		hit->device = ARGUMENT_4(ctx);
		return true;
	case PROBE_DEVICE_OUT:
		hit->action = MEMORY_OUT;
		hit->size_bytes = ARGUMENT_0(ctx);
		hit->total_allocated_bytes = ARGUMENT_1(ctx);
		hit->total_reserved_bytes = ARGUMENT_2(ctx);
		hit->device = ARGUMENT_3(ctx);
		return true;
	default:
		return false;
	}
}

/* False: it is no hit of a memory probe. */
static __always_inline bool on_memory(struct pt_regs *ctx, __u32 tid, __u64 now_ns, __u32 kind)
{
	struct memory_hit hit = {};

	if (!memory_of_cpu(ctx, kind, &hit) && !memory_of_device(ctx, kind, &hit))
		return false;
	/* An allocation of 0 bytes is none. */
	if (kind != PROBE_MEMORY_NEW || hit.address)
		emit_memory(ctx, tid, now_ns, &hit);
	return true;
}

#endif /* CALLS_BPF_H */
