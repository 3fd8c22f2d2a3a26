/* mode_list.h - the modes that were decided, by subject, for the summary. */
#ifndef MODE_LIST_H
#define MODE_LIST_H

#include "analyze/symbols.h"
#include "model/event.h"
#include "model/summary.h"

/* Zeroes are an empty list. */
struct mode_list {
	struct mode_row *rows;
	size_t count;
};

/* A WIRE_MODE event. Beyond a bound it is ignored. -ENOMEM. */
int mode_list_add(struct mode_list *list, const struct event *event);
void mode_list_free(struct mode_list *list);

/* Names the rows and puts them into the summary. */
void mode_list_summarize(struct mode_list *list, const struct symbols *symbols,
			 struct summary *summary);

#endif /* MODE_LIST_H */
