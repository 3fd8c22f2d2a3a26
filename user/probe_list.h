/* probe_list.h - the rows of the probe plan as the stream tells them, for the summary. */
#ifndef PROBE_LIST_H
#define PROBE_LIST_H

#include "model/event.h"
#include "model/summary.h"

/* Zeroes are an empty list. */
struct probe_list {
	struct wire_probe *probes;
	size_t count, capacity;
};

/* A WIRE_PROBE event; the summary has it from then on. What comes beyond a bound is left out.
 * -ENOMEM. */
int probe_list_add(struct probe_list *list, const struct event *event, struct summary *summary);
void probe_list_free(struct probe_list *list);

#endif /* PROBE_LIST_H */
