/* thread_list.h - the names of the job's threads, for the summary. */
#ifndef THREAD_LIST_H
#define THREAD_LIST_H

#include "model/event.h"
#include "model/summary.h"

struct thread_list;

int thread_list_new(struct thread_list **out);
void thread_list_free(struct thread_list *list); /* NULL is legal */

/* A WIRE_THREAD event. The first name of a thread stays; beyond a bound it is ignored. -ENOMEM. */
int thread_list_add(struct thread_list *list, const struct event *event, struct summary *summary);

#endif /* THREAD_LIST_H */
