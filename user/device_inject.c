/* device_inject.c - see device_inject.h. */
#include "device_inject.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "attach/agent_note.h"
#include "attach/inject.h"
#include "base/log.h"
#include "device_watch.h"

#define MS 1e6

static bool is_wanted(const struct options *options, const struct target *target)
{
	return options->gpu == GPU_INJECT && agent_note_has_library(target->pid, "libcuda.so") &&
	       !device_watch_finds_agent(target);
}

static void refuse(char *refusal, const char *reason)
{
	log_warn("--gpu inject: the agent is not put into the job: %s", reason);
	snprintf(refusal, DEVICE_REFUSAL_BYTES, "%s", reason);
}

void device_inject(const struct options *options, const struct target *target, char *refusal)
{
	struct inject_result result;
	char path[PATH_MAX];
	int err, fd;

	refusal[0] = 0;
	if (!is_wanted(options, target))
		return;
	fd = inject_agent_file(path, sizeof(path));
	if (fd < 0) {
		refuse(refusal, "libtpbpf-agent.so is not beside tpbpf nor in ../lib/tpbpf, or "
				"others than its owner may write it");
		return;
	}
	err = inject_library(&result, target->pid, fd, path);
	close(fd);
	if (err) {
		refuse(refusal, result.reason);
		return;
	}
	log_info("the agent for GPU activity was put into the job%s: thread %d was held for %.2f "
		 "ms",
		 result.by_memory ? " through a memory file" : "", result.tid,
		 (double)result.held_ns / MS);
}
