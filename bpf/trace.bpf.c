/*
 * trace.bpf.c - the programs. One program serves every probed site: the attach cookie says what a
 * hit means, so that all the sites of a library hang on one link and go away with it at once. Only
 * entries and chosen instructions are probed, never return addresses: a return probe on C++ code
 * kills the job at the first exception.
 */
#include "maps.bpf.h"
#include "filter.bpf.h"
#include "capture.bpf.h"

static __always_inline int dispatch(struct pt_regs *ctx)
{
	__u32 kind = bpf_get_attach_cookie(ctx) & 0xff;
	__u64 now_ns;
	__u32 tid = 0;

	if (kind == PROBE_CHECK) { /* hit by a child of the collector, not by the job */
		__sync_fetch_and_add(&check_hits, 1);
		return 0;
	}
	if (*(volatile __u32 *)&stopped || is_irrelevant(ctx, kind))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!filter_thread(&tid))
		return 0;
	switch (kind) {
	case PROBE_RANGE_NAME:
		on_range_name(ctx, tid);
		break;
	case PROBE_RANGE_NAME_RESET:
		on_range_name_reset(tid);
		break;
	case PROBE_RANGE_BEGIN:
		on_range_begin(ctx, tid, now_ns);
		break;
	case PROBE_RANGE_ENTER:
		on_range_enter(ctx, tid, now_ns);
		break;
	case PROBE_RANGE_END:
	case PROBE_RANGE_EXIT:
		on_range_end(ctx, tid, now_ns);
		break;
	case PROBE_REGION_CSTRING:
		on_region_cstring(ctx, tid, now_ns);
		break;
	case PROBE_REGION_VIEW:
		on_region_view(ctx, tid, now_ns);
		break;
	case PROBE_UNSCALE:
		on_unscale();
		break;
	case PROBE_SCALE_UPDATE:
		on_scale_update(ctx, tid, now_ns);
		break;
	case PROBE_FUSED_STEP:
		__sync_fetch_and_add(&fused_calls, 1);
		break;
	case PROBE_STEP_ENTRY:
		attempt_end(tid, now_ns);
		break;
	}
	return 0;
}

SEC("uprobe.multi")
int on_probe_multi(struct pt_regs *ctx)
{
	return dispatch(ctx);
}

/* For kernels without uprobe_multi (before 6.6): one perf event a site. */
SEC("uprobe")
int on_probe_single(struct pt_regs *ctx)
{
	return dispatch(ctx);
}

/*
 * The kernel puts the probes into the new program as well, if it maps the same library: what that
 * does is not this capture's. A raw tracepoint needs no tracefs.
 */
SEC("raw_tp/sched_process_exec")
int on_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = 0;

	(void)ctx;
	if (filter_thread(&tid)) {
		stopped = 1;
		execed = 1;
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
