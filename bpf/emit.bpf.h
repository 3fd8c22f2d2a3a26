/* emit.bpf.h - the one place that reserves ring space, and keeps account of what did not fit. */
#ifndef EMIT_BPF_H
#define EMIT_BPF_H

#include "maps.bpf.h"

static __always_inline void loss_count(__u32 cause)
{
	__u64 *count = bpf_map_lookup_elem(&loss, &cause);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline void header_fill(struct wire_header *header, __u32 size, __u16 kind,
					__u32 tid, __u64 now_ns)
{
	header->size = size;
	header->kind = kind;
	header->flags = 0;
	header->tid = tid;
	header->subject = 0;
	header->time_ns = now_ns;
}

/* That of the CPU that the program runs on; programs do not move while they run. */
static __always_inline __u32 ring_index(void)
{
	__u32 index = bpf_get_smp_processor_id(), count = ring_count;

	return count && index >= count ? index % count : index;
}

static __always_inline void *ring_here(void)
{
	__u32 index = ring_index();

	return bpf_map_lookup_elem(&rings, &index);
}

#define SWAP_HOLE_TRIES 8

/*
 * Programs interrupt each other: each leaves a hole that reaches over its own time. count comes
 * last, so that who reads it first sees the rest of what it counts.
 */
static __always_inline void hole_widen(struct ring_hole *hole, __u32 kind, __u32 tid, __u64 now_ns)
{
	int i;

	for (i = 0; i < SWAP_HOLE_TRIES; i++) {
		__u64 last_ns = *(volatile __u64 *)&hole->last_ns;

		if (last_ns >= now_ns ||
		    __sync_val_compare_and_swap(&hole->last_ns, last_ns, now_ns) == last_ns)
			break;
	}
	for (i = 0; i < SWAP_HOLE_TRIES; i++) {
		__u64 first_ns = *(volatile __u64 *)&hole->first_ns;

		if (first_ns <= now_ns ||
		    __sync_val_compare_and_swap(&hole->first_ns, first_ns, now_ns) == first_ns)
			break;
	}
	__sync_fetch_and_or(&hole->kinds, 1U << kind);
	if (hole->tid != tid)
		hole->tid = 0;
	__sync_fetch_and_add(&hole->count, 1);
}

static __always_inline void hole_begin(struct ring_loss *lost, __u32 kind, __u32 tid, __u64 now_ns,
				       __u32 epoch)
{
	__u64 number = __sync_fetch_and_add(&lost->holes_begun, 1);
	struct ring_hole *hole = &lost->holes[number % RING_HOLES];

	__sync_lock_test_and_set(&hole->sequence, 0);
	hole->first_ns = now_ns;
	hole->last_ns = now_ns;
	hole->kinds = 1U << kind;
	hole->tid = tid;
	hole->epoch = epoch;
	hole->count = 1;
	__sync_lock_test_and_set(&hole->sequence, (__u32)number + 1);
}

/* The last hole goes on until the collector has made room. */
static __always_inline void hole_note(struct ring_loss *lost, __u32 kind, __u32 tid, __u64 now_ns)
{
	__u32 epoch = *(volatile __u32 *)&loss_epoch;
	__u64 begun = *(volatile __u64 *)&lost->holes_begun;
	struct ring_hole *hole = &lost->holes[(begun - 1) % RING_HOLES];

	if (begun && hole->epoch == epoch && *(volatile __u32 *)&hole->sequence == (__u32)begun)
		hole_widen(hole, kind, tid, now_ns);
	else
		hole_begin(lost, kind, tid, now_ns, epoch);
}

/*
 * A record found no room. Not static: the kernel then verifies it once, not wherever something is
 * recorded. Nothing of it is paid for while there is room.
 */
__attribute__((noinline)) int ring_full(__u32 kind, __u32 tid, __u64 now_ns)
{
	__u32 index = ring_index();
	struct ring_loss *lost = bpf_map_lookup_elem(&ring_losses, &index);
	__u64 state = *(volatile __u64 *)&attempt_state;

	if (!lost || kind >= LOST_KINDS)
		return 0;
	if (STATE_PHASE(state) == PHASE_ACTIVE)
		__sync_fetch_and_add(&lost->lost[kind], 1);
	else if (STATE_PHASE(state) == PHASE_WARMUP)
		__sync_fetch_and_add(&lost->lost_in_warmup[kind], 1);
	else
		__sync_fetch_and_add(&lost->lost_after[kind], 1);
	hole_note(lost, kind, tid, now_ns);
	__sync_fetch_and_add(&lost->records, 1);
	return 0;
}

/* A record with its header filled in, to be submitted. NULL: no room, not counted. */
static __always_inline void *emit_try(__u32 size, __u16 kind, __u32 tid, __u64 now_ns)
{
	void *ring = ring_here();
	struct wire_header *header = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (header)
		header_fill(header, size, kind, tid, now_ns);
	return header;
}

/* The same, and what finds no room is counted. */
static __always_inline void *emit_reserve(__u32 size, __u16 kind, __u32 subject, __u32 tid,
					  __u64 now_ns)
{
	struct wire_header *header = emit_try(size, kind, tid, now_ns);

	if (header)
		header->subject = subject;
	else
		ring_full(kind, tid, now_ns);
	return header;
}

/* The collector polls: a wake-up per record would be paid by the job. */
static __always_inline void emit_submit(void *record)
{
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void emit_range_end(__u32 tid, __u64 now_ns, __u64 object)
{
	struct wire_range_end *record =
		emit_reserve(sizeof(*record), WIRE_RANGE_END, 0, tid, now_ns);

	if (!record)
		return;
	record->object = object;
	emit_submit(record);
}

static __always_inline void emit_wake(__u32 tid, __u64 now_ns)
{
	struct wire_header *record = emit_try(sizeof(*record), WIRE_WAKE, tid, now_ns);

	if (record) /* a full ring has a collector that is awake */
		bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

/* Reserved only: the caller fills in the name and submits. NULL: counted. */
static __always_inline struct wire_range_begin *emit_range_reserve(__u32 tid, __u64 now_ns,
								   __u64 object, __u8 range)
{
	struct wire_range_begin *record =
		emit_reserve(sizeof(*record), WIRE_RANGE_BEGIN, 0, tid, now_ns);

	if (!record)
		return NULL;
	record->object = object;
	record->name_size = 0;
	record->range = range;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	return record;
}

#endif /* EMIT_BPF_H */
