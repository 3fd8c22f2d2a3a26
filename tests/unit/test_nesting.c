/*
 * Rows of a thread nest whatever ends were not seen. The smallest programs that
 * test_nesting_random.c found rows to overlap in.
 */
#include "support/test.h"

#include "support/call_fixture.h"
#include "support/nesting.h"

enum {
	ADD,
	MUL,
	DETACH,
	OPERATORS,
};

#define NODE_TYPE 0x5000
#define ACCUMULATE_TYPE 0x5008
#define FUNCTION_TYPE 0x6000
#define OUTER "autograd::engine::evaluate_function: "
#define UNKNOWN UINT32_MAX
#define LONG_NS 80000

static int setup(void **state)
{
	static const char *const names[OPERATORS] = { "aten::add", "aten::mul", "aten::detach" };
	const struct wire_symbol symbols[] = {
		record_symbol(SYMBOL_RTTI, NODE_TYPE, "N5torch8autograd9generated10TBackward0E"),
		record_symbol(SYMBOL_RTTI, ACCUMULATE_TYPE, "N5torch8autograd14AccumulateGradE"),
		record_symbol(SYMBOL_PYTHON, FUNCTION_TYPE, "Square"),
	};
	struct call_fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t i;

	if (!fixture || call_fixture_init(fixture, NULL))
		return -1;
	for (i = 0; i < COUNT_OF(symbols); i++)
		call_fixture_feed(fixture, &symbols[i]);
	for (i = 0; i < OPERATORS; i++) {
		struct wire_operator record = record_operator(i, names[i], "");

		call_fixture_feed(fixture, &record);
	}
	*state = fixture;
	return 0;
}

/* detach holds a guard, and warmup saw it. */
static void teach_detach(struct call_fixture *fixture)
{
	const struct learned_call call = {
		.subject = DETACH, .inclusive_ns = 100, .inner_children = 1, .inner_guards = 1
	};

	assert_int_equal(learned_call(fixture->learned, &call), 0);
}

/* inner_events: of detach. */
static void everything_begin_only(struct call_fixture *fixture, uint32_t inner_events)
{
	teach_detach(fixture);
	set_mode(fixture, ADD, MODE_BEGIN_ONLY, LONG_NS, UNKNOWN);
	set_mode(fixture, MUL, MODE_BEGIN_ONLY, LONG_NS, UNKNOWN);
	set_mode(fixture, DETACH, MODE_BEGIN_ONLY, LONG_NS, inner_events);
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, LONG_NS, UNKNOWN);
}

static size_t gather(struct call_fixture *fixture, struct nesting_row *rows)
{
	size_t i;

	assert_int_equal(spans_close_open(fixture->spans, 100000), 0);
	assert_true(fixture->out.count <= SPAN_RECORDER_MAX);
	for (i = 0; i < fixture->out.count; i++)
		rows[i] = nesting_row_of(&fixture->out.spans[i]);
	return fixture->out.count;
}

static void assert_nested(struct call_fixture *fixture, size_t count)
{
	struct nesting_row rows[SPAN_RECORDER_MAX];
	const char *flaw;

	assert_int_equal(gather(fixture, rows), count);
	flaw = nesting_flaw(rows, count);
	if (flaw)
		fail_msg("%s", flaw);
}

/* A node lies deeper than the detach before it did, so it is taken to be inside. */
static void a_call_is_over_before_a_range_that_goes_on(void **state)
{
	struct call_fixture *fixture = *state;

	everything_begin_only(fixture, UNKNOWN);
	op_begin(fixture, 1000, DETACH, 900);
	node_begin(fixture, 2000, 800, NODE_TYPE, WIRE_SEQUENCE_NONE);
	range_begin(fixture, 3000, 1, "optimizer");
	op_begin(fixture, 4000, ADD, 950);
	op_end(fixture, 5000, ADD, 950);
	range_end(fixture, 6000, 1);
	assert_int_equal(found(fixture, "aten::detach")->end_ns, 3000);
	assert_nested(fixture, 5);
}

/* All of it is over when the range begins, and the row inside detach takes no time then. */
static void the_row_inside_detach_leaves_room_for_it(void **state)
{
	struct call_fixture *fixture = *state;

	everything_begin_only(fixture, 1);
	op_begin(fixture, 1000, DETACH, 900);
	op_begin(fixture, 2000, ADD, 800);
	range_begin(fixture, 3000, 1, "next");
	range_end(fixture, 4000, 1);
	assert_int_equal(found(fixture, "detach")->start_ns, 3000);
	assert_nested(fixture, 4);
}

/* That it threw is known when the rows of the range are out already. */
static void a_call_that_is_told_late_stands_beside_the_range(void **state)
{
	struct call_fixture *fixture = *state;

	node_begin(fixture, 1000, 900, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 2000, ADD, 800);
	memory_event(fixture, 2500, MEMORY_ALLOCATED, 700, 1, 8);
	range_begin(fixture, 3000, 1, "caught");
	range_end(fixture, 4000, 1);
	op_begin(fixture, 5000, MUL, 950);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 2500);
	assert_int_equal(found(fixture, OUTER "TBackward0")->end_ns, 4000);
	assert_nested(fixture, 5);
}

/* Nothing ran in it, so it has one row, and that holds the range. */
static void a_captured_gradient_may_hold_a_range(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 400, UNKNOWN);
	node_begin(fixture, 1000, 900, ACCUMULATE_TYPE, WIRE_SEQUENCE_NONE);
	range_begin(fixture, 1300, 1, "hook");
	range_end(fixture, 4000, 1);
	op_begin(fixture, 5000, MUL, 950);
	op_end(fixture, 6000, MUL, 950);
	assert_true(found(fixture, OUTER "torch::autograd::AccumulateGrad")->end_ns >= 4000);
	assert_nested(fixture, 3);
}

static void what_holds_an_open_call_is_not_over_either(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, ADD, MODE_BEGIN_ONLY, LONG_NS, UNKNOWN);
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, LONG_NS, UNKNOWN);
	op_begin(fixture, 1000, ADD, 900);
	node_begin(fixture, 2000, 800, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 3000, MUL, 700);
	assert_nested(fixture, 4);
	assert_false(found(fixture, "aten::add")->is_finished);
	assert_false(found(fixture, "aten::add")->is_inferred);
	assert_false(found(fixture, OUTER "TBackward0")->is_finished);
}

/* The range says nothing against its caller, for it returned there. */
static void a_call_that_returns_had_a_caller(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 1000, ADD, 900);
	op_begin(fixture, 2000, MUL, 800);
	range_begin(fixture, 3000, 1, "python");
	range_end(fixture, 4000, 1);
	op_end(fixture, 5000, MUL, 760);
	op_begin(fixture, 6000, DETACH, 900);
	op_end(fixture, 7000, DETACH, 860);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 5000);
	assert_nested(fixture, 4);
}

/* It lies in the frame that the function has, but so does all that the function calls. */
static void a_guard_inside_a_range_is_not_that_of_the_function(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, DETACH, MODE_BEGIN_ONLY, 50, 0);
	function_begin(fixture, 1000, FUNCTION_APPLY, 900, FUNCTION_TYPE);
	range_begin(fixture, 2000, 1, "forward");
	op_begin(fixture, 3000, DETACH, 700);
	guard_end(fixture, 4000, 650, 680);
	range_end(fixture, 5000, 1);
	guard_end(fixture, 6000, 850, 870);
	assert_int_equal(found(fixture, "Square")->end_ns, 6000);
	assert_nested(fixture, 3);
}

/* Its guard was lost: the range around it has ended, so it has, too. */
static void a_node_is_over_with_the_range_around_it(void **state)
{
	struct call_fixture *fixture = *state;
	struct nesting_row rows[SPAN_RECORDER_MAX];

	range_begin(fixture, 1000, 1, "epoch");
	range_begin(fixture, 1500, 2, "backward");
	node_begin(fixture, 2000, 900, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 3000, ADD, 800);
	op_end(fixture, 4000, ADD, 760);
	range_end(fixture, 5000, 2);
	range_end(fixture, 6000, 1);
	op_begin(fixture, 7000, MUL, 950);
	assert_true(found(fixture, OUTER "TBackward0")->end_ns <= 5000);
	assert_null(nesting_overlap(rows, gather(fixture, rows)));
}

/* Readers leave a range out that another thread ended: what it holds is told by time alone. */
static void what_an_asynchronous_range_holds_is_its_parents(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, ADD, MODE_BEGIN_ONLY, 1500, UNKNOWN);
	op_begin(fixture, 1000, ADD, 900);
	function_begin(fixture, 1200, FUNCTION_BOXED, 800, FUNCTION_TYPE);
	range_begin(fixture, 1500, 1, "asynchronous");
	range_begin(fixture, 2000, 2, "inside");
	range_end(fixture, 4000, 2);
	fixture->tid = 8;
	range_end(fixture, 5000, 1);
	fixture->tid = 7;
	op_begin(fixture, 7000, MUL, 950);
	op_end(fixture, 8000, MUL, 950);
	assert_nested(fixture, 5);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, call_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_is_over_before_a_range_that_goes_on),
		TEST(the_row_inside_detach_leaves_room_for_it),
		TEST(a_call_that_is_told_late_stands_beside_the_range),
		TEST(a_captured_gradient_may_hold_a_range),
		TEST(what_holds_an_open_call_is_not_over_either),
		TEST(a_call_that_returns_had_a_caller),
		TEST(a_guard_inside_a_range_is_not_that_of_the_function),
		TEST(a_node_is_over_with_the_range_around_it),
		TEST(what_an_asynchronous_range_holds_is_its_parents),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
