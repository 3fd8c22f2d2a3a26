/*
 * link_child.h - makes and closes links of many uprobes in a child process, out of reach of who
 * kills us: the kernel takes no breakpoint out of a target for a task that has SIGKILL pending, so
 * one killed while it removes uprobes (or while making a link that fails) leaves them in for good.
 * A process that exits has nothing pending any more: the links it holds then come off whole.
 *
 * To fork takes longer than to make or close a link of a few sites, and each that is closed waits
 * for grace periods of the kernel: what is to be made or closed together should be, in one call.
 */
#ifndef ATTACH_LINK_CHILD_H
#define ATTACH_LINK_CHILD_H

#include <stddef.h>

/* make returns the file descriptor of the link of this number, below count, or a negative errno. */
struct link_maker {
	int (*make)(void *context, size_t index);
	void *context;
	size_t count;
};

/*
 * Makes all links, in this order, in a child, on its copy of our memory. 0: fds has a descriptor
 * for each, the caller's; else the error of the first that failed, and there are none. -EIO: the
 * child died; -ETIMEDOUT: it took more than 30 s. Without a child (no process to be had) make runs
 * here.
 */
int link_child_attach(const struct link_maker *maker, int *fds);

/*
 * Closes the links, all of which must be held by us alone, at the same time; returns when they are
 * gone, at the latest after 30 s.
 */
void link_child_detach(const int *fds, size_t count);

#endif /* ATTACH_LINK_CHILD_H */
