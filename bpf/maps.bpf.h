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

#define RING_BYTES (8 * 1024 * 1024) /* the default; the collector may resize it before load */
#define THREADS_MAX 16384
#define RANGES_MAX 65536

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, RING_BYTES);
} events SEC(".maps");

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
__u64 attempt_state; /* STATE_*; the first value is set before load */
__u32 check_hits;    /* of PROBE_CHECK */
__u32 ready_cycle;   /* window probes are attached for cycles below; written by the collector */
struct attempt_slot attempts[ATTEMPT_SLOTS];

__u32 attempt_limit; /* attempts from this number on are not counted; 0: no limit */
__u32 stopped;	     /* the collector wants no more, or the job has replaced its program */
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

/* A value to start a map entry from: the stack is too small for it. */
static const struct thread_state no_thread_state;

#endif /* MAPS_BPF_H */
