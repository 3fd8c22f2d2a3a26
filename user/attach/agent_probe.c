/*
 * agent_probe.c - see agent_probe.h. One perf event a point, not uprobe_multi: its filter is by
 * process on every kernel that we support.
 */
#include "attach/agent_probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent.skel.h"
#include "base/log.h"

struct agent_probe {
	struct agent_bpf *skeleton;
	const struct agent_image *image;
	pid_t pid;
	struct bpf_link *links[AGENT_POINT_CNT];
};

int agent_probe_open(struct agent_probe **out, const struct agent_image *image, pid_t pid)
{
	struct agent_probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return -ENOMEM;
	probe->image = image;
	probe->pid = pid;
	probe->skeleton = agent_bpf__open_and_load();
	if (!probe->skeleton) {
		int err = -errno;

		log_warn("the program that takes GPU activity cannot be loaded: %s",
			 strerror(-err));
		free(probe);
		return err;
	}
	*out = probe;
	return 0;
}

void agent_probe_close(struct agent_probe *probe)
{
	int point;

	if (!probe)
		return;
	for (point = 0; point < AGENT_POINT_CNT; point++)
		agent_probe_detach(probe, (enum agent_point)point);
	agent_bpf__destroy(probe->skeleton);
	free(probe);
}

int agent_probe_attach(struct agent_probe *probe, enum agent_point point)
{
	const struct agent_site *site = &probe->image->sites[point];
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .ref_ctr_offset = site->semaphore_offset);
	const struct bpf_program *program = point == AGENT_POINT_BATCH
						    ? probe->skeleton->progs.on_agent_batch
						    : probe->skeleton->progs.on_agent_nothing;
	char path[32];

	if (!site->is_found)
		return -ENOENT;
	if (probe->links[point])
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", probe->image->fd);
	probe->links[point] = bpf_program__attach_uprobe_opts(program, probe->pid, path,
							      site->file_offset, &opts);
	return probe->links[point] ? 0 : -errno;
}

void agent_probe_detach(struct agent_probe *probe, enum agent_point point)
{
	bpf_link__destroy(probe->links[point]);
	probe->links[point] = NULL;
}

int agent_probe_ring_fd(const struct agent_probe *probe)
{
	return bpf_map__fd(probe->skeleton->maps.agent_ring);
}
