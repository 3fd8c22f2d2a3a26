/*
 * merge.c - see merge.h. Each ring has a queue of copies; a heap holds the queues whose head may
 * go, by the time of the head.
 */
#include "ingest/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent_wire.h"

#define ALIGN_BYTES 8
#define RECORD_BYTES_MAX (sizeof(struct wire_agent) + AGENT_BATCH_BYTES)

/* Before each record. */
struct entry {
	uint64_t time_ns;
	uint64_t size_bytes;
};

struct queue {
	char *bytes;
	size_t first, end, capacity;
	uint64_t youngest_ns; /* of all that it was given */
	uint64_t bound_ns;    /* see merge_horizon_ns() */
};

struct merge {
	struct queue *queues;
	size_t count;
	struct queue **heap;
	size_t heap_count;
};

int merge_new(struct merge **out, size_t ring_count)
{
	struct merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return -ENOMEM;
	merge->queues = calloc(ring_count + 1, sizeof(*merge->queues));
	merge->heap = calloc(ring_count + 1, sizeof(struct queue *));
	merge->count = ring_count;
	if (!merge->queues || !merge->heap) {
		merge_free(merge);
		return -ENOMEM;
	}
	*out = merge;
	return 0;
}

void merge_free(struct merge *merge)
{
	size_t i;

	if (!merge)
		return;
	for (i = 0; merge->queues && i < merge->count; i++)
		free(merge->queues[i].bytes);
	free(merge->queues);
	free(merge->heap);
	free(merge);
}

static int make_room(struct queue *queue, size_t size_bytes)
{
	size_t capacity = queue->capacity ? queue->capacity : 64 * 1024;
	char *grown;

	if (queue->first) {
		memmove(queue->bytes, queue->bytes + queue->first, queue->end - queue->first);
		queue->end -= queue->first;
		queue->first = 0;
	}
	while (capacity - queue->end < size_bytes)
		capacity *= 2;
	if (capacity == queue->capacity)
		return 0;
	grown = realloc(queue->bytes, capacity);
	if (!grown)
		return -ENOMEM;
	queue->bytes = grown;
	queue->capacity = capacity;
	return 0;
}

static size_t padded(size_t size_bytes)
{
	return (size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

int merge_add(struct merge *merge, size_t ring, const void *bytes, size_t size_bytes)
{
	struct queue *queue;
	struct wire_header header;
	struct entry entry;
	size_t needed = sizeof(entry) + padded(size_bytes);

	if (ring >= merge->count || size_bytes < sizeof(header) || size_bytes > RECORD_BYTES_MAX)
		return -EINVAL;
	queue = &merge->queues[ring];
	if (queue->capacity - queue->end < needed) {
		int err = make_room(queue, needed);

		if (err)
			return err;
	}
	memcpy(&header, bytes, sizeof(header));
	entry = (struct entry){ header.time_ns, size_bytes };
	memcpy(queue->bytes + queue->end, &entry, sizeof(entry));
	memcpy(queue->bytes + queue->end + sizeof(entry), bytes, size_bytes);
	queue->end += needed;
	if (header.time_ns > queue->youngest_ns)
		queue->youngest_ns = header.time_ns;
	return 0;
}

void merge_read(struct merge *merge, size_t ring, uint64_t until_ns, bool is_whole)
{
	struct queue *queue = &merge->queues[ring];
	uint64_t bound_ns = is_whole ? until_ns : queue->youngest_ns;

	if (bound_ns > queue->bound_ns)
		queue->bound_ns = bound_ns;
}

uint64_t merge_horizon_ns(const struct merge *merge)
{
	uint64_t horizon_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < merge->count; i++) {
		if (merge->queues[i].bound_ns < horizon_ns)
			horizon_ns = merge->queues[i].bound_ns;
	}
	return horizon_ns;
}

static const struct entry *head_of(const struct queue *queue)
{
	return (const struct entry *)(const void *)(queue->bytes + queue->first);
}

static bool is_before(const struct queue *left, const struct queue *right)
{
	uint64_t left_ns = head_of(left)->time_ns, right_ns = head_of(right)->time_ns;

	return left_ns < right_ns || (left_ns == right_ns && left < right);
}

static void sift_down(struct merge *merge, size_t at)
{
	struct queue **heap = merge->heap;

	for (;;) {
		size_t child = 2 * at + 1;
		struct queue *moved = heap[at];

		if (child >= merge->heap_count)
			return;
		if (child + 1 < merge->heap_count && is_before(heap[child + 1], heap[child]))
			child++;
		if (!is_before(heap[child], moved))
			return;
		heap[at] = heap[child];
		heap[child] = moved;
		at = child;
	}
}

static bool may_go(const struct queue *queue, uint64_t until_ns)
{
	return queue->first < queue->end && head_of(queue)->time_ns <= until_ns;
}

static void fill_heap(struct merge *merge, uint64_t until_ns)
{
	size_t i;

	merge->heap_count = 0;
	for (i = 0; i < merge->count; i++) {
		if (may_go(&merge->queues[i], until_ns))
			merge->heap[merge->heap_count++] = &merge->queues[i];
	}
	for (i = merge->heap_count / 2; i-- > 0;)
		sift_down(merge, i);
}

int merge_pass_on(struct merge *merge, uint64_t until_ns, struct record_sink *sink)
{
	int err = 0;

	fill_heap(merge, until_ns);
	while (merge->heap_count && !err) {
		struct queue *queue = merge->heap[0];
		const struct entry *entry = head_of(queue);

		queue->first += sizeof(*entry) + padded(entry->size_bytes);
		err = sink->record(sink, entry + 1, entry->size_bytes);
		if (!may_go(queue, until_ns))
			merge->heap[0] = merge->heap[--merge->heap_count];
		if (queue->first == queue->end)
			queue->first = queue->end = 0;
		sift_down(merge, 0);
	}
	return err;
}
