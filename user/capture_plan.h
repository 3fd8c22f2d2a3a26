/*
 * capture_plan.h - what a capture of this job would probe, by its options, by what the job has and
 * by what the kernel can do.
 */
#ifndef CAPTURE_PLAN_H
#define CAPTURE_PLAN_H

#include "attach/probe.h"
#include "attach/probe_plan.h"
#include "options.h"

/*
 * See probe_plan_make(). Calls of CUDA's are among it; where the job has an agent to report them,
 * in reserve: never both.
 */
int capture_plan_make(struct probe_plan *plan, const struct options *options,
		      const struct target *target);

/* Takes out of the plan what cannot be attached here, and says so. */
void capture_plan_check(struct probe_plan *plan, const struct probes *probes);

/* How probes are attached here, as the stream says it. */
enum wire_attach capture_plan_attached(const struct probes *probes);

#endif /* CAPTURE_PLAN_H */
