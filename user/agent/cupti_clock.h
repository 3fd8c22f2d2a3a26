/*
 * cupti_clock.h - from CUPTI's times to CLOCK_MONOTONIC.
 *
 * CUPTI's clock is CLOCK_REALTIME by default; a profiler in the job may have made it another one
 * (Kineto registers a callback that returns the TSC, and leaves it behind). Which one it is is
 * found by reading CUPTI's clock between readings of all three; how it runs, by such points taken
 * through the whole session. Pure but for clock_read(). Not thread-safe.
 */
#ifndef AGENT_CUPTI_CLOCK_H
#define AGENT_CUPTI_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent_wire.h"

struct clock_reading {
	uint64_t mono_ns, real_ns, ticks;
	uint64_t gap_ns; /* how far apart the three may be */
};

/* All three clocks, as close to each other as several tries bring them. */
struct clock_reading clock_read(void);

/* The clock that value was read from, between two readings. */
enum agent_domain clock_classify(const struct clock_reading *before, uint64_t value,
				 const struct clock_reading *after);

#define CLOCK_POINTS_MAX 64
#define CLOCK_SEGMENTS_MAX 8

/* Real time minus monotonic time was offset_ns at from_ns and after; before_ns: not yet. */
struct clock_segment {
	int64_t offset_ns;
	uint64_t before_ns, from_ns;
};

struct clock_point {
	uint64_t ticks, mono_ns;
};

struct cupti_clock {
	enum agent_domain domain;
	enum agent_domain earlier; /* before the last change of domain; UNKNOWN: there was none */
	uint64_t earliest_ns;	   /* nothing that is recorded began before */
	uint64_t latest_ns;	   /* of the last reading */
	uint32_t changes;
	uint32_t segment_count, point_count;
	struct clock_segment segments[CLOCK_SEGMENTS_MAX]; /* the oldest is forgotten */
	struct clock_point points[CLOCK_POINTS_MAX];
};

/* The first reading of a session. earliest_ns: see above. */
void cupti_clock_init(struct cupti_clock *clock, enum agent_domain domain,
		      const struct clock_reading *now, uint64_t earliest_ns);

/* Another reading; returns by how much real time was stepped since the last one, 0: not at all. */
int64_t cupti_clock_sample(struct cupti_clock *clock, const struct clock_reading *now);

/* CUPTI's clock is another one from here on. */
void cupti_clock_change(struct cupti_clock *clock, enum agent_domain domain);

enum clock_result {
	CLOCK_SURE,
	CLOCK_GUESSED,	 /* the clock was stepped about then */
	CLOCK_RAW,	 /* no domain: *mono_ns is value */
	CLOCK_SENSELESS, /* no time at which this session could have seen anything */
};

/* The reading of value's time must be behind: sample first, then convert. */
enum clock_result cupti_clock_convert(const struct cupti_clock *clock, uint64_t value,
				      uint64_t *mono_ns);

void cupti_clock_describe(const struct cupti_clock *clock, struct agent_clock *description);

#endif /* AGENT_CUPTI_CLOCK_H */
