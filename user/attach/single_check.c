/* single_check.c - see single_check.h. */
#include "attach/single_check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attach/process.h"
#include "base/text.h"

#define TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"

/* Never called. */
static __attribute__((noinline, noclone, used)) void never_called(void)
{
	asm volatile("nop");
}

static bool read_type(uint32_t *type)
{
	FILE *file = fopen(TYPE_PATH, "re");
	char line[32] = "";
	bool is_read;

	if (!file)
		return false;
	is_read = fgets(line, sizeof(line), file);
	fclose(file);
	line[strcspn(line, "\n")] = 0;
	return is_read && !text_parse_u32(line, UINT32_MAX, type);
}

int single_check_uprobe(void)
{
	static const char path[] = "/proc/self/exe";
	struct perf_event_attr attr = { .size = sizeof(attr), .disabled = 1 };
	uint64_t file_offset;
	int fd, err;

	if (!read_type(&attr.type))
		return -ENOENT;
	err = process_file_offset(getpid(), (uint64_t)(uintptr_t)never_called, &file_offset);
	if (err)
		return err;
	attr.uprobe_path = (uint64_t)(uintptr_t)path;
	attr.probe_offset = file_offset;
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}
