/* Links are stood in for by pipes, whose reader sees when the last copy is closed. */
#include "support/test.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/link_list.h"

#define LINKS 12 /* more than a list has room for at first */
#define GROUPS 3

struct fixture {
	int pipes[LINKS][2];
	size_t first; /* of these links the maker makes */
};

static int make_link(void *context, size_t index)
{
	const struct fixture *fixture = context;

	return fcntl(fixture->pipes[fixture->first + index][1], F_DUPFD_CLOEXEC, 0);
}

static int fail_late(void *context, size_t index)
{
	return index ? -EPERM : make_link(context, index);
}

static bool is_closed(const struct fixture *fixture, size_t link)
{
	struct pollfd poll_fd = { .fd = fixture->pipes[link][0], .events = POLLIN };
	char byte;

	return poll(&poll_fd, 1, 0) > 0 && read(poll_fd.fd, &byte, 1) == 0;
}

static void fixture_begin(struct fixture *fixture)
{
	size_t i;

	fixture->first = 0;
	for (i = 0; i < LINKS; i++)
		assert_int_equal(pipe2(fixture->pipes[i], O_CLOEXEC), 0);
}

/* So that links alone hold the pipes. */
static void close_own_ends(const struct fixture *fixture)
{
	size_t i;

	for (i = 0; i < LINKS; i++)
		close(fixture->pipes[i][1]);
}

static void fixture_end(const struct fixture *fixture)
{
	size_t i;

	for (i = 0; i < LINKS; i++)
		close(fixture->pipes[i][0]);
}

static unsigned int group_of(size_t link)
{
	return (unsigned int)(link * 7 % 5 % GROUPS);
}

static void make_in_two_calls(struct fixture *fixture, struct link_list *list)
{
	struct link_maker maker = { make_link, fixture, LINKS / 3 };
	unsigned int groups[LINKS];
	size_t i;

	for (i = 0; i < LINKS; i++)
		groups[i] = group_of(i);
	assert_int_equal(link_list_make(list, &maker, groups), 0);
	fixture->first = maker.count;
	maker.count = LINKS - maker.count;
	assert_int_equal(link_list_make(list, &maker, groups + fixture->first), 0);
	assert_int_equal(list->count, LINKS);
}

/* Whichever groups are closed, those links go and no others; then the rest. */
static void those_of_the_groups_are_closed(void **state)
{
	unsigned int set;

	(void)state;
	for (set = 0; set < 1U << GROUPS; set++) {
		struct link_list list = { 0 };
		struct fixture fixture;
		size_t i;

		fixture_begin(&fixture);
		make_in_two_calls(&fixture, &list);
		close_own_ends(&fixture);
		link_list_close(&list, set);
		for (i = 0; i < LINKS; i++)
			assert_row(set * LINKS + i,
				   is_closed(&fixture, i) == !!(set & 1U << group_of(i)));
		link_list_close(&list, ~0U);
		assert_int_equal(list.count, 0);
		for (i = 0; i < LINKS; i++)
			assert_row(set * LINKS + i, is_closed(&fixture, i));
		link_list_free(&list);
		fixture_end(&fixture);
	}
}

static void a_failure_adds_nothing(void **state)
{
	const unsigned int groups[2] = { 1, 1 };
	struct link_list list = { 0 };
	struct fixture fixture;
	const struct link_maker maker = { fail_late, &fixture, 2 };

	(void)state;
	fixture_begin(&fixture);
	assert_int_equal(link_list_make(&list, &maker, groups), -EPERM);
	assert_int_equal(list.count, 0);
	close_own_ends(&fixture);
	assert_true(is_closed(&fixture, 0));
	link_list_free(&list);
	fixture_end(&fixture);
}

static void nothing_wanted_is_nothing_made(void **state)
{
	const struct link_maker maker = { fail_late, NULL, 0 };
	struct link_list list = { 0 };

	(void)state;
	assert_int_equal(link_list_make(&list, &maker, NULL), 0);
	link_list_close(&list, ~0U);
	link_list_free(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_the_groups_are_closed),
		cmocka_unit_test(a_failure_adds_nothing),
		cmocka_unit_test(nothing_wanted_is_nothing_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
