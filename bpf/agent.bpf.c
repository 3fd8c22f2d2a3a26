// SPDX-License-Identifier: (MIT OR GPL-2.0-only)
/*
 * agent.bpf.c - takes the batches that the agent in the job hands over (agent_wire.h). Loaded only
 * where a job has an agent, apart from trace.bpf.c, which is the dearer one in hits and has no need
 * to know of batches.
 */
#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "agent_wire.h"
#include "wire.h"

#define AGENT_RING_BYTES (8 * 1024 * 1024)

struct agent_record_room {
	struct wire_header header;
	__u8 batch[AGENT_BATCH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, AGENT_RING_BYTES);
} agent_ring SEC(".maps");

/*
 * Batches come from one thread of the agent, one after the other. A job that calls the function
 * from many threads mixes up its own batches.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct agent_record_room);
} agent_room SEC(".maps");

__u64 agent_lost;    /* batches that found no room, or could not be read */
__u64 agent_batches; /* that came */

SEC("uprobe")
int on_agent_batch(struct pt_regs *ctx)
{
	const void *batch = (const void *)PT_REGS_PARM1(ctx);
	__u64 size_bytes = PT_REGS_PARM2(ctx);
	struct agent_record_room *room;
	__u32 zero = 0;

	room = bpf_map_lookup_elem(&agent_room, &zero);
	if (!room)
		return 0;
	__sync_fetch_and_add(&agent_batches, 1);
	if (size_bytes < sizeof(struct agent_batch) || size_bytes > AGENT_BATCH_BYTES ||
	    bpf_probe_read_user(room->batch, size_bytes, batch)) {
		__sync_fetch_and_add(&agent_lost, 1);
		return 0;
	}
	room->header = (struct wire_header){
		.size = sizeof(room->header) + size_bytes,
		.kind = WIRE_AGENT,
		.time_ns = bpf_ktime_get_ns(),
	};
	if (bpf_ringbuf_output(&agent_ring, room, sizeof(room->header) + size_bytes, 0))
		__sync_fetch_and_add(&agent_lost, 1);
	return 0;
}

/* Of the notes whose semaphore alone matters. */
SEC("uprobe")
int on_agent_nothing(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
