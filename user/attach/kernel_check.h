/*
 * kernel_check.h - finds out by trying, not by version, whether a process filter of this kernel's
 * uprobe_multi means the process or, as before commit 46ba0e49b642 (6.10, in some stable kernels),
 * only the thread of that number.
 */
#ifndef ATTACH_KERNEL_CHECK_H
#define ATTACH_KERNEL_CHECK_H

#include <stdint.h>
#include <sys/types.h>

/* What the check needs of the programs; context is handed through. */
struct kernel_check_ops {
	/* Probes one instruction of path for one process. 0 or a negative errno. */
	int (*attach)(void *context, pid_t pid, const char *path, uint64_t file_offset);
	uint32_t (*hits)(void *context);
	void (*detach)(void *context);
	void *context;
};

enum kernel_filter {
	KERNEL_FILTERS_PROCESS,
	KERNEL_FILTERS_THREAD,
	KERNEL_NO_MULTI, /* cannot attach in bulk */
};

/*
 * Runs a child whose second thread and main thread each call a function once, with a probe on it.
 * 0, or a negative errno when the child could not be run; -EPERM when attaching is not permitted.
 */
int kernel_check_filter(const struct kernel_check_ops *ops, enum kernel_filter *filter);

#endif /* ATTACH_KERNEL_CHECK_H */
