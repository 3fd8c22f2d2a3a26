/*
 * under_valgrind.c - what a tpbpf that runs under valgrind cannot find out itself, linked into the
 * program that `make e2e-valgrind` uses by the linker's --wrap.
 *
 * The program learns how the kernel filters, and what a hit costs, from a child that runs its own
 * code; valgrind runs a translation of that code, and no probe in it is ever hit. The filter is the
 * one of Linux 6.10 and later, the costs are those of a machine that could not be measured.
 */
#include <errno.h>
#include <string.h>

#include "attach/kernel_check.h"
#include "attach/site_cost.h"

/* The linker gives them their names. */
int __wrap_kernel_check_filter(const struct kernel_check_ops *ops, enum kernel_filter *filter);
int __wrap_site_cost_measure(const struct site_cost_ops *ops, uint64_t hit_ns[PROBE_SITE_KIND_CNT]);

int __wrap_kernel_check_filter(const struct kernel_check_ops *ops, enum kernel_filter *filter)
{
	(void)ops;
	*filter = KERNEL_FILTERS_PROCESS;
	return 0;
}

int __wrap_site_cost_measure(const struct site_cost_ops *ops, uint64_t hit_ns[PROBE_SITE_KIND_CNT])
{
	(void)ops;
	memset(hit_ns, 0, PROBE_SITE_KIND_CNT * sizeof(*hit_ns));
	return -EOPNOTSUPP;
}
