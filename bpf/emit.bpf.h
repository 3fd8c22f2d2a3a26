/* emit.bpf.h - the one place that reserves ring space and counts what did not fit. */
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
	header->reserved = 0;
	header->time_ns = now_ns;
}

static __always_inline void emit_range_end(__u32 tid, __u64 now_ns, __u64 object)
{
	struct wire_range_end *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		loss_count(LOSS_RING_FULL);
		return;
	}
	header_fill(&record->header, sizeof(*record), WIRE_RANGE_END, tid, now_ns);
	record->object = object;
	/* The collector polls: a wake-up per record would be paid by the job. */
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void emit_wake(__u32 tid, __u64 now_ns)
{
	struct wire_header *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) /* a full ring has a collector that is awake */
		return;
	header_fill(record, sizeof(*record), WIRE_WAKE, tid, now_ns);
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

/* Reserved only: the caller fills in the name and submits. NULL: counted. */
static __always_inline struct wire_range_begin *emit_range_reserve(__u32 tid, __u64 now_ns,
								   __u64 object, __u8 range)
{
	struct wire_range_begin *record = bpf_ringbuf_reserve(&events, sizeof(*record), 0);

	if (!record) {
		loss_count(LOSS_RING_FULL);
		return NULL;
	}
	header_fill(&record->header, sizeof(*record), WIRE_RANGE_BEGIN, tid, now_ns);
	record->object = object;
	record->name_size = 0;
	record->range = range;
	__builtin_memset(record->reserved, 0, sizeof(record->reserved));
	return record;
}

#endif /* EMIT_BPF_H */
