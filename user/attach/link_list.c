/* link_list.c - see link_list.h. */
#include "attach/link_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/link_child.h"

int link_list_add(struct link_list *list, int fd)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 8;
		int *grown = realloc(list->fds, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->fds = grown;
		list->capacity = capacity;
	}
	list->fds[list->count++] = fd;
	return 0;
}

void link_list_clear(struct link_list *list)
{
	link_child_detach(list->fds, list->count);
	free(list->fds);
	memset(list, 0, sizeof(*list));
}
