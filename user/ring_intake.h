/* ring_intake.h - the rings of a capture as one stream: those of the CPUs and the agent's. */
#ifndef RING_INTAKE_H
#define RING_INTAKE_H

#include "attach/probe.h"
#include "ingest/ring.h"

/* agent_fd: the agent's ring, or negative. probes must outlive the ring. */
int ring_intake_open(struct ring **out, struct probes *probes, int agent_fd,
		     struct record_sink *sink);

#endif /* RING_INTAKE_H */
