/* thread_list.c - see thread_list.h. */
#include "thread_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bound.h"
#include "base/hashmap.h"
#include "base/name_table.h"

#define THREADS_MAX BOUND(20000, 4)

struct thread_list {
	struct name_table *labels;
	struct hashmap *seen;
	struct thread_name *names;
};

int thread_list_new(struct thread_list **out)
{
	struct thread_list *list = calloc(1, sizeof(*list));
	int err;

	if (!list)
		return -ENOMEM;
	err = name_table_new(&list->labels, THREADS_MAX);
	if (!err)
		err = hashmap_new(&list->seen);
	if (err) {
		thread_list_free(list);
		return err;
	}
	*out = list;
	return 0;
}

void thread_list_free(struct thread_list *list)
{
	if (!list)
		return;
	hashmap_free(list->seen);
	name_table_free(list->labels);
	free(list->names);
	free(list);
}

int thread_list_add(struct thread_list *list, const struct event *event, struct summary *summary)
{
	struct thread_name *grown;
	const char *name;

	if (summary->thread_count >= THREADS_MAX || hashmap_get(list->seen, event->header->tid))
		return 0;
	name = name_table_add(list->labels, event->thread->name, sizeof(event->thread->name));
	grown = realloc(list->names, (summary->thread_count + 1) * sizeof(*grown));
	if (grown)
		list->names = grown;
	if (!name || !grown)
		return -ENOMEM;
	grown[summary->thread_count++] = (struct thread_name){ event->header->tid, name };
	summary->threads = grown;
	return hashmap_put(list->seen, event->header->tid, list, NULL);
}
