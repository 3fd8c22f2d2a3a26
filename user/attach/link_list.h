/* link_list.h - the links of a group, as file descriptors. */
#ifndef ATTACH_LINK_LIST_H
#define ATTACH_LINK_LIST_H

#include <stddef.h>

/* Zeroes are an empty list. */
struct link_list {
	int *fds;
	size_t count, capacity;
};

/* The list owns the descriptor from now on; on -ENOMEM the caller still does. */
int link_list_add(struct link_list *list, int fd);

/* Closes all of them, by link_child_detach. */
void link_list_clear(struct link_list *list);

#endif /* ATTACH_LINK_LIST_H */
