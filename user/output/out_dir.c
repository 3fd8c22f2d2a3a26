/* out_dir.c - see out_dir.h. A failed or abandoned file leaves an earlier one as it was. */
#include "output/out_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "model/sink.h"

#define BUFFER_BYTES 65536
#define RESERVE_NAME ".tpbpf-reserve"
#define RESERVE_BYTES (128 * 1024)
#define NAMES_MAX 32

struct out_dir {
	char *path;
	int fd;
	uid_t uid;
	gid_t gid;
	bool is_made;
	struct out_cancel cancel;
	char *names[NAMES_MAX]; /* what we put here, last first to be removed */
	size_t name_count;
};

struct out_file {
	struct byte_sink sink;
	struct out_dir *dir;
	char *name, *temporary;
	int fd;
	int err;
	uint64_t size_bytes;
	size_t used;
	char buffer[BUFFER_BYTES];
};

static int own(const struct out_dir *dir, int fd)
{
	if (dir->uid == (uid_t)-1 || !fchown(fd, dir->uid, dir->gid))
		return 0;
	return -errno;
}

static bool is_empty(int fd)
{
	int copy = dup(fd);
	DIR *stream = copy < 0 ? NULL : fdopendir(copy);
	const struct dirent *entry;
	bool empty = true;

	if (!stream) {
		if (copy >= 0)
			close(copy);
		return false;
	}
	while (empty && (entry = readdir(stream)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	closedir(stream);
	return empty;
}

static int open_empty(struct out_dir *dir, const char *path)
{
	int err = 0;

	if (!mkdir(path, 0755))
		dir->is_made = true;
	else if (errno != EEXIST)
		err = -errno;
	if (err) {
		log_err("output directory %s: cannot be made: %s; name another one with -o", path,
			strerror(-err));
		return err;
	}
	dir->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir->fd < 0) {
		err = -errno;
		log_err("output directory %s: %s; name another one with -o", path, strerror(-err));
		return err;
	}
	if (!dir->is_made && !is_empty(dir->fd)) {
		log_err("output directory %s is not empty; name a new one with -o", path);
		return -ENOTEMPTY;
	}
	return dir->is_made ? own(dir, dir->fd) : 0;
}

static int take_reserve(struct out_dir *dir)
{
	int fd = openat(dir->fd, RESERVE_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
	int err = 0;

	if (fd < 0)
		err = -errno;
	else
		err = -posix_fallocate(fd, 0, RESERVE_BYTES);
	if (fd >= 0)
		close(fd);
	if (err) {
		unlinkat(dir->fd, RESERVE_NAME, 0);
		log_err("output directory %s: cannot be written: %s", dir->path, strerror(-err));
	}
	return err;
}

void out_dir_use_reserve(struct out_dir *dir)
{
	unlinkat(dir->fd, RESERVE_NAME, 0);
}

/* Behind a slash a link would be followed. */
static void strip_slashes(char *path)
{
	size_t length = strlen(path);

	while (length > 1 && path[length - 1] == '/')
		path[--length] = 0;
}

int out_dir_open(struct out_dir **out, const char *path, uid_t uid, gid_t gid,
		 struct out_cancel cancel)
{
	struct out_dir *dir = calloc(1, sizeof(*dir));
	int err = -ENOMEM;

	if (!dir)
		return -ENOMEM;
	dir->fd = -1;
	dir->uid = uid;
	dir->gid = gid;
	dir->cancel = cancel;
	dir->path = strdup(path);
	if (dir->path)
		strip_slashes(dir->path);
	if (dir->path)
		err = open_empty(dir, dir->path);
	if (!err)
		err = take_reserve(dir);
	if (err) {
		if (dir->is_made)
			rmdir(dir->path);
		out_dir_free(dir);
		return err;
	}
	*out = dir;
	return 0;
}

void out_dir_free(struct out_dir *dir)
{
	size_t i;

	if (!dir)
		return;
	if (dir->fd >= 0) {
		out_dir_use_reserve(dir);
		close(dir->fd);
	}
	for (i = 0; i < dir->name_count; i++)
		free(dir->names[i]);
	free(dir->path);
	free(dir);
}

const char *out_dir_path(const struct out_dir *dir)
{
	return dir->path;
}

void out_dir_remove(struct out_dir *dir)
{
	size_t i;

	out_dir_use_reserve(dir);
	for (i = dir->name_count; i-- > 0;) {
		if (unlinkat(dir->fd, dir->names[i], 0) && errno == EISDIR)
			unlinkat(dir->fd, dir->names[i], AT_REMOVEDIR);
	}
	if (dir->is_made)
		rmdir(dir->path);
}

static int remember(struct out_dir *dir, const char *name)
{
	size_t i;

	for (i = 0; i < dir->name_count; i++) {
		if (!strcmp(dir->names[i], name))
			return 0;
	}
	if (dir->name_count == NAMES_MAX)
		return -ENOSPC;
	dir->names[dir->name_count] = strdup(name);
	return dir->names[dir->name_count++] ? 0 : -ENOMEM;
}

static int write_all(struct out_file *file, const char *bytes, size_t size_bytes)
{
	const struct out_cancel *cancel = &file->dir->cancel;

	if (cancel->is_cancelled && cancel->is_cancelled(cancel->context))
		return -ECANCELED;
	while (size_bytes) {
		ssize_t written = write(file->fd, bytes, size_bytes);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			int err = written ? -errno : -EIO;

			log_err("%s/%s: %s", file->dir->path, file->name, strerror(-err));
			return err;
		}
		bytes += written;
		size_bytes -= (size_t)written;
		file->size_bytes += (uint64_t)written;
	}
	return 0;
}

static int flush(struct out_file *file)
{
	if (!file->err && file->used)
		file->err = write_all(file, file->buffer, file->used);
	file->used = 0;
	return file->err;
}

static int file_write(struct byte_sink *sink, const void *bytes, size_t size_bytes)
{
	struct out_file *file = container_of(sink, struct out_file, sink);
	const char *from = bytes;

	while (size_bytes && !file->err) {
		size_t room = sizeof(file->buffer) - file->used;
		size_t part = size_bytes < room ? size_bytes : room;

		memcpy(file->buffer + file->used, from, part);
		file->used += part;
		from += part;
		size_bytes -= part;
		if (file->used == sizeof(file->buffer))
			flush(file);
	}
	return file->err;
}

static int create(struct out_file *file)
{
	struct out_dir *dir = file->dir;
	int err;

	file->fd = openat(dir->fd, file->temporary,
			  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (file->fd < 0) {
		err = -errno;
		log_err("%s/%s: %s", dir->path, file->name, strerror(-err));
		return err;
	}
	return own(dir, file->fd);
}

int out_file_new(struct out_file **out, struct out_dir *dir, const char *name)
{
	struct out_file *file = calloc(1, sizeof(*file));
	int err = -ENOMEM;

	if (!file)
		return -ENOMEM;
	file->sink.write = file_write;
	file->dir = dir;
	file->fd = -1;
	file->name = strdup(name);
	if (file->name && asprintf(&file->temporary, ".%s.tmp", name) > 0)
		err = create(file);
	if (err) {
		out_file_abandon(file);
		return err;
	}
	*out = file;
	return 0;
}

struct byte_sink *out_file_sink(struct out_file *file)
{
	return &file->sink;
}

uint64_t out_file_size_bytes(const struct out_file *file)
{
	return file->size_bytes + file->used;
}

void out_file_abandon(struct out_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0) {
		close(file->fd);
		unlinkat(file->dir->fd, file->temporary, 0);
	}
	free(file->name);
	free(file->temporary);
	free(file);
}

/* Some file systems tell only here that there was no room. */
static int close_file(struct out_file *file)
{
	int fd = file->fd;

	file->fd = -1;
	return close(fd) ? -errno : 0;
}

int out_file_commit(struct out_file *file)
{
	struct out_dir *dir = file->dir;
	int err = flush(file);

	if (err)
		goto out;
	err = close_file(file);
	if (!err)
		err = remember(dir, file->name);
	if (!err && renameat(dir->fd, file->temporary, dir->fd, file->name))
		err = -errno;
	if (err) {
		log_err("%s/%s: %s", dir->path, file->name, strerror(-err));
		unlinkat(dir->fd, file->temporary, 0);
	}
out:
	out_file_abandon(file);
	return err;
}

static int make_subdirectory(struct out_dir *dir, const char *name)
{
	int fd, err;

	if (mkdirat(dir->fd, name, 0755) && errno != EEXIST)
		return -errno;
	fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	err = own(dir, fd);
	close(fd);
	return err ? err : remember(dir, name);
}

int out_dir_link(struct out_dir *dir, const char *name, const char *subdirectory,
		 const char *link_name)
{
	char path[512];
	int err = make_subdirectory(dir, subdirectory);

	if (err)
		return err;
	if (snprintf(path, sizeof(path), "%s/%s", subdirectory, link_name) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	if (linkat(dir->fd, name, dir->fd, path, 0))
		return -errno;
	return remember(dir, path);
}
