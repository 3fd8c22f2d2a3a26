/* single_link.h - a probe of one instruction: what kernels without uprobe_multi (before 6.6) have.
 */
#ifndef ATTACH_SINGLE_LINK_H
#define ATTACH_SINGLE_LINK_H

#include <stdint.h>
#include <sys/types.h>

struct single_site {
	int program_fd;
	pid_t pid; /* the process, with all of its threads */
	const char *path;
	uint64_t file_offset;
	uint64_t cookie;
};

/*
 * The file descriptor of a link, which alone holds the probe: the caller's; or a negative errno.
 */
int single_link_make(const struct single_site *site);

#endif /* ATTACH_SINGLE_LINK_H */
