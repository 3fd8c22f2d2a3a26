/* process.c - see process.h. */
#include "attach/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#define ENVIRONMENT_MAX_BYTES (256 * 1024)
#define DELETED " (deleted)"

static FILE *open_file(pid_t pid, const char *name, int *err)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	file = fopen(path, "re");
	*err = file ? 0 : errno == ENOENT ? -ESRCH : -errno;
	return file;
}

/* A number, and the delimiter behind it; *at moves past both. */
static bool take_number(char **at, int base, char delimiter, uint64_t *value)
{
	char *end;

	*value = strtoull(*at, &end, base);
	if (end == *at || *end != delimiter)
		return false;
	*at = end + 1;
	return true;
}

/* "start-end perms offset major:minor inode   path" */
static bool parse_mapping(char *line, struct process_mapping *mapping)
{
	char *at = line;
	uint64_t device;
	size_t length;

	if (!take_number(&at, 16, '-', &mapping->start) ||
	    !take_number(&at, 16, ' ', &mapping->end) || strnlen(at, 5) < 5)
		return false;
	mapping->is_executable = at[2] == 'x';
	mapping->is_writable = at[1] == 'w';
	at += 5;
	if (!take_number(&at, 16, ' ', &mapping->offset) || !take_number(&at, 16, ':', &device) ||
	    !take_number(&at, 16, ' ', &device) || !take_number(&at, 10, ' ', &mapping->inode))
		return false;
	at += strspn(at, " ");
	length = strcspn(at, "\n");
	at[length] = 0;
	mapping->is_deleted = text_has_suffix(at, DELETED);
	if (mapping->is_deleted)
		at[length - strlen(DELETED)] = 0;
	mapping->path = at;
	return at[0] == '/';
}

int process_each_mapping(pid_t pid, int (*fn)(void *context, const struct process_mapping *mapping),
			 void *context)
{
	char *line = NULL;
	size_t size = 0;
	int err;
	FILE *file = open_file(pid, "maps", &err);

	if (!file)
		return err;
	/* Reading may be refused although opening was not: the check is made at the first read. */
	errno = 0;
	while (!err && getline(&line, &size, file) > 0) {
		struct process_mapping mapping;

		if (parse_mapping(line, &mapping))
			err = fn(context, &mapping);
	}
	if (!err && ferror(file))
		err = errno ? -errno : -EIO;
	free(line);
	fclose(file);
	return err;
}

struct place {
	uint64_t address, file_offset;
};

static int on_place(void *context, const struct process_mapping *mapping)
{
	struct place *place = context;

	if (place->address < mapping->start || place->address >= mapping->end)
		return 0;
	place->file_offset = place->address - mapping->start + mapping->offset;
	return 1;
}

int process_file_offset(pid_t pid, uint64_t address, uint64_t *file_offset)
{
	struct place place = { .address = address };
	int found = process_each_mapping(pid, on_place, &place);

	if (found <= 0)
		return found ? found : -ENOENT;
	*file_offset = place.file_offset;
	return 0;
}

/* Mappings are named as we see them: for a process in a chroot, with the way to its root before. */
static const char *below_root(const char *root_path, const char *path)
{
	char root[PATH_MAX];
	ssize_t length = readlink(root_path, root, sizeof(root));

	if (length <= 1 || (size_t)length == sizeof(root))
		return path;
	root[length] = 0;
	return text_has_prefix(path, root) && path[length] == '/' ? path + length : path;
}

int process_open_in_root(pid_t pid, const char *path)
{
	struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root_path[64];
	int root, fd;

	snprintf(root_path, sizeof(root_path), "/proc/%d/root", pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root, below_root(root_path, path), &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(root);
	return fd;
}

int process_open_mapping(pid_t pid, const struct process_mapping *mapping)
{
	struct stat stat_buffer;
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, mapping->start,
		 mapping->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		fd = process_open_in_root(pid, mapping->path);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &stat_buffer) && S_ISREG(stat_buffer.st_mode) &&
	    stat_buffer.st_ino == mapping->inode)
		return fd;
	close(fd);
	return -ESTALE;
}

/* Up to size_bytes - 1 bytes of a file and a NUL; the number of bytes. */
static long read_bytes(pid_t pid, const char *name, char *to, size_t size_bytes)
{
	int err;
	FILE *file = open_file(pid, name, &err);
	size_t got;

	if (!file)
		return err;
	got = fread(to, 1, size_bytes - 1, file);
	if (!got && ferror(file))
		err = -EACCES;
	fclose(file);
	to[got] = 0;
	return err ? err : (long)got;
}

void process_program(pid_t pid, char *to, size_t size_bytes)
{
	char path[32];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	length = readlink(path, to, size_bytes - 1);
	to[length > 0 ? length : 0] = 0;
	if (text_has_suffix(to, DELETED))
		to[strlen(to) - strlen(DELETED)] = 0;
}

int process_command_line(pid_t pid, char *to, size_t size_bytes)
{
	long got = read_bytes(pid, "cmdline", to, size_bytes), i;

	if (got < 0)
		return (int)got;
	while (got && !to[got - 1])
		got--;
	for (i = 0; i < got; i++) {
		if (!to[i])
			to[i] = ' ';
	}
	return 0;
}

int process_name(pid_t pid, char *to, size_t size_bytes)
{
	char arguments[1024];
	long got = read_bytes(pid, "cmdline", arguments, sizeof(arguments));
	const char *slash;

	if (got < 0)
		return (int)got;
	slash = strrchr(arguments, '/'); /* the string ends at argv[0]'s NUL */
	text_copy(to, size_bytes, slash ? slash + 1 : arguments);
	return 0;
}

int process_environment(pid_t pid, const char *variable, char *to, size_t size_bytes)
{
	char *all = malloc(ENVIRONMENT_MAX_BYTES);
	size_t length = strlen(variable);
	long got, at;
	int err = -ENOENT;

	if (!all)
		return -ENOMEM;
	got = read_bytes(pid, "environ", all, ENVIRONMENT_MAX_BYTES);
	if (got < 0)
		err = (int)got;
	for (at = 0; at < got; at += (long)strlen(all + at) + 1) {
		if (!strncmp(all + at, variable, length) && all[at + (long)length] == '=') {
			text_copy(to, size_bytes, all + at + length + 1);
			err = 0;
			break;
		}
	}
	free(all);
	return err;
}

/* The last number of the line: ids in the innermost namespace come last. */
static pid_t last_number(const char *line)
{
	const char *last = strrchr(line, '\t');

	return last ? (pid_t)strtol(last, NULL, 10) : 0;
}

static int read_status(pid_t pid, const char *file_name, struct process_status *status, char *name,
		       size_t name_size)
{
	char line[512];
	int err;
	FILE *file = open_file(pid, file_name, &err);

	if (!file)
		return err;
	*status = (struct process_status){ .namespace_pid = 0 };
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		if (text_has_prefix(line, "NSpid:"))
			status->namespace_pid = last_number(line);
		else if (text_has_prefix(line, "Uid:\t"))
			status->uid = (uid_t)strtoul(line + 5, NULL, 10);
		else if (text_has_prefix(line, "State:\t"))
			status->state = line[7];
		else if (text_has_prefix(line, "TracerPid:\t"))
			status->tracer = (pid_t)strtol(line + 11, NULL, 10);
		else if (text_has_prefix(line, "Name:\t") && name)
			text_copy(name, name_size, line + 6);
	}
	fclose(file);
	return status->state ? 0 : -ESRCH;
}

int process_status(pid_t pid, struct process_status *status)
{
	int err = read_status(pid, "status", status, NULL, 0);

	if (!err && !status->namespace_pid)
		status->namespace_pid = pid;
	return err;
}

#define STAT_FIELD_STARTSTACK 28 /* man 5 proc */

uint64_t process_image_id(pid_t pid)
{
	char line[1024];
	long got = read_bytes(pid, "stat", line, sizeof(line));
	const char *field;
	int i;

	/* The name, field 2, may hold blanks and parentheses: count from its end. */
	field = got > 0 ? strrchr(line, ')') : NULL;
	for (i = 3; field && i <= STAT_FIELD_STARTSTACK; i++)
		field = strchr(field + 1, ' ');
	return field ? strtoull(field, NULL, 10) : 0;
}

int process_namespace(pid_t pid, const char *kind, dev_t *dev, ino_t *ino)
{
	char path[64];
	struct stat stat_buffer;

	snprintf(path, sizeof(path), "/proc/%d/ns/%s", pid, kind);
	if (stat(path, &stat_buffer))
		return -errno;
	*dev = stat_buffer.st_dev;
	*ino = stat_buffer.st_ino;
	return 0;
}

int process_each_thread(pid_t pid, int (*fn)(void *context, pid_t tid), void *context)
{
	const struct dirent *entry;
	char path[64];
	DIR *directory;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	directory = opendir(path);
	if (!directory)
		return errno == ENOENT ? -ESRCH : -errno;
	while (!err && (entry = readdir(directory))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			err = fn(context, tid);
	}
	closedir(directory);
	return err;
}

static int count_thread(void *context, pid_t tid)
{
	size_t *count = context;

	(void)tid;
	(*count)++;
	return 0;
}

size_t process_thread_count(pid_t pid)
{
	size_t count = 0;

	process_each_thread(pid, count_thread, &count);
	return count;
}

int process_thread(pid_t pid, pid_t tid, pid_t *namespace_tid, char *name, size_t size_bytes)
{
	struct process_status status = { .namespace_pid = 0 };
	char file_name[48];
	int err;

	snprintf(file_name, sizeof(file_name), "task/%d/status", tid);
	name[0] = 0;
	err = read_status(pid, file_name, &status, name, size_bytes);
	if (!err)
		*namespace_tid = status.namespace_pid ? status.namespace_pid : tid;
	return err;
}
