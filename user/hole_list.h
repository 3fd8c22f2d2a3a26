/* hole_list.h - when something was lost, for the summary: holes that follow each other closely are
 * one. */
#ifndef HOLE_LIST_H
#define HOLE_LIST_H

#include "model/event.h"
#include "model/summary.h"

/* Zeroes are an empty list. */
struct hole_list {
	struct hole *holes;
	size_t count;
};

/* A WIRE_HOLE event. Beyond a bound the last hole reaches over what follows. -ENOMEM. */
int hole_list_add(struct hole_list *list, const struct event *event);
void hole_list_free(struct hole_list *list);

/* Those that lie in the time of the summary's windows, wholly or in part. */
void hole_list_summarize(struct hole_list *list, struct summary *summary);

#endif /* HOLE_LIST_H */
