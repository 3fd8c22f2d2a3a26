/* privilege.h - gives up what is no longer needed. */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <sys/types.h>

/* Keeps only the capabilities to write and give away files. 0 or a negative errno. */
int privilege_keep_files_only(void);

/* Who called sudo: the owner of what we write. (uid_t)-1 when nobody did. */
void privilege_invoker(uid_t *uid, gid_t *gid);

#endif /* BASE_PRIVILEGE_H */
