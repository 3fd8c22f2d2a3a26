/* multi_link.h - a probe of any number of instructions of one file: uprobe_multi (Linux 6.6). */
#ifndef ATTACH_MULTI_LINK_H
#define ATTACH_MULTI_LINK_H

#include <sys/types.h>

#include "attach/site_list.h"

/* The file descriptor of the link, the caller's, or a negative errno. */
int multi_link_make(int program_fd, pid_t pid, const char *path, const struct site_list *sites);

#endif /* ATTACH_MULTI_LINK_H */
