/* From CUPTI's times to monotonic ones. */
#include "support/test.h"

#include "agent/cupti_clock.h"

#define MONO 5000000000000ULL
#define REAL 1796000000000000000ULL
#define TICKS 9000000000000ULL
#define SECOND 1000000000ULL
#define MS 1000000ULL

/* At ns after the session began; real time set back or forth by offset. */
static struct clock_reading reading(uint64_t ns, int64_t offset)
{
	return (struct clock_reading){ MONO + ns, REAL + ns + (uint64_t)offset, TICKS + ns * 5 / 2,
				       50 };
}

static struct cupti_clock started(enum agent_domain domain)
{
	struct clock_reading now = reading(0, 0);
	struct cupti_clock clock;

	cupti_clock_init(&clock, domain, &now, MONO - 60 * SECOND);
	return clock;
}

static void the_clock_is_told_by_its_neighbours(void **state)
{
	struct clock_reading before = reading(0, 0), after = reading(1000, 0);

	(void)state;
	assert_int_equal(clock_classify(&before, REAL + 500, &after), AGENT_DOMAIN_REALTIME);
	assert_int_equal(clock_classify(&before, MONO + 500, &after), AGENT_DOMAIN_MONOTONIC);
	assert_int_equal(clock_classify(&before, TICKS + 500, &after), AGENT_DOMAIN_TSC);
	assert_int_equal(clock_classify(&before, 12345, &after), AGENT_DOMAIN_UNKNOWN);
	assert_int_equal(clock_classify(&before, 0, &after), AGENT_DOMAIN_UNKNOWN);
	assert_int_equal(clock_classify(&before, REAL + SECOND, &after), AGENT_DOMAIN_UNKNOWN);
}

static void the_machines_clocks_are_read_close_together(void **state)
{
	struct clock_reading a = clock_read(), b = clock_read();

	(void)state;
	assert_true(b.mono_ns >= a.mono_ns && b.real_ns > a.real_ns && b.ticks > a.ticks);
	assert_int_equal(clock_classify(&a, a.real_ns, &b), AGENT_DOMAIN_REALTIME);
	assert_true(a.gap_ns < 1000 * MS);
}

static void real_time_is_moved_by_its_offset(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
	struct clock_reading now = reading(10 * SECOND, 0);
	uint64_t mono_ns;

	(void)state;
	assert_int_equal(cupti_clock_sample(&clock, &now), 0);
	assert_int_equal(cupti_clock_convert(&clock, REAL + 7 * SECOND + 3, &mono_ns), CLOCK_SURE);
	assert_true(mono_ns == MONO + 7 * SECOND + 3);
}

static void what_no_session_can_have_seen_is_senseless(void **state)
{
	static const enum agent_domain domains[] = { AGENT_DOMAIN_REALTIME, AGENT_DOMAIN_MONOTONIC,
						     AGENT_DOMAIN_TSC };
	static const uint64_t bases[] = { REAL, MONO, TICKS };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(domains); i++) {
		struct cupti_clock clock = started(domains[i]);
		struct clock_reading now = reading(10 * SECOND, 0);
		uint64_t unit = domains[i] == AGENT_DOMAIN_TSC ? 5 * SECOND / 2 : SECOND, mono_ns;

		cupti_clock_sample(&clock, &now);
		assert_row(i, cupti_clock_convert(&clock, bases[i] + 11 * unit, &mono_ns) ==
				      CLOCK_SENSELESS);
		assert_row(i, cupti_clock_convert(&clock, bases[i] - 61 * unit, &mono_ns) ==
				      CLOCK_SENSELESS);
		assert_row(i, cupti_clock_convert(&clock, bases[i] - 59 * unit, &mono_ns) ==
				      CLOCK_SURE);
		assert_row(i, cupti_clock_convert(&clock, 1, &mono_ns) == CLOCK_SENSELESS);
		assert_row(i, cupti_clock_convert(&clock, UINT64_MAX, &mono_ns) == CLOCK_SENSELESS);
	}
}

static void ticks_are_laid_between_the_points_around_them(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_TSC);
	uint64_t ns, mono_ns;

	(void)state;
	/* Many more points than are kept. */
	for (ns = 100 * MS; ns <= 100 * SECOND; ns += 100 * MS) {
		struct clock_reading now = reading(ns, 0);

		cupti_clock_sample(&clock, &now);
	}
	for (ns = 0; ns <= 100 * SECOND; ns += 333333333) {
		assert_int_equal(cupti_clock_convert(&clock, TICKS + ns * 5 / 2, &mono_ns),
				 CLOCK_SURE);
		assert_true(llabs((int64_t)(mono_ns - MONO - ns)) <= 1);
	}
	assert_true(clock.point_count <= CLOCK_POINTS_MAX);
}

static void points_too_close_together_make_no_slope(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_TSC);
	struct clock_reading now = reading(SECOND, 0);
	uint64_t mono_ns;

	(void)state;
	cupti_clock_sample(&clock, &now);
	/* 300 ns later, and the ticks read 100 ns too late. */
	now = reading(SECOND + 300, 0);
	now.ticks += 250;
	cupti_clock_sample(&clock, &now);
	assert_int_equal(cupti_clock_convert(&clock, TICKS + (SECOND + 10 * MS) * 5 / 2, &mono_ns),
			 CLOCK_SURE);
	assert_true(llabs((int64_t)(mono_ns - MONO - SECOND - 10 * MS)) <= 1);
}

static void one_point_makes_no_line(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_TSC);
	uint64_t mono_ns;

	(void)state;
	assert_int_equal(cupti_clock_convert(&clock, TICKS, &mono_ns), CLOCK_SENSELESS);
}

static void a_step_is_seen_and_its_size_told(void **state)
{
	static const int64_t steps[] = { (int64_t)SECOND, -(int64_t)SECOND, 3600 * (int64_t)SECOND,
					 50000, -50000 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(steps); i++) {
		struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
		struct clock_reading now = reading(SECOND, 0);

		assert_row(i, cupti_clock_sample(&clock, &now) == 0);
		now = reading(2 * SECOND, steps[i]);
		assert_row(i, cupti_clock_sample(&clock, &now) == steps[i]);
		now = reading(3 * SECOND, steps[i]);
		assert_row(i, cupti_clock_sample(&clock, &now) == 0);
		assert_row(i, clock.changes == 1);
	}
}

static void noise_is_no_step(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
	struct clock_reading now = reading(SECOND, 15000);

	(void)state;
	assert_int_equal(cupti_clock_sample(&clock, &now), 0);
	/* Preempted between the two clocks. */
	now = reading(2 * SECOND, 5000000);
	now.gap_ns = 5000000;
	assert_int_equal(cupti_clock_sample(&clock, &now), 0);
	assert_int_equal(clock.changes, 0);
}

static void times_on_both_sides_of_a_step_are_right(void **state)
{
	static const int64_t steps[] = { 10 * (int64_t)SECOND, -2 * (int64_t)SECOND,
					 3600 * (int64_t)SECOND, -3600 * (int64_t)SECOND };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(steps); i++) {
		struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
		struct clock_reading now = reading(10 * SECOND, 0);
		uint64_t mono_ns, ns;

		cupti_clock_sample(&clock, &now);
		now = reading(10 * SECOND + 100 * MS, steps[i]);
		cupti_clock_sample(&clock, &now);
		now = reading(20 * SECOND, steps[i]);
		cupti_clock_sample(&clock, &now);
		for (ns = SECOND; ns < 20 * SECOND; ns += 100 * MS) {
			bool after = ns > 10 * SECOND;
			uint64_t value = REAL + ns + (after ? (uint64_t)steps[i] : 0);
			enum clock_result result = cupti_clock_convert(&clock, value, &mono_ns);

			assert_row(i, result == CLOCK_SURE || result == CLOCK_GUESSED);
			if (result == CLOCK_SURE)
				assert_row(i, mono_ns == MONO + ns);
			else
				assert_row(i, (uint64_t)llabs((int64_t)(mono_ns - MONO - ns)) <=
						      (uint64_t)llabs(steps[i]));
			/* Only what was read twice is a guess: within two seconds of the step. */
			if (steps[i] != -2 * (int64_t)SECOND ||
			    llabs((int64_t)(ns - 10 * SECOND)) > (int64_t)(3 * SECOND))
				assert_row(i, result == CLOCK_SURE);
		}
	}
}

static void more_steps_than_are_kept_do_no_harm(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
	uint64_t mono_ns;
	int i;

	(void)state;
	for (i = 1; i <= 3 * CLOCK_SEGMENTS_MAX; i++) {
		struct clock_reading now =
			reading((uint64_t)i * SECOND, 1000 * i * (int64_t)SECOND);

		cupti_clock_sample(&clock, &now);
	}
	assert_int_equal(clock.segment_count, CLOCK_SEGMENTS_MAX);
	assert_int_equal(clock.changes, 3 * CLOCK_SEGMENTS_MAX);
	assert_int_equal(cupti_clock_convert(&clock, REAL + 24024 * SECOND, &mono_ns), CLOCK_SURE);
	assert_true(mono_ns == MONO + 24 * SECOND);
}

static void after_a_change_of_clock_both_are_understood(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_REALTIME);
	struct clock_reading now = reading(SECOND, 0);
	uint64_t mono_ns;

	(void)state;
	cupti_clock_sample(&clock, &now);
	cupti_clock_change(&clock, AGENT_DOMAIN_TSC);
	assert_int_equal(cupti_clock_convert(&clock, TICKS + 5 * SECOND / 4, &mono_ns), CLOCK_SURE);
	assert_true(mono_ns == MONO + SECOND / 2);
	assert_int_equal(cupti_clock_convert(&clock, REAL + 7, &mono_ns), CLOCK_GUESSED);
	assert_true(mono_ns == MONO + 7);
}

static void the_description_says_how(void **state)
{
	struct cupti_clock clock = started(AGENT_DOMAIN_TSC);
	struct clock_reading now = reading(10 * SECOND, 0);
	struct agent_clock description;
	uint64_t ticks = TICKS + 12500000000ULL;

	(void)state;
	cupti_clock_sample(&clock, &now);
	cupti_clock_describe(&clock, &description);
	assert_int_equal(description.domain, AGENT_DOMAIN_TSC);
	assert_true(
		llabs((int64_t)(description.base_ns +
				(uint64_t)(((unsigned __int128)(ticks - description.base_ticks) *
					    description.mult) >>
					   32) -
				(MONO + 5 * SECOND))) <= 2);
	clock = started(AGENT_DOMAIN_REALTIME);
	cupti_clock_describe(&clock, &description);
	assert_true(description.offset_ns == (int64_t)(REAL - MONO));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_clock_is_told_by_its_neighbours),
		cmocka_unit_test(the_machines_clocks_are_read_close_together),
		cmocka_unit_test(real_time_is_moved_by_its_offset),
		cmocka_unit_test(what_no_session_can_have_seen_is_senseless),
		cmocka_unit_test(ticks_are_laid_between_the_points_around_them),
		cmocka_unit_test(points_too_close_together_make_no_slope),
		cmocka_unit_test(one_point_makes_no_line),
		cmocka_unit_test(a_step_is_seen_and_its_size_told),
		cmocka_unit_test(noise_is_no_step),
		cmocka_unit_test(times_on_both_sides_of_a_step_are_right),
		cmocka_unit_test(more_steps_than_are_kept_do_no_harm),
		cmocka_unit_test(after_a_change_of_clock_both_are_understood),
		cmocka_unit_test(the_description_says_how),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
