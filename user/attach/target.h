/*
 * target.h - the job: a running PyTorch process, checked and held. Its libraries are opened through
 * the mappings themselves, so also when a file has been deleted or replaced, or lies in another
 * mount namespace.
 */
#ifndef ATTACH_TARGET_H
#define ATTACH_TARGET_H

#include <stdbool.h>
#include <sys/types.h>

#include "attach/process.h"
#include "attach/torch_version.h"
#include "wire.h"

enum library_role {
	LIBRARY_TORCH_CPU,
	LIBRARY_TORCH_PYTHON,
	LIBRARY_C10,
	LIBRARY_NAMED, /* the one of --step symbol:LIB:SYMBOL */
	LIBRARY_CUDART,
	LIBRARY_CUDART_OTHER, /* a job may have two */
	LIBRARY_CUDA,
	LIBRARY_TORCH_CUDA,    /* looked at only: the runtime may be linked into it */
	LIBRARY_PYTHON,	       /* the program itself: the interpreter is linked into it... */
	LIBRARY_PYTHON_SHARED, /* ...or it is in libpython */
	LIBRARY_CNT,
};

struct target_library {
	int fd;	 /* -1: not mapped */
	int err; /* it is mapped and cannot be opened: of one that a capture can do without */
	uint64_t inode;
	char path[512];
	bool is_deleted;
};

struct target {
	pid_t pid;
	int pidfd;
	int lock_fd;
	struct process_status status;
	dev_t pid_namespace_dev;
	ino_t pid_namespace_ino;
	bool other_mount_namespace;
	uint64_t image_id;
	struct torch_version version;
	torch_release release;
	struct target_library libraries[LIBRARY_CNT];
};

/*
 * Opens a job. Every refusal is logged as one sentence with its mend: -ESRCH no such process,
 * -ENOEXEC no PyTorch process, -EPERM not permitted, -EBUSY captured by another tpbpf.
 * named_library may be NULL.
 */
int target_open(struct target **out, pid_t pid, const char *named_library);
void target_close(struct target *target); /* NULL is legal */

/* Keeps other captures of this job away until target_close(), or until we die. -EBUSY, logged. */
int target_lock(struct target *target);

bool target_has_exited(const struct target *target);

/* The process has replaced its program: its libraries and our probes are gone. */
bool target_has_execed(const struct target *target);

/* Fills in the job's part of a session record. */
void target_describe(const struct target *target, struct wire_job *job);

/* A rank variable of the environment, or WIRE_RANK_UNKNOWN. */
int target_rank(pid_t pid, const char *const *variables);

extern const char *const target_rank_variables[];
extern const char *const target_local_rank_variables[];
extern const char *const target_world_size_variables[];

/* Is libtorch mapped? Fills in what the mappings tell, without opening more than version.py. */
int target_probe_torch(pid_t pid, struct torch_version *version, bool *is_torch);

#endif /* ATTACH_TARGET_H */
