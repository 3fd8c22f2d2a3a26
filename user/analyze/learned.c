/*
 * learned.c - see learned.h. The durations of an operator go into a histogram whose buckets are a
 * quarter of an octave wide and keep their sum beside their count: a percentile is the mean of the
 * bucket that it falls into, and outliers can be left out of the mean afterwards.
 */
#include "analyze/learned.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

/* 4 buckets an octave, the last one from 2^33 ns (8.6 s) less an eighth up. */
#define BUCKETS 128

#define NODES_SLOT LEARNED_OPERATORS_MAX
#define SLOTS (LEARNED_OPERATORS_MAX + 1)

#define STEADY_CALLS_MIN 8
#define OUTLIER_MEDIANS 4
#define STEADY_MEDIANS 2
/* What three hits cost: an end that is wrong by so much costs less than seeing it would. */
#define STEADY_SLACK_NS 3000

struct inner {
	uint32_t children, guards, memory, sequences;
};

/* Calls that take a number make a node beside their work: they are longer than those that do not.
 */
enum {
	TIMING_PLAIN,
	TIMING_NUMBERED,
	TIMING_CNT
};

struct timing {
	uint32_t count[BUCKETS];
	uint64_t sum_ns[BUCKETS];
	uint64_t calls;
};

struct subject {
	uint64_t hits, unwound, self_ns;
	struct inner inner; /* of the last call that was seen whole */
	bool has_inner, children_vary, guards_vary, memory_varies, takes_numbers;
	struct timing timings[TIMING_CNT];
};

struct learned {
	struct subject **slots; /* by index; NULL: never called */
	struct learned_row *rows;
	uint64_t hits[LEARNED_KIND_CNT];
	uint64_t first_ns, last_ns;
	bool is_stopped;
};

int learned_new(struct learned **out)
{
	struct learned *learned = calloc(1, sizeof(*learned));

	if (!learned)
		return -ENOMEM;
	/* As large as it may become: untouched pages cost nothing. */
	learned->slots = calloc(SLOTS, sizeof(struct subject *));
	if (!learned->slots) {
		free(learned);
		return -ENOMEM;
	}
	*out = learned;
	return 0;
}

static void forget_all(struct learned *learned)
{
	size_t i;

	for (i = 0; i < SLOTS; i++) {
		free(learned->slots[i]);
		learned->slots[i] = NULL;
	}
	free(learned->rows);
	learned->rows = NULL;
}

void learned_free(struct learned *learned)
{
	if (!learned)
		return;
	forget_all(learned);
	free(learned->slots);
	free(learned);
}

void learned_stop(struct learned *learned)
{
	learned->is_stopped = true;
}

void learned_reset(struct learned *learned)
{
	forget_all(learned);
	memset(learned->hits, 0, sizeof(learned->hits));
	learned->first_ns = 0;
	learned->last_ns = 0;
	learned->is_stopped = false;
}

static uint64_t less(uint64_t value, uint64_t subtracted)
{
	return value > subtracted ? value - subtracted : 0;
}

static unsigned int bucket_of(uint64_t value_ns)
{
	unsigned int octave, bucket;

	if (value_ns < 8)
		return (unsigned int)value_ns;
	octave = 63 - (unsigned int)__builtin_clzll(value_ns);
	bucket = (octave - 1) * 4 + ((value_ns >> (octave - 2)) & 3);
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static void add_inner(struct subject *subject, const struct learned_call *call)
{
	struct inner inner = { call->inner_children, call->inner_guards, call->inner_memory,
			       call->inner_sequences };

	if (subject->has_inner) {
		subject->children_vary |= subject->inner.children != inner.children;
		subject->guards_vary |= subject->inner.guards != inner.guards;
		subject->memory_varies |= subject->inner.memory != inner.memory;
	}
	subject->takes_numbers |= inner.sequences > 0;
	subject->inner = inner;
	subject->has_inner = true;
}

static void add_time(struct timing *timing, uint64_t duration_ns)
{
	unsigned int bucket = bucket_of(duration_ns);

	timing->count[bucket]++;
	timing->sum_ns[bucket] += duration_ns;
	timing->calls++;
}

int learned_call(struct learned *learned, const struct learned_call *call)
{
	uint64_t duration_ns = less(call->inclusive_ns, call->probe_total_ns);
	struct subject **slot;

	if (learned->is_stopped ||
	    (call->subject >= LEARNED_OPERATORS_MAX && call->subject != MODE_SUBJECT_NODES))
		return 0;
	slot = &learned->slots[call->subject == MODE_SUBJECT_NODES ? NODES_SLOT : call->subject];
	if (!*slot)
		*slot = calloc(1, sizeof(**slot));
	if (!*slot)
		return -ENOMEM;
	(*slot)->hits++;
	if (call->is_unwound) {
		(*slot)->unwound++;
		return 0;
	}
	add_inner(*slot, call);
	(*slot)->self_ns += less(call->self_ns, call->probe_self_ns);
	add_time(&(*slot)->timings[call->inner_sequences ? TIMING_NUMBERED : TIMING_PLAIN],
		 duration_ns);
	return 0;
}

void learned_hit(struct learned *learned, enum learned_kind kind)
{
	if (!learned->is_stopped)
		learned->hits[kind]++;
}

void learned_seen(struct learned *learned, uint64_t time_ns)
{
	if (learned->is_stopped)
		return;
	if (!learned->first_ns || time_ns < learned->first_ns)
		learned->first_ns = time_ns;
	if (time_ns > learned->last_ns)
		learned->last_ns = time_ns;
}

/* The mean of the bucket in which the call of that rank lies, from 1 for the shortest one. */
static uint64_t value_at(const struct timing *timing, uint64_t rank)
{
	uint64_t below = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		below += timing->count[i];
		if (timing->count[i] && below >= rank)
			return timing->sum_ns[i] / timing->count[i];
	}
	return 0;
}

static uint64_t times(uint64_t value, uint64_t factor)
{
	return value > UINT64_MAX / factor ? UINT64_MAX : value * factor;
}

static uint64_t mean_of(const struct timing *timing, uint64_t median_ns)
{
	uint64_t count = 0, sum_ns = 0;
	unsigned int i;

	for (i = 0; i < BUCKETS; i++) {
		if (!timing->count[i] ||
		    timing->sum_ns[i] / timing->count[i] > times(median_ns, OUTLIER_MEDIANS))
			continue;
		count += timing->count[i];
		sum_ns += timing->sum_ns[i];
	}
	return count ? sum_ns / count : 0;
}

static void summarize(const struct timing *timing, struct learned_timing *out)
{
	out->calls = timing->calls;
	out->p50_ns = value_at(timing, (timing->calls + 1) / 2);
	out->p90_ns = value_at(timing, timing->calls - timing->calls / 10);
	out->mean_ns = mean_of(timing, out->p50_ns);
}

static bool is_steady_timing(const struct learned_timing *timing)
{
	return timing->p90_ns <= times(timing->p50_ns, STEADY_MEDIANS) ||
	       timing->p90_ns - timing->p50_ns <= STEADY_SLACK_NS;
}

static bool is_steady(const struct subject *subject, const struct learned_row *row)
{
	if (row->hits < STEADY_CALLS_MIN || row->unwound || subject->children_vary ||
	    subject->guards_vary)
		return false;
	return is_steady_timing(&row->plain) && is_steady_timing(&row->numbered);
}

static uint64_t mean_of_both(const struct learned_row *row)
{
	uint64_t calls = row->plain.calls + row->numbered.calls;
	unsigned __int128 sum_ns = (unsigned __int128)row->plain.mean_ns * row->plain.calls +
				   (unsigned __int128)row->numbered.mean_ns * row->numbered.calls;

	return calls ? (uint64_t)(sum_ns / calls) : 0;
}

static struct learned_row row_of(const struct subject *subject, size_t slot)
{
	struct learned_row row = {
		.subject = slot == NODES_SLOT ? MODE_SUBJECT_NODES : (uint32_t)slot,
		.hits = subject->hits,
		.unwound = subject->unwound,
		.self_ns = subject->self_ns,
		.inner_children = subject->inner.children,
		.inner_guards = subject->inner.guards,
		.inner_memory = subject->inner.memory,
		.memory_varies = subject->memory_varies,
		.takes_numbers = subject->takes_numbers,
	};

	summarize(&subject->timings[TIMING_PLAIN], &row.plain);
	summarize(&subject->timings[TIMING_NUMBERED], &row.numbered);
	row.mean_ns = mean_of_both(&row);
	row.is_steady = is_steady(subject, &row);
	return row;
}

const struct learned_row *learned_rows(struct learned *learned, size_t *count)
{
	size_t slot, called = 0;

	*count = 0;
	free(learned->rows);
	learned->rows = NULL;
	for (slot = 0; slot < SLOTS; slot++)
		called += !!learned->slots[slot];
	if (!called)
		return NULL;
	learned->rows = calloc(called, sizeof(*learned->rows));
	if (!learned->rows)
		return NULL;
	for (slot = 0; slot < SLOTS; slot++) {
		if (learned->slots[slot])
			learned->rows[(*count)++] = row_of(learned->slots[slot], slot);
	}
	return learned->rows;
}

uint64_t learned_hits(const struct learned *learned, enum learned_kind kind)
{
	return learned->hits[kind];
}

uint64_t learned_span_ns(const struct learned *learned)
{
	return learned->last_ns - learned->first_ns;
}

uint32_t learned_guards_of(const struct learned *learned, uint32_t index)
{
	const struct subject *subject =
		index < LEARNED_OPERATORS_MAX ? learned->slots[index] : NULL;

	return subject && !subject->guards_vary ? subject->inner.guards : 0;
}
