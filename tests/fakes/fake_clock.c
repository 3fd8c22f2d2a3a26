/* fake_clock.c - see fake_clock.h. */
#include "fake_clock.h"

#include <dlfcn.h>
#include <time.h>
#include <x86intrin.h>

static uint64_t anchor_ticks, anchor_ns;

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void read_pair(uint64_t *ticks, uint64_t *mono_ns)
{
	uint64_t best = UINT64_MAX;
	int i;

	for (i = 0; i < 16; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC), tsc = __rdtsc();
		uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;

		if (gap < best) {
			best = gap;
			*ticks = tsc;
			*mono_ns = before + gap / 2;
		}
	}
}

void fake_clock_start(void)
{
	read_pair(&anchor_ticks, &anchor_ns);
}

static uint64_t ticks_at(uint64_t mono_ns)
{
	uint64_t ticks, now_ns;
	__int128 run;

	read_pair(&ticks, &now_ns);
	run = (__int128)now_ns - anchor_ns;
	if (run <= 0)
		return anchor_ticks;
	return anchor_ticks +
	       (uint64_t)(((__int128)mono_ns - anchor_ns) * ((__int128)ticks - anchor_ticks) / run);
}

/* libfakeclock.so knows when it stepped; without it the offset never changes. */
static int64_t real_offset_at(uint64_t mono_ns)
{
	int64_t (*at)(uint64_t) = (int64_t(*)(uint64_t))dlsym(RTLD_DEFAULT, "fakeclock_offset_at");
	static int64_t offset;

	if (at)
		return at(mono_ns);
	if (!__atomic_load_n(&offset, __ATOMIC_RELAXED)) {
		uint64_t best = UINT64_MAX;
		int64_t found = 0;
		int i;

		for (i = 0; i < 64; i++) {
			uint64_t before = read_ns(CLOCK_MONOTONIC), real = read_ns(CLOCK_REALTIME);
			uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;

			if (gap < best) {
				best = gap;
				found = (int64_t)(real - (before + gap / 2));
			}
		}
		__atomic_store_n(&offset, found, __ATOMIC_RELAXED);
	}
	return __atomic_load_n(&offset, __ATOMIC_RELAXED);
}

uint64_t fake_clock_at(int clock, uint64_t mono_ns)
{
	switch (clock) {
	case CLOCK_REAL:
		return mono_ns + (uint64_t)real_offset_at(mono_ns);
	case CLOCK_TSC:
		return ticks_at(mono_ns);
	case CLOCK_NONE:
		return mono_ns / 7;
	default:
		return mono_ns;
	}
}

uint64_t fake_clock_now(int clock)
{
	switch (clock) {
	case CLOCK_REAL:
		return read_ns(CLOCK_REALTIME);
	case CLOCK_TSC:
		return __rdtsc();
	case CLOCK_NONE:
		return read_ns(CLOCK_MONOTONIC) / 7;
	default:
		return read_ns(CLOCK_MONOTONIC);
	}
}
