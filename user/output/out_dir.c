/*
 * out_dir.c - see out_dir.h. A failed or abandoned file leaves an earlier one as it was.
 *
 * Who owns the directory can change what lies in it while we write. All that this must lead to is
 * that our own files are missing: names are taken relative to descriptors, never through a link,
 * and nothing that was there before is opened, written to, given away or given a second name.
 */
#include "output/out_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "model/sink.h"
#include "output/safe_path.h"

#define BUFFER_BYTES 65536
#define RESERVE_NAME ".tpbpf-reserve"
#define RESERVE_BYTES (128 * 1024)
#define ENTRIES_MAX 32

/* What we put here. */
struct entry {
	char *subdirectory; /* NULL: none */
	char *name;
	bool is_directory;
	struct stat made; /* of a file that was written, as it was made */
};

struct out_dir {
	char *path;
	int fd;
	int parent_fd;
	const char *name; /* there, within path */
	bool is_made;
	bool is_of_another; /* user, who may change what is in it */
	struct out_cancel cancel;
	struct entry entries[ENTRIES_MAX]; /* last first to be removed */
	size_t entry_count;
};

struct out_file {
	struct byte_sink sink;
	struct out_dir *dir;
	char *name, *temporary;
	int fd;
	struct stat made; /* the file as it was made */
	int err;
	uint64_t size_bytes;
	size_t used;
	char buffer[BUFFER_BYTES];
};

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

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPERM;
}

/* A refusal is the caller's to log: another user may be asked. */
static int complain(const struct out_dir *dir, int err, const char *what)
{
	if (!is_refusal(err))
		log_err("output directory %s: %s%s; name another one with -o", dir->path, what,
			strerror(-err));
	return err;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int make(struct out_dir *dir)
{
	dir->parent_fd = safe_path_parent(dir->path, &dir->name);
	if (dir->parent_fd == -EXDEV) /* logged */
		return -EXDEV;
	if (dir->parent_fd < 0)
		return complain(dir, dir->parent_fd, "cannot be made: ");
	if (!mkdirat(dir->parent_fd, dir->name, 0755))
		dir->is_made = true;
	else if (errno != EEXIST)
		return complain(dir, -errno, "cannot be made: ");
	return 0;
}

static int open_empty(struct out_dir *dir)
{
	struct stat stat_buffer;
	int err = make(dir);

	if (err)
		return err;
	dir->fd =
		openat(dir->parent_fd, dir->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir->fd < 0 || fstat(dir->fd, &stat_buffer))
		return complain(dir, -errno, "");
	dir->is_of_another = stat_buffer.st_uid != (uid_t)setfsuid((uid_t)-1) ||
			     stat_buffer.st_mode & (S_IWGRP | S_IWOTH);
	if (!dir->is_made && !is_empty(dir->fd)) {
		log_err("output directory %s is not empty; name a new one with -o", dir->path);
		return -ENOTEMPTY;
	}
	return 0;
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
		if (fd >= 0)
			unlinkat(dir->fd, RESERVE_NAME, 0);
		complain(dir, err, "cannot be written: ");
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

/* Only if it is still ours: another one may have been put in its place. */
static void remove_directory(const struct out_dir *dir)
{
	struct stat opened, found;

	if (dir->is_made && dir->fd >= 0 && !fstat(dir->fd, &opened) &&
	    !fstatat(dir->parent_fd, dir->name, &found, AT_SYMLINK_NOFOLLOW) &&
	    is_same(&opened, &found))
		unlinkat(dir->parent_fd, dir->name, AT_REMOVEDIR);
}

int out_dir_open(struct out_dir **out, const char *path, struct out_cancel cancel)
{
	struct out_dir *dir = calloc(1, sizeof(*dir));
	int err = -ENOMEM;

	if (!dir)
		return -ENOMEM;
	dir->fd = -1;
	dir->parent_fd = -1;
	dir->cancel = cancel;
	dir->path = strdup(path);
	if (dir->path)
		strip_slashes(dir->path);
	if (dir->path)
		err = open_empty(dir);
	if (!err)
		err = take_reserve(dir);
	if (err) {
		remove_directory(dir);
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
	if (dir->parent_fd >= 0)
		close(dir->parent_fd);
	for (i = 0; i < dir->entry_count; i++) {
		free(dir->entries[i].subdirectory);
		free(dir->entries[i].name);
	}
	free(dir->path);
	free(dir);
}

const char *out_dir_path(const struct out_dir *dir)
{
	return dir->path;
}

static int open_subdirectory(const struct out_dir *dir, const char *name)
{
	int fd = openat(dir->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void remove_entry(const struct out_dir *dir, const struct entry *entry)
{
	int flags = entry->is_directory ? AT_REMOVEDIR : 0, fd;

	if (!entry->subdirectory) {
		unlinkat(dir->fd, entry->name, flags);
		return;
	}
	fd = open_subdirectory(dir, entry->subdirectory);
	if (fd < 0)
		return;
	unlinkat(fd, entry->name, flags);
	close(fd);
}

void out_dir_remove(struct out_dir *dir)
{
	size_t i;

	out_dir_use_reserve(dir);
	for (i = dir->entry_count; i-- > 0;)
		remove_entry(dir, &dir->entries[i]);
	remove_directory(dir);
}

static struct entry *find_entry(struct out_dir *dir, const char *subdirectory, const char *name)
{
	size_t i;

	for (i = 0; i < dir->entry_count; i++) {
		struct entry *entry = &dir->entries[i];

		if (!strcmp(entry->name, name) && !entry->subdirectory == !subdirectory &&
		    (!subdirectory || !strcmp(entry->subdirectory, subdirectory)))
			return entry;
	}
	return NULL;
}

/* Once. NULL: there is no room. */
static struct entry *remember(struct out_dir *dir, const char *subdirectory, const char *name)
{
	struct entry *entry = find_entry(dir, subdirectory, name);

	if (entry)
		return entry;
	if (dir->entry_count == ENTRIES_MAX)
		return NULL;
	entry = &dir->entries[dir->entry_count];
	entry->name = strdup(name);
	entry->subdirectory = subdirectory ? strdup(subdirectory) : NULL;
	if (entry->name && !entry->subdirectory == !subdirectory) {
		dir->entry_count++;
		return entry;
	}
	free(entry->name);
	free(entry->subdirectory);
	return NULL;
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
	if (file->fd >= 0 && !fstat(file->fd, &file->made))
		return 0;
	err = -errno;
	log_err("%s/%s: %s", dir->path, file->name, strerror(-err));
	return err;
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

/*
 * Is what stands under the name now what we wrote? Asked only where somebody else can change names:
 * not every file system keeps a file's number.
 */
static int check_is_ours(const struct out_file *file)
{
	const struct out_dir *dir = file->dir;
	struct stat found;

	if (!dir->is_of_another)
		return 0;
	if (fstatat(dir->fd, file->name, &found, AT_SYMLINK_NOFOLLOW))
		return -errno;
	return is_same(&found, &file->made) ? 0 : -ESTALE;
}

/* Under its own name now. */
static int put_in_place(struct out_file *file)
{
	struct out_dir *dir = file->dir;
	struct entry *entry = remember(dir, NULL, file->name);

	if (!entry)
		return -ENOSPC;
	entry->made = file->made;
	if (renameat(dir->fd, file->temporary, dir->fd, file->name))
		return -errno;
	return check_is_ours(file);
}

int out_file_commit(struct out_file *file)
{
	struct out_dir *dir = file->dir;
	int err = flush(file);

	if (err)
		goto out;
	err = close_file(file);
	if (!err)
		err = put_in_place(file);
	if (err) {
		log_err("%s/%s: %s", dir->path, file->name,
			err == -ESTALE ? "another file was put in its place" : strerror(-err));
		unlinkat(dir->fd, file->temporary, 0);
	}
out:
	out_file_abandon(file);
	return err;
}

static int make_subdirectory(struct out_dir *dir, const char *name)
{
	struct entry *entry;

	if (mkdirat(dir->fd, name, 0755))
		return errno == EEXIST ? 0 : -errno;
	entry = remember(dir, NULL, name);
	if (!entry)
		return -ENOSPC;
	entry->is_directory = true;
	return 0;
}

/* Of the very file that was opened: its name may mean another one by now. */
static int link_file(const struct out_dir *dir, const struct entry *entry, int file_fd,
		     int directory_fd, const char *link_name)
{
	struct stat found;
	char path[64];

	if (fstat(file_fd, &found))
		return -errno;
	if (!S_ISREG(found.st_mode) || (dir->is_of_another && !is_same(&found, &entry->made)))
		return -ESTALE;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	if (linkat(AT_FDCWD, path, directory_fd, link_name, AT_SYMLINK_FOLLOW))
		return -errno;
	return 0;
}

int out_dir_link(struct out_dir *dir, const char *name, const char *subdirectory,
		 const char *link_name)
{
	const struct entry *entry = find_entry(dir, NULL, name);
	int err = entry ? make_subdirectory(dir, subdirectory) : -ENOENT, directory_fd, file_fd;

	if (err)
		return err;
	directory_fd = open_subdirectory(dir, subdirectory);
	if (directory_fd < 0)
		return directory_fd;
	file_fd = openat(dir->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	err = file_fd < 0 ? -errno : link_file(dir, entry, file_fd, directory_fd, link_name);
	if (file_fd >= 0)
		close(file_fd);
	close(directory_fd);
	if (err)
		return err;
	return remember(dir, subdirectory, link_name) ? 0 : -ENOSPC;
}
