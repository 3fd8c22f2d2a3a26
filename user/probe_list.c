/* probe_list.c - see probe_list.h. */
#include "probe_list.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/bound.h"

#define PROBES_MAX BOUND(20000, 4)

int probe_list_add(struct probe_list *list, const struct event *event, struct summary *summary)
{
	int err;

	if (list->count >= PROBES_MAX)
		return 0;
	err = ARRAY_RESERVE(list->probes, list->capacity, list->count + 1);
	if (err)
		return err;
	list->probes[list->count++] = *event->probe;
	summary->probes = list->probes;
	summary->probe_count = list->count;
	return 0;
}

void probe_list_free(struct probe_list *list)
{
	free(list->probes);
	*list = (struct probe_list){ 0 };
}
