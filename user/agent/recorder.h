/*
 * recorder.h - from a record of CUPTI's to one of the batch's. The caller holds the session's lock.
 */
#ifndef AGENT_RECORDER_H
#define AGENT_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#include "agent/batch.h"
#include "agent/cupti_clock.h"

struct recorder {
	struct batch batch;
	struct cupti_clock clock;
	uint32_t version;     /* the API version that the records are read by */
	uint32_t own_thread;  /* calls of this thread are the agent's own */
	uint32_t own_pthread; /* the same, as CUPTI's other kind of id */
	uint64_t own_calls;   /* that were seen */
};

/* Bytes of a record of this kind that are read; 0: the kind is not known. */
size_t recorder_size(const struct recorder *recorder, uint32_t kind);

/* One record, of recorder_size() bytes at least. callback_name: of an API record, NULL: none. */
void recorder_take(struct recorder *recorder, const uint8_t *record, const char *callback_name);

#endif /* AGENT_RECORDER_H */
