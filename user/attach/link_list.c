/*
 * link_list.c - see link_list.h. Room is made before a link is: where there is none, nothing is to
 * be undone. To close links takes no memory.
 */
#include "attach/link_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

static int make_room(struct link_list *list, size_t more)
{
	size_t capacity = list->capacity;
	int err = ARRAY_RESERVE(list->fds, capacity, list->count + more);

	return err ? err : ARRAY_RESERVE(list->groups, list->capacity, list->count + more);
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
