/* describe.h - --describe: what would be done to the job. */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "options.h"

int describe_plan(const struct options *options, const struct target *target,
		  const struct probe_plan *plan);

#endif /* DESCRIBE_H */
