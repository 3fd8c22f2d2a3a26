/*
 * inject_image.h - what of the job's C library an injection calls, and where in the job it lies.
 * Found in the files that are mapped; nothing in the job is run or stopped for it.
 */
#ifndef ATTACH_INJECT_IMAGE_H
#define ATTACH_INJECT_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct code_range {
	uint64_t begin, end;
};

/* Functions of the C library; addresses in the job. */
enum inject_function {
	INJECT_DLOPEN,
	INJECT_DLERROR,
	INJECT_SYSCALL,
	INJECT_MEMCCPY,
	INJECT_ERRNO, /* __errno_location() */
	INJECT_FUNCTION_CNT,
};

#define INJECT_WAITS_MAX 32
#define INJECT_LOCKS_MAX 512

struct inject_image {
	uint64_t functions[INJECT_FUNCTION_CNT];
	uint64_t restorer;	  /* an instruction pair that makes the call rt_sigreturn */
	int64_t errno_offset;	  /* of errno, from a thread's own pointer */
	struct code_range loader; /* ld.so */
	struct code_range walk;	  /* dl_iterate_phdr(), which holds one of the loader's locks */
	uint64_t loader_locks;	  /* these, one after the other */
	size_t loader_lock_count;
	struct code_range libc;
	struct code_range threads; /* libpthread, where there is one still */
	/* Functions that wait for a condition or a semaphore, holding no lock of their own. */
	struct code_range waits[INJECT_WAITS_MAX];
	size_t wait_count;
	/* All others that wait for a thread. */
	struct code_range locks[INJECT_LOCKS_MAX];
	size_t lock_count;
};

/*
 * -ENOENT: no C library is mapped, the program is static; -ENOEXEC: one that this cannot be done
 * with; -EBUSY: a thread of the job is loading a library (or the loader is none that is known);
 * -ESRCH, -EACCES and others: it cannot be looked at.
 */
int inject_image_read(struct inject_image *image, pid_t pid);

/* Is nobody in the loader? True: all of its locks are free. */
bool inject_image_is_idle(const struct inject_image *image, pid_t pid);

/*
 * The loader's locks in its data: recursive ones, two or three in a row, found while all are free.
 * How many; *offset: of the first one. Pure.
 */
size_t inject_loader_locks(const uint8_t *data, size_t size_bytes, size_t *offset);

/*
 * The offset of errno by the code of __errno_location(), which lies at address: where that is the
 * word of the slot at *slot, true and *slot is not 0. Pure.
 */
bool inject_errno_code(const uint8_t *code, size_t size_bytes, uint64_t address, uint64_t *slot,
		       int64_t *offset);

bool code_range_has(const struct code_range *range, uint64_t address);

#endif /* ATTACH_INJECT_IMAGE_H */
