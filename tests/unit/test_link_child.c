/*
 * Links are stood in for by pipes, whose reader sees when the last copy is closed, and where the
 * closing must take its time by a connection that lingers: its data must be read first.
 */
#include "support/test.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/link_child.h"

#define SOON_MS 5000

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	return poll(&poll_fd, 1, timeout_ms) > 0;
}

/* All copies of the write end are closed. */
static bool is_closed(int read_end, int timeout_ms)
{
	char byte;

	return is_readable(read_end, timeout_ms) && read(read_end, &byte, 1) == 0;
}

static bool has_fd(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void assert_no_child(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* One link: its descriptor, or the error. */
static int attach_one(int (*make)(void *context, size_t index), void *context)
{
	const struct link_maker maker = { make, context, 1 };
	int fd = -1, err = link_child_attach(&maker, &fd);

	return err ? err : fd;
}

/* A checker that does not keep to our limits, and whose threads take turns also while they close.
 */
static bool is_emulated(void)
{
	struct rlimit before, none;
	int sockets[2], err;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets);
	setrlimit(RLIMIT_NOFILE, &before);
	if (err)
		return false;
	close(sockets[0]);
	close(sockets[1]);
	return true;
}

/* What a link is made of, and what the child shall tell of itself. */
struct maker {
	int link[2];
	int told[2];
	int go[2];
	int result;
};

static void maker_open(struct maker *maker)
{
	assert_int_equal(pipe2(maker->link, O_CLOEXEC), 0);
	assert_int_equal(pipe2(maker->told, O_CLOEXEC), 0);
	assert_int_equal(pipe2(maker->go, O_CLOEXEC), 0);
	maker->result = 0;
}

/* The write end of the link may be somebody else's by now. */
static void maker_close(struct maker *maker)
{
	close(maker->link[0]);
	close(maker->told[0]);
	close(maker->told[1]);
	close(maker->go[0]);
	close(maker->go[1]);
}

static int make_link(void *context, size_t index)
{
	struct maker *maker = context;

	(void)index;
	maker->result = 1; /* in the child's memory alone */
	return fcntl(maker->link[1], F_DUPFD_CLOEXEC, 0);
}

static void a_link_is_handed_over(void **state)
{
	struct maker maker;
	int fd;

	(void)state;
	maker_open(&maker);
	fd = attach_one(make_link, &maker);
	assert_true(fd >= 0);
	assert_int_equal(maker.result, 0);
	assert_no_child();
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(maker.link[1]);
	assert_false(is_readable(maker.link[0], 0));
	close(fd);
	assert_true(is_closed(maker.link[0], 0)); /* the child holds no copy */
	maker_close(&maker);
}

#define MANY 100 /* more than there are threads to close them */

/* Links are the write ends; from number failing on none can be made. */
struct many {
	int pipes[MANY][2];
	size_t failing;
	const struct rlimit *limit; /* of the child: otherwise than ours */
};

static void many_open(struct many *many, size_t failing)
{
	size_t i;

	for (i = 0; i < MANY; i++)
		assert_int_equal(pipe2(many->pipes[i], O_CLOEXEC), 0);
	many->failing = failing;
	many->limit = NULL;
}

static int make_many(void *context, size_t index)
{
	const struct many *many = context;

	if (many->limit)
		setrlimit(RLIMIT_NOFILE, many->limit);
	return index < many->failing ? fcntl(many->pipes[index][1], F_DUPFD_CLOEXEC, 0) : -ENOENT;
}

/* Ours, so that what is left is what the links hold. */
static void many_close_ends(const struct many *many)
{
	size_t i;

	for (i = 0; i < MANY; i++)
		close(many->pipes[i][1]);
}

static void many_are_handed_over_in_order_and_closed(void **state)
{
	static struct many many;
	const struct link_maker maker = { make_many, &many, MANY };
	static int fds[MANY];
	unsigned char byte;
	size_t i;

	(void)state;
	many_open(&many, MANY);
	assert_int_equal(link_child_attach(&maker, fds), 0);
	assert_no_child();
	many_close_ends(&many);
	for (i = 0; i < MANY; i++) {
		byte = (unsigned char)i;
		assert_row(i, write(fds[i], &byte, 1) == 1);
		assert_row(i, read(many.pipes[i][0], &byte, 1) == 1 && byte == i);
		assert_row(i, !is_readable(many.pipes[i][0], 0));
	}
	link_child_detach(fds, MANY);
	assert_no_child();
	for (i = 0; i < MANY; i++) {
		assert_row(i, is_closed(many.pipes[i][0], 0));
		close(many.pipes[i][0]);
	}
}

static void one_that_fails_leaves_none(void **state)
{
	static struct many many;
	const struct link_maker maker = { make_many, &many, MANY };
	static int fds[MANY];
	size_t i;

	(void)state;
	many_open(&many, MANY - 1);
	assert_int_equal(link_child_attach(&maker, fds), -ENOENT);
	assert_no_child();
	many_close_ends(&many);
	for (i = 0; i < MANY; i++) {
		assert_row(i, is_closed(many.pipes[i][0], 0));
		close(many.pipes[i][0]);
	}
}

/* Where descriptors run out on the way over. */
static void what_does_not_fit_leaves_none(void **state)
{
	static struct many many;
	const struct link_maker maker = { make_many, &many, MANY };
	struct rlimit before, few;
	static int fds[MANY];
	int err, last;
	size_t i;

	(void)state;
	if (is_emulated())
		skip();
	many_open(&many, MANY);
	last = dup(many.pipes[MANY - 1][0]);
	close(last);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = before;
	few.rlim_cur = (rlim_t)last + MANY / 2;
	many.limit = &before;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	err = link_child_attach(&maker, fds);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(err, -EMFILE);
	assert_no_child();
	many_close_ends(&many);
	for (i = 0; i < MANY; i++) {
		assert_row(i, is_closed(many.pipes[i][0], 0));
		close(many.pipes[i][0]);
	}
}

static int fail_to_make(void *context, size_t index)
{
	(void)context;
	(void)index;
	return -EOPNOTSUPP;
}

static void an_error_is_handed_over(void **state)
{
	(void)state;
	assert_int_equal(attach_one(fail_to_make, NULL), -EOPNOTSUPP);
	assert_no_child();
}

static int die(void *context, size_t index)
{
	(void)context;
	(void)index;
	raise(SIGKILL);
	return 0;
}

static void a_child_that_dies_is_an_error(void **state)
{
	(void)state;
	assert_int_equal(attach_one(die, NULL), -EIO);
	assert_no_child();
}

/* The result says what is wrong, as no text comes out of the child. */
static int look_around(void *context, size_t index)
{
	sigset_t blocked;
	char name[16];
	int signal_number, *parent_group = context;

	(void)index;
	if (getpgrp() == *parent_group || getpgrp() != getpid())
		return -1;
	sigprocmask(SIG_BLOCK, NULL, &blocked);
	for (signal_number = 1; signal_number < 32; signal_number++) {
		if (signal_number != SIGKILL && signal_number != SIGSTOP &&
		    !sigismember(&blocked, signal_number))
			return -2;
	}
	if (prctl(PR_GET_NAME, name) || strcmp(name, "tpbpf-links") != 0)
		return -3;
	return -1000;
}

static void the_child_is_out_of_reach(void **state)
{
	int group = getpgrp();
	sigset_t before, after;
	int signal_number;

	(void)state;
	sigprocmask(SIG_BLOCK, NULL, &before);
	assert_int_equal(attach_one(look_around, &group), -1000);
	sigprocmask(SIG_BLOCK, NULL, &after);
	for (signal_number = 1; signal_number < 32; signal_number++)
		assert_row(signal_number, sigismember(&before, signal_number) ==
						  sigismember(&after, signal_number));
}

static int give_link(void *context, size_t index)
{
	struct maker *maker = context;

	(void)index;
	maker->result = 1;
	return maker->link[1];
}

/* As when no process is to be had: nothing can be opened, the socket neither. */
static void without_a_child_it_is_done_here(void **state)
{
	struct rlimit before, none;
	struct maker maker;
	int fd;

	(void)state;
	if (is_emulated())
		skip();
	maker_open(&maker);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fd = attach_one(give_link, &maker);
	if (fd == maker.link[1])
		link_child_detach(&fd, 1);
	setrlimit(RLIMIT_NOFILE, &before);
	assert_int_equal(maker.result, 1);
	assert_true(is_closed(maker.link[0], 0));
	maker_close(&maker);
}

static void all_are_closed_and_nothing_else(void **state)
{
	int first[2], second[2], other[2], fds[2];

	(void)state;
	assert_int_equal(pipe2(first, O_CLOEXEC), 0);
	assert_int_equal(pipe2(other, O_CLOEXEC), 0);
	assert_int_equal(pipe2(second, O_CLOEXEC), 0);
	fds[0] = second[1];
	fds[1] = first[1];
	link_child_detach(fds, 2);
	assert_no_child();
	assert_false(has_fd(first[1]));
	assert_false(has_fd(second[1]));
	assert_true(is_closed(first[0], 0));
	assert_true(is_closed(second[0], 0));
	assert_false(is_readable(other[0], 0));
	close(first[0]);
	close(second[0]);
	close(other[0]);
	close(other[1]);
	link_child_detach(fds, 0);
	assert_no_child();
}

/* What stdio still holds is written once. */
static void buffered_text_stays_with_the_parent(void **state)
{
	FILE *file = tmpfile();
	int link[2];
	char byte;

	(void)state;
	assert_non_null(file);
	assert_int_equal(pipe2(link, O_CLOEXEC), 0);
	fputs("once", file);
	link_child_detach(&link[1], 1);
	assert_int_equal(attach_one(fail_to_make, NULL), -EOPNOTSUPP);
	assert_int_equal(pread(fileno(file), &byte, 1, 0), 0);
	fclose(file);
	close(link[0]);
}

/* Tells its id and waits to be let go. */
static int make_slowly(void *context, size_t index)
{
	struct maker *maker = context;
	pid_t self = getpid();
	char byte;

	(void)index;
	close(maker->go[1]);
	if (write(maker->told[1], &self, sizeof(self)) != (ssize_t)sizeof(self) ||
	    read(maker->go[0], &byte, 1) != 1)
		return -EPROTO;
	return fcntl(maker->link[1], F_DUPFD_CLOEXEC, 0);
}

/* Its children are ours once it is dead. */
static void kill_parent(pid_t parent)
{
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
}

static void assert_ends_by_itself(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_no_child();
}

static void the_child_goes_on_when_the_parent_is_killed(void **state)
{
	struct maker maker;
	pid_t parent, child;

	(void)state;
	maker_open(&maker);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		setpgid(0, 0);
		attach_one(make_slowly, &maker);
		_exit(1);
	}
	close(maker.link[1]);
	assert_int_equal(read(maker.told[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(kill(-parent, SIGKILL), 0); /* its whole group */
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(kill(child, SIGTERM), 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_false(is_readable(maker.link[0], 0));
	assert_int_equal(write(maker.go[1], "", 1), 1);
	assert_ends_by_itself(child);
	assert_true(is_closed(maker.link[0], 0));
	maker_close(&maker);
}

/* A connection whose sending side has more to send than fits, and lingers. False: no network. */
static bool lingering_connection(int *sending, int *receiving)
{
	static const char data[1 << 16];
	const struct linger linger = { .l_onoff = 1, .l_linger = 60 };
	const int little_bytes = 4096; /* said, it does not grow by itself */
	struct pollfd room = { .events = POLLOUT };
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*sending = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listening < 0 || *sending < 0 ||
	    setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &little_bytes, sizeof(little_bytes)) ||
	    bind(listening, (struct sockaddr *)&address, sizeof(address)) || listen(listening, 1) ||
	    getsockname(listening, (struct sockaddr *)&address, &size) ||
	    connect(*sending, (struct sockaddr *)&address, sizeof(address)))
		return false;
	*receiving = accept(listening, NULL, NULL);
	close(listening);
	if (setsockopt(*sending, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)))
		return false;
	room.fd = *sending;
	do {
		while (send(*sending, data, sizeof(data), MSG_DONTWAIT) > 0)
			;
	} while (poll(&room, 1, 200) > 0); /* what is under way arrives */
	return *receiving >= 0;
}

static void drain(int fd)
{
	static char data[1 << 16];

	while (is_readable(fd, SOON_MS) && read(fd, data, sizeof(data)) > 0)
		;
}

/* The closing takes as long as we like: it goes on, so it is not the parent who is in it. */
static void the_last_reference_is_dropped_in_the_child(void **state)
{
	int fd = -1, receiving = -1, done[2];
	pid_t parent;

	(void)state;
	if (!lingering_connection(&fd, &receiving))
		skip();
	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		close(done[0]);
		link_child_detach(&fd, 1);
		_exit(1);
	}
	close(fd);
	close(done[1]);
	assert_false(is_readable(done[0], 200)); /* it waits */
	kill_parent(parent);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* there is one */
	/* It holds nothing else. */
	assert_true(is_closed(done[0], SOON_MS));
	drain(receiving);
	assert_true(waitpid(-1, NULL, 0) > 0);
	assert_no_child();
	close(receiving);
	close(done[0]);
}

/* One that takes its time does not hold up the others. */
static void links_are_closed_at_the_same_time(void **state)
{
	int fds[2] = { -1, -1 }, receiving = -1, link[2];
	pid_t parent;

	(void)state;
	if (is_emulated() || !lingering_connection(&fds[0], &receiving))
		skip();
	assert_int_equal(pipe2(link, O_CLOEXEC), 0);
	fds[1] = link[1];
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		link_child_detach(fds, 2);
		_exit(0);
	}
	close(fds[0]);
	close(fds[1]);
	assert_true(is_closed(link[0], SOON_MS));
	assert_int_equal(waitpid(parent, NULL, WNOHANG), 0); /* the other one is not through */
	drain(receiving);
	assert_ends_by_itself(parent);
	close(receiving);
	close(link[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_link_is_handed_over),
		cmocka_unit_test(many_are_handed_over_in_order_and_closed),
		cmocka_unit_test(one_that_fails_leaves_none),
		cmocka_unit_test(what_does_not_fit_leaves_none),
		cmocka_unit_test(an_error_is_handed_over),
		cmocka_unit_test(a_child_that_dies_is_an_error),
		cmocka_unit_test(the_child_is_out_of_reach),
		cmocka_unit_test(without_a_child_it_is_done_here),
		cmocka_unit_test(all_are_closed_and_nothing_else),
		cmocka_unit_test(buffered_text_stays_with_the_parent),
		cmocka_unit_test(the_child_goes_on_when_the_parent_is_killed),
		cmocka_unit_test(the_last_reference_is_dropped_in_the_child),
		cmocka_unit_test(links_are_closed_at_the_same_time),
	};

	/* The children of a killed parent come to us. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
