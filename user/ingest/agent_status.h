/* agent_status.h - what the agent says of itself, as sentences for the user. */
#ifndef INGEST_AGENT_STATUS_H
#define INGEST_AGENT_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "agent_wire.h"

/*
 * text: of the record, NUL-terminated, still the job's own bytes. Returns to; empty for a code that
 * this version does not know.
 */
char *agent_status_text(char *to, size_t size_bytes, const struct agent_status *status,
			const char *text);

#endif /* INGEST_AGENT_STATUS_H */
