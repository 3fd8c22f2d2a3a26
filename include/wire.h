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

#define WIRE_ABI 1
#define WIRE_NAME_BYTES 256 /* a name and its NUL; longer ones are cut and flagged */
#define WIRE_TEXT_BYTES 1024

enum wire_kind {
	WIRE_WAKE = 1, /* header only: the phase has changed, look at the attempt log */
	WIRE_ATTEMPT = 2,
	WIRE_RANGE_BEGIN = 3,
	WIRE_RANGE_END = 4,

	WIRE_USER_FIRST = 64,
	WIRE_SESSION = 64,
	WIRE_PROBE = 65,
	WIRE_THREAD = 66,
	WIRE_CLOCK = 67,
	WIRE_LOSS = 68,
	WIRE_STOP = 69,
	WIRE_PROBES = 70,
};

/* Flags of wire_header.flags, by kind. */
#define WIRE_NAME_TRUNCATED 1
#define WIRE_NAME_UNREADABLE 2
#define WIRE_NAME_MISSING 4

struct wire_header {
	__u32 size; /* bytes of the whole record */
	__u16 kind;
	__u16 flags;
	__u32 tid; /* in the pid namespace of the job; 0 where it does not apply */
	__u32 reserved;
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

/* The end of one optimizer attempt; header.time_ns is the boundary. */
struct wire_attempt {
	struct wire_header header;
	__u32 index;	 /* from 0, the first one seen */
	__u16 cycle;	 /* repetition of the window that it ran in, from 0 */
	__u8 phase;	 /* enum wire_phase that it ran in */
	__u8 next_phase; /* enum wire_phase of the attempt that starts here */
	__u8 outcome;	 /* enum wire_outcome */
	__u8 reserved[7];
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

/* What is counted when something was not recorded; appended only. */
enum wire_loss_cause {
	LOSS_RING_FULL = 0,	    /* records that found the ring buffer full */
	LOSS_THREAD_TABLE_FULL = 1, /* names dropped: more threads in flight than the table holds */
	LOSS_RANGE_TABLE_FULL = 2,  /* ranges dropped: more open ranges than the table holds */
	LOSS_ATTEMPT_LOG = 3,	    /* attempts overwritten before the collector read them */
	LOSS_BAD_RECORD = 4,	    /* records that failed validation */
	LOSS_NAME_TABLE_FULL = 5,   /* ranges filed under one name: too many different names */
	LOSS_OPEN_TABLE_FULL = 6,   /* ranges dropped by the collector: too many open at once */
	LOSS_CAPTURE_TRUNCATED = 7, /* the capture file ends early */
	LOSS_NAME_TRUNCATED = 8,    /* names cut; the range itself is there */
	LOSS_NAME_UNREADABLE = 9,   /* ranges without a name; the range itself is there */
	LOSS_CAUSE_CNT = 10,
};

struct wire_loss {
	struct wire_header header;
	__u64 count[LOSS_CAUSE_CNT];
};

struct wire_plan {
	__u32 skip_first;
	__u32 skip_first_wait;
	__u32 wait;
	__u32 warmup;
	__u32 active;
	__u32 repeat;
	__u32 timeout_s; /* 0: none */
	__u32 reserved;
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

struct wire_session {
	struct wire_header header;
	__u32 abi;
	__u32 reserved;
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
	__u8 reserved[5];
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
	__u32 reserved;
};

/* The window's probes have been attached or detached; header.time_ns: when that was done. */
struct wire_probes {
	struct wire_header header;
	__u64 duration_ns; /* what it took */
	__u8 is_attached;
	__u8 reserved[7];
};

_Static_assert(sizeof(struct wire_probes) == 40, "wire_probes");
_Static_assert(sizeof(struct wire_header) == 24, "wire_header");
_Static_assert(sizeof(struct wire_attempt) == 40, "wire_attempt");
_Static_assert(sizeof(struct wire_range_begin) == 40 + WIRE_NAME_BYTES, "wire_range_begin");
_Static_assert(sizeof(struct wire_range_end) == 32, "wire_range_end");
_Static_assert(sizeof(struct wire_loss) == 24 + 8 * LOSS_CAUSE_CNT, "wire_loss");
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
