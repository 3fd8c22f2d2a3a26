/*
 * target.c - see target.h. The lock is a file lock on the job's own directory in /proc: it leaves
 * nothing behind, ends with us or with the job, and cannot be left over from an earlier pid.
 */
#include "attach/target.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

const char *const target_rank_variables[] = { "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", NULL };
const char *const target_local_rank_variables[] = { "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
						    "MPI_LOCALRANKID", NULL };
const char *const target_world_size_variables[] = { "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE",
						    "PMI_SIZE", NULL };

#define RANK_MAX 10000000

int target_rank(pid_t pid, const char *const *variables)
{
	for (; *variables; variables++) {
		char value[32];
		uint32_t rank;

		if (!process_environment(pid, *variables, value, sizeof(value)) &&
		    !text_parse_u32(value, RANK_MAX, &rank))
			return (int)rank;
	}
	return WIRE_RANK_UNKNOWN;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "libtorch_cpu.so" or, as Debian names it, "libtorch_cpu.so.1.13". */
static bool is_library(const char *path, const char *name)
{
	const char *base = base_name(path);
	size_t length = strlen(name);

	return !strncmp(base, name, length) && (!base[length] || base[length] == '.');
}

/* What one pass over the mappings finds. */
struct scan {
	struct target *target;	   /* NULL: look only */
	const char *named_library; /* NULL: none */
	pid_t pid;
	bool is_torch;
	struct torch_version *version;
	char extension_path[512]; /* torch/_C.cpython-...so */
	char program[512];	  /* empty: not known */
};

static int open_mapping(struct target *target, struct target_library *library,
			const struct process_mapping *mapping)
{
	int fd = process_open_mapping(target->pid, mapping);

	if (fd < 0)
		return fd;
	library->fd = fd;
	library->inode = mapping->inode;
	library->is_deleted = mapping->is_deleted;
	text_copy(library->path, sizeof(library->path), mapping->path);
	return 0;
}

/* By name it is not there any more: what is mapped is opened with one more capability. */
static int refuse_library(pid_t pid, const struct process_mapping *mapping, int err)
{
	if (mapping->is_deleted || err == -ENOENT || err == -ESTALE) {
		log_err("pid %d: %s was deleted or replaced since the job began: to open what is "
			"mapped takes CAP_CHECKPOINT_RESTORE; run as root",
			pid, mapping->path);
		return -EPERM;
	}
	log_err("pid %d: %s cannot be opened: %s; run as root", pid, mapping->path, strerror(-err));
	return err == -EACCES ? -EPERM : err;
}

/* "libcudart.so.12", or "libcudart-1ab2c3d4.so.12" where a wheel brings its own. */
static bool is_cudart(const char *path)
{
	const char *base = base_name(path);

	return text_has_prefix(base, "libcudart") && strstr(base, ".so") &&
	       (base[strlen("libcudart")] == '.' || base[strlen("libcudart")] == '-');
}

/* Without one of these there is less to be seen, which the plan says. */
static void take_optional(struct scan *scan, enum library_role role,
			  const struct process_mapping *mapping)
{
	struct target_library *library = &scan->target->libraries[role];

	if (library->fd >= 0)
		return;
	library->err = open_mapping(scan->target, library, mapping);
	if (library->err)
		text_copy(library->path, sizeof(library->path), mapping->path);
}

static void take_cuda(struct scan *scan, const struct process_mapping *mapping)
{
	const struct target_library *first = &scan->target->libraries[LIBRARY_CUDART];

	if (is_cudart(mapping->path))
		take_optional(scan,
			      first->fd >= 0 && first->inode != mapping->inode
				      ? LIBRARY_CUDART_OTHER
				      : LIBRARY_CUDART,
			      mapping);
	else if (is_library(mapping->path, "libcuda.so"))
		take_optional(scan, LIBRARY_CUDA, mapping);
	else if (is_library(mapping->path, "libtorch_cuda.so"))
		take_optional(scan, LIBRARY_TORCH_CUDA, mapping);
}

static void take_python(struct scan *scan, const struct process_mapping *mapping)
{
	if (!strcmp(mapping->path, scan->program))
		take_optional(scan, LIBRARY_PYTHON, mapping);
	else if (text_has_prefix(base_name(mapping->path), "libpython3."))
		take_optional(scan, LIBRARY_PYTHON_SHARED, mapping);
}

static int take_library(struct scan *scan, const struct process_mapping *mapping)
{
	static const char *const names[] = {
		[LIBRARY_TORCH_CPU] = "libtorch_cpu.so",
		[LIBRARY_TORCH_PYTHON] = "libtorch_python.so",
		[LIBRARY_C10] = "libc10.so",
	};
	unsigned int role;

	take_cuda(scan, mapping);
	take_python(scan, mapping);
	for (role = 0; role <= LIBRARY_NAMED; role++) {
		const char *name = role == LIBRARY_NAMED ? scan->named_library : names[role];
		struct target_library *library = &scan->target->libraries[role];
		int err;

		if (!name || library->fd >= 0 || !is_library(mapping->path, name))
			continue;
		err = open_mapping(scan->target, library, mapping);
		if (err)
			return refuse_library(scan->pid, mapping, err);
	}
	return 0;
}

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	struct scan *scan = context;
	const char *base;

	if (!mapping->is_executable)
		return 0;
	base = base_name(mapping->path);
	if (is_library(mapping->path, "libtorch_cpu.so")) {
		scan->is_torch = true;
		/* Debian: the version is in the name; version.py, if it is found, tells more. */
		if (!scan->version->torch[0] && base[strlen("libtorch_cpu.so")])
			text_printable(scan->version->torch, sizeof(scan->version->torch),
				       base + strlen("libtorch_cpu.so."));
	}
	if (text_has_prefix(base, "_C.") && strstr(mapping->path, "/torch/_C.") &&
	    !scan->extension_path[0]) {
		text_copy(scan->extension_path, sizeof(scan->extension_path), mapping->path);
		torch_version_python_of(base, scan->version);
	}
	return scan->target ? take_library(scan, mapping) : 0;
}

static void read_version_file(struct scan *scan)
{
	char path[sizeof(scan->extension_path) + 16];
	size_t directory = (size_t)(base_name(scan->extension_path) - scan->extension_path);
	FILE *file;
	int fd;

	if (!scan->extension_path[0])
		return;
	snprintf(path, sizeof(path), "%.*sversion.py", (int)directory, scan->extension_path);
	fd = process_open_in_root(scan->pid, path);
	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (file) {
		torch_version_parse(file, scan->version);
		fclose(file);
	} else if (fd >= 0) {
		close(fd);
	}
}

static int scan_mappings(struct scan *scan)
{
	int err = process_each_mapping(scan->pid, on_mapping, scan);

	if (!err && scan->is_torch)
		read_version_file(scan);
	return err;
}

int target_probe_torch(pid_t pid, struct torch_version *version, bool *is_torch)
{
	struct scan scan = { .pid = pid, .version = version };
	int err;

	memset(version, 0, sizeof(*version));
	err = scan_mappings(&scan);
	*is_torch = scan.is_torch;
	return err;
}

static int refuse(pid_t pid, int err)
{
	switch (err) {
	case -ESRCH:
		log_err("pid %d: no such process; `tpbpf list` shows the PyTorch processes of this "
			"host",
			pid);
		return -ESRCH;
	case -EACCES:
	case -EPERM:
		log_err("pid %d: not permitted to look into this process; run as root: sudo tpbpf "
			"-p %d",
			pid, pid);
		return -EPERM;
	case -ENOEXEC:
		log_err("pid %d: not a PyTorch process, libtorch_cpu.so is not mapped; `tpbpf "
			"list` shows those of "
			"this host (a launcher such as torchrun is none, its workers are)",
			pid);
		return -ENOEXEC;
	default:
		log_err("pid %d: cannot be examined: %s", pid, strerror(-err));
		return err;
	}
}

static int find_namespaces(struct target *target)
{
	dev_t dev, own_dev;
	ino_t ino, own_ino;
	int err = process_namespace(target->pid, "pid", &target->pid_namespace_dev,
				    &target->pid_namespace_ino);

	if (err)
		return err;
	if (!process_namespace(target->pid, "mnt", &dev, &ino) &&
	    !process_namespace(getpid(), "mnt", &own_dev, &own_ino))
		target->other_mount_namespace = dev != own_dev || ino != own_ino;
	return 0;
}

static int examine(struct target *target, const char *named_library)
{
	struct scan scan = {
		.target = target,
		.named_library = named_library,
		.pid = target->pid,
		.version = &target->version,
	};
	int err = process_status(target->pid, &target->status);

	if (err || target->status.state == 'Z')
		return refuse(target->pid, err ? err : -ESRCH);
	target->pidfd = (int)syscall(SYS_pidfd_open, target->pid, 0);
	if (target->pidfd < 0)
		return refuse(target->pid, errno == EINVAL ? -ESRCH : -errno);
	target->image_id = process_image_id(target->pid);
	process_program(target->pid, scan.program, sizeof(scan.program));
	err = scan_mappings(&scan);
	if (err == -ESRCH || err == -EACCES || err == -EPERM)
		return refuse(target->pid, err);
	if (err)
		return err;
	if (!scan.is_torch)
		return refuse(target->pid, -ENOEXEC);
	target->release = torch_version_release(target->version.torch);
	err = find_namespaces(target);
	return err ? refuse(target->pid, err) : 0;
}

int target_open(struct target **out, pid_t pid, const char *named_library)
{
	struct target *target = calloc(1, sizeof(*target));
	unsigned int role;
	int err;

	if (!target)
		return -ENOMEM;
	target->pid = pid;
	target->pidfd = -1;
	target->lock_fd = -1;
	for (role = 0; role < LIBRARY_CNT; role++)
		target->libraries[role].fd = -1;
	err = examine(target, named_library);
	if (err) {
		target_close(target);
		return err;
	}
	*out = target;
	return 0;
}

void target_close(struct target *target)
{
	unsigned int role;

	if (!target)
		return;
	for (role = 0; role < LIBRARY_CNT; role++) {
		if (target->libraries[role].fd >= 0)
			close(target->libraries[role].fd);
	}
	if (target->pidfd >= 0)
		close(target->pidfd);
	if (target->lock_fd >= 0)
		close(target->lock_fd);
	free(target);
}

/* Who holds a lock on the file behind fd, by /proc/locks; 0: not found, or in another namespace. */
static pid_t lock_holder(int fd)
{
	char line[256], wanted[32];
	struct stat stat_buffer;
	pid_t holder = 0;
	FILE *file;

	file = fstat(fd, &stat_buffer) ? NULL : fopen("/proc/locks", "re");
	if (!file)
		return 0;
	/* "1: FLOCK  ADVISORY  WRITE 4242 00:16:4026532 0 EOF" */
	snprintf(wanted, sizeof(wanted), ":%llu ", (unsigned long long)stat_buffer.st_ino);
	while (!holder && fgets(line, sizeof(line), file)) {
		const char *mode = strstr(line, "WRITE ");

		if (mode && strstr(line, "FLOCK") && strstr(mode, wanted))
			holder = (pid_t)strtol(mode + strlen("WRITE "), NULL, 10);
	}
	fclose(file);
	return holder;
}

static int refuse_locked(const struct target *target)
{
	pid_t holder = lock_holder(target->lock_fd);

	if (holder > 0)
		log_err("pid %d: another tpbpf, pid %d, is capturing this job; wait until it is "
			"done or end it",
			target->pid, holder);
	else
		log_err("pid %d: another tpbpf is capturing this job; wait until it is done or end "
			"it",
			target->pid);
	return -EBUSY;
}

int target_lock(struct target *target)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", target->pid);
	target->lock_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (target->lock_fd < 0)
		return refuse(target->pid, errno == ENOENT ? -ESRCH : -errno);
	if (!flock(target->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK ? refuse_locked(target) : -errno;
}

bool target_has_exited(const struct target *target)
{
	struct pollfd fd = { .fd = target->pidfd, .events = POLLIN };

	return poll(&fd, 1, 0) > 0;
}

bool target_has_execed(const struct target *target)
{
	uint64_t image_id = process_image_id(target->pid);

	return image_id && target->image_id && image_id != target->image_id;
}

void target_describe(const struct target *target, struct wire_job *job)
{
	char text[sizeof(job->command_line)] = "";

	job->pid = (__u32)target->pid;
	job->namespace_pid = (__u32)target->status.namespace_pid;
	job->rank = target_rank(target->pid, target_rank_variables);
	job->local_rank = target_rank(target->pid, target_local_rank_variables);
	job->world_size = target_rank(target->pid, target_world_size_variables);
	if (gethostname(job->host, sizeof(job->host) - 1))
		job->host[0] = 0;
	process_name(target->pid, job->process_name, sizeof(job->process_name));
	process_command_line(target->pid, text, sizeof(text));
	text_printable(job->command_line, sizeof(job->command_line), text);
	text_copy(job->torch_version, sizeof(job->torch_version), target->version.torch);
	text_copy(job->python_version, sizeof(job->python_version), target->version.python);
	text_copy(job->cuda_version, sizeof(job->cuda_version), target->version.cuda);
}
