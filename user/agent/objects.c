/* objects.c - see objects.h. */
#include "agent/objects.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "agent/elf_file.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool has_stem(const char *path, const char *stem)
{
	const char *name = base_name(path);
	size_t size = strlen(stem);
	const char *end;

	if (strncmp(name, stem, size) != 0)
		return false;
	name += size;
	if (*name == '-')
		return strstr(name, ".so") != NULL;
	if (strncmp(name, ".so", 3) != 0)
		return false;
	end = name + 3;
	return !*end || *end == '.';
}

struct search {
	const char *stem;
	struct object *object;
};

static int look_at(struct dl_phdr_info *mapped, size_t size, void *data)
{
	struct search *search = data;
	const char *path = mapped->dlpi_name;
	char real[PATH_MAX];

	(void)size;
	if (!path || !*path)
		return 0;
	if (!has_stem(path, search->stem) &&
	    !(realpath(path, real) && has_stem(real, search->stem)))
		return 0;
	if (!search->object->count++)
		strncpy(search->object->path, path, PATH_MAX - 1);
	return 0;
}

void objects_find(const char *stem, struct object *object)
{
	struct search search = { stem, object };

	memset(object, 0, sizeof(*object));
	dl_iterate_phdr(look_at, &search);
	/* Not under the loader's lock, and under the very name that it is known by. */
	if (object->count)
		object->handle = dlopen(object->path, RTLD_NOW | RTLD_NOLOAD);
}

#define CANDIDATES_MAX 16

struct candidates {
	const char *prefix;
	int count;
	char (*paths)[PATH_MAX];
};

static int collect(struct dl_phdr_info *mapped, size_t size, void *data)
{
	struct candidates *candidates = data;
	const char *path = mapped->dlpi_name;

	(void)size;
	if (candidates->count == CANDIDATES_MAX)
		return 1;
	if (!path || !*path) {
		/* The program itself comes first; the vDSO has no name either. */
		if (candidates->count)
			return 0;
		path = "/proc/self/exe";
	} else if (strncmp(base_name(path), candidates->prefix, strlen(candidates->prefix)) != 0) {
		return 0;
	}
	strncpy(candidates->paths[candidates->count++], path, PATH_MAX - 1);
	return 0;
}

bool objects_contain(const char *prefix, const char *function, char path[PATH_MAX])
{
	struct candidates candidates = { .prefix = prefix };
	bool found = false;
	int i;

	candidates.paths = calloc(CANDIDATES_MAX, PATH_MAX);
	if (!candidates.paths)
		return false;
	dl_iterate_phdr(collect, &candidates);
	for (i = 0; i < candidates.count && !found; i++) {
		found = elf_file_defines(candidates.paths[i], function);
		if (found)
			memcpy(path, candidates.paths[i], PATH_MAX);
	}
	free(candidates.paths);
	return found;
}
