/* cuda_plan.c - see cuda_plan.h. */
#include "attach/cuda_plan.h"

#include <errno.h>
#include <string.h>

#include "attach/cuda_calls.h"
#include "base/log.h"

static const struct {
	enum library_role role;
	enum wire_call_domain domain;
} watched[] = {
	{ LIBRARY_CUDART, CALL_RUNTIME },
	{ LIBRARY_CUDART_OTHER, CALL_RUNTIME },
	{ LIBRARY_CUDA, CALL_DRIVER },
};

#define WATCHED_CNT (sizeof(watched) / sizeof(watched[0]))

bool cuda_plan_is_of_use(const struct target *target)
{
	size_t i;

	for (i = 0; i < WATCHED_CNT; i++) {
		const struct target_library *library = &target->libraries[watched[i].role];

		if (library->fd >= 0 || library->err)
			return true;
	}
	return false;
}

static void add_gap(struct cuda_gaps *gaps, enum library_role role, const char *point,
		    const char *cost)
{
	if (gaps->count < CUDA_GAPS_MAX)
		gaps->gaps[gaps->count++] = (struct cuda_gap){ point, cost, role };
}

/* Nothing of the runtime is watched: why? */
static void explain_runtime(const struct target *target, struct cuda_gaps *gaps)
{
	const struct target_library *torch = &target->libraries[LIBRARY_TORCH_CUDA];

	if (target->libraries[LIBRARY_CUDART].err)
		add_gap(gaps, LIBRARY_CUDART, "libcudart that can be opened",
			"calls of the CUDA runtime");
	else if (torch->fd >= 0 && cuda_calls_has_runtime(torch->fd))
		add_gap(gaps, LIBRARY_TORCH_CUDA, "shared libcudart",
			"calls of the CUDA runtime, which is linked statically into "
			"libtorch_cuda.so");
	else
		add_gap(gaps, LIBRARY_CUDART, "shared libcudart",
			"calls of the CUDA runtime, which is linked statically where it is used");
}

static void explain_library(const struct target *target, enum library_role role, int err,
			    struct cuda_gaps *gaps)
{
	log_warn("%s: its calls are not recorded: %s", target->libraries[role].path,
		 strerror(-err));
	add_gap(gaps, role, "readable library of CUDA",
		role == LIBRARY_CUDA ? "calls of the CUDA driver" : "calls of the CUDA runtime");
}

/* Gaps are told once for all libraries. */
static int add_library(struct operator_table *table, const struct target *target, size_t which,
		       struct cuda_gaps *gaps, size_t *left_out)
{
	enum library_role role = watched[which].role;
	const struct cuda_library library = {
		.fd = target->libraries[role].fd,
		.role = role,
		.domain = watched[which].domain,
	};
	size_t without_site = 0;
	int err = library.fd < 0 ? target->libraries[role].err : 0;

	if (!err && library.fd >= 0)
		err = cuda_calls_add(table, &library, &without_site);
	*left_out += without_site;
	if (!err || err == -ENOMEM)
		return err;
	if (role != LIBRARY_CUDART || library.fd >= 0)
		explain_library(target, role, err, gaps);
	return 0;
}

int cuda_plan_add(struct operator_table *table, const struct target *target, struct cuda_gaps *gaps)
{
	size_t left_out = 0, i;
	int err = 0;

	*gaps = (struct cuda_gaps){ .count = 0 };
	for (i = 0; i < WATCHED_CNT && !err; i++)
		err = add_library(table, target, i, gaps, &left_out);
	if (err)
		return err;
	if (target->libraries[LIBRARY_CUDART].fd < 0)
		explain_runtime(target, gaps);
	if (left_out)
		add_gap(gaps, LIBRARY_CUDART, "place for a probe at every end",
			"calls of some functions of CUDA");
	return 0;
}
