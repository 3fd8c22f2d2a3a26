/*
 * activity_state.c - see activity_state.h. Only the first reason is given, the one that explains
 * most: what was not asked for, what was too dear, what this build does not have.
 */
#include "output/activity_state.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"

#define ON "on"
#define DEGRADED "degraded"
#define OFF "off"

static bool is_asked_for(const struct summary *summary, unsigned int activity)
{
	unsigned int activities = summary->session->plan.activities;

	/* Ranges are what a capture without a list is of. */
	return activities & activity || (activity == ACTIVITY_RANGES && !activities);
}

/* Left out because the kernel cannot attach so many probes at once. */
static bool is_unsupported(const struct summary *summary, unsigned int activity)
{
	return activity != ACTIVITY_RANGES &&
	       summary->session->plan.activities & ACTIVITY_UNSUPPORTED;
}

/* 0 for an activity that is switched operator by operator. */
static uint32_t subject_of(unsigned int activity)
{
	switch (activity) {
	case ACTIVITY_RANGES:
		return MODE_SUBJECT_RANGES;
	case ACTIVITY_AUTOGRAD:
		return MODE_SUBJECT_NODES;
	case ACTIVITY_MEMORY:
		return MODE_SUBJECT_MEMORY;
	case ACTIVITY_MODULES:
		return MODE_SUBJECT_MODULES;
	default:
		return 0;
	}
}

static bool is_off(const struct summary *summary, uint32_t subject)
{
	const struct mode_row *mode = subject ? summary_mode(summary, subject) : NULL;

	return mode && mode->mode == MODE_OFF;
}

static bool is_missing(const struct summary *summary, unsigned int activity)
{
	size_t i;

	for (i = 0; i < summary->probe_count; i++) {
		const struct wire_probe *probe = &summary->probes[i];
		unsigned int of = probe->activity ? probe->activity : ACTIVITY_RANGES;

		if (of == activity && !probe->found && !probe->optional)
			return true;
	}
	return false;
}

uint64_t activity_state_operators_off(const struct summary *summary)
{
	uint64_t count = 0;
	size_t i;

	for (i = 0; i < summary->mode_count; i++) {
		const struct mode_row *mode = &summary->modes[i];

		count += mode->subject < MODE_SUBJECT_NODES && mode->mode == MODE_OFF &&
			 summary_mode(summary, mode->subject) == mode;
	}
	return count;
}

/* Memory costs too much for what nobody named also where it would be within the bound. */
static void say_cost(const struct summary *summary, uint32_t subject, struct activity_state *state)
{
	const struct wire_cost *bound = &summary->cost;
	uint64_t cost_ns = summary_mode(summary, subject)->cost_exact_ns;
	bool is_memory = subject == MODE_SUBJECT_MEMORY;
	char cost[32], raise[64] = "";

	text_duration(cost, sizeof(cost), (int64_t)cost_ns);
	if (!is_memory ||
	    (double)cost_ns * 1000 > (double)bound->attempt_ns * bound->bound_permille)
		snprintf(raise, sizeof(raise), "raise --max-overhead (%.1f%%)",
			 (double)bound->bound_permille / 10);
	snprintf(state->reason, sizeof(state->reason),
		 "left out for its cost, it would add %s to each attempt: %s%s%s", cost,
		 is_memory ? "name it in --activities" : "", is_memory && raise[0] ? ", and " : "",
		 raise);
}

/* What is seen of operators and of nodes may be a part. */
static void find_gaps(const struct summary *summary, unsigned int activity,
		      struct activity_state *state)
{
	uint64_t operators_off = activity_state_operators_off(summary);
	const char *reason = NULL;

	if (is_missing(summary, activity))
		reason = "probe points are missing in this build: plan.probe_sites says which";
	else if (activity == ACTIVITY_AUTOGRAD && is_off(summary, MODE_SUBJECT_SEQUENCES))
		reason = "no arrows from forward to backward: sequence numbers were left out for "
			 "--max-overhead";
	if (reason)
		snprintf(state->reason, sizeof(state->reason), "%s", reason);
	else if (activity == ACTIVITY_OPERATORS && operators_off)
		snprintf(state->reason, sizeof(state->reason),
			 "%" PRIu64 " operator%s not recorded: timing.modes", operators_off,
			 operators_off == 1 ? " is" : "s are");
	state->state = state->reason[0] ? DEGRADED : ON;
}

void activity_state_of(const struct summary *summary, unsigned int activity,
		       struct activity_state *state)
{
	uint32_t subject = subject_of(activity);
	const char *reason = NULL;

	*state = (struct activity_state){ .state = OFF };
	if (!is_asked_for(summary, activity))
		reason = is_unsupported(summary, activity)
				 ? "not possible on this kernel: uprobe_multi with a filter by "
				   "process is missing"
				 : "not asked for";
	else if (is_off(summary, subject))
		say_cost(summary, subject, state);
	else if (summary->state == WINDOW_PENDING)
		state->state = ON; /* what comes of it is not known yet */
	else if (activity == ACTIVITY_OPERATORS && !summary->operators_found)
		reason = "no operator of this build can be probed";
	else if (activity == ACTIVITY_SHAPES && !summary->has_shapes)
		reason = "no call of the window was recorded with its shapes";
	else if (activity == ACTIVITY_MODULES && is_missing(summary, activity))
		reason = "this job's Python is not CPython 3.11 to 3.13, or has no symbol for it";
	else if (activity == ACTIVITY_MODULES && !summary->module_calls)
		reason = "no module was called in the window";
	else
		find_gaps(summary, activity, state);
	if (reason)
		snprintf(state->reason, sizeof(state->reason), "%s", reason);
}
