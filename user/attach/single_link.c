/*
 * single_link.c - see single_link.h. As libbpf does it, but for the perf event's descriptor, which
 * is closed once the link holds the event: a link of libbpf has two, and hands out one.
 */
#include "attach/single_link.h"

#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* The number that this kernel gave to uprobes as a kind of perf event, or a negative errno. */
static int event_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	char line[16] = "";
	uint32_t type;
	int err;

	if (!file)
		return -errno;
	if (fgets(line, sizeof(line), file))
		line[strcspn(line, "\n")] = 0;
	err = text_parse_u32(line, INT_MAX, &type);
	fclose(file);
	return err ? err : (int)type;
}

static int open_event(const struct single_site *site)
{
	struct perf_event_attr attr = { .size = sizeof(attr) };
	int type = event_type();
	long fd;

	if (type < 0)
		return type;
	attr.type = (__u32)type;
	attr.uprobe_path = (uintptr_t)site->path;
	attr.probe_offset = site->file_offset;
	fd = syscall(SYS_perf_event_open, &attr, site->pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : (int)fd;
}

static int link_event(const struct single_site *site, int event_fd)
{
	union bpf_attr attr;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.link_create.prog_fd = (__u32)site->program_fd;
	attr.link_create.target_fd = (__u32)event_fd;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = site->cookie;
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	return fd < 0 ? -errno : (int)fd;
}

int single_link_make(const struct single_site *site)
{
	int link_fd, event_fd = open_event(site);

	if (event_fd < 0)
		return event_fd;
	link_fd = link_event(site, event_fd);
	if (link_fd >= 0 && ioctl(event_fd, PERF_EVENT_IOC_ENABLE, 0)) {
		int err = -errno;

		close(link_fd);
		link_fd = err;
	}
	close(event_fd);
	return link_fd;
}
