/*
 * fake_buffers.h - the buffers of libcupti's stand-in: from when they are asked for to when they
 * are given back. A record of the device is put in when its work is launched, and its times when
 * the work has ended: a buffer with such a record is not complete. The caller holds the lock.
 */
#ifndef FAKE_BUFFERS_H
#define FAKE_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fake_knobs.h"

typedef void (*requested_t)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*completed_t)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			    size_t valid_size);

struct fake_buffer {
	uint8_t *data;
	size_t size, used;
	uint32_t thread, unfinished;
	bool full;
	struct fake_buffer *next;
};

/* Room for a record, zeroed; NULL: it is lost. thread: 0 if threads share buffers. */
uint8_t *fake_buffers_reserve(const struct fake_knobs *knobs, requested_t requested,
			      uint32_t thread, size_t size);

/* The times at offset of the record are to be filled in when due_ns has come. */
void fake_buffers_defer(const struct fake_knobs *knobs, uint8_t *record, size_t offset,
			uint64_t start_ns, uint64_t end_ns, uint64_t due_ns, bool without_times);

/* Fills in what is due. */
void fake_buffers_finish(const struct fake_knobs *knobs, uint64_t now_ns);

/* Takes out of the list what can be given back: forced, everything. */
struct fake_buffer *fake_buffers_take(bool forced, bool full_only);

#endif /* FAKE_BUFFERS_H */
