/* ring.c - see ring.h. */
#include "ingest/ring.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	struct ring_buffer *buffer;
	struct attempt_source attempts;
	struct record_sink *sink;
	uint32_t next_attempt;
	uint64_t lost_attempts;
	int err; /* of the sink: libbpf hands back its own */
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

static int on_sample(void *context, void *data, size_t size_bytes)
{
	struct ring *ring = context;
	struct wire_header header;

	if (size_bytes >= sizeof(header)) {
		memcpy(&header, data, sizeof(header));
		ring->err = push_attempts(ring, attempts_seen(ring), header.time_ns);
	}
	if (!ring->err)
		ring->err = ring->sink->record(ring->sink, data, size_bytes);
	return ring->err;
}

int ring_new(struct ring **out, int map_fd, struct attempt_source attempts,
	     struct record_sink *sink)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	ring->attempts = attempts;
	ring->sink = sink;
	ring->buffer = ring_buffer__new(map_fd, on_sample, ring, NULL);
	if (!ring->buffer) {
		int err = -errno;

		free(ring);
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
	free(ring);
}

int ring_poll_fd(const struct ring *ring)
{
	return ring_buffer__epoll_fd(ring->buffer);
}

int ring_drain(struct ring *ring)
{
	/* What precedes a boundary that is in the log by now is in the ring by now. */
	uint32_t end = attempts_seen(ring);
	int count = ring_buffer__consume(ring->buffer);

	if (ring->err)
		return ring->err;
	if (count < 0)
		return count;
	return push_attempts(ring, end, UINT64_MAX);
}

uint64_t ring_lost_attempts(const struct ring *ring)
{
	return ring->lost_attempts;
}
