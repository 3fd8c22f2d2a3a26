/* Attempts, packed and read again. */
#include "support/test.h"

#include <malloc.h>

#include "model/attempt_log.h"

static bool is_equal(const struct attempt *left, const struct attempt *right)
{
	return left->start_ns == right->start_ns && left->end_ns == right->end_ns &&
	       left->tid == right->tid && left->cycle == right->cycle &&
	       left->phase == right->phase && left->outcome == right->outcome &&
	       left->is_disturbed == right->is_disturbed && left->boundary == right->boundary;
}

static void assert_kept(const struct attempt *attempts, size_t count)
{
	struct attempt_log log = { 0 };
	struct attempt_cursor cursor;
	size_t i;

	for (i = 0; i < count; i++) {
		assert_int_equal(attempt_log_add(&log, &attempts[i]), 0);
		assert_row(i, is_equal(&log.last, &attempts[i]));
		assert_int_equal(log.count, i + 1);
	}
	attempt_cursor_init(&cursor, &log);
	for (i = 0; i < count; i++) {
		const struct attempt *read = attempt_cursor_next(&cursor);

		assert_non_null(read);
		assert_row(i, is_equal(read, &attempts[i]));
	}
	assert_null(attempt_cursor_next(&cursor));
	attempt_log_clear(&log);
	assert_int_equal(log.count, 0);
	attempt_cursor_init(&cursor, &log);
	assert_null(attempt_cursor_next(&cursor));
}

static void attempts_of_a_capture_are_kept(void **state)
{
	static const struct attempt attempts[] = {
		{ .end_ns = 5000000000, .tid = 7, .phase = PHASE_WAIT, .outcome = OUTCOME_APPLIED },
		{ .start_ns = 5000000000, .end_ns = 5000300000, .tid = 7, .phase = PHASE_WAIT },
		/* two that were lost, and one whose beginning was */
		{ .phase = PHASE_WARMUP },
		{ .phase = PHASE_WARMUP },
		{ .end_ns = 5002000000, .tid = 7, .phase = PHASE_WARMUP },
		{ .start_ns = 5002000000,
		  .end_ns = 5002400000,
		  .tid = 8,
		  .phase = PHASE_ACTIVE,
		  .outcome = OUTCOME_SKIPPED },
		{ .end_ns = 5002500000, .tid = 8, .phase = PHASE_WAIT, .boundary = BOUNDARY_BEGIN },
		{ .start_ns = 5002400000,
		  .end_ns = 5002800000,
		  .tid = 8,
		  .cycle = 1,
		  .phase = PHASE_AFTER,
		  .is_disturbed = true },
	};

	(void)state;
	assert_kept(attempts, COUNT_OF(attempts));
}

static void any_value_is_kept(void **state)
{
	struct attempt attempts[500];
	uint64_t seed = 99;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(attempts); i++) {
		attempts[i] = (struct attempt){
			.start_ns = random_next(&seed) >> (random_next(&seed) & 63),
			.end_ns = random_next(&seed) >> (random_next(&seed) & 63),
			.tid = (uint32_t)random_next(&seed),
			.cycle = (uint16_t)random_next(&seed),
			.phase = (uint8_t)random_next(&seed),
			.outcome = (uint8_t)random_next(&seed),
			.is_disturbed = random_next(&seed) & 1,
			.boundary = (uint8_t)random_next(&seed),
		};
	}
	assert_kept(attempts, COUNT_OF(attempts));
}

/* Steps of a tenth of a second, none as long as the one before. */
static void a_million_attempts_take_a_few_megabytes(void **state)
{
	const size_t count = 1000000;
	struct attempt attempt = { .end_ns = 1000000000000, .tid = 7, .phase = PHASE_WAIT };
	struct attempt_log log = { 0 };
	size_t before_bytes = mallinfo2().uordblks + mallinfo2().hblkhd, i;

	(void)state;
	for (i = 0; i < count; i++) {
		attempt.start_ns = attempt.end_ns;
		attempt.end_ns += 100000000 + i % 1000;
		assert_int_equal(attempt_log_add(&log, &attempt), 0);
	}
	assert_true(mallinfo2().uordblks + mallinfo2().hblkhd - before_bytes < 6 * count);
	attempt_log_clear(&log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attempts_of_a_capture_are_kept),
		cmocka_unit_test(any_value_is_kept),
		cmocka_unit_test(a_million_attempts_take_a_few_megabytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
