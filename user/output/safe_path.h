/*
 * safe_path.h - the way to a directory that may lead through directories of other users: they can
 * put a link there, or turn one elsewhere while we look.
 */
#ifndef OUTPUT_SAFE_PATH_H
#define OUTPUT_SAFE_PATH_H

/*
 * Opens the directory that the last part of a path lies in (O_PATH; the caller closes it); *name is
 * that part, within path. Links on the way are followed as ever, except as root: then only those
 * that belong to root or to who called sudo. A negative errno; -EXDEV: a link of another user is on
 * the way, which is logged.
 */
int safe_path_parent(const char *path, const char **name);

#endif /* OUTPUT_SAFE_PATH_H */
