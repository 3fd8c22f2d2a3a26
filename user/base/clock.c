/* clock.c - see clock.h. */
#include "base/clock.h"

#include <time.h>

#define READINGS 16

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_real_offset_ns(void)
{
	uint64_t best_gap = UINT64_MAX;
	int64_t offset = 0;
	int i;

	for (i = 0; i < READINGS; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC);
		uint64_t real = read_ns(CLOCK_REALTIME);
		uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;

		if (gap < best_gap) {
			best_gap = gap;
			offset = (int64_t)(real - (before + gap / 2));
		}
	}
	return offset;
}
