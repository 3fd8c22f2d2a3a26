/*
 * memory.c - see memory.h. A control group's limit holds for all below it, so every group from ours
 * up is asked. In a container the outermost one that is seen is the container's own.
 */
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define GROUPS_ROOT "/sys/fs/cgroup"

uint64_t memory_field_bytes(FILE *file, const char *field)
{
	size_t length = strlen(field);
	char line[128];

	while (fgets(line, sizeof(line), file)) {
		if (!strncmp(line, field, length) && line[length] == ':')
			return strtoull(line + length + 1, NULL, 10) * 1024;
	}
	return 0;
}

uint64_t memory_left_bytes(const char *max_text, const char *current_text)
{
	uint64_t max_bytes, current_bytes;
	char *end;

	max_bytes = strtoull(max_text, &end, 10);
	if (end == max_text) /* "max" */
		return UINT64_MAX;
	current_bytes = strtoull(current_text, &end, 10);
	if (end == current_text)
		return UINT64_MAX;
	return max_bytes > current_bytes ? max_bytes - current_bytes : 0;
}

/* The first line of a file; empty: there is none. */
static void read_line(const char *path, char *to, size_t size_bytes)
{
	FILE *file = fopen(path, "re");

	to[0] = 0;
	if (!file)
		return;
	if (!fgets(to, (int)size_bytes, file))
		to[0] = 0;
	fclose(file);
}

static uint64_t left_in_group(const char *group)
{
	char path[1200], max_text[32], current_text[32];

	snprintf(path, sizeof(path), GROUPS_ROOT "%s/memory.max", group);
	read_line(path, max_text, sizeof(max_text));
	snprintf(path, sizeof(path), GROUPS_ROOT "%s/memory.current", group);
	read_line(path, current_text, sizeof(current_text));
	return memory_left_bytes(max_text, current_text);
}

static uint64_t left_in_groups(void)
{
	uint64_t left_bytes = UINT64_MAX;
	char line[1024];
	char *group = line + strlen("0::");

	read_line("/proc/self/cgroup", line, sizeof(line));
	if (!text_has_prefix(line, "0::/"))
		return UINT64_MAX;
	line[strcspn(line, "\n")] = 0;
	for (;;) {
		uint64_t bytes = left_in_group(group);
		char *slash = strrchr(group, '/');

		if (bytes < left_bytes)
			left_bytes = bytes;
		if (!slash || !group[0])
			return left_bytes;
		*slash = 0;
	}
}

uint64_t memory_available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t bytes = 0, left_bytes = left_in_groups();

	if (file) {
		bytes = memory_field_bytes(file, "MemAvailable");
		fclose(file);
	}
	if (left_bytes != UINT64_MAX && (!bytes || left_bytes < bytes))
		return left_bytes ? left_bytes : 1;
	return bytes;
}
