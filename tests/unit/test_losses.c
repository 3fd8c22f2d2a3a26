/* Nothing is paired across a hole. */
#include "support/test.h"

#include "analyze/losses.h"
#include "support/call_fixture.h"

enum {
	ADD,
	MUL,
	OPERATORS,
};

#define CALL_KINDS (1U << WIRE_OP_BEGIN | 1U << WIRE_OP_END)
#define ACCUMULATE "N5torch8autograd14AccumulateGradE"

static int setup(void **state)
{
	static const char *const names[OPERATORS] = { "aten::add", "aten::mul" };
	struct call_fixture *fixture = calloc(1, sizeof(*fixture));
	struct wire_symbol node = record_symbol(SYMBOL_RTTI, 0x5000, ACCUMULATE);
	uint32_t i;

	if (!fixture || call_fixture_init(fixture, NULL))
		return -1;
	for (i = 0; i < OPERATORS; i++) {
		struct wire_operator record = record_operator(i, names[i], "");

		call_fixture_feed(fixture, &record);
	}
	call_fixture_feed(fixture, &node);
	*state = fixture;
	return 0;
}

static void hole(struct call_fixture *fixture, uint64_t first_ns, uint64_t last_ns, uint32_t tid,
		 uint32_t kinds)
{
	struct wire_hole record = {
		.header = record_header(WIRE_HOLE, sizeof(record), tid, first_ns),
		.last_ns = last_ns,
		.kinds = kinds,
	};
	struct event event = event_of(&record);

	assert_int_equal(spans_hole(fixture->spans, &event), 0);
}

/* add(100..), its end and the beginning of the next one lost; then the end of that one. */
static void an_end_is_not_that_of_a_call_before_the_hole(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_end(fixture, 210, ADD, 960);
	assert_int_equal(fixture->out.count, 1);
	assert_false(found(fixture, "aten::add")->is_finished);
	assert_false(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 100);
	assert_int_equal(calls_unpaired(fixture->calls), 1);
}

static void calls_after_the_hole_are_paired(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_begin(fixture, 210, MUL, 900);
	op_end(fixture, 220, MUL, 860);
	op_begin(fixture, 230, MUL, 900);
	op_end(fixture, 250, MUL, 860);
	assert_int_equal(fixture->out.count, 3);
	assert_true(fixture->out.spans[1].is_finished && fixture->out.spans[1].is_top);
	assert_int_equal(fixture->out.spans[1].end_ns, 220);
	assert_int_equal(fixture->out.spans[2].end_ns, 250);
}

/* A hole comes at the time of its first loss: the thread's own may have been any time until its
 * last. */
static void inside_a_hole_nothing_is_paired(void **state)
{
	struct call_fixture *fixture = *state;

	hole(fixture, 90, 200, 0, CALL_KINDS);
	op_begin(fixture, 100, ADD, 1000);
	op_end(fixture, 150, ADD, 960);
	assert_false(found(fixture, "aten::add")->is_finished);
	op_begin(fixture, 190, MUL, 1000);
	op_begin(fixture, 210, ADD, 900);
	op_end(fixture, 220, ADD, 860);
	assert_false(found(fixture, "aten::mul")->is_finished);
	assert_true(fixture->out.spans[2].is_finished);
}

static void a_hole_of_another_thread_cuts_nothing(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 8, CALL_KINDS);
	op_end(fixture, 210, ADD, 960);
	assert_true(found(fixture, "aten::add")->is_finished);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 210);
}

static void a_hole_of_the_thread_cuts(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 7, CALL_KINDS);
	op_end(fixture, 210, ADD, 960);
	assert_false(found(fixture, "aten::add")->is_finished);
}

static void what_was_lost_but_no_call_cuts_none(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, 1U << WIRE_MEMORY | 1U << WIRE_RANGE_BEGIN | 1U << WIRE_SHAPES);
	op_end(fixture, 210, ADD, 960);
	assert_true(found(fixture, "aten::add")->is_finished);
}

static void a_begin_only_call_ends_by_what_it_took(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_mode_record mode = record_mode(ADD, MODE_BEGIN_ONLY, 20, 1);

	call_fixture_feed(fixture, &mode);
	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_begin(fixture, 210, MUL, 1000);
	assert_true(found(fixture, "aten::add")->is_inferred);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 120);
}

/* It would not have been over when something came. */
static void one_that_takes_too_long_for_that_is_unfinished(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_mode_record mode = record_mode(ADD, MODE_BEGIN_ONLY, 500, 1);

	call_fixture_feed(fixture, &mode);
	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_begin(fixture, 210, MUL, 1000);
	assert_false(found(fixture, "aten::add")->is_inferred);
	assert_false(found(fixture, "aten::add")->is_finished);
}

static void a_range_keeps_its_end(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 50, 1, "forward");
	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS | 1U << WIRE_RANGE_END);
	range_end(fixture, 300, 1);
	assert_true(found(fixture, "forward")->is_finished);
	assert_int_equal(found(fixture, "forward")->end_ns, 300);
	assert_false(found(fixture, "aten::add")->is_finished);
}

static void a_range_whose_end_was_lost_ends_with_the_one_around_it(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 50, 1, "forward");
	range_begin(fixture, 60, 2, "inside");
	hole(fixture, 110, 200, 0, 1U << WIRE_RANGE_END);
	range_end(fixture, 300, 1);
	assert_int_equal(spans_open_count(fixture->spans), 0);
	assert_false(found(fixture, "inside")->is_finished);
	assert_int_equal(found(fixture, "inside")->end_ns, 60);
	assert_true(found(fixture, "forward")->is_finished);
}

/* Hooks may end a range that began inside another one after it. */
static void without_a_hole_it_goes_on(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 50, 1, "forward");
	range_begin(fixture, 60, 2, "inside");
	range_end(fixture, 300, 1);
	range_end(fixture, 320, 2);
	assert_true(found(fixture, "inside")->is_finished);
	assert_int_equal(found(fixture, "inside")->end_ns, 320);
}

/* Nobody knows whether it had other children. */
static void a_child_of_one_that_was_cut_is_not_merged(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	op_begin(fixture, 110, ADD, 900);
	op_end(fixture, 120, ADD, 860);
	hole(fixture, 130, 200, 0, CALL_KINDS);
	op_begin(fixture, 210, MUL, 1000);
	assert_int_equal(fixture->out.count, 2);
	assert_false(fixture->out.spans[0].is_merged || fixture->out.spans[1].is_merged);
}

/* What it called may have been lost. */
static void a_node_in_which_nothing_was_seen_is_shown(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_node_begin node = record_node(100, 7, 1000, 0x5000, WIRE_SEQUENCE_NONE, 0);

	call_fixture_feed(fixture, &node);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_begin(fixture, 210, MUL, 900);
	assert_false(found(fixture, "torch::autograd::AccumulateGrad")->is_finished);
}

static void what_was_cut_teaches_nothing(void **state)
{
	struct call_fixture *fixture = *state;
	size_t count;

	fixture->is_active = false;
	op_begin(fixture, 100, ADD, 1000);
	hole(fixture, 110, 200, 0, CALL_KINDS);
	op_end(fixture, 210, ADD, 960);
	op_begin(fixture, 220, MUL, 1000);
	op_end(fixture, 230, MUL, 960);
	assert_int_equal(learned_rows(fixture->learned, &count)->subject, MUL);
	assert_int_equal(count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, call_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_end_is_not_that_of_a_call_before_the_hole),
		TEST(calls_after_the_hole_are_paired),
		TEST(inside_a_hole_nothing_is_paired),
		TEST(a_hole_of_another_thread_cuts_nothing),
		TEST(a_hole_of_the_thread_cuts),
		TEST(what_was_lost_but_no_call_cuts_none),
		TEST(a_begin_only_call_ends_by_what_it_took),
		TEST(one_that_takes_too_long_for_that_is_unfinished),
		TEST(a_range_keeps_its_end),
		TEST(a_range_whose_end_was_lost_ends_with_the_one_around_it),
		TEST(without_a_hole_it_goes_on),
		TEST(a_child_of_one_that_was_cut_is_not_merged),
		TEST(a_node_in_which_nothing_was_seen_is_shown),
		TEST(what_was_cut_teaches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
