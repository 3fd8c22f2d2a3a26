/* temporary_dir.h - a directory of its own for each test, gone afterwards. */
#ifndef SUPPORT_TEMPORARY_DIR_H
#define SUPPORT_TEMPORARY_DIR_H

#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEMPORARY_PATH_BYTES 512

static inline int temporary_dir_remove_entry(const char *path, const struct stat *stat_buffer,
					     int type, struct FTW *walk)
{
	(void)stat_buffer;
	(void)type;
	(void)walk;
	return remove(path);
}

/* For cmocka's set-up and tear-down: *state is the path. */
static inline int temporary_dir_setup(void **state)
{
	const char *parent = getenv("TMPDIR");
	char path[TEMPORARY_PATH_BYTES];

	snprintf(path, sizeof(path), "%s/tpbpf-unit-XXXXXX", parent && *parent ? parent : "/tmp");
	*state = mkdtemp(path) ? strdup(path) : NULL;
	return *state ? 0 : -1;
}

static inline int temporary_dir_teardown(void **state)
{
	int err = nftw(*state, temporary_dir_remove_entry, 16, FTW_DEPTH | FTW_PHYS);

	free(*state);
	return err;
}

/* DIR/NAME in to, which is returned. */
static inline char *temporary_dir_path(char to[TEMPORARY_PATH_BYTES], const char *directory,
				       const char *name)
{
	if (snprintf(to, TEMPORARY_PATH_BYTES, "%s/%s", directory, name) >= TEMPORARY_PATH_BYTES)
		abort();
	return to;
}

/* The whole file, ended by a NUL; NULL: it is not there. The caller frees it. */
static inline char *temporary_dir_read(const char *directory, const char *name, size_t *size_bytes)
{
	char path[TEMPORARY_PATH_BYTES], *bytes = NULL;
	FILE *file = fopen(temporary_dir_path(path, directory, name), "re");
	size_t size = 0, capacity = 0, got;

	if (!file)
		return NULL;
	do {
		if (capacity - size < 4096) {
			capacity = capacity * 2 + 8192;
			bytes = realloc(bytes, capacity);
			if (!bytes)
				abort();
		}
		got = fread(bytes + size, 1, capacity - size - 1, file);
		size += got;
	} while (got);
	fclose(file);
	bytes[size] = 0;
	if (size_bytes)
		*size_bytes = size;
	return bytes;
}

static inline bool temporary_dir_has(const char *directory, const char *name)
{
	char path[TEMPORARY_PATH_BYTES];

	return !access(temporary_dir_path(path, directory, name), F_OK);
}

static inline void temporary_dir_write(const char *directory, const char *name, const char *text)
{
	char path[TEMPORARY_PATH_BYTES];
	FILE *file = fopen(temporary_dir_path(path, directory, name), "we");

	if (!file || fputs(text, file) < 0 || fclose(file))
		abort();
}

#endif /* SUPPORT_TEMPORARY_DIR_H */
