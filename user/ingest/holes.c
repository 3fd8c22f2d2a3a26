/*
 * holes.c - see holes.h. A hole may grow while it is read, or afterwards, by a program that was
 * interrupted: what came is then told once more, with what is new in it. The programs write count
 * last, so it is read first: what it counts lies within the times that are read after it.
 */
#include "ingest/holes.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define ALL_KINDS ((1U << LOST_KINDS) - 1)

/* What has been told of a ring. */
struct told {
	uint64_t records, begun, last_ns;
	struct ring_hole holes[RING_HOLES];
};

struct holes {
	struct loss_source source;
	struct told *told;
	struct wire_hole *pending; /* in order of time, from next on */
	size_t next, count, capacity;
};

int holes_new(struct holes **out, struct loss_source source)
{
	struct holes *holes = calloc(1, sizeof(*holes));

	if (!holes)
		return -ENOMEM;
	holes->source = source;
	if (!source.losses)
		holes->source.count = 0;
	holes->told = calloc(holes->source.count + 1, sizeof(*holes->told));
	if (!holes->told) {
		holes_free(holes);
		return -ENOMEM;
	}
	*out = holes;
	return 0;
}

void holes_free(struct holes *holes)
{
	if (!holes)
		return;
	free(holes->told);
	free(holes->pending);
	free(holes);
}

void holes_next_epoch(struct holes *holes)
{
	if (holes->source.epoch)
		__atomic_fetch_add(holes->source.epoch, 1, __ATOMIC_SEQ_CST);
}

static int make_room(struct holes *holes)
{
	if (holes->next == holes->count)
		holes->next = holes->count = 0;
	return ARRAY_RESERVE(holes->pending, holes->capacity, holes->count + 1);
}

/* Few wait at a time, and nearly always in order. */
static int add(struct holes *holes, size_t ring, const struct ring_hole *hole)
{
	struct wire_hole record = {
		.header = { .size = sizeof(record),
			    .kind = WIRE_HOLE,
			    .tid = hole->tid,
			    .time_ns = hole->first_ns },
		.last_ns = hole->last_ns,
		.count = hole->count,
		.kinds = hole->kinds,
		.ring = (__u32)ring,
	};
	int err = make_room(holes);
	size_t at = holes->count;

	if (err)
		return err;
	while (at > holes->next && holes->pending[at - 1].header.time_ns > hole->first_ns) {
		holes->pending[at] = holes->pending[at - 1];
		at--;
	}
	holes->pending[at] = record;
	holes->count++;
	return 0;
}

static struct ring_hole read_hole(const volatile struct ring_hole *from)
{
	struct ring_hole hole = { .sequence = __atomic_load_n(&from->sequence, __ATOMIC_ACQUIRE) };

	hole.count = __atomic_load_n(&from->count, __ATOMIC_ACQUIRE);
	hole.first_ns = from->first_ns;
	hole.last_ns = from->last_ns;
	hole.kinds = from->kinds;
	hole.tid = from->tid;
	return hole;
}

/* What is new in a hole since it was told. */
static struct ring_hole news_of(const struct ring_hole *hole, const struct ring_hole *told)
{
	struct ring_hole news = *hole;

	if (hole->sequence != told->sequence)
		return news;
	news.count = hole->count - told->count;
	if (hole->first_ns >= told->first_ns && told->last_ns < hole->last_ns)
		news.first_ns = told->last_ns;
	return news;
}

static int look_at(struct holes *holes, size_t ring, const volatile struct ring_hole *from,
		   struct ring_hole *told)
{
	struct ring_hole hole = read_hole(from), news;
	int err;

	if (!hole.sequence || (hole.sequence == told->sequence && hole.count == told->count))
		return 0;
	news = news_of(&hole, told);
	err = add(holes, ring, &news);
	if (!err)
		*told = hole;
	return err;
}

static uint64_t first_of(const volatile struct ring_loss *loss)
{
	uint64_t first_ns = UINT64_MAX;
	size_t i;

	for (i = 0; i < RING_HOLES; i++) {
		if (loss->holes[i].first_ns && loss->holes[i].first_ns < first_ns)
			first_ns = loss->holes[i].first_ns;
	}
	return first_ns;
}

/* Holes that gave way to later ones before they were seen: all that time is taken for one. */
static int bridge(struct holes *holes, size_t ring, struct told *told, uint64_t begun)
{
	const volatile struct ring_loss *loss = &holes->source.losses[ring];
	struct ring_hole hole = { .first_ns = told->last_ns,
				  .last_ns = first_of(loss),
				  .kinds = ALL_KINDS };

	if (begun - told->begun <= RING_HOLES || hole.last_ns <= hole.first_ns)
		return 0;
	return add(holes, ring, &hole);
}

static int collect_ring(struct holes *holes, size_t ring)
{
	const volatile struct ring_loss *loss = &holes->source.losses[ring];
	struct told *told = &holes->told[ring];
	uint64_t records = __atomic_load_n(&loss->records, __ATOMIC_ACQUIRE), begun;
	size_t i;
	int err;

	if (records == told->records)
		return 0;
	begun = loss->holes_begun;
	err = bridge(holes, ring, told, begun);
	for (i = 0; i < RING_HOLES && !err; i++) {
		err = look_at(holes, ring, &loss->holes[i], &told->holes[i]);
		if (told->holes[i].last_ns > told->last_ns)
			told->last_ns = told->holes[i].last_ns;
	}
	told->records = records;
	told->begun = begun;
	return err;
}

int holes_collect(struct holes *holes)
{
	size_t ring;
	int err = 0;

	for (ring = 0; ring < holes->source.count && !err; ring++)
		err = collect_ring(holes, ring);
	return err;
}

int holes_pass_on(struct holes *holes, uint64_t until_ns, struct record_sink *sink)
{
	int err = 0;

	while (!err && holes->next < holes->count &&
	       holes->pending[holes->next].header.time_ns <= until_ns) {
		const struct wire_hole *hole = &holes->pending[holes->next++];

		err = sink->record(sink, hole, sizeof(*hole));
	}
	return err;
}
