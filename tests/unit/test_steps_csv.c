/* steps.csv, exactly. */
#include "support/test.h"

#include "support/summaries.h"

static void every_attempt_is_a_line(void **state)
{
	struct capture capture;
	struct memory_sink memory;

	(void)state;
	capture_init(&capture);
	memory_sink_init(&memory);
	capture.attempts[2].outcome = OUTCOME_SKIPPED;
	capture.attempts[4].outcome = OUTCOME_UNKNOWN;
	capture.attempts[1].phase = PHASE_SKIP_FIRST;
	assert_int_equal(capture_write(&capture, &memory, steps_csv_new), 0);
	assert_string_equal(memory_sink_text(&memory),
			    "attempt,phase,start_ns,duration_ns,outcome\n"
			    "0,wait,,,applied\n"
			    "1,skip_first,10000000,12000000,applied\n"
			    "2,active,22000000,10000000,skipped\n"
			    "3,active,32000000,15000000,applied\n"
			    "4,after,47000000,10000000,unknown\n");
	memory_sink_fini(&memory);
}

static void what_was_not_seen_is_empty(void **state)
{
	struct capture capture;
	struct memory_sink memory;

	(void)state;
	capture_init(&capture);
	memory_sink_init(&memory);
	capture.summary.attempt_count = 3;
	capture.attempts[0] = (struct attempt){ .start_ns = 5, .phase = PHASE_WAIT };
	capture.attempts[1] = (struct attempt){ .phase = PHASE_WARMUP };
	capture.attempts[2] = (struct attempt){ .start_ns = 7, .end_ns = 7, .phase = PHASE_ACTIVE };
	assert_int_equal(capture_write(&capture, &memory, steps_csv_new), 0);
	assert_string_equal(memory_sink_text(&memory),
			    "attempt,phase,start_ns,duration_ns,outcome\n"
			    "0,wait,5,,unknown\n"
			    "1,warmup,,,unknown\n"
			    "2,active,7,0,unknown\n");
	memory_sink_fini(&memory);
}

static void no_attempts_leave_the_head(void **state)
{
	struct capture capture;
	struct memory_sink memory;

	(void)state;
	capture_init(&capture);
	memory_sink_init(&memory);
	capture.summary.attempt_count = 0;
	assert_int_equal(capture_write(&capture, &memory, steps_csv_new), 0);
	assert_string_equal(memory_sink_text(&memory),
			    "attempt,phase,start_ns,duration_ns,outcome\n");
	memory_sink_fini(&memory);
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct capture capture;
	struct memory_sink memory;

	(void)state;
	capture_init(&capture);
	memory_sink_init_limited(&memory, 60);
	assert_int_equal(capture_write(&capture, &memory, steps_csv_new), -ENOSPC);
	assert_int_equal(memory.failures, 1);
	memory_sink_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_attempt_is_a_line),
		cmocka_unit_test(what_was_not_seen_is_empty),
		cmocka_unit_test(no_attempts_leave_the_head),
		cmocka_unit_test(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
