/* maps.bpf.h - the maps and globals of the programs, and nothing else. */
#ifndef MAPS_BPF_H
#define MAPS_BPF_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "probe_config.h"

/*
 * Reads a register of the job. Not by PT_REGS_PARM1() and so on: the compiler shares the addresses
 * that those make between branches, and the kernel refuses a context pointer that was added to.
 */
#define REGISTER(ctx, name)                                                                    \
	({                                                                                     \
		__u64 value_;                                                                  \
		asm volatile("%[value] = *(u64 *)(%[regs] + %[offset])"                        \
			     : [value] "=r"(value_)                                            \
			     : [regs] "r"(ctx), [offset] "i"(offsetof(struct pt_regs, name))); \
		value_;                                                                        \
	})
#define ARGUMENT_0(ctx) REGISTER(ctx, rdi)
#define ARGUMENT_1(ctx) REGISTER(ctx, rsi)
#define ARGUMENT_2(ctx) REGISTER(ctx, rdx)
#define ARGUMENT_3(ctx) REGISTER(ctx, rcx)
#define ARGUMENT_4(ctx) REGISTER(ctx, r8)
#define ARGUMENT_5(ctx) REGISTER(ctx, r9)
#define STACK_POINTER(ctx) REGISTER(ctx, rsp)
#define INSTRUCTION_POINTER(ctx) REGISTER(ctx, rip)

#define SYMBOLS_MAX 65536
#define THREADS_MAX 16384
#define RANGES_MAX 65536
#define CODES_MAX 16384
#define MODULES_OPEN_MAX 32 /* one in the other; a power of two */

/*
 * What a thread is in the middle of. An entry lives only from a name to the range that takes it, or
 * while an attempt's range is open, so threads that end leave nothing behind. Only its own thread
 * touches an entry, but for the end of an attempt's range on another one.
 */
struct thread_state {
	__u64 attempt_object; /* the attempt's range that is open; 0: none */
	__u32 nested;	      /* ranges of the attempt's name that began inside it */
	__u16 name_size;
	__u16 name_flags; /* WIRE_NAME_* */
	__u8 has_name;
	__u8 is_attempt;    /* the pending name is an attempt's */
	__u8 name_expected; /* 1.13: the next string is a name */
	__u8 reserved[5];
	char name[WIRE_NAME_BYTES];
};

#define OPEN_RECORDED 1
#define OPEN_ATTEMPT 2

/* A range that has begun and whose end matters. */
struct open_range {
	__u32 flags;
	__u32 tid;
};

/* What a hit of a memory probe says. */
struct memory_hit {
	__u64 address;
	__s64 size_bytes;
	__u64 total_allocated_bytes, total_reserved_bytes;
	__u32 action; /* enum wire_memory_action */
	__u16 device; /* type in the low byte, index above it */
};

/*
 * A ring for each CPU: a ring has one lock, and operators of many threads would wait for each other
 * at it. On two processors at::add alone took 1,240 ns on one thread and 1,664 ns on eight with a
 * single ring, 1,244 and 1,284 ns with these. The collector merges them by time.
 */
struct ring_map {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, RINGS_MAX);
	__type(key, __u32);
	__array(values, struct ring_map);
} rings SEC(".maps");

/* By ring; as many as there are rings. The collector maps it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct ring_loss);
} ring_losses SEC(".maps");

/* A call of a module that is open. */
struct module_frame {
	__u64 frame, code, object;
	__u64 is_wrapper; /* what it calls with the same object is no other call */
};

struct module_stack {
	__u64 thread; /* PyThreadState */
	__u32 depth;
	__u32 reserved;
	struct module_frame frames[MODULES_OPEN_MAX];
};

/* Threads inside of a module, by thread id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct module_stack);
} module_stacks SEC(".maps");

/* Of the code of Python that C has called: CODE_*. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CODES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u8);
} python_codes SEC(".maps");

struct told_symbol {
	__u64 told_ns; /* the time of the record that tells the name */
	__u8 state;    /* SYMBOL_* */
	__u8 reserved[7];
};

/* Types whose names have been told. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SYMBOLS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct told_symbol);
} symbols SEC(".maps");

/* By the operator's index; the collector makes it as large as the build asks for. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct operator_places);
} argument_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, THREADS_MAX);
	__type(key, __u32);
	__type(value, struct thread_state);
} threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RANGES_MAX);
	__type(key, __u64);
	__type(value, struct open_range);
} open_ranges SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, LOSS_CAUSE_CNT);
	__type(key, __u32);
	__type(value, __u64);
} loss SEC(".maps");

const volatile struct probe_config config;

/* Shared with the collector. */
__u64 attempt_state;  /* STATE_*; the first value is set before load */
__u32 calls_closed;   /* the window is over and its probes come off: nothing is recorded */
__u32 ring_count = 1; /* CPUs beyond it share */
__u32 check_hits;     /* of on_check */
__u32 loss_epoch;     /* the collector counts how often it has made room in the rings */
__u32 ready_cycle;    /* window probes are attached for cycles below; written by the collector */
__u32 attempt_limit;  /* attempts from this number on are not counted; 0: no limit */
__u32 armed;	      /* all that attempts are counted with is in place; nothing counts before */
__u32 stopped;	      /* the collector wants no more, or the job has replaced its program */
__u32 execed;

/* Signs seen since the last attempt ended. */
__u32 optimizer_ranges;
__u32 unscale_calls;
__u32 fused_calls;
__u32 found_inf; /* enum wire_outcome as the scaler's tensor tells it; unknown: not readable */

/* Signs seen since the start. */
__u32 optimizer_ranges_ever;
__u32 scaler_seen;
__u64 beat_hash; /* of the first Optimizer.step#... name */

/* Begins alone, see attempt.bpf.h. */
struct begin_watch begin_watch;
__u64 last_object;  /* the range of the last attempt that has begun; 0: none */
__u32 last_is_gone; /* another range has begun at its address since */
__u32 plain_begins; /* attempts in a row that were told from nested ones by their begin */

__u64 python_calls; /* that C made in warmup */
__u32 wrapper_seen; /* torch.nn.Module.__call__ calls another function with the same object */

__u32 open_range_count; /* entries of open_ranges; mostly there are none, and looking is not free */

/* Behind all that each hit looks at, which so shares a few cache lines. */
struct attempt_slot attempts[ATTEMPT_SLOTS];

/* A value to start a map entry from: the stack is too small for it. */
static const struct thread_state no_thread_state;
static const struct module_stack no_module_stack;

#endif /* MAPS_BPF_H */
