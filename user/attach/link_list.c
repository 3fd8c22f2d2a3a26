/*
 * link_list.c - see link_list.h. Room is made before a link is: where there is none, nothing is to
 * be undone. To close links takes no memory.
 */
#include "attach/link_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int make_room(struct link_list *list, size_t more)
{
	size_t capacity = list->capacity ? list->capacity : 8;
	unsigned int *groups;
	int *fds;

	while (capacity < list->count + more)
		capacity *= 2;
	if (capacity == list->capacity)
		return 0;
	fds = realloc(list->fds, capacity * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	list->fds = fds;
	groups = realloc(list->groups, capacity * sizeof(*groups));
	if (!groups)
		return -ENOMEM;
	list->groups = groups;
	list->capacity = capacity;
	return 0;
}

int link_list_make(struct link_list *list, const struct link_maker *maker,
		   const unsigned int *groups)
{
	int err = make_room(list, maker->count);

	if (!err)
		err = link_child_attach(maker, list->fds + list->count);
	if (err || !maker->count)
		return err;
	memcpy(list->groups + list->count, groups, maker->count * sizeof(*groups));
	list->count += maker->count;
	return 0;
}

static void swap(struct link_list *list, size_t left, size_t right)
{
	unsigned int group = list->groups[left];
	int fd = list->fds[left];

	list->fds[left] = list->fds[right];
	list->groups[left] = list->groups[right];
	list->fds[right] = fd;
	list->groups[right] = group;
}

void link_list_close(struct link_list *list, unsigned int group_set)
{
	size_t kept = 0, count = list->count, i;

	for (i = 0; i < count; i++) {
		if (!(group_set & 1U << list->groups[i]))
			swap(list, kept++, i);
	}
	list->count = kept;
	link_child_detach(list->fds + kept, count - kept);
}

void link_list_free(struct link_list *list)
{
	free(list->fds);
	free(list->groups);
	memset(list, 0, sizeof(*list));
}
