/*
 * ring.h - reads what the BPF programs have written: a ring of records for each CPU and the log of
 * attempts, merged into one stream in order of time.
 *
 * The boundaries do not go through the ring, because a flood of ranges may fill it: a lost range is
 * one range less, a lost boundary a wrong window.
 */
#ifndef INGEST_RING_H
#define INGEST_RING_H

#include <stdint.h>

#include "ingest/holes.h"
#include "model/sink.h"
#include "probe_config.h"

struct ring;

/* Where the programs keep the position and the attempts; both are written while they are read. */
struct attempt_source {
	uint64_t (*state)(void *context); /* STATE_* */
	const volatile struct attempt_slot *slots;
	void *context;
};

struct ring_sources {
	struct attempt_source attempts;
	struct loss_source losses; /* of the first rings */
};

int ring_new(struct ring **out, const int *map_fds, size_t count, const struct ring_sources *from,
	     struct record_sink *sink);
void ring_free(struct ring *ring); /* NULL is legal */

/* For poll: readable when the programs want attention. */
int ring_poll_fd(const struct ring *ring);

/*
 * Pushes what was recorded before the call, in order of time. What came meanwhile is kept for the
 * next one, as is what may be younger than a record that is not complete yet. A sink's error comes
 * back.
 */
int ring_drain(struct ring *ring);

/* Pushes everything: nothing is recorded any more. */
int ring_drain_all(struct ring *ring);

/* How full the fullest ring was when they were last read. */
size_t ring_fullest_bytes(const struct ring *ring);

/* Attempts that were overwritten before they were read. */
uint64_t ring_lost_attempts(const struct ring *ring);

#endif /* INGEST_RING_H */
