/* privilege.c - see privilege.h. By the system call: two words of bits do not need a library. */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

int privilege_keep_files_only(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];
	const __u32 keep = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER;

	if (syscall(SYS_capget, &header, data))
		return -errno;
	data[0].effective &= keep;
	data[0].permitted &= keep;
	data[0].inheritable = 0;
	data[1].effective = 0;
	data[1].permitted = 0;
	data[1].inheritable = 0;
	if (syscall(SYS_capset, &header, data))
		return -errno;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return 0;
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
