/*
 * cuda_calls.h - the functions of a libcudart or libcuda that are watched where no agent reports
 * them: entries behind the operators of a table, each with its beginning and all of its ends.
 */
#ifndef ATTACH_CUDA_CALLS_H
#define ATTACH_CUDA_CALLS_H

#include <stddef.h>

#include "attach/operator_table.h"

#define CUDA_CALLS_MAX 2048 /* of a library; a libcudart has 450 */

struct cuda_library {
	int fd; /* stays the caller's */
	enum library_role role;
	enum wire_call_domain domain;
};

/*
 * Adds what of the library is shown and can be probed exactly. *left_out: how many functions
 * cannot, as their beginning or an end has no place. -ENOEXEC: no library; -EIO; -ENOMEM; -ENOSPC.
 */
int cuda_calls_add(struct operator_table *table, const struct cuda_library *library,
		   size_t *left_out);

/* Is the runtime linked into this library: does it have a launch of its own? */
bool cuda_calls_has_runtime(int fd);

#endif /* ATTACH_CUDA_CALLS_H */
