/*
 * agent_batch.h - walks the records of one batch of the agent. The bytes come from the job: sizes
 * are checked before anything is read, and a record is copied out so that what is shorter than this
 * version knows reads as zeros.
 */
#ifndef INGEST_AGENT_BATCH_H
#define INGEST_AGENT_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "agent_wire.h"

/* The fixed part of any record. */
union agent_any {
	struct agent_record record;
	struct agent_session session;
	struct agent_device device;
	struct agent_name name;
	struct agent_kernel kernel;
	struct agent_memcpy memcpy_;
	struct agent_memset memset_;
	struct agent_api api;
	struct agent_sync sync;
	struct agent_event event;
	struct agent_overhead overhead;
	struct agent_status status;
	struct agent_end end;
};

struct agent_batch_walk {
	struct agent_batch head;
	const unsigned char *at, *end;
	bool is_damaged; /* it ended before its records did */
};

/* A record with the text behind its fixed part, cut to what there is; not NUL-terminated. */
struct agent_item {
	union agent_any any;
	const char *text;
	size_t text_bytes;
};

/* -EPROTO: this is no batch that can be read. */
int agent_batch_begin(struct agent_batch_walk *walk, const void *bytes, size_t size_bytes);

/* The next record of a known kind. False: there is none. */
bool agent_batch_next(struct agent_batch_walk *walk, struct agent_item *item);

#endif /* INGEST_AGENT_BATCH_H */
