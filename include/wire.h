/*
 * wire.h - the records between the BPF programs, the capture file and the decoder.
 *
 * Everything that the analysis may use travels as one of these records, in one order, so that a
 * capture file replays to the same outputs. Records of kinds below WIRE_USER_FIRST come from BPF;
 * the rest are written by the collector into the same stream. A record starts with a wire_header,
 * header.size covers the whole record, kinds are only ever appended, and an unknown kind is skipped
 * and counted. All integers are little endian (x86-64 only).
 */
#ifndef WIRE_H
#define WIRE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define WIRE_ABI 2
#define WIRE_NAME_BYTES 256 /* a name and its NUL; longer ones are cut and flagged */
#define WIRE_TEXT_BYTES 1024

enum wire_kind {
	WIRE_WAKE = 1, /* header only: the phase has changed, look at the attempt log */
	WIRE_ATTEMPT = 2,
	WIRE_RANGE_BEGIN = 3,
	WIRE_RANGE_END = 4,
	WIRE_OP_BEGIN = 5,
	WIRE_OP_END = 6,
	WIRE_NODE_BEGIN = 7,
	WIRE_GUARD_END = 8,
	WIRE_FUNCTION_BEGIN = 9,
	WIRE_SYMBOL = 10,
	WIRE_SEQUENCE = 11,
	WIRE_MEMORY = 12,
	WIRE_SHAPES = 13,
	WIRE_AGENT = 14,
	WIRE_MODULE = 15,

	WIRE_USER_FIRST = 64,
	WIRE_SESSION = 64,
	WIRE_PROBE = 65,
	WIRE_THREAD = 66,
	WIRE_CLOCK = 67,
	WIRE_LOSS = 68,
	WIRE_STOP = 69,
	WIRE_PROBES = 70,
	WIRE_OPERATOR = 71,
	WIRE_MODE = 72,
	WIRE_COST = 73,
	WIRE_DEVICE = 74,
	WIRE_RINGS = 75,
	WIRE_HOLE = 76,
};

/* Flags of wire_header.flags, by kind. */
#define WIRE_NAME_TRUNCATED 1
#define WIRE_NAME_UNREADABLE 2
#define WIRE_NAME_MISSING 4

struct wire_header {
	__u32 size; /* bytes of the whole record */
	__u16 kind;
	__u16 flags;
	__u32 tid;     /* in the pid namespace of the job; 0 where it does not apply */
	__u32 subject; /* WIRE_OP_*: the operator's index; else 0 unless said */
	__u64 time_ns; /* CLOCK_MONOTONIC */
};

enum wire_phase {
	PHASE_SKIP_FIRST = 0,
	PHASE_WAIT = 1,
	PHASE_WARMUP = 2,
	PHASE_ACTIVE = 3,
	PHASE_AFTER = 4,
	PHASE_CNT = 5,
};

enum wire_outcome {
	OUTCOME_UNKNOWN = 0,
	OUTCOME_APPLIED = 1,
	OUTCOME_SKIPPED = 2,
	OUTCOME_CNT = 3,
};

/* What of an attempt's range its boundary is. */
enum wire_boundary {
	BOUNDARY_END = 0,
	BOUNDARY_BEGIN = 1,    /* in a long wait: its end is not watched */
	BOUNDARY_DOUBTFUL = 2, /* the same, and it may lie inside of the attempt before it */
	BOUNDARY_CNT = 3,
};

/* The end of one optimizer attempt; header.time_ns is the boundary. */
struct wire_attempt {
	struct wire_header header;
	__u32 index;	 /* from 0, the first one seen */
	__u16 cycle;	 /* repetition of the window that it ran in, from 0 */
	__u8 phase;	 /* enum wire_phase that it ran in */
	__u8 next_phase; /* enum wire_phase of the attempt that starts here */
	__u8 outcome;	 /* enum wire_outcome */
	__u8 boundary;	 /* enum wire_boundary; 0 in older captures */
	__u8 reserved[6];
};

enum wire_range {
	RANGE_USER = 0,	  /* record_function in Python */
	RANGE_REGION = 1, /* compiled region, dynamo cache look-up */
};

struct wire_range_begin {
	struct wire_header header;
	__u64 object;	 /* address of the RecordFunction, identifies the end */
	__u16 name_size; /* bytes of the name without NUL */
	__u8 range;	 /* enum wire_range */
	__u8 reserved[5];
	char name[WIRE_NAME_BYTES]; /* header.size may end inside */
};

struct wire_range_end {
	struct wire_header header;
	__u64 object;
};

/*
 * A call or a return at a probed site of an operator (header.subject: its index, see
 * wire_operator). Both carry the stack pointer: a frame that was left without its end being seen is
 * told by it.
 */
struct wire_op {
	struct wire_header header;
	__u64 sp;
};

#define WIRE_SEQUENCE_NONE (~0ULL)

/* Engine::evaluate_function was called. type names the node's class, see wire_symbol. */
struct wire_node_begin {
	struct wire_header header;
	__u64 sp;
	__u64 type;
	__u64 sequence;	     /* sequence_nr of the node; WIRE_SEQUENCE_NONE: it has none */
	__u64 thread_number; /* PyTorch's own number of the thread of the forward call; 0: not known
			      */
};

/* A RecordFunction that may belong to a node or to a RECORD_FUNCTION in C++ is destroyed. */
struct wire_guard_end {
	struct wire_header header;
	__u64 sp;
	__u64 object;
};

enum wire_function {
	FUNCTION_APPLY = 0, /* forward of a Python autograd.Function; symbol: its class */
	FUNCTION_BOXED = 1, /* torch.ops call from Python; symbol: the operator; begin only */
	FUNCTION_CNT = 2,
};

/* A call that is no at::_ops call and has a row of its own. header.subject: enum wire_function. */
struct wire_function_begin {
	struct wire_header header;
	__u64 sp;
	__u64 type; /* see wire_symbol */
};

/* What a type is called; comes before its first use. header.subject: enum wire_symbol_kind. */
enum wire_symbol_kind {
	SYMBOL_RTTI = 0,     /* mangled name of a C++ class */
	SYMBOL_PYTHON = 1,   /* tp_name of a Python class */
	SYMBOL_OPERATOR = 2, /* "aten::add", "mylib::foo" */
	SYMBOL_CNT = 3,
};

struct wire_symbol {
	struct wire_header header;
	__u64 type;
	__u16 name_size; /* bytes of the name without NUL */
	__u8 reserved[6];
	char name[WIRE_NAME_BYTES]; /* header.size may end inside */
};

enum wire_module_kind {
	MODULE_BEGIN = 0, /* a call of one */
	MODULE_END = 1,	  /* calls are over, found at this time */
	MODULE_CNT = 2,
};

/*
 * Calls of nn.Module in Python. header.subject: enum wire_module_kind. Calls of a thread lie one in
 * the other; depth says how many are still open, of a beginning before it: all further ones are
 * over.
 */
struct wire_module {
	struct wire_header header;
	__u64 object; /* address of the module; of a beginning alone, as type is */
	__u64 type;   /* of its Python class, see wire_symbol */
	__u32 depth;
	__u32 reserved;
};

enum wire_sequence_kind {
	SEQUENCE_TAKEN = 2, /* the running forward call makes a node; 0 and 1 are no longer made */
	SEQUENCE_CNT = 3,
};

/* header.subject: enum wire_sequence_kind. */
struct wire_sequence {
	struct wire_header header;
	__u64 thread_number; /* PyTorch's own number of the thread; 0: it has none yet */
	__u64 sequence;	     /* what it takes; WIRE_SEQUENCE_NONE: could not be read */
	__u64 sp;
};

enum wire_memory_action {
	MEMORY_ALLOCATED = 0, /* CPU: address, size_bytes */
	MEMORY_FREED = 1,     /* CPU: address; its size is known if its allocation was seen */
	MEMORY_REPORTED = 2,  /* device allocator: size_bytes is negative for a free; with totals */
	MEMORY_OUT = 3,	      /* out of memory: size_bytes was asked for */
	MEMORY_CNT = 4,
};

#define WIRE_DEVICE_CPU 0

/* header.subject: enum wire_memory_action. */
struct wire_memory {
	struct wire_header header;
	__u64 sp;
	__u64 address;
	__s64 size_bytes;
	__u64 total_allocated_bytes; /* 0 where the allocator does not tell */
	__u64 total_reserved_bytes;
	__u8 device_type; /* c10::DeviceType; 0 CPU, 1 CUDA */
	__s8 device_index;
	__u8 reserved[6];
};

#define SHAPES_ARGUMENTS_MAX 8
#define SHAPES_DIMENSIONS_MAX 8

enum wire_argument_kind {
	ARGUMENT_NONE = 0, /* no tensor: shown as [] */
	ARGUMENT_TENSOR = 1,
	ARGUMENT_UNDEFINED = 2, /* a tensor that is not there */
	ARGUMENT_INTEGERS = 3,	/* an int[] argument: sizes hold the values */
	ARGUMENT_UNREADABLE = 4,
	ARGUMENT_CNT = 5,
};

struct wire_argument {
	__u8 kind;	      /* enum wire_argument_kind */
	__u8 type;	      /* c10::ScalarType */
	__u8 dimensions;      /* of the tensor, or values of the list; may be above the bound */
	__u8 position;	      /* among the operator's arguments, from 0 */
	__u8 without_strides; /* a sparse tensor: strides mean nothing */
	__u8 reserved[3];
	__s64 sizes[SHAPES_DIMENSIONS_MAX];
	__s64 strides[SHAPES_DIMENSIONS_MAX];
};

/* Follows the WIRE_OP_BEGIN it belongs to, on the same thread. */
struct wire_shapes {
	struct wire_header header; /* subject: the operator's index */
	__u8 count;
	__u8 argument_count; /* of the operator: what has no entry is no tensor */
	__u8 reserved[6];
	struct wire_argument arguments[SHAPES_ARGUMENTS_MAX]; /* header.size may end inside */
};

/* What is counted when something was not recorded; appended only. */
enum wire_loss_cause {
	LOSS_RING_FULL = 0,	    /* records that found a ring full: see wire_rings */
	LOSS_THREAD_TABLE_FULL = 1, /* names dropped: more threads in flight than the table holds */
	LOSS_RANGE_TABLE_FULL = 2,  /* ranges dropped: more open ranges than the table holds */
	LOSS_ATTEMPT_LOG = 3,	    /* attempts overwritten before the collector read them */
	LOSS_BAD_RECORD = 4,	    /* records that failed validation */
	LOSS_NAME_TABLE_FULL = 5,   /* ranges filed under one name: too many different names */
	LOSS_OPEN_TABLE_FULL = 6,   /* ranges dropped by the collector: too many open at once */
	LOSS_CAPTURE_TRUNCATED = 7, /* the capture file ends early */
	LOSS_NAME_TRUNCATED = 8,    /* names cut; the range itself is there */
	LOSS_NAME_UNREADABLE = 9,   /* ranges, calls without a name; they are there */
	LOSS_SYMBOL_TABLE_FULL = 10,   /* types whose names are not kept: too many */
	LOSS_LINK_TABLE_FULL = 11,     /* forward calls forgotten before their backward came */
	LOSS_BLOCK_TABLE_FULL = 12,    /* memory blocks whose size is not kept: too many at once */
	LOSS_ARGUMENT_UNREADABLE = 13, /* arguments whose shape made no sense */
	LOSS_DEVICE_TIME = 14,	       /* device work whose times cannot be */
	LOSS_DEVICE_TABLE_FULL = 15,   /* device work or calls: more than the collector keeps */
	LOSS_DEVICE_DROPPED = 16,     /* device records dropped in the job, by CUPTI or the agent */
	LOSS_DEVICE_BATCH = 17,	      /* batches of device records that did not arrive whole */
	LOSS_DEVICE_ENDED_EARLY = 18, /* devices were watched for a part of the window alone */
	LOSS_MODULE_DEPTH = 19,	      /* calls of modules too far inside others to be told */
	LOSS_MODULE_TABLE_FULL = 20,  /* calls of modules: more than the collector keeps apart */
	LOSS_CAUSE_CNT = 21,
};

struct wire_loss {
	struct wire_header header;
	__u64 count[LOSS_CAUSE_CNT];
};

#define LOST_KINDS 16 /* kinds below that are counted when they find a ring full */

/* The rings, and what found them full; a later one replaces an earlier one. */
struct wire_rings {
	struct wire_header header;
	__u64 ring_bytes; /* of each */
	__u32 count;
	__u32 reserved;
	__u64 lost[LOST_KINDS];		  /* by enum wire_kind, in the window */
	__u64 lost_after[LOST_KINDS];	  /* behind it: ends, be it of what began in it */
	__u64 lost_in_warmup[LOST_KINDS]; /* of what is shown nowhere */
};

/*
 * Records of this time found a ring full; header.time_ns: of the first one. Comes before every
 * record that a thread made after one that was lost. header.tid: whose they were; 0: of several
 * threads.
 */
struct wire_hole {
	struct wire_header header;
	__u64 last_ns;
	__u64 count; /* records; 0: not known */
	__u32 kinds; /* 1 << enum wire_kind */
	__u32 ring;
};

/* What is recorded beside attempts and steps. */
#define ACTIVITY_RANGES 1U
#define ACTIVITY_OPERATORS 2U
#define ACTIVITY_AUTOGRAD 4U
#define ACTIVITY_MEMORY 8U
#define ACTIVITY_SHAPES 16U
#define ACTIVITY_CUDA_CALLS 32U /* by probes: where no agent reports them */
#define ACTIVITY_MODULES 64U
#define ACTIVITY_UNSUPPORTED 0x80000000U	    /* what this kernel cannot do was left out */
#define ACTIVITY_CUDA_CALLS_UNSUPPORTED 0x40000000U /* and those of CUDA */

struct wire_plan {
	__u32 skip_first;
	__u32 skip_first_wait;
	__u32 wait;
	__u32 warmup;
	__u32 active;
	__u32 repeat;
	__u32 timeout_s;  /* 0: none */
	__u32 activities; /* ACTIVITY_* that were asked for */
	char step_source[WIRE_NAME_BYTES];
};

#define WIRE_RANK_UNKNOWN (-1)

struct wire_job {
	__u32 pid;
	__u32 namespace_pid;
	__s32 rank; /* WIRE_RANK_UNKNOWN where the environment names none; the same below */
	__s32 local_rank;
	__s32 world_size;
	__u32 reserved;
	char host[64];
	char process_name[64];
	char torch_version[64];
	char python_version[32];
	char cuda_version[32]; /* empty: a build without CUDA */
	char command_line[WIRE_TEXT_BYTES];
};

/* How the kernel lets probes be attached. */
enum wire_attach {
	ATTACHED_UNKNOWN = 0,	 /* an older capture */
	ATTACHED_IN_BULK = 1,	 /* uprobe_multi, filtered by process */
	ATTACHED_BY_THREAD = 2,	 /* uprobe_multi that filters by thread: a link for each */
	ATTACHED_ONE_BY_ONE = 3, /* a perf event for each site */
	ATTACHED_CNT = 4,
};

struct wire_session {
	struct wire_header header;
	__u32 abi;
	__u32 attached; /* enum wire_attach */
	char session_id[40];
	char tool_version[32];
	char tool_command_line[WIRE_TEXT_BYTES];
	struct wire_plan plan;
	struct wire_job job;
};

/* A row of the probe plan: one site, or a catalogue row for which no site was found. */
struct wire_probe {
	struct wire_header header;
	__u64 file_offset;
	__u8 found;
	__u8 emulated;
	__u8 optional; /* its absence costs nothing on this build */
	__u8 activity; /* ACTIVITY_* that is degraded without it; 0: ranges */
	__u8 reserved[4];
	char point[48];
	char library[64];
	char site[16];	/* push, jcc, ... */
	char cost[160]; /* what is lost without it */
};

struct wire_thread {
	struct wire_header header; /* header.tid names the thread */
	char name[32];
};

/* One reading of both clocks: real time = monotonic time + offset. */
struct wire_clock {
	struct wire_header header;
	__s64 real_offset_ns;
};

enum wire_stop {
	STOP_NONE = 0,
	STOP_WINDOW_FINISHED = 1,
	STOP_INTERRUPTED = 2,
	STOP_TIMEOUT = 3,
	STOP_TARGET_EXITED = 4,
	STOP_TARGET_EXEC = 5,
	STOP_OUTPUT_ERROR = 6,
	STOP_ATTACH_FAILED = 7,
	STOP_CAPTURE_TRUNCATED = 8,
	STOP_CNT = 9,
};

struct wire_stop_record {
	struct wire_header header; /* time_ns: when recording ended */
	__u32 reason;		   /* enum wire_stop */
	__u32 detach_us;	   /* what it took to take off the probes that were there */
};

/* The window's probes have been attached or detached; header.time_ns: when that was done. */
struct wire_probes {
	struct wire_header header;
	__u64 duration_ns; /* what it took */
	__u8 is_attached;
	__u8 is_part; /* only what counts attempts, or some of the window's while others stay */
	__u8 reserved[6];
};

/* What a function that is watched by its index belongs to. */
enum wire_call_domain {
	CALL_OPERATOR = 0, /* of PyTorch; all there is in older captures */
	CALL_RUNTIME = 1,  /* of the CUDA runtime */
	CALL_DRIVER = 2,   /* of the CUDA driver */
	CALL_DOMAIN_CNT = 3,
};

/* An operator of this build, or a call of CUDA's; its index is header.subject. */
struct wire_operator {
	struct wire_header header;
	__u8 entry_site;   /* 1 + enum probe_site_kind; 0: no site */
	__u8 exit_site;	   /* the same */
	__u16 frame_bytes; /* what a call it makes lies below its own stack pointer, at least */
	__u8 domain;	   /* enum wire_call_domain */
	__u8 reserved;
	__u16 callback_id; /* of a call of CUDA's: CUPTI's number (cbid); 0: not known */
	char name[112];	   /* "aten::add_", "cudaLaunchKernel" */
	char overload[80]; /* "Tensor"; empty: the one without a name */
};

/* How an operator is seen from here on. */
enum wire_mode {
	MODE_EXACT = 0,	     /* entry and exit */
	MODE_BEGIN_ONLY = 1, /* the entry; its end is what it took in warmup */
	MODE_OFF = 2,
	MODE_CNT = 3,
};

#define MODE_SUBJECT_NODES 0xffffff00U	   /* header.subject for autograd nodes */
#define MODE_SUBJECT_SEQUENCES 0xffffff01U /* forward sequence numbers */
#define MODE_SUBJECT_MEMORY 0xffffff02U
#define MODE_SUBJECT_RANGES 0xffffff03U
#define MODE_SUBJECT_BOXED 0xffffff04U	 /* torch.ops calls */
#define MODE_SUBJECT_MODULES 0xffffff05U /* calls that C makes of Python */

/* header.subject: the operator's index, or one of the above. */
struct wire_mode_record {
	struct wire_header header;
	__u8 mode;	    /* enum wire_mode */
	__u8 takes_numbers; /* sequence numbers are taken in some of its calls */
	__u8 reserved[2];
	/* Begin-only: events directly inside a call, numbers taken aside; UINT32_MAX: not known. */
	__u32 inner_events;
	__u64 duration_ns;   /* mean of a call in warmup, less the cost of the probes inside */
	__u64 hits;	     /* in warmup, over... */
	__u64 learned_ns;    /* ...this time */
	__u64 cost_ns;	     /* what it is predicted to cost an attempt in this mode */
	__u64 cost_exact_ns; /* and what it would cost exact */
	__u64 numbered_duration_ns; /* as duration_ns, of a call that takes a sequence number */
};

/* What one hit of a site costs here, measured at start; index: enum probe_site_kind. */
#define COST_KINDS 7
struct wire_cost {
	struct wire_header header;
	__u64 hit_ns[COST_KINDS]; /* 0: not measured */
	__u64 predicted_added_ns; /* to an attempt, with the modes as they are */
	__u64 exact_added_ns;	  /* had everything been exact */
	__u64 attempt_ns;	  /* the attempt that both are to be held against; 0: not known */
	__u64 bound_permille;	  /* --max-overhead */
	__u8 is_final;		  /* the modes have been decided */
	__u8 reserved[7];
};

/* A batch of the agent in the job, as it handed it over: see agent_wire.h. */
struct wire_agent {
	struct wire_header header; /* size: with the batch; time_ns: when it was handed over */
	__u8 batch[];
};

/* How the devices are watched, as far as that is known; a later one replaces an earlier one. */
enum wire_device_watch {
	DEVICE_NOT_ASKED = 0,	/* --gpu off */
	DEVICE_NOT_USED = 1,	/* the job has no CUDA library mapped */
	DEVICE_UNAVAILABLE = 2, /* and why, in reason */
	DEVICE_WATCHED = 3,
	DEVICE_WATCH_CNT = 4,
};

struct wire_device {
	struct wire_header header;
	__u8 watch; /* enum wire_device_watch */
	__u8 reserved[7];
	char reason[WIRE_NAME_BYTES]; /* a sentence for the user; empty: none */
};

_Static_assert(sizeof(struct wire_agent) == 24, "wire_agent");
_Static_assert(sizeof(struct wire_device) == 32 + WIRE_NAME_BYTES, "wire_device");
_Static_assert(sizeof(struct wire_op) == 32, "wire_op");
_Static_assert(sizeof(struct wire_node_begin) == 56, "wire_node_begin");
_Static_assert(sizeof(struct wire_guard_end) == 40, "wire_guard_end");
_Static_assert(sizeof(struct wire_function_begin) == 40, "wire_function_begin");
_Static_assert(sizeof(struct wire_symbol) == 40 + WIRE_NAME_BYTES, "wire_symbol");
_Static_assert(sizeof(struct wire_sequence) == 48, "wire_sequence");
_Static_assert(sizeof(struct wire_module) == 48, "wire_module");
_Static_assert(sizeof(struct wire_memory) == 72, "wire_memory");
_Static_assert(sizeof(struct wire_argument) == 136, "wire_argument");
_Static_assert(sizeof(struct wire_shapes) == 32 + 136 * SHAPES_ARGUMENTS_MAX, "wire_shapes");
_Static_assert(sizeof(struct wire_operator) == 32 + 192, "wire_operator");
_Static_assert(sizeof(struct wire_mode_record) == 80, "wire_mode_record");
_Static_assert(sizeof(struct wire_cost) == 24 + 8 * COST_KINDS + 40, "wire_cost");
_Static_assert(sizeof(struct wire_probes) == 40, "wire_probes");
_Static_assert(sizeof(struct wire_header) == 24, "wire_header");
_Static_assert(sizeof(struct wire_attempt) == 40, "wire_attempt");
_Static_assert(sizeof(struct wire_range_begin) == 40 + WIRE_NAME_BYTES, "wire_range_begin");
_Static_assert(sizeof(struct wire_range_end) == 32, "wire_range_end");
_Static_assert(sizeof(struct wire_loss) == 24 + 8 * LOSS_CAUSE_CNT, "wire_loss");
_Static_assert(sizeof(struct wire_rings) == 40 + 24 * LOST_KINDS, "wire_rings");
_Static_assert(WIRE_MODULE < LOST_KINDS, "wire_kind");
_Static_assert(sizeof(struct wire_hole) == 48, "wire_hole");
_Static_assert(sizeof(struct wire_plan) == 32 + WIRE_NAME_BYTES, "wire_plan");
_Static_assert(sizeof(struct wire_job) == 24 + 256 + WIRE_TEXT_BYTES, "wire_job");
_Static_assert(sizeof(struct wire_session) == 24 + 8 + 72 + WIRE_TEXT_BYTES +
						      sizeof(struct wire_plan) +
						      sizeof(struct wire_job),
	       "wire_session");
_Static_assert(sizeof(struct wire_probe) == 24 + 16 + 48 + 64 + 16 + 160, "wire_probe");
_Static_assert(sizeof(struct wire_thread) == 56, "wire_thread");
_Static_assert(sizeof(struct wire_clock) == 32, "wire_clock");
_Static_assert(sizeof(struct wire_stop_record) == 32, "wire_stop_record");

#endif /* WIRE_H */
