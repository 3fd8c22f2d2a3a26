/*
 * cuda_plan.h - which libraries of CUDA a job has, and what of their calls can be watched without
 * an agent.
 */
#ifndef ATTACH_CUDA_PLAN_H
#define ATTACH_CUDA_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/operator_table.h"
#include "attach/target.h"

#define CUDA_GAPS_MAX 4

/* Something that is not seen. Texts are constants. */
struct cuda_gap {
	const char *point; /* what is missing */
	const char *cost;  /* what is lost without it */
	enum library_role library;
};

struct cuda_gaps {
	struct cuda_gap gaps[CUDA_GAPS_MAX];
	size_t count;
};

/* Is there anything to be watched, or to be said? */
bool cuda_plan_is_of_use(const struct target *target);

/* Adds the calls of the job's libraries. What cannot be watched is a gap, not an error: -ENOMEM. */
int cuda_plan_add(struct operator_table *table, const struct target *target,
		  struct cuda_gaps *gaps);

#endif /* ATTACH_CUDA_PLAN_H */
