/* site_list.h - the sites of one link: offsets in a file and what a hit of each means. */
#ifndef ATTACH_SITE_LIST_H
#define ATTACH_SITE_LIST_H

#include "attach/probe.h"

/* As libbpf wants them. Zeroes are an empty list. */
struct site_list {
	unsigned long *offsets;
	__u64 *cookies;
	size_t count, capacity;
};

int site_list_add(struct site_list *list, uint64_t file_offset, uint64_t cookie);
void site_list_free(struct site_list *list);

/* Adds the sites of a library that belong to a group, as the modes say. */
int site_list_collect(struct site_list *list, const struct probe_plan *plan,
		      const struct probe_modes *modes, enum probe_group group,
		      enum library_role role);

#endif /* ATTACH_SITE_LIST_H */
