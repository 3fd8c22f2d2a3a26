/*
 * privilege.h - the capabilities of this process, the user it makes files as, and who called it. By
 * the system calls: a few words of bits do not need a library.
 */
#ifndef BASE_PRIVILEGE_H
#define BASE_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bits by the numbers of linux/capability.h. */
typedef uint64_t capability_set;

#define CAPABILITY(number) (1ULL << (number))
#define CAPABILITIES_ALL (~0ULL)

/* Of this process; 0 or a negative errno. in_force may be raised up to what is held. */
int privilege_capabilities(capability_set *in_force, capability_set *held);

/* Gives up all others for good, and puts these in force as far as they were held. */
int privilege_keep(capability_set keep);

/* Of those that are held only these are in force from now on. Nothing is given up. */
int privilege_use(capability_set use);

/*
 * From now on exec gains nothing, and where we hold more than the user that we run as, that user
 * may not look into us.
 */
void privilege_lock(void);

/* Who called sudo: the owner of what we write. (uid_t)-1 when nobody did. */
void privilege_invoker(uid_t *uid, gid_t *gid);

/*
 * Files are looked up and made as this user, with the groups of that user. Who we are to signals
 * and limits stays. 0, or -EPERM or -ENOMEM: as ourselves still.
 */
int privilege_files_as(uid_t uid, gid_t gid);

/* As ourselves again, with no group but our own. The same errors. */
int privilege_files_as_self(void);

#endif /* BASE_PRIVILEGE_H */
