/*
 * safe_path.c - see safe_path.h. Each part is opened first and looked at then, so that what was
 * looked at is what is gone through.
 */
#include "output/safe_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"

#define LINKS_MAX 40 /* as the kernel */

struct walk {
	const char *path; /* as it was given */
	int fd;		  /* where we are; -1: not begun */
	unsigned int links;
	char rest[PATH_MAX]; /* the way from there */
};

static bool is_trusted(uid_t owner)
{
	uid_t invoker;
	gid_t gid;

	if (setfsuid((uid_t)-1))
		return true;
	privilege_invoker(&invoker, &gid);
	return !owner || owner == invoker;
}

static void move_to(struct walk *walk, int fd)
{
	if (walk->fd >= 0)
		close(walk->fd);
	walk->fd = fd;
}

/* The way begins at the root or where we stand. */
static int begin(struct walk *walk)
{
	int fd = open(walk->rest[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	move_to(walk, fd);
	return 0;
}

/* What a link of /proc leads to has no name that would lead there. */
static bool is_of_proc(int fd)
{
	struct statfs buffer;

	return !fstatfs(fd, &buffer) && buffer.f_type == PROC_SUPER_MAGIC;
}

/* Puts what the link says in place of its name. */
static int follow(struct walk *walk, int link, const char *behind)
{
	char rest[PATH_MAX];
	ssize_t length = readlinkat(link, "", rest, sizeof(rest) - 1);
	size_t behind_length = strlen(behind);

	if (length < 0)
		return -errno;
	if (++walk->links > LINKS_MAX)
		return -ELOOP;
	if ((size_t)length + 1 + behind_length >= sizeof(rest))
		return -ENAMETOOLONG;
	rest[length] = '/';
	memcpy(rest + length + 1, behind, behind_length + 1);
	memcpy(walk->rest, rest, (size_t)length + 1 + behind_length + 1);
	return rest[0] == '/' ? begin(walk) : 0;
}

static int step_through_link(struct walk *walk, int link, const char *name, const char *behind,
			     const struct stat *stat_buffer)
{
	int fd;

	if (!is_trusted(stat_buffer->st_uid)) {
		log_err("output directory %s: the link %s on the way belongs to another user (%u), "
			"who could turn it elsewhere; name the directory that it leads to with -o",
			walk->path, name, stat_buffer->st_uid);
		return -EXDEV;
	}
	if (!is_of_proc(link))
		return follow(walk, link, behind);
	fd = openat(walk->fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	move_to(walk, fd);
	memmove(walk->rest, behind, strlen(behind) + 1);
	return 0;
}

static int step(struct walk *walk, const char *name, const char *behind)
{
	int fd = openat(walk->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), err = 0;
	struct stat stat_buffer;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &stat_buffer))
		err = -errno;
	else if (S_ISLNK(stat_buffer.st_mode))
		err = step_through_link(walk, fd, name, behind, &stat_buffer);
	else if (!S_ISDIR(stat_buffer.st_mode))
		err = -ENOTDIR;
	if (err || S_ISLNK(stat_buffer.st_mode)) {
		close(fd);
		return err;
	}
	move_to(walk, fd);
	memmove(walk->rest, behind, strlen(behind) + 1);
	return 0;
}

/* Until one part is left. */
static int go(struct walk *walk)
{
	int err = begin(walk);

	while (!err) {
		char *name = walk->rest + strspn(walk->rest, "/"), part[NAME_MAX + 1];
		char *slash = strchr(name, '/');

		if (!slash)
			return 0;
		if ((size_t)(slash - name) >= sizeof(part))
			return -ENAMETOOLONG;
		memcpy(part, name, (size_t)(slash - name));
		part[slash - name] = 0;
		err = step(walk, part, slash + 1 + strspn(slash + 1, "/"));
	}
	return err;
}

int safe_path_parent(const char *path, const char **name)
{
	struct walk walk = { .path = path, .fd = -1 };
	const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
	size_t length = strlen(path);
	int err;

	if (!length)
		return -ENOENT;
	if (length >= sizeof(walk.rest))
		return -ENAMETOOLONG;
	memcpy(walk.rest, path, length + 1);
	err = go(&walk);
	if (err) {
		if (walk.fd >= 0)
			close(walk.fd);
		return err;
	}
	*name = *last ? last : "."; /* of "/" */
	return walk.fd;
}
