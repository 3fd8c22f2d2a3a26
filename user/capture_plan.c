/* capture_plan.c - see capture_plan.h. */
#include "capture_plan.h"

#include "base/log.h"
#include "device_watch.h"

int capture_plan_make(struct probe_plan *plan, const struct options *options,
		      const struct target *target)
{
	unsigned int activities = options->activities;
	int err;

	if (options->gpu != GPU_OFF)
		activities |= ACTIVITY_CUDA_CALLS;
	err = probe_plan_make(plan, target, &options->step, activities);
	plan->calls_in_reserve =
		!err && plan->activities & ACTIVITY_CUDA_CALLS && device_watch_finds_agent(target);
	return err;
}

#define CALLS_ACTIVITIES                                                              \
	(ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY | ACTIVITY_SHAPES | \
	 ACTIVITY_MODULES)
#define NEEDS \
	"that needs uprobe_multi with a filter by process (Linux 6.10), or a job of few threads"

static bool take_out(struct probe_plan *plan, unsigned int activities, unsigned int instead)
{
	if (!(plan->activities & activities))
		return false;
	plan->activities = (plan->activities & ~activities) | instead;
	return true;
}

/* One by one, thousands of sites would take minutes to come off again. */
void capture_plan_check(struct probe_plan *plan, const struct probes *probes)
{
	if (probes_calls_supported(probes))
		return;
	if (take_out(plan, CALLS_ACTIVITIES, ACTIVITY_UNSUPPORTED))
		log_warn("operators, autograd and memory are not recorded: " NEEDS);
	if (take_out(plan, ACTIVITY_CUDA_CALLS, ACTIVITY_CUDA_CALLS_UNSUPPORTED) &&
	    !plan->calls_in_reserve)
		log_warn("calls of CUDA are not recorded: " NEEDS);
}

enum wire_attach capture_plan_attached(const struct probes *probes)
{
	switch (probes_mode(probes)) {
	case ATTACH_MULTI:
		return ATTACHED_IN_BULK;
	case ATTACH_THREADS:
		return ATTACHED_BY_THREAD;
	case ATTACH_SINGLE:
		return ATTACHED_ONE_BY_ONE;
	default:
		return ATTACHED_UNKNOWN;
	}
}
