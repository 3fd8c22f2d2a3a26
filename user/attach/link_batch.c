/* link_batch.c - see link_batch.h. */
#include "attach/link_batch.h"

#include <stdio.h>
#include <stdlib.h>

#include "attach/multi_link.h"
#include "attach/single_link.h"
#include "base/array.h"

int link_batch_add(struct link_batch *batch, unsigned int group, const struct wanted_link *wanted)
{
	size_t capacity = batch->capacity;
	int err = ARRAY_RESERVE(batch->links, capacity, batch->count + 1);

	if (!err)
		err = ARRAY_RESERVE(batch->groups, batch->capacity, batch->count + 1);
	if (err)
		return err;
	batch->links[batch->count] = *wanted;
	batch->groups[batch->count++] = group;
	return 0;
}

static int make_single(const struct wanted_link *wanted, const char *path)
{
	const struct single_site site = {
		.program_fd = wanted->program_fd,
		.pid = wanted->pid,
		.path = path,
		.file_offset = wanted->sites.offsets[0],
		.cookie = wanted->sites.cookies[0],
	};

	return single_link_make(&site);
}

/* In the child, whose descriptors are copies of ours. */
static int make_link(void *context, size_t index)
{
	const struct link_batch *batch = context;
	const struct wanted_link *wanted = &batch->links[index];
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", wanted->library_fd);
	return wanted->is_single
		       ? make_single(wanted, path)
		       : multi_link_make(wanted->program_fd, wanted->pid, path, &wanted->sites);
}

int link_batch_make(const struct link_batch *batch, struct link_list *list)
{
	const struct link_maker maker = { make_link, (void *)batch, batch->count };

	return link_list_make(list, &maker, batch->groups);
}

void link_batch_free(struct link_batch *batch)
{
	size_t i;

	for (i = 0; i < batch->count; i++)
		site_list_free(&batch->links[i].sites);
	free(batch->links);
	free(batch->groups);
	*batch = (struct link_batch){ 0 };
}
