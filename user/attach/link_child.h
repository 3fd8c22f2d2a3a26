/*
 * link_child.h - makes and closes links of many uprobes in a child process, out of reach of who
 * kills us: the kernel takes no breakpoint out of a target for a task that has SIGKILL pending, so
 * one killed while it removes uprobes (or while making a link that fails) leaves them in for good.
 * A process that exits has nothing pending any more: the links it holds then come off whole.
 */
#ifndef ATTACH_LINK_CHILD_H
#define ATTACH_LINK_CHILD_H

#include <stddef.h>

/*
 * Runs make in a child, on its copy of our memory: it returns the file descriptor of a link or a
 * negative errno, as does this. The caller owns the descriptor. -EIO: the child died; -ETIMEDOUT:
 * it took more than 30 s. Without a child (no process to be had) make runs here.
 */
int link_child_attach(int (*make)(void *context), void *context);

/*
 * Closes the links, all of which must be held by us alone; returns when they are gone, at the
 * latest after 30 s. The array is the caller's, its order and content may change.
 */
void link_child_detach(int *fds, size_t count);

#endif /* ATTACH_LINK_CHILD_H */
