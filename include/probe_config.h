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
	PROBE_CHECK = 12,	/* the collector finds out how the kernel filters */
	PROBE_RANGE_ENTER = 13, /* arg0 = std::string *, arg2 = RecordFunction * */
	PROBE_KIND_CNT = 14,
};

/* Where attempts come from. */
enum step_mode {
	STEP_AUTO = 0,	/* Optimizer.step#* ranges and the gradient scaler */
	STEP_RANGE = 1, /* ranges that match the pattern */
	STEP_ENTRY = 2, /* PROBE_STEP_ENTRY */
};

#define STEP_PATTERN_BYTES 64
#define ATTEMPT_SLOTS 1024

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
	__u32 reserved2;
};

/* One attempt's end. Valid when sequence == index + 1; BPF writes sequence last. */
struct attempt_slot {
	__u64 time_ns;
	__u32 tid;
	__u32 index;
	__u16 cycle;
	__u8 phase;
	__u8 next_phase;
	__u8 outcome;
	__u8 reserved[3];
	__u32 sequence;
	__u32 reserved2;
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

_Static_assert(sizeof(struct probe_config) == 144, "probe_config");
_Static_assert(sizeof(struct attempt_slot) == 32, "attempt_slot");

#endif /* PROBE_CONFIG_H */
