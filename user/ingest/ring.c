/* ring.c - see ring.h. */
#include "ingest/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "ingest/holes.h"
#include "ingest/merge.h"

struct ring;

/* One CPU's. */
struct part {
	struct ring *ring;
	size_t index;
	unsigned long reserved; /* how far, before it was read */
};

struct ring {
	struct record_sink merged;
	struct ring_buffer *buffer;
	struct part *parts;
	size_t part_count;
	struct merge *merge;
	struct holes *holes;
	struct attempt_source attempts;
	struct record_sink *sink;
	uint32_t next_attempt;
	uint64_t lost_attempts;
	size_t fullest_bytes;
	uint32_t seen; /* attempts that are in the log */
	int err;       /* of the sink: libbpf hands back its own */
};

/* Copies a slot if it holds the attempt of this index and does not change meanwhile. */
static bool read_slot(const struct ring *ring, uint32_t index, struct attempt_slot *copy)
{
	const volatile struct attempt_slot *slot = &ring->attempts.slots[index % ATTEMPT_SLOTS];

	if (__atomic_load_n(&slot->sequence, __ATOMIC_ACQUIRE) != index + 1)
		return false;
	copy->time_ns = slot->time_ns;
	copy->tid = slot->tid;
	copy->cycle = slot->cycle;
	copy->phase = slot->phase;
	copy->next_phase = slot->next_phase;
	copy->outcome = slot->outcome;
	copy->boundary = slot->boundary;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&slot->sequence, __ATOMIC_RELAXED) == index + 1;
}

static int push_attempt(struct ring *ring, uint32_t index, const struct attempt_slot *slot)
{
	struct wire_attempt record = {
		.header = {
			.size = sizeof(record),
			.kind = WIRE_ATTEMPT,
			.tid = slot->tid,
			.time_ns = slot->time_ns,
		},
		.index = index,
		.cycle = slot->cycle,
		.phase = slot->phase,
		.next_phase = slot->next_phase,
		.outcome = slot->outcome,
		.boundary = slot->boundary,
	};

	return ring->sink->record(ring->sink, &record, sizeof(record));
}

/* Pushes the attempts below end whose boundary is not after until_ns. */
static int push_attempts(struct ring *ring, uint32_t end, uint64_t until_ns)
{
	while (ring->next_attempt < end) {
		struct attempt_slot slot;
		int err;

		if (end - ring->next_attempt > ATTEMPT_SLOTS) {
			ring->lost_attempts++;
			ring->next_attempt++;
			continue;
		}
		/* Not there yet: the program is between its two writes, and comes back to us. */
		if (!read_slot(ring, ring->next_attempt, &slot) || slot.time_ns > until_ns)
			return 0;
		err = push_attempt(ring, ring->next_attempt++, &slot);
		if (err)
			return err;
	}
	return 0;
}

static uint32_t attempts_seen(const struct ring *ring)
{
	return STATE_TOTAL(ring->attempts.state(ring->attempts.context));
}

/* Attempts that ended before a record come before it, and what was lost until then. */
static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct ring *ring = container_of(sink, struct ring, merged);
	struct wire_header header;
	int err = 0;

	memcpy(&header, bytes, sizeof(header));
	if (ring->next_attempt < ring->seen)
		err = push_attempts(ring, ring->seen, header.time_ns);
	if (!err)
		err = holes_pass_on(ring->holes, header.time_ns, ring->sink);
	return err ? err : ring->sink->record(ring->sink, bytes, size_bytes);
}

static int on_sample(void *context, void *data, size_t size_bytes)
{
	const struct part *part = context;
	struct ring *ring = part->ring;

	ring->err = merge_add(ring->merge, part->index, data, size_bytes);
	return ring->err;
}

static int add_parts(struct ring *ring, const int *map_fds)
{
	size_t i;

	for (i = 0; i < ring->part_count; i++) {
		struct part *part = &ring->parts[i];

		*part = (struct part){ .ring = ring, .index = i };
		if (!ring->buffer) {
			ring->buffer = ring_buffer__new(map_fds[i], on_sample, part, NULL);
			if (!ring->buffer)
				return -errno;
		} else if (ring_buffer__add(ring->buffer, map_fds[i], on_sample, part)) {
			return -errno;
		}
	}
	return 0;
}

int ring_new(struct ring **out, const int *map_fds, size_t count, const struct ring_sources *from,
	     struct record_sink *sink)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	int err;

	if (!ring)
		return -ENOMEM;
	ring->merged.record = on_record;
	ring->attempts = from->attempts;
	ring->sink = sink;
	ring->part_count = count;
	ring->parts = calloc(count + 1, sizeof(*ring->parts));
	err = ring->parts ? merge_new(&ring->merge, count) : -ENOMEM;
	if (!err)
		err = holes_new(&ring->holes, from->losses);
	if (!err)
		err = add_parts(ring, map_fds);
	if (err) {
		ring_free(ring);
		return err;
	}
	*out = ring;
	return 0;
}

void ring_free(struct ring *ring)
{
	if (!ring)
		return;
	ring_buffer__free(ring->buffer);
	merge_free(ring->merge);
	holes_free(ring->holes);
	free(ring->parts);
	free(ring);
}

int ring_poll_fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

/* Of a ring of libbpf's, whose struct ring is another one. */
static unsigned long produced(const struct ring *ring, size_t part)
{
	return ring__producer_pos(ring_buffer__ring(ring->buffer, (unsigned int)part));
}

static unsigned long consumed(const struct ring *ring, size_t part)
{
	return ring__consumer_pos(ring_buffer__ring(ring->buffer, (unsigned int)part));
}

static void note_fullest(struct ring *ring)
{
	size_t i;

	ring->fullest_bytes = 0;
	for (i = 0; i < ring->part_count; i++) {
		size_t filled_bytes = ring->parts[i].reserved - consumed(ring, i);

		if (filled_bytes > ring->fullest_bytes)
			ring->fullest_bytes = filled_bytes;
	}
}

static int consume(struct ring *ring, uint64_t until_ns)
{
	int count;
	size_t i;

	for (i = 0; i < ring->part_count; i++)
		ring->parts[i].reserved = produced(ring, i);
	note_fullest(ring);
	holes_next_epoch(ring->holes);
	count = ring_buffer__consume(ring->buffer);
	holes_next_epoch(ring->holes);
	if (ring->err)
		return ring->err;
	for (i = 0; i < ring->part_count; i++)
		merge_read(ring->merge, i, until_ns, consumed(ring, i) >= ring->parts[i].reserved);
	return count < 0 ? count : holes_collect(ring->holes);
}

/* up_to_ns: what is younger is kept; UINT64_MAX: nothing is, nor is anything waited for. */
static int drain(struct ring *ring, uint64_t up_to_ns)
{
	int err;

	/* What precedes a boundary that is in the log by now is in a ring by now. */
	ring->seen = attempts_seen(ring);
	err = consume(ring, up_to_ns);
	if (err)
		return err;
	if (up_to_ns != UINT64_MAX)
		up_to_ns = merge_horizon_ns(ring->merge);
	err = merge_pass_on(ring->merge, up_to_ns, &ring->merged);
	if (!err)
		err = push_attempts(ring, ring->seen, up_to_ns);
	return err ? err : holes_pass_on(ring->holes, up_to_ns, ring->sink);
}

int ring_drain(struct ring *ring)
{
	return drain(ring, clock_monotonic_ns());
}

int ring_drain_all(struct ring *ring)
{
	return drain(ring, UINT64_MAX);
}

size_t ring_fullest_bytes(const struct ring *ring)
{
	return ring->fullest_bytes;
}

uint64_t ring_lost_attempts(const struct ring *ring)
{
	return ring->lost_attempts;
}
