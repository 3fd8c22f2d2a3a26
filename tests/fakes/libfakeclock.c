/* libfakeclock.c - preloaded: CLOCK_REALTIME is stepped for this process alone. See fake_knobs.h.
 */
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t step_at_ns; /* CLOCK_MONOTONIC; 0: never */
static int64_t step_ns, base_offset_ns;

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	syscall(SYS_clock_gettime, id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("FAKE_CLOCK_STEP");
	uint64_t best = UINT64_MAX;
	char *rest;
	int i;

	for (i = 0; i < 64; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC), real = read_ns(CLOCK_REALTIME);
		uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;

		if (gap < best) {
			best = gap;
			base_offset_ns = (int64_t)(real - (before + gap / 2));
		}
	}
	if (text) {
		step_at_ns = read_ns(CLOCK_MONOTONIC) + strtoull(text, &rest, 10) * 1000000ULL;
		step_ns = strtoll(rest + 1, NULL, 10);
	}
}

__attribute__((visibility("default"))) int64_t fakeclock_offset_at(uint64_t mono_ns)
{
	return base_offset_ns + (step_at_ns && mono_ns >= step_at_ns ? step_ns : 0);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t id, struct timespec *now)
{
	uint64_t value;

	if (id != CLOCK_REALTIME)
		return (int)syscall(SYS_clock_gettime, id, now);
	value = read_ns(CLOCK_MONOTONIC);
	value += (uint64_t)fakeclock_offset_at(value);
	now->tv_sec = (time_t)(value / 1000000000ULL);
	now->tv_nsec = (long)(value % 1000000000ULL);
	return 0;
}
