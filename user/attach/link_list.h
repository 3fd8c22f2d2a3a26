/* link_list.h - the links that there are, as file descriptors, each of a group. */
#ifndef ATTACH_LINK_LIST_H
#define ATTACH_LINK_LIST_H

#include <stddef.h>

#include "attach/link_child.h"

/* Zeroes are an empty list. A set of groups is a bit for each: 1 << group. */
struct link_list {
	int *fds;
	unsigned int *groups; /* of each */
	size_t count, capacity;
};

/* Makes the links by link_child_attach and adds them, or none. The groups are those of each. */
int link_list_make(struct link_list *list, const struct link_maker *maker,
		   const unsigned int *groups);

/* Closes the links of these groups together, by link_child_detach. */
void link_list_close(struct link_list *list, unsigned int group_set);

/* For a list that has no links left. */
void link_list_free(struct link_list *list);

#endif /* ATTACH_LINK_LIST_H */
