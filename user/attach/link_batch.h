/* link_batch.h - links that are wanted, to be made together. */
#ifndef ATTACH_LINK_BATCH_H
#define ATTACH_LINK_BATCH_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/link_list.h"
#include "attach/site_list.h"

struct wanted_link {
	int program_fd;
	pid_t pid;	/* the process; where the kernel filters by thread, the thread */
	int library_fd; /* the file that the job has mapped, whatever its path means by now */
	bool is_single; /* a perf event for its one site */
	struct site_list sites;
};

/* Zeroes are an empty batch. */
struct link_batch {
	struct wanted_link *links;
	unsigned int *groups; /* of each */
	size_t count, capacity;
};

/* The batch owns the sites from now on; on -ENOMEM the caller still does. */
int link_batch_add(struct link_batch *batch, unsigned int group, const struct wanted_link *wanted);

/* Adds all of the links to the list, or none. */
int link_batch_make(const struct link_batch *batch, struct link_list *list);

void link_batch_free(struct link_batch *batch);

#endif /* ATTACH_LINK_BATCH_H */
