/*
 * host_facts.h - what files of the kernel say of this host, told apart from reading them; and the
 * table of what each capability is for.
 */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/privilege.h"

/* major * 1000 + minor; 0: no release. "6.18.44-custom" is 6018. */
unsigned int host_kernel_release(const char *text);

#define KERNEL_RELEASE(major, minor) ((major)*1000U + (minor))

/* The word in brackets: "none [integrity] confidentiality". False: there is none. */
bool host_lockdown(const char *text, char *to, size_t size_bytes);

/* Does uid_map say that all users are themselves, as in the first user namespace? */
bool host_maps_all_users(const char *uid_map);

struct host_capability {
	unsigned int number;
	const char *name;
	const char *purpose;
	const char *without; /* what is lost */
	bool is_needed;	     /* nothing is captured without it */
	bool admin_does;     /* CAP_SYS_ADMIN includes it */
};

const struct host_capability *host_capabilities(size_t *count);

/* In force, itself or by CAP_SYS_ADMIN. */
bool host_can(const struct host_capability *capability, capability_set in_force);

#endif /* HOST_FACTS_H */
