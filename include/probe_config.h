/*
 * probe_config.h - what user space tells the BPF programs: the kind of each probed site (through
 * the attach cookie), the configuration set before load, and the state that both sides share while
 * the programs run (mapped into the collector).
 */
#ifndef PROBE_CONFIG_H
#define PROBE_CONFIG_H

#include "wire.h"

/* What a probe hit means; the value travels in the attach cookie. Appended only. */
enum probe_kind {
	PROBE_RANGE_NAME = 1, /* arg1 = std::string *: name of the thread's next range */
	PROBE_RANGE_NAME_RESET =
		2,	       /* PyTorch 1.13: the next string is a name only if it is the first */
	PROBE_RANGE_BEGIN = 3, /* arg0 = RecordFunction *, arg1 = scope */
	PROBE_RANGE_END = 4,   /* arg0 = RecordFunction * */
	PROBE_RANGE_EXIT = 5,  /* arg0 = RecordFunction *, of a Python range alone */
	PROBE_REGION_CSTRING = 6, /* arg0 = RecordFunction *, arg1 = const char * */
	PROBE_REGION_VIEW = 7, /* arg0 = RecordFunction *, variant<string_view, ...> on the stack */
	PROBE_UNSCALE = 8,     /* a gradient scaler looks for overflows */
	PROBE_SCALE_UPDATE = 9, /* arg2 = found_inf tensor: one per attempt of a gradient scaler */
	PROBE_FUSED_STEP = 10,	/* a fused optimizer runs whether or not it skips */
	PROBE_STEP_ENTRY = 11,	/* the user named this function as the attempt */
				/* 12 is free */
	PROBE_RANGE_ENTER = 13, /* arg0 = std::string *, arg2 = RecordFunction * */
	PROBE_COST = 14,	/* the collector finds out what a hit costs */
	PROBE_OP_BEGIN = 15,	/* the cookie's upper half: the operator's index */
	PROBE_OP_END = 16,
	PROBE_OP_SHAPES = 17,	  /* as PROBE_OP_BEGIN, with its arguments */
	PROBE_NODE_BEGIN = 18,	  /* arg2 = Node * */
	PROBE_GUARD_END = 19,	  /* arg0 = RecordFunction * that is destroyed */
	PROBE_APPLY_BEGIN = 20,	  /* arg0 = PyTypeObject * of an autograd.Function */
	PROBE_BOXED_BEGIN = 21,	  /* arg1 = shared_ptr<Operator> * */
	PROBE_BOXED_VECTOR = 22,  /* arg1 = vector<shared_ptr<Operator>> * */
	PROBE_SEQUENCE = 23,	  /* a forward call takes a number */
	PROBE_MEMORY_NEW = 26,	  /* arg1 = address, arg2 = bytes */
	PROBE_MEMORY_DELETE = 27, /* arg1 = address */
	PROBE_MEMORY_OUT = 28,	  /* arg1 = bytes */
	PROBE_DEVICE_MEMORY =
		29, /* arg0 = address, arg1 = bytes, arg2, arg3 = totals, arg4 = device */
	PROBE_DEVICE_OUT = 30,	/* arg0 = bytes, arg1, arg2 = totals, arg3 = device */
	PROBE_REGION_EXIT = 31, /* arg0 = RecordFunction * of a compiled region */
	PROBE_PYTHON_CALL = 32, /* arg0 = PyThreadState *, arg1 = _PyInterpreterFrame * */
	PROBE_KIND_CNT = 33,
};

/* Where attempts come from. */
enum step_mode {
	STEP_AUTO = 0,	/* Optimizer.step#* ranges and the gradient scaler */
	STEP_RANGE = 1, /* ranges that match the pattern */
	STEP_ENTRY = 2, /* PROBE_STEP_ENTRY */
};

#define STEP_PATTERN_BYTES 64
#define ATTEMPT_SLOTS 16384 /* 0.1 ms steps while probes come off for a second */
#define RINGS_MAX 1024
#define RING_BYTES                                                                    \
	(16 * 1024 * 1024) /* the programs' idea of it; the collector makes the rings \
			    */

/* Set before load, never written by BPF. */
struct probe_config {
	__u64 pid_namespace_dev; /* st_dev and st_ino of the job's pid namespace */
	__u64 pid_namespace_ino;
	__u32 namespace_pid; /* the job in that namespace */
	__u32 step_mode;     /* enum step_mode */
	__u32 reserved;
	__u32 name_first; /* take the first string after PROBE_RANGE_NAME_RESET, not the last */
	__u32 pattern_size;
	__u32 pattern_is_prefix;
	char pattern[STEP_PATTERN_BYTES];
	__u32 skip_first;
	__u32 first_wait; /* attempts of wait in the first cycle */
	__u32 wait;
	__u32 warmup;
	__u32 active;
	__u32 repeat; /* 0: until stopped */
	/* Offsets in TensorImpl and StorageImpl; tensor_sizes 0: the layout is not known. */
	__u32 tensor_sizes;
	__u32 tensor_storage;
	__u32 storage_data;
	__u32 global_ids; /* the job's pid namespace is the first one: its ids are the kernel's */
	/* Offsets in autograd::Node and PyNode; node_sequence 0: the layout is not known. */
	__u32 node_sequence;
	__u32 node_object;
	/* Where a thread keeps the number that its next node takes: behind what a tls_index names,
	 * which lies so far from the instruction of PROBE_SEQUENCE; and its own number, from there.
	 */
	__s64 sequence_index;
	__s32 sequence_displacement;
	__s32 thread_number_distance;
	__u32 task_fsbase; /* offset in struct task_struct; 0: not known, or the above is not */
	/* CPython's layout, see python_layout.h. */
	__u32 watches_modules; /* 0: calls of modules are not recorded, the rest means nothing */
	__u32 frame_code;      /* in _PyInterpreterFrame: PyCodeObject * */
	__u32 frame_previous;  /* the frame that called it */
	__u32 frame_locals;    /* the first argument */
	__u32 thread_frame;    /* in PyThreadState: the frame that runs... */
	__u32 has_cframe;      /* ...or what points to it, at... */
	__u32 cframe_frame;    /* ...this in _PyCFrame */
	__u32 code_file;       /* in PyCodeObject: co_filename, co_name */
	__u32 text_characters; /* behind a PyASCIIObject */
	__u32 reserved2[2];
};

#define PROBE_COOKIE(kind, subject) ((__u64)(kind) | (__u64)(subject) << 32)

/* One attempt's end. Valid when sequence == index + 1; BPF writes sequence last. */
struct attempt_slot {
	__u64 time_ns;
	__u32 tid;
	__u32 index;
	__u16 cycle;
	__u8 phase;
	__u8 next_phase;
	__u8 outcome;
	__u8 boundary; /* enum wire_boundary */
	__u8 reserved[2];
	__u32 sequence;
	__u32 reserved2;
};

/*
 * A long wait is cheaper where attempts are told by their begin alone: half of the hits are those
 * of ends. The programs change over at an attempt's end, the collector back.
 */
struct begin_watch {
	__u32 is_wanted;  /* written by the collector */
	__u32 is_alone;	  /* ends are not needed: their probes may go */
	__u32 doubts;	  /* attempts that are told by a begin that may be of a nested range */
	__u32 has_scaler; /* attempts are counted otherwise: nothing is to be gained */
};

/* Records that one ring had no room for, between two times that the collector came by. */
struct ring_hole {
	__u64 first_ns, last_ns;
	__u64 count;	/* written last */
	__u32 kinds;	/* 1 << enum wire_kind */
	__u32 tid;	/* 0: of several threads */
	__u32 epoch;	/* loss_epoch when it began */
	__u32 sequence; /* 1 + its number, written when the rest is there */
};

#define RING_HOLES 16 /* the last ones; the collector comes by more often */

/* What did not fit into one ring. Only ever counts up. */
struct ring_loss {
	__u64 lost[LOST_KINDS]; /* by enum wire_kind, in active attempts */
	__u64 lost_after[LOST_KINDS];
	__u64 lost_in_warmup[LOST_KINDS];
	__u64 records; /* all of them, counted last */
	__u64 holes_begun;
	struct ring_hole holes[RING_HOLES]; /* by number, modulo */
};

/*
 * The whole position in the plan in one word, so that one compare-and-swap moves it:
 * bits 0-27 attempts seen, 28-51 attempts counted in this phase, 52-60 cycle, 61-63 phase.
 */
#define STATE_TOTAL_BITS 28
#define STATE_COUNT_BITS 24
#define STATE_CYCLE_BITS 9
#define STATE_TOTAL(s) ((__u32)((s) & ((1ULL << STATE_TOTAL_BITS) - 1)))
#define STATE_COUNT(s) ((__u32)(((s) >> STATE_TOTAL_BITS) & ((1ULL << STATE_COUNT_BITS) - 1)))
#define STATE_CYCLE(s) \
	((__u32)(((s) >> (STATE_TOTAL_BITS + STATE_COUNT_BITS)) & ((1ULL << STATE_CYCLE_BITS) - 1)))
#define STATE_PHASE(s) ((__u32)((s) >> (STATE_TOTAL_BITS + STATE_COUNT_BITS + STATE_CYCLE_BITS)))
#define STATE_PACK(phase, cycle, count, total)                                          \
	(((__u64)(phase) << (STATE_TOTAL_BITS + STATE_COUNT_BITS + STATE_CYCLE_BITS)) | \
	 ((__u64)(cycle) << (STATE_TOTAL_BITS + STATE_COUNT_BITS)) |                    \
	 ((__u64)(count) << STATE_TOTAL_BITS) | (__u64)(total))

/* Bounds that keep the fields above from overflowing. */
#define PLAN_ATTEMPTS_MAX 1000000U
#define PLAN_REPEAT_MAX 500U

/* Where an operator's call passes an argument that --record-shapes reads. */
#define PLACE_STACK 8 /* from here on: stack slots of 8 bytes; the first is at sp + 8 on entry */

struct argument_place {
	__u8 kind;     /* enum wire_argument_kind: ARGUMENT_TENSOR or ARGUMENT_INTEGERS */
	__u8 position; /* among the schema's arguments, from 0 */
	__u8 place;    /* 0 to 5: rdi rsi rdx rcx r8 r9; PLACE_STACK + slot */
	__u8 flags;    /* PLACE_OPTIONAL */
};

#define PLACE_OPTIONAL 1   /* const std::optional<Tensor> &: the flag stands behind the tensor */
#define PLACE_FLAG_FIRST 2 /* c10::optional, to 2.1: the flag stands before it */

struct operator_places {
	__u8 count;
	__u8 argument_count; /* of the schema */
	__u8 reserved[2];
	struct argument_place places[SHAPES_ARGUMENTS_MAX];
};

_Static_assert(sizeof(struct ring_hole) == 40, "ring_hole");
_Static_assert(sizeof(struct ring_loss) == 24 * LOST_KINDS + 16 + 40 * RING_HOLES, "ring_loss");
_Static_assert(sizeof(struct operator_places) == 4 + 4 * SHAPES_ARGUMENTS_MAX, "operator_places");
_Static_assert(sizeof(struct probe_config) == 216, "probe_config");
_Static_assert(sizeof(struct attempt_slot) == 32, "attempt_slot");

#endif /* PROBE_CONFIG_H */
