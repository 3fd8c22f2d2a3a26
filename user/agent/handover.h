/*
 * handover.h - the one place where anything leaves the job, and the switches that the kernel turns.
 *
 * The notes that tell the collector where all this lies are as systemtap's <sys/sdt.h> writes them,
 * so that libbpf and every other USDT reader finds them. See agent_wire.h for their meaning.
 */
#ifndef AGENT_HANDOVER_H
#define AGENT_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>

/* Does nothing: a probe on it reads size bytes at batch. */
void tpbpf_agent_batch(const void *batch, size_t size);

/* Reference counts that the kernel keeps: how many probes are attached. */
bool handover_listening(void);
bool handover_collecting(void);
bool handover_wants_sync(void);

/* Another copy of the agent is loaded in this process and came first. */
bool handover_has_twin(void);

#endif /* AGENT_HANDOVER_H */
