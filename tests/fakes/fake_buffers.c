/* fake_buffers.c - see fake_buffers.h. */
#include "fake_buffers.h"

#include <stdlib.h>
#include <string.h>

#include "fake_clock.h"

struct deferred {
	uint8_t *record;
	size_t offset;
	uint64_t start_ns, end_ns, due_ns;
	bool without_times;
	struct fake_buffer *buffer;
	struct deferred *next;
};

static struct fake_buffer *buffers;
static struct deferred *deferred;

static struct fake_buffer *find(uint32_t thread)
{
	struct fake_buffer *buffer;

	for (buffer = buffers; buffer; buffer = buffer->next)
		if (!buffer->full && buffer->thread == thread)
			return buffer;
	return NULL;
}

static struct fake_buffer *request(const struct fake_knobs *knobs, requested_t requested,
				   uint32_t thread)
{
	struct fake_buffer *buffer = calloc(1, sizeof(*buffer));
	size_t max_records = 0;

	requested(&buffer->data, &buffer->size, &max_records);
	if (!buffer->data || !buffer->size) {
		/* The real one writes to address 0. */
		if (knobs->version < 27)
			abort();
		free(buffer);
		return NULL;
	}
	if (knobs->small_buffers && buffer->size > 16384)
		buffer->size = 16384;
	memset(buffer->data, 0, buffer->size);
	buffer->thread = thread;
	buffer->next = buffers;
	buffers = buffer;
	return buffer;
}

uint8_t *fake_buffers_reserve(const struct fake_knobs *knobs, requested_t requested,
			      uint32_t thread, size_t size)
{
	struct fake_buffer *buffer = find(thread);
	uint8_t *record;

	if (buffer && buffer->size - buffer->used < size) {
		buffer->full = true;
		buffer = NULL;
	}
	if (!buffer)
		buffer = request(knobs, requested, thread);
	if (!buffer)
		return NULL;
	record = buffer->data + buffer->used;
	buffer->used += size;
	return record;
}

static struct fake_buffer *owner_of(const uint8_t *record)
{
	struct fake_buffer *buffer;

	for (buffer = buffers; buffer; buffer = buffer->next)
		if (record >= buffer->data && record < buffer->data + buffer->size)
			return buffer;
	return NULL;
}

void fake_buffers_defer(const struct fake_knobs *knobs, uint8_t *record, size_t offset,
			uint64_t start_ns, uint64_t end_ns, uint64_t due_ns, bool without_times)
{
	struct deferred *entry = calloc(1, sizeof(*entry));

	*entry = (struct deferred){ record, offset,	   start_ns,	     end_ns,
				    due_ns, without_times, owner_of(record), deferred };
	entry->due_ns += knobs->slow_us * 1000ULL;
	entry->buffer->unfinished++;
	deferred = entry;
}

void fake_buffers_finish(const struct fake_knobs *knobs, uint64_t now_ns)
{
	struct deferred **at = &deferred;

	while (*at) {
		struct deferred *entry = *at;
		uint64_t times[2];

		if (entry->due_ns > now_ns) {
			at = &entry->next;
			continue;
		}
		if (!entry->without_times) {
			times[0] = fake_clock_at(knobs->clock, entry->start_ns);
			times[1] = fake_clock_at(knobs->clock, entry->end_ns);
			memcpy(entry->record + entry->offset, times, sizeof(times));
		}
		entry->buffer->unfinished--;
		*at = entry->next;
		free(entry);
	}
}

static void forget(const struct fake_buffer *buffer)
{
	struct deferred **at = &deferred;

	while (*at) {
		struct deferred *entry = *at;

		if (entry->buffer != buffer) {
			at = &entry->next;
			continue;
		}
		*at = entry->next;
		free(entry);
	}
}

struct fake_buffer *fake_buffers_take(bool forced, bool full_only)
{
	struct fake_buffer **at = &buffers, *taken = NULL;

	while (*at) {
		struct fake_buffer *buffer = *at;

		if ((buffer->unfinished && !forced) || (full_only && !buffer->full)) {
			at = &buffer->next;
			continue;
		}
		forget(buffer);
		*at = buffer->next;
		buffer->next = taken;
		taken = buffer;
	}
	return taken;
}
