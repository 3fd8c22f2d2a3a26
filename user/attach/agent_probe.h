/*
 * agent_probe.h - the program that takes the agent's batches: loaded, attached, detached. While a
 * point is attached the kernel keeps its semaphore in the job raised, and takes it back whatever
 * becomes of us.
 */
#ifndef ATTACH_AGENT_PROBE_H
#define ATTACH_AGENT_PROBE_H

#include "attach/agent_note.h"

struct agent_probe;

/* image must outlive the probe. Errors are logged. */
int agent_probe_open(struct agent_probe **out, const struct agent_image *image, pid_t pid);
void agent_probe_close(struct agent_probe *probe); /* detaches; NULL is legal */

/* -ENOENT: the agent has no such point. */
int agent_probe_attach(struct agent_probe *probe, enum agent_point point);
void agent_probe_detach(struct agent_probe *probe, enum agent_point point);

/* The ring that batches come through, as WIRE_AGENT records. */
int agent_probe_ring_fd(const struct agent_probe *probe);

#endif /* ATTACH_AGENT_PROBE_H */
