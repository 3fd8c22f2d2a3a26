/* privilege.c - see privilege.h. */
#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

#define GROUPS_MAX 1024

struct capability_sets {
	capability_set effective, permitted, inheritable;
};

static int read_sets(struct capability_sets *sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { { 0 } };

	*sets = (struct capability_sets){ .effective = 0 };
	if (syscall(SYS_capget, &header, data))
		return -errno;
	sets->effective = data[0].effective | (capability_set)data[1].effective << 32;
	sets->permitted = data[0].permitted | (capability_set)data[1].permitted << 32;
	sets->inheritable = data[0].inheritable | (capability_set)data[1].inheritable << 32;
	return 0;
}

static int write_sets(const struct capability_sets *sets)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct data[2] = {
		{ .effective = (__u32)sets->effective,
		  .permitted = (__u32)sets->permitted,
		  .inheritable = (__u32)sets->inheritable },
		{ .effective = (__u32)(sets->effective >> 32),
		  .permitted = (__u32)(sets->permitted >> 32),
		  .inheritable = (__u32)(sets->inheritable >> 32) },
	};

	return syscall(SYS_capset, &header, data) ? -errno : 0;
}

int privilege_capabilities(capability_set *in_force, capability_set *held)
{
	struct capability_sets sets;
	int err = read_sets(&sets);

	if (err)
		return err;
	*in_force = sets.effective;
	*held = sets.permitted;
	return 0;
}

int privilege_keep(capability_set keep)
{
	struct capability_sets sets;
	int err = read_sets(&sets);

	if (err)
		return err;
	sets.permitted &= keep;
	sets.effective = sets.permitted;
	sets.inheritable = 0; /* the ambient ones go with them */
	return write_sets(&sets);
}

int privilege_use(capability_set use)
{
	struct capability_sets sets;
	int err = read_sets(&sets);

	if (err)
		return err;
	sets.effective = sets.permitted & use;
	return write_sets(&sets);
}

/* The leak checker of a sanitized build looks into its own process by ptrace. */
static void set_dumpable(bool is_dumpable)
{
#ifdef __SANITIZE_ADDRESS__
	is_dumpable = true;
#endif
	prctl(PR_SET_DUMPABLE, is_dumpable, 0, 0, 0);
}

void privilege_lock(void)
{
	capability_set in_force, held;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (geteuid() && !privilege_capabilities(&in_force, &held) && held)
		set_dumpable(false);
}

void privilege_invoker(uid_t *uid, gid_t *gid)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	uint32_t uid_number, gid_number;

	*uid = (uid_t)-1;
	*gid = (gid_t)-1;
	if (geteuid() || !uid_text || !gid_text)
		return;
	if (text_parse_u32(uid_text, UINT32_MAX - 1, &uid_number) ||
	    text_parse_u32(gid_text, UINT32_MAX - 1, &gid_number))
		return;
	*uid = uid_number;
	*gid = gid_number;
}

/* The kernel tells no error: what is asked for with an id that cannot be is the present one. */
static int set_file_ids(uid_t uid, gid_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	if ((gid_t)setfsgid((gid_t)-1) != gid || (uid_t)setfsuid((uid_t)-1) != uid)
		return -EPERM;
	set_dumpable(false); /* as the kernel has it; not so for a sanitized build */
	return 0;
}

int privilege_files_as(uid_t uid, gid_t gid)
{
	const struct passwd *entry = getpwuid(uid);
	gid_t *groups = calloc(GROUPS_MAX, sizeof(*groups));
	int count = GROUPS_MAX, err;

	if (!groups)
		return -ENOMEM;
	groups[0] = gid;
	if (!entry || getgrouplist(entry->pw_name, gid, groups, &count) < 0)
		count = entry && count > GROUPS_MAX ? GROUPS_MAX : 1;
	err = setgroups((size_t)count, groups) ? -errno : set_file_ids(uid, gid);
	free(groups);
	if (err)
		privilege_files_as_self();
	return err;
}

int privilege_files_as_self(void)
{
	gid_t gid = getegid();
	int err = set_file_ids(geteuid(), gid);

	return err || !setgroups(1, &gid) ? err : -errno;
}
