/* Messages on stderr: one harmless line each. */
#include "support/test.h"

#include "base/log.h"
#include "support/stderr_capture.h"

static int teardown(void **state)
{
	(void)state;
	log_set_level(LOG_LEVEL_INFO);
	return 0;
}

static void errors_and_warnings_are_called_so(void **state)
{
	struct stderr_capture capture;

	(void)state;
	log_set_level(LOG_LEVEL_DEBUG);
	stderr_capture_begin(&capture);
	log_err("a %d", 1);
	log_warn("b");
	log_info("c");
	log_debug("d");
	assert_string_equal(stderr_capture_end(&capture), "tpbpf: error: a 1\n"
							  "tpbpf: warning: b\n"
							  "tpbpf: c\n"
							  "tpbpf: d\n");
}

static void messages_above_the_level_are_dropped(void **state)
{
	struct stderr_capture capture;

	(void)state;
	stderr_capture_begin(&capture);
	log_info("shown");
	log_debug("not shown");
	log_set_level(LOG_LEVEL_ERR);
	log_warn("not shown");
	log_err("shown");
	assert_string_equal(stderr_capture_end(&capture), "tpbpf: shown\n"
							  "tpbpf: error: shown\n");
}

static void a_message_is_one_line_without_controls(void **state)
{
	struct stderr_capture capture;

	(void)state;
	stderr_capture_begin(&capture);
	log_info("%s", "a\nb\x1b[31mc\xff");
	assert_string_equal(stderr_capture_end(&capture), "tpbpf: a?b?[31mc?\n");
}

static void a_long_message_is_cut(void **state)
{
	struct stderr_capture capture;
	const char *text;
	char message[3000];

	(void)state;
	memset(message, 'x', sizeof(message) - 1);
	message[sizeof(message) - 1] = 0;
	stderr_capture_begin(&capture);
	log_err("%s", message);
	text = stderr_capture_end(&capture);
	assert_true(strlen(text) > 500 && strlen(text) < 1200);
	assert_int_equal(text[strlen(text) - 1], '\n');
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(errors_and_warnings_are_called_so),
		TEST(messages_above_the_level_are_dropped),
		TEST(a_message_is_one_line_without_controls),
		TEST(a_long_message_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
