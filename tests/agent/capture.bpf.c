/* capture.bpf.c - the collector's side of the agent's probes, as small as it can be. */
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "agent_wire.h"

char LICENSE[] SEC("license") = "GPL";

struct captured {
	__u32 size;
	__u32 reserved;
	char bytes[AGENT_BATCH_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 32 * 1024 * 1024);
} batches SEC(".maps");

__u64 lost, unreadable;

SEC("uprobe.s")
int on_batch(struct pt_regs *ctx)
{
	const void *from = (const void *)PT_REGS_PARM1(ctx);
	__u64 size = PT_REGS_PARM2(ctx);
	struct captured *captured;

	if (size > AGENT_BATCH_BYTES) {
		__sync_fetch_and_add(&unreadable, 1);
		return 0;
	}
	captured = bpf_ringbuf_reserve(&batches, sizeof(*captured), 0);
	if (!captured) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	captured->size = size;
	if (bpf_copy_from_user(captured->bytes, size, from)) {
		__sync_fetch_and_add(&unreadable, 1);
		bpf_ringbuf_discard(captured, 0);
		return 0;
	}
	bpf_ringbuf_submit(captured, 0);
	return 0;
}

/* To be attached is all that is asked of it. */
SEC("uprobe")
int on_switch(struct pt_regs *ctx)
{
	(void)ctx;
	return 0;
}
