/* Signals as a descriptor: each is taken once, and none ends the program. */
#include "support/test.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/signals.h"

static void signals_wait_until_they_are_taken(void **state)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	struct pollfd poll_fd = { .fd = signals_open(), .events = POLLIN };
	size_t i;

	(void)state;
	assert_true(poll_fd.fd >= 0);
	assert_false(signals_take(poll_fd.fd));
	for (i = 0; i < COUNT_OF(numbers); i++) {
		assert_int_equal(raise(numbers[i]), 0);
		assert_int_equal(poll(&poll_fd, 1, 0), 1);
		assert_true(signals_take(poll_fd.fd));
		assert_false(signals_take(poll_fd.fd));
	}
	close(poll_fd.fd);
}

static void a_closed_pipe_is_an_error_and_no_end(void **state)
{
	int fd = signals_open(), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(write(ends[1], "x", 1), -1);
	assert_int_equal(errno, EPIPE);
	close(ends[1]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signals_wait_until_they_are_taken),
		cmocka_unit_test(a_closed_pipe_is_an_error_and_no_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
