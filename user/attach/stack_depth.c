/*
 * Part of the decoding of one function: a forward data flow over its graph. It tells a tail call
 * (the stack is as at the entry) from a jump to the function's .cold part (it is not), without
 * symbols, and gives each probe site the constant by which its stack pointer is lower.
 *
 * Invariant: a state goes only from a number to unknown, never back, so each instruction is looked
 * at no more than three times.
 */
#include "attach/stack_depth.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "attach/control_flow.h"

/* No function has a larger frame; keeps the sums far away from overflow. */
#define DEPTH_MAX (1 << 28)

struct depth {
	int32_t sp; /* relative to the entry's: 0 or less, bytes */
	int32_t frame;
	bool sp_known;
	bool frame_known;
	bool reached;
	bool queued;
};

struct tracker {
	struct control_flow *flow;
	struct depth *depths;
	uint32_t *work;
	uint32_t work_cnt;
};

static void add(int32_t base, bool base_known, int32_t value, int32_t *out, bool *known)
{
	int64_t sum = (int64_t)base + value;

	*known = base_known && sum >= -DEPTH_MAX && sum <= DEPTH_MAX;
	*out = *known ? (int32_t)sum : 0;
}

static struct depth after(const struct flow_insn *insn, const struct depth *before)
{
	struct depth result = *before;

	if (insn->stack == STACK_MOVE)
		add(before->sp, before->sp_known, insn->stack_value, &result.sp, &result.sp_known);
	else if (insn->stack == STACK_FROM_FRAME)
		add(before->frame, before->frame_known, insn->stack_value, &result.sp,
		    &result.sp_known);
	else if (insn->stack == STACK_LOST)
		result.sp_known = false;

	if (insn->frame == FRAME_SET)
		add(before->sp, before->sp_known, insn->frame_value, &result.frame,
		    &result.frame_known);
	else if (insn->frame == FRAME_LOST)
		result.frame_known = false;
	return result;
}

static void merge(struct tracker *tracker, uint32_t index, const struct depth *incoming)
{
	struct depth *depth = &tracker->depths[index];
	bool changed = !depth->reached;

	if (!depth->reached) {
		depth->sp = incoming->sp;
		depth->sp_known = incoming->sp_known;
		depth->frame = incoming->frame;
		depth->frame_known = incoming->frame_known;
		depth->reached = true;
	}
	if (depth->sp_known && (!incoming->sp_known || incoming->sp != depth->sp)) {
		depth->sp_known = false;
		changed = true;
	}
	if (depth->frame_known && (!incoming->frame_known || incoming->frame != depth->frame)) {
		depth->frame_known = false;
		changed = true;
	}
	if (changed && !depth->queued) {
		depth->queued = true;
		tracker->work[tracker->work_cnt++] = index;
	}
}

static void run(struct tracker *tracker)
{
	const struct depth entry = { .sp_known = true };
	const struct flow_insn *insn;
	struct depth result;
	uint32_t index;
	size_t i;

	merge(tracker, 0, &entry);
	while (tracker->work_cnt) {
		index = tracker->work[--tracker->work_cnt];
		tracker->depths[index].queued = false;
		insn = &tracker->flow->insns[index];
		result = after(insn, &tracker->depths[index]);
		for (i = 0; i < 2; i++) {
			if (insn->next[i] != CONTROL_FLOW_NONE)
				merge(tracker, insn->next[i], &result);
		}
	}
}

int stack_depth_track(struct control_flow *flow)
{
	struct tracker tracker = { .flow = flow };
	const struct depth *depth;
	int err = -ENOMEM;
	uint32_t i;

	tracker.depths = calloc(flow->cnt, sizeof(*tracker.depths));
	tracker.work = calloc(flow->cnt, sizeof(*tracker.work));
	if (!tracker.depths || !tracker.work)
		goto out;

	run(&tracker);
	for (i = 0; i < flow->cnt; i++) {
		depth = &tracker.depths[i];
		flow->insns[i].sp_below_entry = CONTROL_FLOW_SP_UNKNOWN;
		if (depth->sp_known && depth->sp <= 0)
			flow->insns[i].sp_below_entry = -depth->sp;
	}
	err = 0;
out:
	free(tracker.depths);
	free(tracker.work);
	return err;
}
