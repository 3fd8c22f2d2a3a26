/* agent_note.c - see agent_note.h. */
#include "attach/agent_note.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "attach/process.h"
#include "attach/usdt_note.h"
#include "base/text.h"

#define AGENT_LIBRARY "libtpbpf-agent"
#define PROVIDER "tpbpf_agent"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

struct agent_search {
	struct agent_image *image;
	pid_t pid;
};

static int on_agent_mapping(void *context, const struct process_mapping *mapping)
{
	const struct agent_search *search = context;
	const char *base = base_name(mapping->path);

	/* "/memfd:libtpbpf-agent" where it was injected. */
	if (text_has_prefix(base, "memfd:"))
		base += strlen("memfd:");
	if (!mapping->is_executable || !text_has_prefix(base, AGENT_LIBRARY))
		return 0;
	search->image->fd = process_open_mapping(search->pid, mapping);
	return search->image->fd < 0 ? -EACCES : 1;
}

/* Without a semaphore the agent would never know that it is wanted. */
static int find_sites(struct agent_image *image)
{
	static const char *const names[AGENT_POINT_CNT] = {
		[AGENT_POINT_BATCH] = "batch",
		[AGENT_POINT_COLLECT] = "collect",
		[AGENT_POINT_SYNC] = "sync",
	};
	unsigned int point;

	for (point = 0; point < AGENT_POINT_CNT; point++) {
		struct usdt_note note;

		if (usdt_note_find(image->fd, PROVIDER, names[point], &note))
			continue;
		image->sites[point] = (struct agent_site){
			.file_offset = note.site_offset,
			.semaphore_offset = note.semaphore_offset,
			.is_found = note.semaphore_offset != 0,
		};
	}
	return image->sites[AGENT_POINT_BATCH].is_found &&
			       image->sites[AGENT_POINT_COLLECT].is_found
		       ? 0
		       : -ENOEXEC;
}

int agent_image_open(struct agent_image *image, pid_t pid)
{
	struct agent_search search = { image, pid };
	int err;

	memset(image, 0, sizeof(*image));
	image->fd = -1;
	err = process_each_mapping(pid, on_agent_mapping, &search);
	if (err <= 0)
		return err ? err : -ENOENT;
	err = find_sites(image);
	if (err)
		agent_image_close(image);
	return err;
}

void agent_image_close(struct agent_image *image)
{
	if (image->fd >= 0)
		close(image->fd);
	image->fd = -1;
}

static int on_library(void *context, const struct process_mapping *mapping)
{
	const char *name = context, *base = base_name(mapping->path);
	size_t length = strlen(name);

	return !strncmp(base, name, length) && (!base[length] || base[length] == '.');
}

bool agent_note_has_library(pid_t pid, const char *name)
{
	return process_each_mapping(pid, on_library, (void *)(uintptr_t)name) > 0;
}
