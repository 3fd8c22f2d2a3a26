/* host_facts.c - see host_facts.h. What each capability does was tried, one by one. */
#include "host_facts.h"

#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

unsigned int host_kernel_release(const char *text)
{
	char *end;
	unsigned long major = strtoul(text, &end, 10), minor;
	const char *dot = end;

	if (end == text || *dot != '.' || major > 1000)
		return 0;
	minor = strtoul(dot + 1, &end, 10);
	if (end == dot + 1 || minor > 999)
		return 0;
	return KERNEL_RELEASE((unsigned int)major, (unsigned int)minor);
}

bool host_lockdown(const char *text, char *to, size_t size_bytes)
{
	const char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;
	size_t length;

	if (!end || end == begin + 1)
		return false;
	length = (size_t)(end - begin) - 1;
	if (length >= size_bytes)
		return false;
	memcpy(to, begin + 1, length);
	to[length] = 0;
	return true;
}

bool host_maps_all_users(const char *uid_map)
{
	char *at;
	unsigned long inside = strtoul(uid_map, &at, 10), outside, count;

	outside = strtoul(at, &at, 10);
	count = strtoul(at, &at, 10);
	return !inside && !outside && count == 4294967295UL;
}

static const struct host_capability capabilities[] = {
	{
		.number = CAP_BPF,
		.name = "CAP_BPF",
		.purpose = "loads BPF programs",
		.without = "no program can be loaded",
		.is_needed = true,
		.admin_does = true,
	},
	{
		.number = CAP_PERFMON,
		.name = "CAP_PERFMON",
		.purpose = "loads programs that read a job's memory",
		.without = "no program that reads a job can be loaded",
		.is_needed = true,
		.admin_does = true,
	},
	{
		.number = CAP_SYS_PTRACE,
		.name = "CAP_SYS_PTRACE",
		.purpose = "looks into jobs of other users",
		.without = "only jobs of your own user can be captured",
	},
	{
		.number = CAP_DAC_READ_SEARCH,
		.name = "CAP_DAC_READ_SEARCH",
		.purpose = "reads libraries and the environment of other users' jobs",
		.without = "no jobs of other users whose PyTorch lies where only they may read, "
			   "and no rank of any",
	},
	{
		.number = CAP_CHECKPOINT_RESTORE,
		.name = "CAP_CHECKPOINT_RESTORE",
		.purpose = "opens libraries that were deleted or replaced on disk since the job "
			   "began",
		.without = "no job whose PyTorch was deleted or replaced since it began",
		.admin_does = true,
	},
	{
		.number = CAP_SYS_NICE,
		.name = "CAP_SYS_NICE",
		.purpose = "wakes up in time while the window lasts",
		.without = "on a busy machine the probes are there longer than they need be",
	},
	{
		.number = CAP_SYS_ADMIN,
		.name = "CAP_SYS_ADMIN",
		.purpose = "attaches one by one, where the kernel has no uprobe_multi",
		.without = "no capture on most kernels before 6.6",
	},
	{
		.number = CAP_SYS_RESOURCE,
		.name = "CAP_SYS_RESOURCE",
		.purpose = "not used",
		.without = "nothing: it is not used",
	},
};

const struct host_capability *host_capabilities(size_t *count)
{
	*count = sizeof(capabilities) / sizeof(capabilities[0]);
	return capabilities;
}

bool host_can(const struct host_capability *capability, capability_set in_force)
{
	if (in_force & CAPABILITY(capability->number))
		return true;
	return capability->admin_does && in_force & CAPABILITY(CAP_SYS_ADMIN);
}
