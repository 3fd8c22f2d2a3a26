/* hole_list.c - see hole_list.h. */
#include "hole_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bound.h"

#define HOLES_MAX BOUND(1000, 8)
#define CLOSE_NS 1000000ULL

static bool belongs_to(const struct hole_list *list, const struct wire_hole *hole)
{
	const struct hole *last = &list->holes[list->count - 1];

	return list->count >= HOLES_MAX || hole->header.time_ns <= last->last_ns + CLOSE_NS;
}

static void widen(struct hole *hole, const struct wire_hole *by)
{
	if (by->last_ns > hole->last_ns)
		hole->last_ns = by->last_ns;
	if (by->header.time_ns < hole->first_ns)
		hole->first_ns = by->header.time_ns;
	hole->count = by->count > UINT64_MAX - hole->count ? UINT64_MAX : hole->count + by->count;
	hole->kinds |= by->kinds;
	if (hole->tid != by->header.tid)
		hole->tid = 0;
}

int hole_list_add(struct hole_list *list, const struct event *event)
{
	const struct wire_hole *record = event->hole;
	struct hole *grown;

	if (list->count && belongs_to(list, record)) {
		widen(&list->holes[list->count - 1], record);
		return 0;
	}
	grown = realloc(list->holes, (list->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->holes = grown;
	grown[list->count++] = (struct hole){
		.first_ns = record->header.time_ns,
		.last_ns = record->last_ns,
		.count = record->count,
		.kinds = record->kinds,
		.tid = record->header.tid,
	};
	return 0;
}

void hole_list_free(struct hole_list *list)
{
	free(list->holes);
	*list = (struct hole_list){ 0 };
}

void hole_list_summarize(struct hole_list *list, struct summary *summary)
{
	size_t from = 0, to = list->count;

	while (from < to && list->holes[from].last_ns < summary->started_ns)
		from++;
	while (to > from && list->holes[to - 1].first_ns > summary->ended_ns)
		to--;
	summary->holes = list->holes ? list->holes + from : NULL;
	summary->hole_count = summary->started_ns ? to - from : 0;
}
