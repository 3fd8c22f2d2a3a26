/* inject.c - see inject.h. */
#include "attach/inject.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject_calls.h"
#include "attach/inject_thread.h"
#include "attach/process.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/text.h"

#define LIBRARY "libtpbpf-agent.so"
#define MEMORY_LINK "/memfd:" LIBRARY " (deleted)"
#define LOADED_NS 3000000000ULL /* for the thread to be through with it */
#define LOOK_MS 2
#define LOOKS 10
#define IDLE_NS 1000000000ULL	/* for nobody to be in the loader */
#define CHILD_NS 15000000000ULL /* more than all its own limits together */
#define URGENT_NICE (-20)

/* To trace, to see what is mapped where it was deleted, to read a seccomp filter, and to hurry. */
#define CHILD_CAPABILITIES                                                \
	(CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH) |   \
	 CAPABILITY(CAP_CHECKPOINT_RESTORE) | CAPABILITY(CAP_SYS_ADMIN) | \
	 CAPABILITY(CAP_SYS_NICE))

struct injection {
	struct inject_result *result;
	pid_t pid;
	int agent_fd;
	const char *path;
	struct stat file; /* of agent_fd */
	struct inject_image image;
};

static int refuse(struct inject_result *result, int err, const char *reason)
{
	text_copy(result->reason, sizeof(result->reason), reason);
	return err;
}

static void pause_ms(long ms)
{
	const struct timespec time = { 0, ms * 1000000L };

	nanosleep(&time, NULL);
}

/* ---- the agent's file ---- */

static bool is_trusted(const struct stat *file, uid_t owner)
{
	return S_ISREG(file->st_mode) && file->st_uid == owner &&
	       !(file->st_mode & (S_IWGRP | S_IWOTH));
}

/*
 * Whoever links the program into a directory of his own must not have it load what lies there: the
 * library belongs to the owner of the program.
 */
int inject_agent_file(char *path, size_t size_bytes)
{
	static const char *const places[] = { "", "../lib/tpbpf/", "../lib/" };
	char program[PATH_MAX], named[PATH_MAX + 64], *slash;
	struct stat own, file;
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t i;

	if (length <= 0 || stat("/proc/self/exe", &own))
		return -ENOENT;
	program[length] = 0;
	slash = strrchr(program, '/');
	for (i = 0; slash && i < sizeof(places) / sizeof(places[0]); i++) {
		int fd;

		snprintf(named, sizeof(named), "%.*s%s" LIBRARY, (int)(slash - program) + 1,
			 program, places[i]);
		fd = open(named, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (!fstat(fd, &file) && is_trusted(&file, own.st_uid) &&
		    !text_copy(path, size_bytes, named))
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* ---- the way in ---- */

struct mapped {
	const struct stat *file;
};

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	const struct mapped *mapped = context;

	return mapping->is_executable && mapping->inode == mapped->file->st_ino;
}

static bool is_mapped(pid_t pid, const struct stat *file)
{
	struct mapped mapped = { file };

	return process_each_mapping(pid, on_mapping, &mapped) == 1;
}

/* May everybody read it, and search each directory that leads to it? */
static bool is_open_to_all(const char *path)
{
	char part[PATH_MAX];
	struct stat file;
	char *slash;

	if (stat(path, &file) || !(file.st_mode & S_IROTH) || text_copy(part, sizeof(part), path))
		return false;
	while ((slash = strrchr(part, '/')) && slash != part) {
		*slash = 0;
		if (stat(part, &file) || !(file.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

/* Is it, for the job, the same file under the same name, and one that may be loaded? */
static bool is_within_reach(const struct injection *injection)
{
	int fd = process_open_in_root(injection->pid, injection->path);
	struct statvfs system;
	struct stat file;
	bool is_same;

	if (fd < 0)
		return false;
	is_same = !fstat(fd, &file) && file.st_dev == injection->file.st_dev &&
		  file.st_ino == injection->file.st_ino && !fstatvfs(fd, &system) &&
		  !(system.f_flag & ST_NOEXEC) && is_open_to_all(injection->path);
	close(fd);
	return is_same;
}

static int make_calls(struct injection *injection, enum inject_work work, const char *text,
		      int descriptor)
{
	const struct inject_order order = { work, text, descriptor, 0 };

	return inject_calls_make(injection->result, injection->pid, &injection->image, &order);
}

/* The thread is on its way: until it has loaded the library, or shown that it cannot. */
static int wait_loaded(const struct injection *injection, const struct stat *file)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADED_NS;

	while (clock_monotonic_ns() < end_ns) {
		if (is_mapped(injection->pid, file))
			return 0;
		pause_ms(LOOK_MS);
	}
	return refuse(injection->result, -EOPNOTSUPP, "the job did not load the agent");
}

static int load_file(struct injection *injection)
{
	int err = make_calls(injection, INJECT_LOAD, injection->path, -1);

	return err ? err : wait_loaded(injection, &injection->file);
}

/* ---- through a memory file ---- */

/*
 * The descriptor in the job, and one of ours for the same file; -ENOENT. A memory file it is, and
 * nobody's: a job could call some other file so and have us write to it.
 */
static int open_memory(pid_t pid, int number)
{
	char path[64], target[64];
	struct statfs system;
	struct stat file;
	ssize_t length;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
	length = readlink(path, target, sizeof(target) - 1);
	if (length <= 0)
		return -ENOENT;
	target[length] = 0;
	if (strcmp(target, MEMORY_LINK) != 0)
		return -ENOENT;
	fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -ENOENT;
	if (!fstatfs(fd, &system) && system.f_type == TMPFS_MAGIC && !fstat(fd, &file) &&
	    S_ISREG(file.st_mode) && !file.st_nlink && fcntl(fd, F_GET_SEALS) >= 0)
		return fd;
	close(fd);
	return -ENOENT;
}

static int find_memory(pid_t pid, int *number)
{
	const struct dirent *entry;
	int fd = -ENOENT;
	char path[64];
	DIR *directory;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	directory = opendir(path);
	while (directory && fd < 0 && (entry = readdir(directory))) {
		*number = (int)strtol(entry->d_name, NULL, 10);
		if (entry->d_name[0] != '.')
			fd = open_memory(pid, *number);
	}
	if (directory)
		closedir(directory);
	return fd;
}

static int have_memory(struct injection *injection, int *number)
{
	uint64_t end_ns = clock_monotonic_ns() + LOADED_NS;
	int fd = find_memory(injection->pid, number), err;

	if (fd >= 0)
		return fd;
	err = make_calls(injection, INJECT_MEMORY, LIBRARY, -1);
	while (!err && fd < 0 && clock_monotonic_ns() < end_ns) {
		pause_ms(LOOK_MS);
		fd = find_memory(injection->pid, number);
	}
	if (err || fd >= 0)
		return err ? err : fd;
	return refuse(injection->result, -EOPNOTSUPP, "the job could not make a memory file");
}

static int fill_memory(const struct injection *injection, int fd)
{
	off_t at = 0;

	if (ftruncate(fd, 0))
		return -errno;
	while (at < injection->file.st_size) {
		ssize_t put = sendfile(fd, injection->agent_fd, &at,
				       (size_t)(injection->file.st_size - at));

		if (put <= 0)
			return put ? -errno : -EIO;
	}
	return 0;
}

static bool has_descriptor(pid_t pid, int number, const struct stat *file)
{
	struct stat other;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
	return !stat(path, &other) && other.st_dev == file->st_dev && other.st_ino == file->st_ino;
}

static int load_memory(struct injection *injection)
{
	struct stat file;
	char name[64];
	int number = -1, err, fd = have_memory(injection, &number);

	injection->result->by_memory = true;
	if (fd < 0)
		return fd;
	err = fill_memory(injection, fd);
	if (!err && fstat(fd, &file))
		err = -errno;
	close(fd);
	if (err)
		return refuse(injection->result, err, "the memory file could not be written");
	/* No path that the job would use itself: the loader goes by the name, too. */
	snprintf(name, sizeof(name), "/proc/thread-self//fd/%d", number);
	err = make_calls(injection, INJECT_LOAD, name, number);
	if (!err)
		err = wait_loaded(injection, &file);
	if (!err && has_descriptor(injection->pid, number, &file))
		pause_ms(100);
	return err;
}

/* ---- the child ---- */

/* While a library is loaded what is looked for is not found: that mostly ends soon. */
static int read_idle_image(pid_t pid, struct inject_image *image)
{
	uint64_t end_ns = clock_monotonic_ns() + IDLE_NS;
	int err;

	do {
		err = inject_image_read(image, pid);
		if (err == -EBUSY)
			pause_ms(LOOK_MS);
	} while (err == -EBUSY && clock_monotonic_ns() < end_ns);
	return err;
}

static int read_image(struct inject_result *result, pid_t pid, struct inject_image *image)
{
	int err = read_idle_image(pid, image);

	switch (err) {
	case 0:
		return 0;
	case -ENOENT:
		return refuse(result, -EOPNOTSUPP, "the job's program is static: it has no loader");
	case -ENOEXEC:
		return refuse(result, -EOPNOTSUPP, "the job's C library is none that is known");
	case -EBUSY:
		return refuse(result, -EAGAIN,
			      "the job is loading a library, or its loader is none that is known");
	case -ESRCH:
		return refuse(result, err, "the job has ended");
	default:
		return refuse(result, err, "the job's C library cannot be read");
	}
}

static int run(struct injection *injection)
{
	int err;

	if (fstat(injection->agent_fd, &injection->file))
		return refuse(injection->result, -errno, "the agent cannot be read");
	err = read_image(injection->result, injection->pid, &injection->image);
	if (err)
		return err;
	return is_within_reach(injection) ? load_file(injection) : load_memory(injection);
}

/* What the child says. */
struct answer {
	int err;
	struct inject_result result;
};

/* Not to be off the processor while a thread of the job is held. */
static void be_urgent(void)
{
	const struct sched_param parameters = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &parameters))
		setpriority(PRIO_PROCESS, 0, URGENT_NICE);
}

static void close_others(int first, int second)
{
	unsigned int low = (unsigned int)(first < second ? first : second);
	unsigned int high = (unsigned int)(first < second ? second : first);

	if (low)
		close_range(0, low - 1, 0);
	if (high > low + 1)
		close_range(low + 1, high - 1, 0);
	close_range(high + 1, ~0U, 0);
}

static __attribute__((noreturn)) void run_child(struct injection *injection, int socket)
{
	struct answer answer = { .err = 0 };

	setpgid(0, 0);
	prctl(PR_SET_NAME, "tpbpf-inject");
	log_set_level(LOG_LEVEL_NONE);
	close_others(socket, injection->agent_fd);
	privilege_keep(CHILD_CAPABILITIES);
	be_urgent();
	injection->result = &answer.result;
	answer.err = run(injection);
	send(socket, &answer, sizeof(answer), MSG_NOSIGNAL);
	_exit(0);
}

static int hear(struct inject_result *result, pid_t child, int socket)
{
	const struct timeval limit = { .tv_sec = CHILD_NS / 1000000000ULL };
	struct answer answer;
	ssize_t got;

	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	do {
		got = recv(socket, &answer, sizeof(answer), 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0) /* never seen: its own limits are shorter. It ends by itself */
		return refuse(result, -ETIMEDOUT, "it took too long");
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	if (got != (ssize_t)sizeof(answer))
		return refuse(result, -EIO, "the process that was to do it has died");
	*result = answer.result;
	return answer.err;
}

int inject_library(struct inject_result *result, pid_t pid, int agent_fd, const char *path)
{
	struct injection injection = { .pid = pid, .agent_fd = agent_fd, .path = path };
	sigset_t all, before;
	int sockets[2], err;
	pid_t child;

	memset(result, 0, sizeof(*result));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return refuse(result, -errno, "no socket is to be had");
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	child = fork();
	if (!child)
		run_child(&injection, sockets[1]);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	err = child < 0 ? refuse(result, -EAGAIN, "no process is to be had")
			: hear(result, child, sockets[0]);
	close(sockets[0]);
	return err;
}

int inject_check(struct inject_result *result, pid_t pid, size_t *thread_count)
{
	struct inject_threads threads;
	struct inject_image image;
	unsigned int looks;
	int err;

	memset(result, 0, sizeof(*result));
	memset(&threads, 0, sizeof(threads));
	*thread_count = 0;
	err = read_image(result, pid, &image);
	/* A thread that is awake now may wait in a moment. */
	for (looks = 0; !err && looks < LOOKS && !threads.count && !threads.obstacle; looks++)
		err = inject_threads_find(&threads, pid);
	if (err && !result->reason[0])
		return refuse(result, err, "the job may not be traced");
	if (err)
		return err;
	*thread_count = threads.count;
	if (threads.obstacle)
		return refuse(result, -EOPNOTSUPP, threads.obstacle);
	return threads.count ? 0
			     : refuse(result, -EAGAIN,
				      "no thread of the job waits where it can be taken safely");
}
