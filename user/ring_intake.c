/* ring_intake.c - see ring_intake.h. */
#include "ring_intake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state_of(void *context)
{
	return probes_state(context);
}

int ring_intake_open(struct ring **out, struct probes *probes, int agent_fd,
		     struct record_sink *sink)
{
	const struct ring_maps *rings = probes_rings(probes);
	const struct ring_sources from = {
		{ state_of, probes_attempts(probes), probes },
		{ rings->losses, rings->count, probes_loss_epoch(probes) },
	};
	size_t count = rings->count;
	int *fds = calloc(count + 1, sizeof(*fds)), err;

	if (!fds)
		return -ENOMEM;
	memcpy(fds, rings->fds, count * sizeof(*fds));
	if (agent_fd >= 0)
		fds[count++] = agent_fd;
	err = ring_new(out, fds, count, &from, sink);
	free(fds);
	return err;
}
