/*
 * batch.h - packs records and hands full batches over. Not thread-safe: the session's lock guards
 * it. See agent_wire.h for the form.
 */
#ifndef AGENT_BATCH_H
#define AGENT_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent_wire.h"
#include "agent/names.h"

struct batch {
	char *memory; /* AGENT_BATCH_BYTES, touched: a probe cannot fault pages in */
	size_t used;
	uint32_t record_count;
	uint64_t session, sequence;
	struct agent_clock clock; /* as of the last record */
	uint64_t counts[AGENT_COUNT_CNT];
	struct names names;
};

/* -ENOMEM. */
int batch_init(struct batch *batch, uint64_t session);
void batch_fini(struct batch *batch);

/*
 * Room for a record of size bytes, its head filled in, all else 0; what does not fit any more is
 * handed over first. NULL if size is more than a batch holds.
 */
void *batch_reserve(struct batch *batch, enum agent_kind kind, size_t size);

/* As above, with text behind it; *text_size is where its size goes, within the record. */
void *batch_reserve_text(struct batch *batch, enum agent_kind kind, size_t size,
			 size_t text_size_offset, const char *text);

/* The id of name, whose text is now in this batch or a not much earlier one; 0: it has none. */
uint32_t batch_name(struct batch *batch, const char *name);

/* Hands over what there is, if there is anything. now_ns: CLOCK_MONOTONIC. */
void batch_hand_over(struct batch *batch);

#endif /* AGENT_BATCH_H */
