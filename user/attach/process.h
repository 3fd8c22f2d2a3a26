/*
 * process.h - what /proc says of a process. All of it may be written by the process itself: lengths
 * are bounded here, and contents are text for people until something checks them.
 */
#ifndef ATTACH_PROCESS_H
#define ATTACH_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One file mapping of /proc/PID/maps. */
struct process_mapping {
	uint64_t start, end, offset;
	uint64_t inode;
	bool is_executable, is_writable;
	bool is_deleted;
	const char *path; /* in the process's mount namespace, without " (deleted)" */
};

/*
 * Calls fn for each mapping of a file, until it returns other than 0, which is returned. -ESRCH: no
 * such process; -EACCES: not permitted.
 */
int process_each_mapping(pid_t pid, int (*fn)(void *context, const struct process_mapping *mapping),
			 void *context);

/* Where in the mapped file the byte at an address lies. -ENOENT: no file is mapped there. */
int process_file_offset(pid_t pid, uint64_t address, uint64_t *file_offset);

/*
 * Opens a file of the process's root directory; links are resolved inside that root. path: as the
 * process sees it, or as its mappings are named to us, which differs in a chroot. -errno or a
 * descriptor.
 */
int process_open_in_root(pid_t pid, const char *path);

/*
 * Opens the very file that is mapped: also when it was deleted, with CAP_CHECKPOINT_RESTORE; by
 * name without. -ESTALE: the name is another file's now. -errno or a descriptor.
 */
int process_open_mapping(pid_t pid, const struct process_mapping *mapping);

/* The command line, arguments separated by blanks, cut to size_bytes. Empty for a kernel thread. */
int process_command_line(pid_t pid, char *to, size_t size_bytes);

/* The path of the program that it runs, as its mappings name it. Empty: not known. */
void process_program(pid_t pid, char *to, size_t size_bytes);

/* The basename of argv[0], as Kineto names a process. */
int process_name(pid_t pid, char *to, size_t size_bytes);

/* A variable of the environment that the process started with. -ENOENT: not set. */
int process_environment(pid_t pid, const char *variable, char *to, size_t size_bytes);

struct process_status {
	pid_t namespace_pid; /* in its own pid namespace */
	uid_t uid;	     /* real */
	char state;	     /* R, S, D, T, Z, ... */
	pid_t tracer;	     /* 0: none */
};

int process_status(pid_t pid, struct process_status *status);

/* Changes with every execve of the process: the randomized start of its stack. 0: not known. */
uint64_t process_image_id(pid_t pid);

/* Device and inode of one of its namespaces ("pid", "mnt"). */
int process_namespace(pid_t pid, const char *kind, dev_t *dev, ino_t *ino);

/* Calls fn for each thread. */
int process_each_thread(pid_t pid, int (*fn)(void *context, pid_t tid), void *context);
size_t process_thread_count(pid_t pid); /* 0: it is gone */

/* A thread's name and its id in its own pid namespace. */
int process_thread(pid_t pid, pid_t tid, pid_t *namespace_tid, char *name, size_t size_bytes);

#endif /* ATTACH_PROCESS_H */
