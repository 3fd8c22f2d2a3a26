/*
 * agent_wire.h - what the agent in the job hands to the collector, and how the two find each other.
 *
 * The agent (libtpbpf-agent.so) has three USDT notes of provider "tpbpf_agent", each with a
 * semaphore that the kernel raises while a probe is attached:
 *   batch    somebody listens. The probe's site is a function that takes the address and the size
 *            of a batch in its first two arguments (rdi, rsi) and does nothing.
 *   collect  the collector wants activity: attach it to begin a session, detach it to end one.
 *   sync     the session that begins shall also have AGENT_SYNC and AGENT_EVENT records.
 * A session begins within a second of `collect` and `batch` being both up (and `sync` with or
 * before them). It ends when `collect` is down; while `batch` is still up the agent then hands over
 * what is left, last of all a batch that ends in AGENT_END. When `batch` goes down, by the death of
 * the collector too, it ends without a word. `collect` must have been down for AGENT_QUIET_MS, or
 * AGENT_END must have been seen, before a new session is asked for: the agent looks ten times a
 * second and would not notice a shorter gap. A first batch whose sequence is not 0 is of a session
 * that somebody else began.
 *
 * A batch is one agent_batch and record_count records, each a multiple of 8 bytes that begins with
 * an agent_record. All integers are little endian and naturally aligned, there are no pointers,
 * strings are given by size and have no NUL. Everything comes from the job and is not to be
 * trusted: agent_batch.size and every agent_record.size are to be checked. Kinds, flags, codes and
 * counts are only appended; records of an unknown kind are skipped and counted. A record may be
 * longer than the structure that the reader knows, never shorter.
 *
 * Times are CLOCK_MONOTONIC nanoseconds unless the record says AGENT_TIME_RAW. Records are in no
 * order: a kernel's comes later than its launch's. Ids of processes and threads are those of the
 * job's own pid namespace.
 */
#ifndef AGENT_WIRE_H
#define AGENT_WIRE_H

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define AGENT_MAGIC 0x47415054U /* "TPAG" in memory */
#define AGENT_VERSION 1
#define AGENT_BATCH_BYTES 65536 /* of a whole batch at most */
#define AGENT_NAME_BYTES 4096	/* of a name at most; longer ones are cut: AGENT_NAME_CUT */
#define AGENT_TEXT_BYTES 512	/* of any other text at most */
#define AGENT_QUIET_MS 1200

enum agent_kind {
	AGENT_SESSION = 1, /* the first record of batch 0 */
	AGENT_DEVICE = 2,
	AGENT_NAME = 3, /* before the first record that uses it, and again after a while */
	AGENT_KERNEL = 4,
	AGENT_MEMCPY = 5,
	AGENT_MEMSET = 6,
	AGENT_API = 7,
	AGENT_SYNC = 8,
	AGENT_EVENT = 9,
	AGENT_OVERHEAD = 10,
	AGENT_STATUS = 11,
	AGENT_END = 12, /* the session's last record */
};

/* agent_record.flags. The HAS flags: the fields that they name are there; else they are 0. */
#define AGENT_TIME_NONE (1U << 0) /* CUPTI gave no times, or senseless ones: both are 0 */
#define AGENT_TIME_GUESSED                                                                        \
	(1U << 1)		     /* the clock was stepped about then: off by the step at most \
				      */
#define AGENT_TIME_RAW (1U << 2)     /* as CUPTI gave them: agent_batch.clock.domain is unknown */
#define AGENT_NAME_CUT (1U << 3)     /* the text was longer */
#define AGENT_HAS_GRAPH (1U << 8)    /* graph_id, graph_node_id */
#define AGENT_HAS_CHANNEL (1U << 9)  /* channel, channel_type */
#define AGENT_HAS_CLUSTER (1U << 10) /* cluster */
#define AGENT_HAS_PRIORITY (1U << 11)
#define AGENT_HAS_PEER (1U << 12) /* the record is of a copy between two devices */
#define AGENT_HAS_COPY_COUNT (1U << 13)
#define AGENT_HAS_RESULT (1U << 14)	 /* result */
#define AGENT_HAS_EVENT_SYNC (1U << 15)	 /* event_sync */
#define AGENT_HAS_CORRELATION (1U << 16) /* correlation, of an AGENT_OVERHEAD */
#define AGENT_HAS_DEVICE (1U << 17)	 /* device, of an AGENT_EVENT */

struct agent_record {
	__u16 kind; /* enum agent_kind */
	__u16 size; /* bytes of the whole record, a multiple of 8 */
	__u32 flags;
};

/* What CUPTI's times are. */
enum agent_domain {
	AGENT_DOMAIN_UNKNOWN = 0,
	AGENT_DOMAIN_REALTIME = 1,
	AGENT_DOMAIN_MONOTONIC = 2,
	AGENT_DOMAIN_TSC = 3,
	AGENT_DOMAIN_CNT = 4,
};

/* How the times of this batch were made, for who wants to check it. */
struct agent_clock {
	__u32 domain;	 /* enum agent_domain */
	__u32 changes;	 /* steps and changes of domain seen in this session */
	__s64 offset_ns; /* REALTIME: CLOCK_REALTIME minus CLOCK_MONOTONIC; else 0 */
	/* TSC: mono = base_ns + (ticks - base_ticks) * mult / 2^32, of the session so far */
	__u64 base_ticks;
	__u64 base_ns;
	__u64 mult;
};

/* Counted since the session's begin. Unit: records unless said. */
enum agent_count {
	AGENT_COUNT_RECORDS = 0,   /* handed over in this and all earlier batches, of any kind */
	AGENT_COUNT_MUTED = 1,	   /* calls left out on purpose, see agent_api */
	AGENT_COUNT_UNTIMED = 2,   /* handed over with AGENT_TIME_NONE */
	AGENT_COUNT_GUESSED = 3,   /* handed over with AGENT_TIME_GUESSED */
	AGENT_COUNT_NAMES_CUT = 4, /* names that were cut */
	/* From here on: lost. */
	AGENT_COUNT_CUPTI_LOST = 8, /* CUPTI says that it dropped them */
	AGENT_COUNT_NO_BUFFER = 9,  /* buffers that CUPTI filled and nobody could read */
	AGENT_COUNT_UNKNOWN_KIND = 10,
	AGENT_COUNT_BROKEN = 11,  /* buffers given up before their end */
	AGENT_COUNT_LATE = 12,	  /* buffers that came back when the session was over */
	AGENT_COUNT_NO_NAME = 13, /* handed over without a name: too many different ones */
	AGENT_COUNT_CNT = 16,
};
#define AGENT_COUNT_FIRST_LOSS AGENT_COUNT_CUPTI_LOST

/* The head of a batch. */
struct agent_batch {
	__u32 magic;
	__u16 version;
	__u16 header_size; /* of this structure: where the first record begins */
	__u32 size;	   /* bytes of the batch, this included */
	__u32 record_count;
	__u64 session;	/* never 0, and another one for each session of a process */
	__u64 sequence; /* 0, 1, 2...: a gap is a batch that was lost on the way */
	__u32 namespace_pid;
	__u32 reserved;
	__u64 time_ns; /* when it was handed over */
	struct agent_clock clock;
	__u64 counts[AGENT_COUNT_CNT];
};

/* Bits of agent_session.kinds, and the value of AGENT_STATUS_KIND. */
enum agent_activity {
	AGENT_ACTIVITY_KERNEL = 0,
	AGENT_ACTIVITY_MEMCPY = 1,
	AGENT_ACTIVITY_MEMCPY_PEER = 2,
	AGENT_ACTIVITY_MEMSET = 3,
	AGENT_ACTIVITY_RUNTIME = 4,
	AGENT_ACTIVITY_DRIVER = 5,
	AGENT_ACTIVITY_OVERHEAD = 6,
	AGENT_ACTIVITY_SYNC = 7,
	AGENT_ACTIVITY_EVENT = 8,
	AGENT_ACTIVITY_CNT = 9,
};

enum agent_thread_ids {
	AGENT_THREAD_IDS_SYSTEM = 0,  /* agent_api.thread is what gettid() returns there */
	AGENT_THREAD_IDS_PTHREAD = 1, /* the lower half of pthread_self(): CUPTI refused better */
};

/* What the session found. Handed over again, whole, when activity is recorded: the last one holds.
 */
struct agent_session {
	struct agent_record record;
	__u64 begin_ns;	      /* when the agent saw that a session is wanted */
	__u32 cupti_version;  /* of cuptiGetVersion: 18 is 11.8, 130001 13.0 Update 1; 0: none */
	__u32 driver_version; /* of cuDriverGetVersion: 12080 is 12.8; 0: none */
	__u32 kinds;	      /* what is recorded: bits of enum agent_activity */
	__u32 thread_ids;     /* enum agent_thread_ids */
	__u32 poll_ms;	      /* how often the agent flushes */
	__u16 path_size;
	__u16 reserved;
	char path[]; /* the libcupti that is used */
};

/* A device, as Kineto's deviceProperties have it; from the driver, before anything is enabled. */
struct agent_device {
	struct agent_record record;
	__u64 memory_bytes;
	__u32 id;
	__u32 compute_major;
	__u32 compute_minor;
	__u32 threads_per_block;	    /* maxThreadsPerBlock */
	__u32 threads_per_multiprocessor;   /* maxThreadsPerMultiprocessor */
	__u32 registers_per_block;	    /* regsPerBlock */
	__u32 registers_per_multiprocessor; /* regsPerMultiprocessor */
	__u32 warp_size;
	__u32 shared_per_block;		 /* sharedMemPerBlock, bytes */
	__u32 shared_per_block_optin;	 /* sharedMemPerBlockOptin, bytes */
	__u32 shared_per_multiprocessor; /* sharedMemPerMultiprocessor, bytes */
	__u32 multiprocessors;		 /* numSms */
	__u16 name_size;
	__u16 reserved[3];
	char name[];
};

/* The text of an id that other records carry. Ids begin at 1; 0 there means: no name. */
struct agent_name {
	struct agent_record record;
	__u32 id;
	__u16 name_size;
	__u16 reserved;
	char name[];
};

/* A kernel that ran. Ids of devices, contexts and streams are CUPTI's (the default stream is 7). */
struct agent_kernel {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u32 correlation; /* of the call that launched it; many kernels of a graph have one */
	__u32 name;	   /* mangled */
	__u32 device;
	__u32 context;
	__u32 stream;
	__u32 grid[3];
	__u32 block[3];
	__u32 cluster[3];
	__u32 registers_per_thread;
	__u32 static_shared_bytes;
	__u32 dynamic_shared_bytes;
	__u32 local_per_thread_bytes;
	__u32 channel;
	__u32 channel_type; /* CUpti_ChannelType */
	__s32 priority;
	__u32 graph_id;
	__u64 graph_node_id;
};

struct agent_memcpy {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u64 size_bytes;
	__u32 correlation;
	__u32 device;
	__u32 context;
	__u32 stream;
	__u8 copy_kind; /* CUpti_ActivityMemcpyKind: 1 HtoD, 2 DtoH, 8 DtoD, 9 HtoH, 10 PtoP ... */
	__u8 source_kind; /* CUpti_ActivityMemoryKind: 1 pageable, 2 pinned, 3 device, ... */
	__u8 target_kind;
	__u8 copy_flags;     /* 1: asynchronous */
	__u32 source_device; /* AGENT_HAS_PEER, as the three that follow */
	__u32 source_context;
	__u32 target_device;
	__u32 target_context;
	__u32 graph_id;
	__u64 graph_node_id;
	__u64 copy_count; /* AGENT_HAS_COPY_COUNT: copies that the record stands for */
	__u32 channel;
	__u32 channel_type;
};

struct agent_memset {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u64 size_bytes;
	__u32 correlation;
	__u32 device;
	__u32 context;
	__u32 stream;
	__u32 value;
	__u16 memory_kind;  /* CUpti_ActivityMemoryKind */
	__u16 memset_flags; /* 1: asynchronous */
	__u64 graph_node_id;
	__u32 graph_id;
	__u32 channel;
	__u32 channel_type;
	__u32 reserved;
};

enum agent_api_domain {
	AGENT_API_DRIVER = 1, /* CUpti_CallbackDomain */
	AGENT_API_RUNTIME = 2,
};

/*
 * A call of the job into the CUDA runtime or driver. Left out, and counted as AGENT_COUNT_MUTED,
 * are the calls that Kineto leaves out: of the runtime cudaGetDevice, cudaSetDevice,
 * cudaGetLastError, cudaEventCreate, cudaEventCreateWithFlags and cudaEventDestroy; of the driver
 * all but cuLaunchKernel, cuLaunchKernelEx, cuMemCreate, cuMemMap, cuMemUnmap, cuMemRelease,
 * cuMemExportToShareableHandle and cuMemImportFromShareableHandle. The name is CUPTI's, with the
 * version that Kineto cuts off ("cudaLaunchKernel_v7000").
 */
struct agent_api {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u32 correlation;
	__u32 thread;	/* see enum agent_thread_ids */
	__u32 domain;	/* enum agent_api_domain */
	__u32 callback; /* cbid: CUpti_runtime_api_trace_cbid, CUpti_driver_api_trace_cbid */
	__u32 name;
	__u32 result; /* what it returned: cudaError_t, CUresult */
};

/* A wait. Streams and events that do not apply are ~0. */
struct agent_sync {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u32 correlation;
	__u32 type; /* 1 event, 2 stream waits for event, 3 stream, 4 context */
	__u32 context;
	__u32 stream;
	__u32 event;
	__u32 result;	  /* AGENT_HAS_RESULT */
	__u64 event_sync; /* AGENT_HAS_EVENT_SYNC: the event's record that was waited for */
};

/* An event was recorded on a stream; it has no time. Tells what an agent_sync waited for. */
struct agent_event {
	struct agent_record record;
	__u32 correlation;
	__u32 context;
	__u32 stream;
	__u32 event;
	__u32 device;
	__u32 reserved;
	__u64 event_sync; /* AGENT_HAS_EVENT_SYNC */
};

struct agent_overhead {
	struct agent_record record;
	__u64 start_ns;
	__u64 end_ns;
	__u32 overhead; /* CUpti_ActivityOverheadKind: 1, or n << 16 */
	__u32 object;	/* CUpti_ActivityObjectKind: 1 process, 2 thread, 3 device, 4 context, 5
			   stream */
	/* object 1, 2: process, thread, 0; 3 to 5: device, context, stream */
	__u32 ids[3];
	__u32 correlation; /* AGENT_HAS_CORRELATION */
};

/* What a status means for what the collector can promise. */
enum agent_effect {
	AGENT_EFFECT_NONE = 0,	   /* to be known, nothing is missing */
	AGENT_EFFECT_DEGRADED = 1, /* something is missing or less exact */
	AGENT_EFFECT_NOTHING = 2,  /* no activity in this session, or none from here on */
};

/* value and text of an agent_status are said with each. "error": a CUptiResult. */
enum agent_status_code {
	AGENT_STATUS_NO_CUDA = 1,  /* libcuda is not mapped, or cuInit has not run; value: CUresult,
				      0 if not mapped. Looked for again every second */
	AGENT_STATUS_NO_CUPTI = 2, /* no libcupti is mapped. Looked for again every second */
	AGENT_STATUS_STATIC_CUPTI =
		3,		     /* CUPTI is linked into text, and cannot be called from here */
	AGENT_STATUS_INCOMPLETE = 4, /* the libcupti lacks function text */
	AGENT_STATUS_TOO_OLD = 5,    /* value: its API version, below 18 (11.8) */
	AGENT_STATUS_NEWER = 6,	     /* value: its API version; read as the newest one known */
	AGENT_STATUS_SEVERAL = 7,    /* value: how many libcupti are mapped; text: the one used */
	AGENT_STATUS_BUSY = 8,	     /* error 39: another tool has CUPTI; text: the call */
	AGENT_STATUS_UNKNOWN = 9,    /* error 999: text: the call */
	AGENT_STATUS_PRIVILEGES = 10, /* error 35 or 40; value: the error; text: the call */
	AGENT_STATUS_REFUSED = 11,    /* any other error; value: it; text: the call */
	AGENT_STATUS_KIND = 12,	      /* one activity is off; value: error << 8 | agent_activity */
	AGENT_STATUS_TAKEN = 13,      /* somebody else registered CUPTI's callbacks; value: ms of
					 silence */
	AGENT_STATUS_HUNG = 14,	      /* text: the step that does not return; value: ms so far */
	AGENT_STATUS_RETURNED = 15,   /* it returned after all; text: the step; value: ms */
	AGENT_STATUS_CLOCK = 16,      /* CUPTI's times fit no clock; value: one of them */
	AGENT_STATUS_CLOCK_CHANGED = 17, /* value: old domain << 8 | new domain */
	AGENT_STATUS_CLOCK_STEP = 18,	 /* CLOCK_REALTIME was set; value: by how many ns */
	AGENT_STATUS_UNTIMED = 19, /* there are records without times; said once, see the counts */
	AGENT_STATUS_LOST = 20,	   /* records were lost; said once a cause; value: agent_count */
	AGENT_STATUS_OUTSTANDING = 21, /* value: buffers that CUPTI has not given back at the end */
	AGENT_STATUS_NO_MEMORY = 22,   /* the agent got no memory or thread; value: errno */
	AGENT_STATUS_THREAD_IDS = 23,  /* see AGENT_THREAD_IDS_PTHREAD; value: error */
};

struct agent_status {
	struct agent_record record;
	__u64 time_ns;
	__s64 value;
	__u32 code;   /* enum agent_status_code */
	__u32 effect; /* enum agent_effect */
	__u16 text_size;
	__u16 reserved[3];
	char text[];
};

enum agent_end_reason {
	AGENT_END_ASKED = 1,   /* `collect` went down, and all was flushed */
	AGENT_END_HUNG = 2,    /* the same, while a call into CUPTI did not return */
	AGENT_END_NOTHING = 3, /* the same, but there never was activity: see the statuses */
	AGENT_END_TAKEN = 4,   /* the same, after AGENT_STATUS_TAKEN: nothing was disabled */
};

/* Nothing follows. agent_batch.counts are final; CUPTI stays loaded in the job, disabled. */
struct agent_end {
	struct agent_record record;
	__u64 time_ns;
	__u32 reason; /* enum agent_end_reason */
	__u32 reserved;
};

_Static_assert(sizeof(struct agent_record) == 8, "agent_record");
_Static_assert(sizeof(struct agent_clock) == 40, "agent_clock");
_Static_assert(sizeof(struct agent_batch) == 48 + 40 + 8 * AGENT_COUNT_CNT, "agent_batch");
_Static_assert(sizeof(struct agent_session) == 40, "agent_session");
_Static_assert(sizeof(struct agent_device) == 72, "agent_device");
_Static_assert(sizeof(struct agent_name) == 16, "agent_name");
_Static_assert(sizeof(struct agent_kernel) == 120, "agent_kernel");
_Static_assert(sizeof(struct agent_memcpy) == 96, "agent_memcpy");
_Static_assert(sizeof(struct agent_memset) == 80, "agent_memset");
_Static_assert(sizeof(struct agent_api) == 48, "agent_api");
_Static_assert(sizeof(struct agent_sync) == 56, "agent_sync");
_Static_assert(sizeof(struct agent_event) == 40, "agent_event");
_Static_assert(sizeof(struct agent_overhead) == 48, "agent_overhead");
_Static_assert(sizeof(struct agent_status) == 40, "agent_status");
_Static_assert(sizeof(struct agent_end) == 24, "agent_end");

#endif /* AGENT_WIRE_H */
