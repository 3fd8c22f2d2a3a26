/*
 * out_dir.h - the output directory. Everything in it is made relative to one descriptor, without
 * following links, under a temporary name, and appears under its own name only when it is whole.
 * Files belong to the user whom the process makes files as (base/privilege.h).
 */
#ifndef OUTPUT_OUT_DIR_H
#define OUTPUT_OUT_DIR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/byte_sink.h"

struct out_dir;
struct out_file;

/* Is the user's second Ctrl-C there? Asked while files are written. */
struct out_cancel {
	bool (*is_cancelled)(void *context);
	void *context;
};

/*
 * Makes the directory, or takes an empty one. Also sets space aside, so that the last profile.json
 * can be written on a disk that has filled up meanwhile. Errors are logged, -ENOTEMPTY, -ENOTDIR
 * and what the system says, but for -EACCES and -EPERM: the caller may have another user to try.
 */
int out_dir_open(struct out_dir **out, const char *path, struct out_cancel cancel);
void out_dir_free(struct out_dir *dir); /* NULL is legal */

const char *out_dir_path(const struct out_dir *dir);

/* Gives the space back that was set aside; before the last profile.json. */
void out_dir_use_reserve(struct out_dir *dir);

/* Removes what we made: the files by their names, and the directory if we made it. */
void out_dir_remove(struct out_dir *dir);

/* name: a plain name. The file is not there until out_file_commit(). */
int out_file_new(struct out_file **out, struct out_dir *dir, const char *name);

/* Buffered. -ECANCELED: the user has cancelled. */
struct byte_sink *out_file_sink(struct out_file *file);

uint64_t out_file_size_bytes(const struct out_file *file);

/* Puts the file under its name, over an earlier one; frees it in any case. Errors are logged. */
int out_file_commit(struct out_file *file);
void out_file_abandon(struct out_file *file); /* NULL is legal */

/* A second name for a file, in a subdirectory that is made for it. */
int out_dir_link(struct out_dir *dir, const char *name, const char *subdirectory,
		 const char *link_name);

#endif /* OUTPUT_OUT_DIR_H */
