/* cupti_clock.c - see cupti_clock.h. */
#include "agent/cupti_clock.h"

#include <string.h>
#include <time.h>
#include <x86intrin.h>

#define READINGS 8
/* Two clocks that are read one after the other may look this far apart on a busy machine. */
#define STEP_MIN_NS 20000
/* A reading whose parts are further apart says nothing about steps. */
#define GAP_MAX_NS 200000
#define CLASSIFY_SLACK_NS 1000000
/* Points closer than this would make a slope of noise. */
#define POINT_SPACING_NS 1000000
/* CUPTI fits the device's clock to the host's: a record may end a little in the future. */
#define FUTURE_NS 20000000

static uint64_t read_ns(clockid_t id)
{
	struct timespec now;

	clock_gettime(id, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

struct clock_reading clock_read(void)
{
	struct clock_reading best = { .gap_ns = UINT64_MAX };
	int i;

	for (i = 0; i < READINGS; i++) {
		uint64_t before = read_ns(CLOCK_MONOTONIC);
		uint64_t real = read_ns(CLOCK_REALTIME);
		uint64_t ticks = __rdtsc();
		uint64_t gap = read_ns(CLOCK_MONOTONIC) - before;

		if (gap < best.gap_ns)
			best = (struct clock_reading){ before + gap / 2, real, ticks, gap };
	}
	return best;
}

static bool within(uint64_t value, uint64_t from, uint64_t to, uint64_t slack)
{
	return value + slack >= from && value <= to + slack;
}

enum agent_domain clock_classify(const struct clock_reading *before, uint64_t value,
				 const struct clock_reading *after)
{
	if (within(value, before->real_ns, after->real_ns, CLASSIFY_SLACK_NS))
		return AGENT_DOMAIN_REALTIME;
	if (within(value, before->mono_ns, after->mono_ns, CLASSIFY_SLACK_NS))
		return AGENT_DOMAIN_MONOTONIC;
	/* A tick is a fraction of a nanosecond on every machine with a GPU. */
	if (within(value, before->ticks, after->ticks, 4 * CLASSIFY_SLACK_NS))
		return AGENT_DOMAIN_TSC;
	return AGENT_DOMAIN_UNKNOWN;
}

static void add_point(struct cupti_clock *clock, const struct clock_reading *now)
{
	uint32_t i;

	if (clock->point_count &&
	    now->mono_ns - clock->points[clock->point_count - 1].mono_ns < POINT_SPACING_NS)
		return;
	if (clock->point_count == CLOCK_POINTS_MAX) {
		/* Every second one goes: the whole session stays covered. */
		for (i = 1; 2 * i < CLOCK_POINTS_MAX; i++)
			clock->points[i] = clock->points[2 * i];
		clock->point_count = i;
	}
	clock->points[clock->point_count++] = (struct clock_point){ now->ticks, now->mono_ns };
}

static void add_segment(struct cupti_clock *clock, int64_t offset_ns, uint64_t before_ns,
			uint64_t from_ns)
{
	if (clock->segment_count == CLOCK_SEGMENTS_MAX) {
		memmove(clock->segments, clock->segments + 1,
			(CLOCK_SEGMENTS_MAX - 1) * sizeof(clock->segments[0]));
		clock->segment_count--;
	}
	clock->segments[clock->segment_count++] =
		(struct clock_segment){ offset_ns, before_ns, from_ns };
}

void cupti_clock_init(struct cupti_clock *clock, enum agent_domain domain,
		      const struct clock_reading *now, uint64_t earliest_ns)
{
	memset(clock, 0, sizeof(*clock));
	clock->domain = domain;
	clock->earliest_ns = earliest_ns;
	clock->latest_ns = now->mono_ns;
	add_segment(clock, (int64_t)(now->real_ns - now->mono_ns), earliest_ns, earliest_ns);
	add_point(clock, now);
}

int64_t cupti_clock_sample(struct cupti_clock *clock, const struct clock_reading *now)
{
	int64_t offset_ns = (int64_t)(now->real_ns - now->mono_ns);
	int64_t step_ns = offset_ns - clock->segments[clock->segment_count - 1].offset_ns;
	uint64_t last_ns = clock->latest_ns;

	if (now->gap_ns > GAP_MAX_NS)
		return 0;
	if (now->mono_ns > clock->latest_ns)
		clock->latest_ns = now->mono_ns;
	add_point(clock, now);
	if (step_ns <= STEP_MIN_NS && step_ns >= -STEP_MIN_NS)
		return 0;
	add_segment(clock, offset_ns, last_ns, now->mono_ns);
	clock->changes++;
	return step_ns;
}

void cupti_clock_change(struct cupti_clock *clock, enum agent_domain domain)
{
	clock->earlier = clock->domain;
	clock->domain = domain;
	clock->changes++;
}

static bool plausible(const struct cupti_clock *clock, uint64_t mono_ns)
{
	return mono_ns >= clock->earliest_ns && mono_ns <= clock->latest_ns + FUTURE_NS;
}

/* The same reading of a clock that was set back may mean two times. */
static enum clock_result convert_real(const struct cupti_clock *clock, uint64_t value,
				      uint64_t *mono_ns)
{
	uint64_t until_ns = clock->latest_ns + FUTURE_NS;
	uint32_t i = clock->segment_count, matches = 0;

	while (i--) {
		const struct clock_segment *segment = &clock->segments[i];
		uint64_t candidate = value - (uint64_t)segment->offset_ns;

		if (candidate >= segment->before_ns && candidate <= until_ns && !matches++)
			*mono_ns = candidate;
		until_ns = segment->from_ns;
	}
	return matches == 1 ? CLOCK_SURE : matches ? CLOCK_GUESSED : CLOCK_SENSELESS;
}

static uint64_t on_line(const struct clock_point *a, const struct clock_point *b, uint64_t ticks)
{
	__int128 run = (__int128)b->ticks - a->ticks, rise = (__int128)b->mono_ns - a->mono_ns;
	__int128 delta = (__int128)ticks - a->ticks;

	if (!run)
		return 0;
	return (uint64_t)(a->mono_ns + (uint64_t)(delta * rise / run));
}

static uint64_t convert_ticks(const struct cupti_clock *clock, uint64_t ticks)
{
	const struct clock_point *points = clock->points;
	uint32_t low = 0, high = clock->point_count - 1;

	if (!high)
		return 0;
	if (ticks <= points[0].ticks || ticks >= points[high].ticks) {
		/* The slope of the whole session: near points are close to each other. */
		bool early = ticks <= points[0].ticks;

		return on_line(&points[early ? 0 : high], &points[early ? high : 0], ticks);
	}
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;

		if (points[middle].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return on_line(&points[low], &points[high], ticks);
}

static enum clock_result convert_as(const struct cupti_clock *clock, enum agent_domain domain,
				    uint64_t value, uint64_t *mono_ns)
{
	switch (domain) {
	case AGENT_DOMAIN_REALTIME:
		return convert_real(clock, value, mono_ns);
	case AGENT_DOMAIN_MONOTONIC:
		*mono_ns = value;
		break;
	case AGENT_DOMAIN_TSC:
		*mono_ns = convert_ticks(clock, value);
		break;
	default:
		*mono_ns = value;
		return CLOCK_RAW;
	}
	return plausible(clock, *mono_ns) ? CLOCK_SURE : CLOCK_SENSELESS;
}

enum clock_result cupti_clock_convert(const struct cupti_clock *clock, uint64_t value,
				      uint64_t *mono_ns)
{
	enum clock_result result = convert_as(clock, clock->domain, value, mono_ns);

	/* Records from before a change of domain are still coming. */
	if (result != CLOCK_SENSELESS || !clock->earlier)
		return result;
	result = convert_as(clock, clock->earlier, value, mono_ns);
	return result == CLOCK_SURE ? CLOCK_GUESSED : result;
}

void cupti_clock_describe(const struct cupti_clock *clock, struct agent_clock *description)
{
	const struct clock_point *first = &clock->points[0];
	const struct clock_point *last = &clock->points[clock->point_count - 1];

	memset(description, 0, sizeof(*description));
	description->domain = clock->domain;
	description->changes = clock->changes;
	if (clock->domain == AGENT_DOMAIN_REALTIME)
		description->offset_ns = clock->segments[clock->segment_count - 1].offset_ns;
	if (clock->domain == AGENT_DOMAIN_TSC && last->ticks > first->ticks) {
		description->base_ticks = first->ticks;
		description->base_ns = first->mono_ns;
		description->mult =
			(uint64_t)(((unsigned __int128)(last->mono_ns - first->mono_ns) << 32) /
				   (last->ticks - first->ticks));
	}
}
