/* Forward calls and the nodes of their backward, tied by the two numbers that both have. */
#include "support/test.h"

#include "analyze/forward_links.h"
#include "support/call_records.h"

#define MAIN 100 /* thread ids */
#define OTHER 101
#define ENGINE 102
#define SP 0x7ffc0000

struct fixture {
	struct mark_sink sink;
	struct forward_links *links;
	struct flow last;
	size_t count;
	int err; /* what the sink returns */
};

static int on_flow(struct mark_sink *sink, const struct flow *flow)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	fixture->last = *flow;
	fixture->count++;
	return fixture->err;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->sink.flow = on_flow;
	*state = fixture;
	return forward_links_new(&fixture->links, &fixture->sink);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	forward_links_free(fixture->links);
	free(fixture);
	return 0;
}

/* A number is taken, of a call that is shown if it has a start. */
static void take(struct fixture *fixture, uint32_t tid, uint64_t number, uint64_t sequence,
		 uint64_t start_ns)
{
	struct wire_sequence record = record_sequence(start_ns, tid, number, sequence, SP);
	struct event event = event_of(&record);

	forward_links_taken(fixture->links, &event);
	if (start_ns)
		forward_links_forward(fixture->links, &event, start_ns);
}

/* True: it had a flow. */
static bool node(struct fixture *fixture, uint64_t number, uint64_t sequence, uint64_t start_ns)
{
	struct wire_node_begin record = record_node(start_ns, ENGINE, SP, 1, sequence, number);
	size_t before = fixture->count;

	assert_int_equal(forward_links_node(fixture->links, &record, ENGINE, start_ns), 0);
	return fixture->count > before;
}

static void a_node_is_tied_to_the_call_that_made_it(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 1000);
	take(fixture, MAIN, 1, 9, 1100);
	assert_true(node(fixture, 1, 9, 2000));
	assert_int_equal(fixture->last.id, 1);
	assert_int_equal(fixture->last.from_ns, 1100);
	assert_int_equal(fixture->last.from_tid, MAIN);
	assert_int_equal(fixture->last.to_ns, 2000);
	assert_int_equal(fixture->last.to_tid, ENGINE);
	assert_true(node(fixture, 1, 8, 2100));
	assert_int_equal(fixture->last.id, 2);
	assert_int_equal(fixture->last.from_ns, 1000);
	assert_int_equal(forward_links_flows(fixture->links), 2);
	assert_int_equal(forward_links_unlinked(fixture->links), 0);
}

static void one_number_of_two_threads_is_two(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 1000);
	take(fixture, OTHER, 2, 8, 1001);
	assert_true(node(fixture, 1, 8, 2000));
	assert_int_equal(fixture->last.from_tid, MAIN);
	assert_false(node(fixture, 1, 8, 2001));
	assert_true(node(fixture, 2, 8, 2002));
	assert_int_equal(fixture->last.from_tid, OTHER);
	assert_int_equal(fixture->last.from_ns, 1001);
}

/* They take the same numbers at the same time, and one thread runs all of the nodes. */
static void threads_in_lockstep_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	uint64_t sequence;
	uint32_t i;

	for (sequence = 0; sequence < 20; sequence++) {
		for (i = 1; i <= 160; i++)
			take(fixture, 1000 + i, i, sequence, 1000 + sequence * 200 + i);
	}
	while (sequence-- > 0) {
		for (i = 160; i > 0; i--) {
			assert_row(i, node(fixture, i, sequence, 1000000));
			assert_int_equal(fixture->last.from_tid, 1000 + i);
			assert_int_equal(fixture->last.from_ns, 1000 + sequence * 200 + i);
		}
	}
	assert_int_equal(forward_links_unlinked(fixture->links), 0);
}

/* PyTorch gives it one as it makes the node, so behind the event. */
static void a_new_thread_has_its_number_from_the_second_on(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 0, 0, 1000);
	take(fixture, OTHER, 0, 0, 1001);
	assert_false(node(fixture, 5, 0, 1500));
	take(fixture, MAIN, 5, 1, 2000);
	take(fixture, OTHER, 6, 1, 0); /* of nothing that is shown */
	assert_true(node(fixture, 5, 1, 3000));
	assert_true(node(fixture, 5, 0, 3001));
	assert_int_equal(fixture->last.from_ns, 1000);
	assert_true(node(fixture, 6, 0, 3002));
	assert_int_equal(fixture->last.from_ns, 1001);
	assert_int_equal(fixture->last.from_tid, OTHER);
}

/* The id of a thread that ended is another one's. */
static void what_a_new_thread_took_is_not_an_earlier_ones(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 0, 0, 1000);
	take(fixture, MAIN, 0, 0, 2000);
	take(fixture, MAIN, 7, 1, 2100);
	assert_true(node(fixture, 7, 0, 3000));
	assert_int_equal(fixture->last.from_ns, 2000);
	take(fixture, OTHER, 0, 0, 4000);
	take(fixture, OTHER, 8, 5, 4100); /* not the second one */
	assert_false(node(fixture, 8, 0, 5000));
	assert_false(node(fixture, 0, 0, 5000));
}

static void a_thread_that_ended_keeps_its_calls(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 1000);
	take(fixture, MAIN, 2, 8, 1100); /* another one of that id */
	assert_true(node(fixture, 1, 8, 2000));
	assert_int_equal(fixture->last.from_ns, 1000);
	assert_true(node(fixture, 2, 8, 2001));
	assert_int_equal(fixture->last.from_ns, 1100);
}

static void a_second_node_of_a_number_is_unlinked(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 1000);
	assert_true(node(fixture, 1, 8, 2000));
	assert_false(node(fixture, 1, 8, 3000));
	assert_int_equal(forward_links_unlinked(fixture->links), 1);
}

static void what_is_not_known_is_unlinked(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 0, WIRE_SEQUENCE_NONE, 1000); /* could not be read */
	take(fixture, MAIN, 1, 8, 1000);
	assert_false(node(fixture, 1, 9, 2000));
	assert_false(node(fixture, 2, 8, 2000));
	assert_false(node(fixture, 0, 8, 2000));
	assert_int_equal(forward_links_unlinked(fixture->links), 3);
}

static void a_node_without_a_number_is_not_unlinked(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, WIRE_SEQUENCE_NONE, 1000);
	assert_false(node(fixture, 1, WIRE_SEQUENCE_NONE, 2000));
	assert_int_equal(forward_links_unlinked(fixture->links), 0);
}

static void no_flow_runs_backward_in_time(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 2000);
	assert_false(node(fixture, 1, 8, 1999));
	assert_true(node(fixture, 1, 8, 2000));
}

static void the_last_call_with_a_number_has_it(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, MAIN, 1, 8, 1000);
	take(fixture, MAIN, 1, 8, 1100);
	assert_true(node(fixture, 1, 8, 2000));
	assert_int_equal(fixture->last.from_ns, 1100);
	assert_false(node(fixture, 1, 8, 2000));
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct wire_node_begin record = record_node(2000, ENGINE, SP, 1, 8, 1);

	take(fixture, MAIN, 1, 8, 1000);
	fixture->err = -ENOSPC;
	assert_int_equal(forward_links_node(fixture->links, &record, ENGINE, 2000), -ENOSPC);
}

static void the_oldest_make_room(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t extra = 1000;
	uint64_t sequence;

	take(fixture, MAIN, 1, WIRE_SEQUENCE_NONE, 1000); /* takes no room */
	for (sequence = 0; sequence < FORWARD_LINKS_MAX; sequence++)
		take(fixture, MAIN, 1, sequence, 1000 + sequence);
	assert_int_equal(forward_links_forgotten(fixture->links), 0);
	/* Their room is used first, and the renewed one is no longer the oldest. */
	assert_true(node(fixture, 1, 500, 1ULL << 40));
	assert_true(node(fixture, 1, 501, 1ULL << 40));
	take(fixture, MAIN, 1, 0, 1000);
	for (; sequence < FORWARD_LINKS_MAX + extra; sequence++)
		take(fixture, MAIN, 1, sequence, 1000 + sequence);
	assert_int_equal(forward_links_forgotten(fixture->links), extra - 2);
	assert_true(node(fixture, 1, 0, 1ULL << 40));
	for (sequence = 1; sequence <= extra; sequence++) /* 500 and 501 have had theirs */
		assert_row(sequence, !node(fixture, 1, sequence, 1ULL << 40));
	for (; sequence < FORWARD_LINKS_MAX + extra; sequence++) {
		assert_row(sequence, node(fixture, 1, sequence, 1ULL << 40));
		assert_int_equal(fixture->last.from_ns, 1000 + sequence);
	}
}

/* Threads without a number among them. */
static void the_oldest_may_have_no_number(void **state)
{
	struct fixture *fixture = *state;
	uint64_t sequence;

	take(fixture, OTHER, 0, 0, 1000);
	for (sequence = 0; sequence < FORWARD_LINKS_MAX; sequence++)
		take(fixture, MAIN, 1, sequence, 2000);
	take(fixture, OTHER, 2, 1, 3000);
	assert_false(node(fixture, 2, 0, 4000));
	assert_true(node(fixture, 2, 1, 4000));
}

#define MODEL_KEYS 64

static void random_use_agrees_with_a_model(void **state)
{
	struct fixture *fixture = *state;
	uint64_t model[2][MODEL_KEYS] = { { 0 } }, random = 11, now_ns;

	for (now_ns = 1; now_ns < 100000; now_ns++) {
		uint64_t draw = random_next(&random) >> 8;
		size_t thread = draw & 1, key = (draw >> 1) % MODEL_KEYS;

		if (draw >> 16 & 1) {
			take(fixture, thread ? OTHER : MAIN, 1 + thread, key << 32, now_ns);
			model[thread][key] = now_ns;
			continue;
		}
		assert_row(now_ns, node(fixture, 1 + thread, key << 32, now_ns) ==
					   (model[thread][key] != 0));
		if (model[thread][key])
			assert_int_equal(fixture->last.from_ns, model[thread][key]);
		model[thread][key] = 0;
	}
}

static void freeing_nothing_is_legal(void **state)
{
	(void)state;
	forward_links_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_node_is_tied_to_the_call_that_made_it),
		TEST(one_number_of_two_threads_is_two),
		TEST(threads_in_lockstep_are_told_apart),
		TEST(a_new_thread_has_its_number_from_the_second_on),
		TEST(what_a_new_thread_took_is_not_an_earlier_ones),
		TEST(a_thread_that_ended_keeps_its_calls),
		TEST(a_second_node_of_a_number_is_unlinked),
		TEST(what_is_not_known_is_unlinked),
		TEST(a_node_without_a_number_is_not_unlinked),
		TEST(no_flow_runs_backward_in_time),
		TEST(the_last_call_with_a_number_has_it),
		TEST(the_error_of_the_sink_comes_back),
		TEST(the_oldest_make_room),
		TEST(the_oldest_may_have_no_number),
		TEST(random_use_agrees_with_a_model),
		cmocka_unit_test(freeing_nothing_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
