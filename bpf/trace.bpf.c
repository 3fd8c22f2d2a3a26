/*
 * trace.bpf.c - the programs. One program serves every probed site: the attach cookie says what a
 * hit means, so that all the sites of a library hang on one link and go away with it at once. Only
 * entries and chosen instructions are probed, never return addresses: a return probe on C++ code
 * kills the job at the first exception.
 */
#include "maps.bpf.h"
#include "filter.bpf.h"
#include "calls.bpf.h"
#include "capture.bpf.h"
#include "modules.bpf.h"
#include "shapes.bpf.h"

/* Operators, nodes, memory: what comes most often first. */
static __always_inline bool on_call_probe(struct pt_regs *ctx, __u64 cookie, __u32 tid,
					  __u64 now_ns)
{
	__u32 kind = cookie & 0xff, subject = cookie >> 32;

	switch (kind) {
	case PROBE_OP_BEGIN:
		on_op(ctx, tid, now_ns, WIRE_OP_BEGIN, subject);
		return true;
	case PROBE_OP_END:
		on_op(ctx, tid, now_ns, WIRE_OP_END, subject);
		return true;
	case PROBE_OP_SHAPES:
		on_op_shapes(ctx, tid, now_ns, subject);
		return true;
	case PROBE_NODE_BEGIN:
		on_node_begin(ctx, tid, now_ns);
		return true;
	case PROBE_APPLY_BEGIN:
		on_apply_begin(ctx, tid, now_ns);
		return true;
	case PROBE_BOXED_BEGIN:
		on_boxed(ctx, tid, now_ns, ARGUMENT_1(ctx));
		return true;
	case PROBE_BOXED_VECTOR:
		on_boxed(ctx, tid, now_ns, read_word(ARGUMENT_1(ctx)));
		return true;
	case PROBE_SEQUENCE:
		on_sequence(ctx, tid, now_ns);
		return true;
	case PROBE_PYTHON_CALL:
		if (config.watches_modules)
			on_python_call(ctx, tid, now_ns);
		return true;
	default:
		return on_memory(ctx, tid, now_ns, kind);
	}
}

static __always_inline void on_range_probe(struct pt_regs *ctx, __u32 kind, __u32 tid, __u64 now_ns)
{
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
	case PROBE_REGION_EXIT:
		on_range_end(ctx, tid, now_ns);
		break;
	case PROBE_GUARD_END:
		on_guard_end(ctx, tid, now_ns);
		break;
	case PROBE_REGION_CSTRING:
		on_region_cstring(ctx, tid, now_ns);
		break;
	case PROBE_REGION_VIEW:
		on_region_view(ctx, tid, now_ns);
		break;
	}
}

static __always_inline void on_attempt_probe(struct pt_regs *ctx, __u32 kind, __u32 tid,
					     __u64 now_ns)
{
	switch (kind) {
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
}

static __always_inline int dispatch(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx), now_ns;
	__u32 kind = cookie & 0xff, tid = 0;

	if (kind == PROBE_COST) { /* hit by a child of the collector, not by the job */
		on_cost(ctx);
		return 0;
	}
	/* Sites come one after the other: of half of them an attempt would be counted twice. */
	if (!*(volatile __u32 *)&armed || *(volatile __u32 *)&stopped || is_irrelevant(ctx, kind))
		return 0;
	now_ns = bpf_ktime_get_ns();
	if (!filter_thread(&tid))
		return 0;
	if (may_end_modules(kind))
		modules_look(tid, now_ns);
	if (on_call_probe(ctx, cookie, tid, now_ns))
		return 0;
	on_range_probe(ctx, kind, tid, now_ns);
	on_attempt_probe(ctx, kind, tid, now_ns);
	return 0;
}

SEC("uprobe.multi")
int on_probe_multi(struct pt_regs *ctx)
{
	return dispatch(ctx);
}

/* Finds out how the kernel filters: small, so that it costs next to nothing to have it verified. */
SEC("uprobe.multi")
int on_check(struct pt_regs *ctx)
{
	(void)ctx;
	__sync_fetch_and_add(&check_hits, 1);
	return 0;
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
