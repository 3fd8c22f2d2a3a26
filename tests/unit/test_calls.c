/* Operators, nodes and functions paired by thread and stack pointer; ends that are not probed. */
#include "support/test.h"

#include "support/call_fixture.h"

/* Operators. The address in the names' comments: frames further in lie lower. */
enum {
	ADD,
	MUL,
	VIEW,
	DETACH,
	ADD_OUT, /* another overload of ADD: the same name */
	ITEM,	 /* its end is at a ret */
	OPERATORS,
};

#define NODE_TYPE 0x5000
#define FUNCTION_TYPE 0x6000
#define NODE_NAME "AddmmBackward0"
#define NODE_OUTER_NAME "autograd::engine::evaluate_function: AddmmBackward0"

static int setup(void **state)
{
	static const char *const names[OPERATORS][2] = {
		[ADD] = { "aten::add", "Tensor" },  [MUL] = { "aten::mul", "Tensor" },
		[VIEW] = { "aten::view", "" },	    [DETACH] = { "aten::detach", "" },
		[ADD_OUT] = { "aten::add", "out" }, [ITEM] = { "aten::item", "" },
	};
	struct call_fixture *fixture = calloc(1, sizeof(*fixture));
	struct wire_symbol node = record_symbol(SYMBOL_RTTI, NODE_TYPE,
						"N5torch8autograd9generated14AddmmBackward0E");
	struct wire_symbol function =
		record_symbol(SYMBOL_PYTHON, FUNCTION_TYPE, "__main__.Square");
	uint32_t i;

	if (!fixture || call_fixture_init(fixture, NULL))
		return -1;
	for (i = 0; i < OPERATORS; i++) {
		struct wire_operator record = record_operator(i, names[i][0], names[i][1]);

		if (i == ITEM)
			record.exit_site = 6; /* 1 + PROBE_SITE_RET */
		call_fixture_feed(fixture, &record);
	}
	call_fixture_feed(fixture, &node);
	call_fixture_feed(fixture, &function);
	*state = fixture;
	return 0;
}

static void an_end_closes_its_operator(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span = &fixture->out.spans[0];

	op_begin(fixture, 100, ADD, 1000);
	assert_int_equal(spans_open_calls(fixture->spans), 1);
	op_end(fixture, 130, ADD, 960);
	assert_int_equal(spans_open_calls(fixture->spans), 0);
	assert_int_equal(fixture->out.count, 1);
	assert_string_equal(span->name, "aten::add");
	assert_string_equal(span->overload, "Tensor");
	assert_int_equal(span->id, 1);
	assert_int_equal(span->tid, 7);
	assert_int_equal(span->kind, SPAN_OPERATOR);
	assert_int_equal(span->start_ns, 100);
	assert_int_equal(span->end_ns, 130);
	assert_int_equal(span->self_ns, 30);
	assert_true(span->sequence == WIRE_SEQUENCE_NONE);
	assert_null(span->shapes);
	assert_true(span->is_finished && span->is_top);
	assert_false(span->is_inferred || span->is_unwound || span->is_merged || span->is_async);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
}

static void ranges_and_operators_nest_in_each_other(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 0, 1, "forward");
	op_begin(fixture, 10, ADD, 1000);
	range_begin(fixture, 20, 2, "inside");
	op_begin(fixture, 30, MUL, 900);
	op_end(fixture, 40, MUL, 860);
	range_end(fixture, 60, 2);
	op_end(fixture, 70, ADD, 960);
	range_end(fixture, 100, 1);
	assert_int_equal(found(fixture, "forward")->self_ns, 40);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 20);
	assert_int_equal(found(fixture, "inside")->self_ns, 30);
	assert_int_equal(found(fixture, "aten::mul")->self_ns, 10);
	assert_true(found(fixture, "forward")->is_top);
	assert_false(found(fixture, "aten::add")->is_top);
	assert_false(found(fixture, "inside")->is_top);
	assert_int_equal(found(fixture, "aten::mul")->id, 4);
}

static void threads_have_stacks_of_their_own(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	fixture->tid = 8;
	op_begin(fixture, 10, MUL, 5000);
	fixture->tid = 7;
	op_end(fixture, 20, ADD, 960);
	fixture->tid = 8;
	op_end(fixture, 30, MUL, 4960);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 20);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 30);
	assert_true(found(fixture, "aten::mul")->is_top);
}

/* At a ret the stack pointer is the entry's, not below it. */
static void an_end_at_a_ret_closes_too(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ITEM, 1000);
	op_end(fixture, 50, ITEM, 1000);
	assert_int_equal(found(fixture, "aten::item")->end_ns, 50);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
}

static void the_same_operator_may_run_inside_itself(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, ADD, 900);
	op_begin(fixture, 20, ADD, 800);
	op_end(fixture, 30, ADD, 760);
	op_begin(fixture, 40, MUL, 800);
	op_end(fixture, 50, MUL, 760);
	op_end(fixture, 60, ADD, 860);
	op_end(fixture, 70, ADD, 960);
	assert_int_equal(fixture->out.count, 4);
	assert_int_equal(fixture->out.spans[0].end_ns, 30);
	assert_int_equal(fixture->out.spans[2].end_ns, 60);
	assert_int_equal(fixture->out.spans[3].end_ns, 70);
}

static void an_exception_is_told_by_the_end_of_the_caller(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, MUL, 900);
	op_begin(fixture, 20, VIEW, 800);
	op_end(fixture, 25, VIEW, 760);
	op_end(fixture, 90, ADD, 960);
	span = found(fixture, "aten::mul");
	assert_true(span->is_unwound && span->is_finished);
	assert_int_equal(span->end_ns, 25); /* when it was last seen alive */
	assert_int_equal(span->self_ns, 10);
	span = found(fixture, "aten::add");
	assert_false(span->is_unwound);
	assert_int_equal(span->end_ns, 90);
	assert_int_equal(span->self_ns, 75);
	assert_int_equal(spans_open_calls(fixture->spans), 0);
}

static void an_exception_is_told_by_what_begins_in_its_place(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 10, ADD, 1000);
	op_begin(fixture, 15, MUL, 900); /* throws through both */
	op_begin(fixture, 500, VIEW, 1000);
	op_end(fixture, 510, VIEW, 960);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 15);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 15);
	assert_true(found(fixture, "aten::add")->is_unwound);
	assert_true(found(fixture, "aten::view")->is_top);
	assert_int_equal(found(fixture, "aten::view")->self_ns, 10);
}

static void memory_and_sequences_tell_an_exception_too(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, MUL, 900);
	memory_event(fixture, 20, MEMORY_ALLOCATED, 900, 0xa, 64); /* not above it: inside */
	assert_int_equal(fixture->out.count, 0);
	memory_event(fixture, 30, MEMORY_ALLOCATED, 901, 0xb, 32);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 20);
	assert_int_equal(found(fixture, "aten::mul")->self_bytes[SPAN_CPU], 64);
	op_begin(fixture, 40, MUL, 900);
	sequence_event(fixture, 50, 70, 950);
	assert_int_equal(fixture->out.count, 2);
	op_end(fixture, 60, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->self_bytes[SPAN_CPU], 32);
}

static void an_end_without_its_beginning_is_counted(void **state)
{
	struct call_fixture *fixture = *state;

	op_end(fixture, 0, ADD, 960);
	op_begin(fixture, 10, MUL, 1000);
	op_end(fixture, 20, ADD, 860); /* began before the probes were on, say */
	assert_int_equal(fixture->out.count, 0);
	assert_int_equal(calls_unpaired(fixture->calls), 2);
	op_end(fixture, 30, MUL, 960);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 30);
	assert_false(found(fixture, "aten::mul")->is_unwound);
}

/* with record_function(): an operator that throws. */
static void a_range_that_ends_leaves_the_operators_in_it(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 0, 1, "try");
	op_begin(fixture, 10, ADD, 1000);
	op_begin(fixture, 20, MUL, 900);
	range_end(fixture, 50, 1);
	assert_int_equal(fixture->out.count, 3);
	assert_true(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 20);
	assert_int_equal(found(fixture, "try")->self_ns, 40);
	/* Not those that it began in. */
	op_begin(fixture, 60, ADD, 1000);
	range_begin(fixture, 70, 2, "in it");
	range_end(fixture, 80, 2);
	op_end(fixture, 90, ADD, 960);
	assert_false(found(fixture, "aten::add")->is_unwound);
	/* One that began before the window says nothing of when they were last alive. */
	op_begin(fixture, 100, ADD, 1000);
	range_end(fixture, 150, 3);
	op_begin(fixture, 200, MUL, 1000);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 100);
}

/* Hooks may begin a range in one node and end it in the next. */
static void a_range_that_ends_leaves_no_running_node(void **state)
{
	struct call_fixture *fixture = *state;

	node_begin(fixture, 0, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	range_begin(fixture, 10, 1, "between hooks");
	guard_end(fixture, 20, 1000, 1016);
	node_begin(fixture, 30, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 35, ADD, 800); /* throws, and is caught by the hook */
	range_end(fixture, 40, 1);
	assert_true(found(fixture, "aten::add")->is_unwound);
	guard_end(fixture, 50, 1000, 1016);
	assert_int_equal(found(fixture, NODE_NAME)->end_ns, 50);
	assert_false(found(fixture, NODE_NAME)->is_unwound);
	assert_int_equal(found(fixture, "between hooks")->end_ns, 40);
}

/* Begin only, nothing inside: over at once, by what it took in warmup. */
static void a_begin_only_operator_ends_after_its_usual_time(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 30, 0);
	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, VIEW, 900);
	assert_int_equal(spans_open_calls(fixture->spans), 1); /* its end will not come */
	op_begin(fixture, 100, MUL, 800); /* lower, yet not inside: the view was over */
	span = found(fixture, "aten::view");
	assert_int_equal(span->end_ns, 40);
	assert_true(span->is_inferred && span->is_finished);
	assert_false(span->is_unwound);
	op_end(fixture, 110, MUL, 760);
	op_end(fixture, 200, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 200 - 30 - 10);
	assert_false(found(fixture, "aten::add")->is_inferred);
}

static void an_inferred_end_is_not_after_what_comes_next(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 1000, 0);
	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, VIEW, 900);
	op_begin(fixture, 30, VIEW, 900);
	op_end(fixture, 50, ADD, 960);
	assert_int_equal(fixture->out.spans[0].end_ns, 30);
	assert_int_equal(fixture->out.spans[1].end_ns, 50);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 10);
}

static void an_inferred_end_is_not_before_its_childs(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 5, 1);
	op_begin(fixture, 0, MUL, 1000);
	op_begin(fixture, 10, ADD, 900);
	op_end(fixture, 40, ADD, 860);
	assert_int_equal(fixture->out.count, 1);
	range_begin(fixture, 100, 1, "next");
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 40);
	assert_int_equal(found(fixture, "aten::mul")->self_ns, 10);
	range_end(fixture, 110, 1);
	assert_true(found(fixture, "next")->is_top);
}

/* Views in views: one event ends the whole chain. */
static void begin_only_operators_end_from_the_inside_out(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 30, 2);
	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, 0);
	op_begin(fixture, 0, MUL, 1000);
	op_begin(fixture, 10, VIEW, 900);
	op_begin(fixture, 20, VIEW, 900);
	assert_int_equal(fixture->out.count, 1);
	op_begin(fixture, 100, ADD, 500);
	assert_int_equal(fixture->out.count, 3);
	assert_int_equal(fixture->out.spans[1].end_ns, 25);
	assert_int_equal(fixture->out.spans[2].end_ns, 30);
	op_end(fixture, 110, ADD, 460);
	assert_true(found(fixture, "aten::add")->is_top);
}

static void any_event_ends_what_is_complete(void **state)
{
	static const char *const next[] = { "a range", "its end", "memory", "an end",
					    "the end of an earlier range" };
	struct call_fixture *fixture = *state;
	size_t row;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, 0);
	for (row = 0; row < COUNT_OF(next); row++) {
		uint64_t now_ns = row * 1000;

		range_begin(fixture, now_ns, 1, "outer");
		op_begin(fixture, now_ns + 5, ADD, 2000);
		op_begin(fixture, now_ns + 10, VIEW, 1000);
		fixture->out.count = 0;
		if (row == 0)
			range_begin(fixture, now_ns + 50, 2, "a range");
		else if (row == 1)
			range_end(fixture, now_ns + 50, 1);
		else if (row == 2)
			memory_event(fixture, now_ns + 50, MEMORY_ALLOCATED, 900, 0xa, 64);
		else if (row == 3)
			op_end(fixture, now_ns + 50, ADD, 1960);
		else
			range_end(fixture, now_ns + 50, 3);
		assert_row(row, fixture->out.count >= 1);
		assert_string_equal(fixture->out.spans[0].name, "aten::view");
		assert_row(row, fixture->out.spans[0].end_ns == now_ns + 15);
		assert_row(row, !fixture->out.spans[0].self_bytes[SPAN_CPU]);
		assert_int_equal(spans_close_open(fixture->spans, now_ns + 900), 0);
	}
}

static void an_incomplete_one_goes_by_the_stack_pointer(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 30, 2);
	op_begin(fixture, 0, MUL, 1000);
	op_begin(fixture, 10, VIEW, 900); /* the first of two, the other was lost */
	op_end(fixture, 15, VIEW, 860);
	op_begin(fixture, 100, ADD, 1000);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 30);
	assert_true(found(fixture, "aten::mul")->is_inferred);
	op_end(fixture, 110, ADD, 960);
	assert_true(found(fixture, "aten::add")->is_top);
}

static void one_of_unknown_contents_is_never_complete(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 30, UINT32_MAX);
	op_begin(fixture, 0, MUL, 1000);
	op_begin(fixture, 50, ADD, 900);
	op_end(fixture, 60, ADD, 860);
	assert_int_equal(fixture->out.count, 1);
	assert_false(found(fixture, "aten::add")->is_top);
	op_begin(fixture, 70, ADD, 1000);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 60);
}

/* Memory, numbers taken and nodes are events inside as well as calls. */
static void all_that_is_directly_inside_counts(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 30, 3); /* a number is none of them */
	op_begin(fixture, 0, MUL, 1000);
	memory_event(fixture, 1, MEMORY_ALLOCATED, 900, 0xa, 64);
	sequence_event(fixture, 2, 70, 900);
	op_begin(fixture, 4, ADD, 900);
	memory_event(fixture, 5, MEMORY_ALLOCATED, 800, 0xb, 64); /* not directly */
	op_end(fixture, 6, ADD, 860);
	function_begin(fixture, 7, FUNCTION_BOXED, 900, FUNCTION_TYPE);
	assert_int_equal(fixture->out.count, 1);
	op_begin(fixture, 100, VIEW, 950);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 30);
}

/* A call with arguments on the stack lies lower than its sibling did, but not below its frame. */
static void a_sibling_within_the_frame_is_no_child(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_operator record = record_operator(ADD, "aten::add", "Tensor");
	const struct event event = { .kind = WIRE_OPERATOR,
				     .header = &record.header,
				     .operator_ = &record };

	record.frame_bytes = 64;
	assert_int_equal(symbols_operator(fixture->symbols, &event), 0);
	op_begin(fixture, 10, ADD, 1000);
	op_begin(fixture, 20, MUL, 928); /* a child: below the frame and the return address */
	op_end(fixture, 30, MUL, 900);
	op_begin(fixture, 40, VIEW, 952); /* ADD has thrown */
	op_end(fixture, 50, VIEW, 940);
	assert_true(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 30);
	/* Its own end is told from within the frame. */
	op_begin(fixture, 60, ADD, 1000);
	op_end(fixture, 70, ADD, 936);
	assert_int_equal(fixture->out.spans[fixture->out.count - 1].end_ns, 70);
	assert_false(fixture->out.spans[fixture->out.count - 1].is_unwound);
}

/* Python has caught it and gone on: what a range holds is no part of an operator that threw before.
 */
static void a_range_after_an_exception_is_not_inside_the_operator(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 0, 0x100, "step");
	op_begin(fixture, 10, ADD, 1000);
	memory_event(fixture, 20, MEMORY_ALLOCATED, 900, 0xa, 64);
	op_begin(fixture, 30, MUL, 900); /* throws through both */
	range_begin(fixture, 50, 0x200, "again");
	op_begin(fixture, 60, VIEW, 800);
	memory_event(fixture, 65, MEMORY_ALLOCATED, 700, 0xb, 32);
	op_end(fixture, 70, VIEW, 760);
	range_end(fixture, 90, 0x200);
	op_begin(fixture, 100, VIEW, 1000);
	op_end(fixture, 110, VIEW, 960);
	range_end(fixture, 200, 0x100);
	assert_true(found(fixture, "aten::mul")->is_unwound);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 30);
	assert_true(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 30);
	assert_int_equal(found(fixture, "aten::add")->total_bytes[SPAN_CPU], 64);
	assert_int_equal(found(fixture, "step")->self_ns, 200 - 20 - 40 - 10);
	assert_int_equal(found(fixture, "step")->total_bytes[SPAN_CPU], 96);
	assert_int_equal(found(fixture, "step")->self_bytes[SPAN_CPU], 0);
}

/* A Python kernel may begin a range: an end that comes tells that the operator was running. */
static void a_range_inside_an_operator_is_its_child(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 10, ADD, 1000);
	range_begin(fixture, 50, 0x200, "inside");
	range_end(fixture, 90, 0x200);
	op_end(fixture, 100, ADD, 960);
	assert_false(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 100);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 50);
}

/* A view that makes a node: the number comes first of all, and tells how long the call takes. */
static void a_number_is_taken_by_the_call_that_begins(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_mode_record record = record_mode(VIEW, MODE_BEGIN_ONLY, 5, 0);
	const struct event event = { .kind = WIRE_MODE, .header = &record.header, .mode = &record };

	record.takes_numbers = 1;
	record.numbered_duration_ns = 40;
	assert_int_equal(calls_event(fixture->calls, &event, true), 0);
	op_begin(fixture, 100, ADD, 1000);
	op_begin(fixture, 110, VIEW, 900);
	sequence_event(fixture, 112, 71, 850);
	/* One more is the caller's: nothing but one number is taken in such a call. */
	sequence_event(fixture, 190, 72, 850);
	op_begin(fixture, 200, VIEW, 900);
	sequence_event(fixture, 300, 73, 950);
	op_end(fixture, 400, ADD, 960);
	assert_int_equal(fixture->out.count, 3);
	assert_int_equal(fixture->out.spans[0].sequence, 71);
	assert_int_equal(fixture->out.spans[0].end_ns, 150);
	assert_true(fixture->out.spans[1].sequence == WIRE_SEQUENCE_NONE);
	assert_int_equal(fixture->out.spans[1].end_ns, 205);
	assert_int_equal(found(fixture, "aten::add")->sequence, 72);
}

/* The exits may still be probed for a moment, or again. */
static void a_begin_only_operator_takes_an_end_that_comes(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, 0);
	op_begin(fixture, 0, VIEW, 1000);
	op_end(fixture, 20, VIEW, 960);
	assert_int_equal(found(fixture, "aten::view")->end_ns, 20);
	assert_false(found(fixture, "aten::view")->is_inferred);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
}

static void the_probes_inside_make_an_inferred_end_later(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	set_cost(fixture, 10);
	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 100, 1);
	op_begin(fixture, 1000, MUL, 1000);
	op_begin(fixture, 1020, ADD, 900);
	op_end(fixture, 1050, ADD, 860);
	op_begin(fixture, 5000, VIEW, 950);
	span = found(fixture, "aten::mul");
	/* Half of its own hit, and all of its child's two. */
	assert_int_equal(span->end_ns, 1000 + 100 + 5 + 20);
	assert_int_equal(span->probe_total_ns, 25);
	assert_int_equal(span->probe_self_ns, 15);
	assert_int_equal(found(fixture, "aten::add")->probe_self_ns, 10);
}

static void a_range_does_not_begin_inside_a_short_operator(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, UINT32_MAX);
	op_begin(fixture, 10, VIEW, 1000);
	range_begin(fixture, 100, 0x200, "next");
	range_end(fixture, 200, 0x200);
	assert_int_equal(found(fixture, "aten::view")->end_ns, 15);
	assert_true(found(fixture, "next")->is_top);
}

/* autograd.grad() takes the input of such a node without running it. */
static void a_captured_gradient_has_one_row(void **state)
{
	static const char outer_name[] =
		"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad";
	struct call_fixture *fixture = *state;
	struct wire_symbol record =
		record_symbol(SYMBOL_RTTI, 0x7777, "N5torch8autograd14AccumulateGradE");
	const struct event event = { .kind = WIRE_SYMBOL,
				     .header = &record.header,
				     .symbol = &record };

	assert_int_equal(symbols_symbol(fixture->symbols, &event), 0);
	node_begin(fixture, 0, 1000, 0x7777, WIRE_SEQUENCE_NONE);
	guard_end(fixture, 10, 1000, 1016);
	assert_int_equal(fixture->out.count, 1);
	assert_int_equal(found(fixture, outer_name)->self_ns, 10);
	node_begin(fixture, 20, 1000, 0x7777, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 30, ADD, 800);
	op_end(fixture, 40, ADD, 760);
	guard_end(fixture, 50, 1000, 1016);
	assert_int_equal(found(fixture, "torch::autograd::AccumulateGrad")->self_ns, 20);
}

static void a_node_is_two_rows_and_ends_with_its_guard(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *outer, *inner;

	node_begin(fixture, 0, 1000, NODE_TYPE, 41);
	op_begin(fixture, 10, MUL, 800);
	op_end(fixture, 40, MUL, 760);
	guard_end(fixture, 100, 990, 1016);
	outer = found(fixture, NODE_OUTER_NAME);
	inner = found(fixture, NODE_NAME);
	assert_int_equal(outer->kind, SPAN_NODE_OUTER);
	assert_int_equal(inner->kind, SPAN_NODE);
	assert_int_equal(outer->id, 1);
	assert_int_equal(inner->id, 2);
	assert_true(inner->start_ns == 0 && inner->end_ns == 100);
	assert_true(outer->start_ns == 0 && outer->end_ns == 100);
	assert_int_equal(inner->self_ns, 70);
	assert_int_equal(outer->self_ns, 0);
	assert_int_equal(inner->sequence, 41);
	assert_int_equal(outer->sequence, 41);
	assert_int_equal(inner->forward_thread, 1);
	assert_true(outer->is_top && outer->is_finished && inner->is_finished);
	assert_false(inner->is_top);
	assert_true(outer > inner);
}

/* Its end comes by the same guard when an exception leaves it, unlike those of its operators. */
static void a_guard_ends_what_is_open_in_its_node(void **state)
{
	struct call_fixture *fixture = *state;

	node_begin(fixture, 0, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 10, MUL, 800);
	guard_end(fixture, 50, 1008, 1016);
	assert_true(found(fixture, "aten::mul")->is_unwound);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 10);
	assert_false(found(fixture, NODE_NAME)->is_unwound);
	assert_int_equal(found(fixture, NODE_NAME)->end_ns, 50);
}

static void a_guard_elsewhere_ends_no_node(void **state)
{
	static const uint64_t places[] = { 1065, 935, 700 };
	struct call_fixture *fixture = *state;
	size_t row;

	for (row = 1; row < COUNT_OF(places); row++) {
		node_begin(fixture, row * 100, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
		guard_end(fixture, row * 100 + 10, places[row], 0);
		assert_row(row, fixture->out.count == 2 * (row - 1));
		guard_end(fixture, row * 100 + 20, 1000, 1016);
		assert_row(row, fixture->out.count == 2 * row);
		assert_row(row, !found(fixture, NODE_NAME)->is_unwound);
	}
	/* One further out means that the node is gone. */
	node_begin(fixture, 1000, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	guard_end(fixture, 1010, places[0], 0);
	assert_true(found(fixture, NODE_NAME)->is_unwound);
	assert_int_equal(found(fixture, NODE_NAME)->end_ns, 1000);
}

static void a_node_whose_guard_was_lost_goes_by_the_stack_pointer(void **state)
{
	struct call_fixture *fixture = *state;

	node_begin(fixture, 0, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 10, MUL, 800);
	op_end(fixture, 40, MUL, 760);
	node_begin(fixture, 100, 1000, 0x1234, WIRE_SEQUENCE_NONE);
	assert_true(found(fixture, NODE_NAME)->is_unwound);
	assert_int_equal(found(fixture, NODE_NAME)->end_ns, 40);
	assert_int_equal(found(fixture, NODE_OUTER_NAME)->end_ns, 40);
	guard_end(fixture, 110, 1000, 1016);
	assert_true(found(fixture, "(unnamed node)")->is_top == false);
}

static void begin_only_nodes_end_with_their_last_child(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 25, 1);
	node_begin(fixture, 0, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 5, VIEW, 800);
	op_end(fixture, 6, VIEW, 760);
	op_begin(fixture, 10, MUL, 800); /* nodes of different kinds do different things */
	op_end(fixture, 15, MUL, 760);
	node_begin(fixture, 100, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	span = found(fixture, NODE_NAME);
	assert_true(span->is_inferred && span->is_finished && !span->is_unwound);
	assert_int_equal(span->end_ns, 15);
	assert_int_equal(found(fixture, NODE_OUTER_NAME)->end_ns, 15);
	/* Where there is none: after the usual time. */
	op_begin(fixture, 200, ADD, 2000);
	assert_int_equal(found(fixture, NODE_NAME)->end_ns, 125);
	assert_int_equal(found(fixture, NODE_OUTER_NAME)->end_ns, 125);
	op_end(fixture, 210, ADD, 1960);
	assert_true(found(fixture, "aten::add")->is_top);
}

static void detach_has_a_row_inside(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	op_begin(fixture, 0, DETACH, 1000);
	guard_end(fixture, 30, 900, 920);
	op_end(fixture, 40, DETACH, 960);
	span = found(fixture, "detach");
	assert_int_equal(span->kind, SPAN_FUNCTION);
	assert_int_equal(span->start_ns, 0);
	assert_int_equal(span->end_ns, 30);
	assert_int_equal(span->id, 2);
	assert_true(span->is_finished);
	assert_false(span->is_inferred || span->is_top);
	assert_int_equal(found(fixture, "aten::detach")->self_ns, 10);
	/* Behind what was called before it. */
	op_begin(fixture, 100, DETACH, 1000);
	op_begin(fixture, 110, VIEW, 900);
	op_end(fixture, 115, VIEW, 860);
	guard_end(fixture, 130, 900, 920);
	op_end(fixture, 140, DETACH, 960);
	assert_int_equal(found(fixture, "detach")->start_ns, 115);
	assert_int_equal(found(fixture, "aten::detach")->self_ns, 40 - 5 - 15);
}

/* What the probes cost by the row's end is the row's, if it begins with the operator. */
static void the_row_of_detach_has_its_probes(void **state)
{
	struct call_fixture *fixture = *state;

	set_cost(fixture, 10);
	op_begin(fixture, 0, DETACH, 1000);
	guard_end(fixture, 30, 900, 920);
	op_end(fixture, 50, DETACH, 960);
	assert_int_equal(found(fixture, "detach")->probe_self_ns, 10);
	assert_int_equal(found(fixture, "aten::detach")->probe_self_ns, 10);
	assert_int_equal(found(fixture, "aten::detach")->probe_total_ns, 20);
}

static void other_guards_are_ignored(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_range_begin region = record_begin(5, 7, 940, "Torch-Compiled Region");

	guard_end(fixture, 0, 900, 920);
	op_begin(fixture, 0, ADD, 1000);
	guard_end(fixture, 10, 900, 920); /* no detach */
	op_end(fixture, 20, ADD, 960);
	op_begin(fixture, 100, DETACH, 1000);
	guard_end(fixture, 110, 900, 0x70000000); /* of a range, on the heap */
	guard_end(fixture, 110, 900, 1001);	  /* of a caller */
	guard_end(fixture, 110, 900, 800);	  /* of nothing that can be */
	region.range = RANGE_REGION;
	call_fixture_feed(fixture, &region);
	guard_end(fixture, 120, 900, 940); /* of an open region */
	range_end(fixture, 130, 940);
	op_end(fixture, 140, DETACH, 960);
	assert_null(span_recorder_find(&fixture->out, "detach"));
	assert_int_equal(fixture->out.count, 3);
}

/* Where nodes are begin only their guards are not probed, nor is detach's. */
static void an_unprobed_guard_of_detach_is_implied(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	fixture->is_active = false;
	op_begin(fixture, 0, DETACH, 1000);
	guard_end(fixture, 30, 900, 920);
	op_end(fixture, 40, DETACH, 960);
	fixture->is_active = true;
	op_begin(fixture, 50, DETACH, 1000); /* while guards are probed, only what they say */
	op_end(fixture, 60, DETACH, 960);
	assert_int_equal(fixture->out.count, 1);
	fixture->out.count = 0;
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 25, 3);
	set_mode(fixture, DETACH, MODE_BEGIN_ONLY, 40, 0);
	fixture->is_active = true;
	op_begin(fixture, 100, DETACH, 1000);
	op_begin(fixture, 200, ADD, 1000);
	op_end(fixture, 210, ADD, 960);
	span = found(fixture, "detach");
	assert_true(span->is_inferred && span->is_finished);
	assert_int_equal(span->start_ns, 100);
	assert_int_equal(span->end_ns, 140);
	assert_int_equal(found(fixture, "aten::detach")->end_ns, 140);
	assert_int_equal(fixture->out.count, 3);
}

static void detach_without_a_guard_in_warmup_implies_none(void **state)
{
	struct call_fixture *fixture = *state;

	fixture->is_active = false;
	op_begin(fixture, 0, DETACH, 1000);
	op_end(fixture, 40, DETACH, 960);
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 25, 3);
	fixture->is_active = true;
	op_begin(fixture, 100, DETACH, 1000);
	op_end(fixture, 140, DETACH, 960);
	assert_null(span_recorder_find(&fixture->out, "detach"));
	assert_int_equal(fixture->out.count, 1);
}

static void a_custom_function_ends_with_its_guard(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	function_begin(fixture, 0, FUNCTION_APPLY, 1000, FUNCTION_TYPE);
	assert_int_equal(spans_open_calls(fixture->spans), 1);
	range_begin(fixture, 5, 0x70000000, "in forward");
	op_begin(fixture, 10, MUL, 700);
	op_end(fixture, 20, MUL, 660);
	range_end(fixture, 30, 0x70000000);
	guard_end(fixture, 31, 800, 0x70000000); /* of that range */
	assert_int_equal(fixture->out.count, 2);
	guard_end(fixture, 50, 900, 950);
	span = found(fixture, "Square");
	assert_int_equal(span->kind, SPAN_FUNCTION);
	assert_int_equal(span->end_ns, 50);
	assert_int_equal(span->self_ns, 25);
	assert_true(span->is_finished);
	assert_false(span->is_inferred || span->is_unwound);
	assert_null(span->overload);
}

static void a_custom_function_is_begin_only_where_nodes_are(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 25, 3);
	function_begin(fixture, 0, FUNCTION_APPLY, 1000, FUNCTION_TYPE);
	op_begin(fixture, 10, MUL, 700);
	op_end(fixture, 20, MUL, 660);
	op_begin(fixture, 50, ADD, 1000);
	assert_int_equal(found(fixture, "Square")->end_ns, 20);
	assert_true(found(fixture, "Square")->is_inferred);
}

static void a_boxed_call_has_no_end_of_its_own(void **state)
{
	struct call_fixture *fixture = *state;

	function_begin(fixture, 0, FUNCTION_BOXED, 1000, 0x9999);
	op_begin(fixture, 10, MUL, 700);
	op_end(fixture, 20, MUL, 660);
	guard_end(fixture, 30, 900, 950);
	assert_int_equal(fixture->out.count, 1);
	function_begin(fixture, 50, FUNCTION_BOXED, 1000, FUNCTION_TYPE);
	assert_int_equal(found(fixture, "(unnamed function)")->end_ns, 30);
	assert_true(found(fixture, "(unnamed function)")->is_inferred);
}

static void a_forward_call_is_tied_to_its_node(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, ADD, 1000);
	op_begin(fixture, 110, MUL, 900);
	sequence_event(fixture, 120, 71, 850);
	sequence_event(fixture, 121, 72, 850);
	op_end(fixture, 130, MUL, 860);
	op_end(fixture, 140, ADD, 960);
	assert_int_equal(found(fixture, "aten::mul")->sequence, 71);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 140);
	assert_true(found(fixture, "aten::add")->sequence == WIRE_SEQUENCE_NONE);
	node_begin(fixture, 200, 1000, NODE_TYPE, 72);
	guard_end(fixture, 210, 1000, 1016);
	assert_int_equal(fixture->flow_count, 1);
	assert_int_equal(fixture->flows[0].from_ns, 110);
	assert_int_equal(fixture->flows[0].to_ns, 200);
	assert_int_equal(fixture->flows[0].from_tid, 7);
	node_begin(fixture, 300, 1000, NODE_TYPE, 71);
	assert_int_equal(fixture->flow_count, 2);
}

static void a_number_is_of_no_node_and_of_nothing_outside_the_window(void **state)
{
	struct call_fixture *fixture = *state;

	node_begin(fixture, 10, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	sequence_event(fixture, 20, 71, 850);
	guard_end(fixture, 30, 1000, 1016);
	assert_true(found(fixture, NODE_NAME)->sequence == WIRE_SEQUENCE_NONE);
	fixture->is_active = false;
	op_begin(fixture, 100, ADD, 1000);
	sequence_event(fixture, 110, 72, 850);
	op_end(fixture, 120, ADD, 960);
	fixture->is_active = true;
	node_begin(fixture, 200, 1000, NODE_TYPE, 71);
	guard_end(fixture, 210, 1000, 1016);
	node_begin(fixture, 220, 1000, NODE_TYPE, 72);
	guard_end(fixture, 230, 1000, 1016);
	assert_int_equal(fixture->flow_count, 0);
	/* Nor is a node outside of it an end of an arrow. */
	op_begin(fixture, 300, ADD, 1000);
	sequence_event(fixture, 310, 73, 850);
	op_end(fixture, 320, ADD, 960);
	fixture->is_active = false;
	node_begin(fixture, 400, 1000, NODE_TYPE, 73);
	assert_int_equal(fixture->flow_count, 0);
}

static void bytes_are_of_the_innermost_and_add_up(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	memory_event(fixture, 0, MEMORY_ALLOCATED, 5000, 0xf, 7); /* of nobody */
	range_begin(fixture, 0, 1, "forward");
	memory_event(fixture, 5, MEMORY_ALLOCATED, 5000, 0xa, 100);
	op_begin(fixture, 10, ADD, 1000);
	memory_event(fixture, 20, MEMORY_ALLOCATED, 900, 0xb, 64);
	op_begin(fixture, 30, MUL, 900);
	memory_event(fixture, 40, MEMORY_ALLOCATED, 800, 0xc, 32);
	memory_event(fixture, 45, MEMORY_FREED, 800, 0xb, 0);
	op_end(fixture, 50, MUL, 860);
	op_end(fixture, 60, ADD, 960);
	range_end(fixture, 70, 1);
	span = found(fixture, "aten::mul");
	assert_int_equal(span->self_bytes[SPAN_CPU], -32);
	assert_int_equal(span->total_bytes[SPAN_CPU], -32);
	span = found(fixture, "aten::add");
	assert_int_equal(span->self_bytes[SPAN_CPU], 64);
	assert_int_equal(span->total_bytes[SPAN_CPU], 32);
	span = found(fixture, "forward");
	assert_int_equal(span->self_bytes[SPAN_CPU], 100);
	assert_int_equal(span->total_bytes[SPAN_CPU], 132);
	assert_int_equal(span->total_bytes[SPAN_GPU], 0);
	assert_int_equal(fixture->memory_count, 5);
	assert_int_equal(fixture->memory[4].size_bytes, -64);
}

static void device_memory_is_kept_apart(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_memory record = record_memory(10, 7, MEMORY_REPORTED, 900, 0xa, 512);

	record.device_type = 1;
	record.total_allocated_bytes = 4096;
	op_begin(fixture, 0, ADD, 1000);
	call_fixture_feed(fixture, &record);
	/* What was asked for in vain was not allocated. */
	memory_event(fixture, 20, MEMORY_OUT, 900, 0, 1 << 20);
	op_end(fixture, 50, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->self_bytes[SPAN_GPU], 512);
	assert_int_equal(found(fixture, "aten::add")->self_bytes[SPAN_CPU], 0);
	assert_int_equal(fixture->memory_count, 2);
	assert_int_equal(fixture->memory[0].total_allocated_bytes, 4096);
	assert_true(fixture->memory[1].is_out_of_memory);
}

static void shapes_come_with_their_operator(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_shapes shapes = record_shapes(11, 7, VIEW, 2);
	struct wire_shapes other = record_shapes(12, 7, ADD, 1);

	op_begin(fixture, 0, ADD, 1000);
	memset(other.arguments, 0x55, sizeof(other.arguments));
	other.header.size = sizeof(other);
	call_fixture_feed(fixture, &other);
	op_end(fixture, 5, ADD, 960);
	fixture->out.count = 0;
	/* VIEW is complete at once: what follows it must not end it. */
	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, 0);
	shapes.arguments[1].sizes[0] = 42;
	op_begin(fixture, 10, VIEW, 1000);
	call_fixture_feed(fixture, &shapes);
	call_fixture_feed(fixture, &other); /* not of this call */
	shapes.arguments[1].sizes[0] = 43;
	call_fixture_feed(fixture, &shapes); /* it has its own */
	memset(&shapes, 0xff, sizeof(shapes));
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	/* They are valid during the push alone; the span itself stays with us here. */
	assert_non_null(found(fixture, "aten::view")->shapes);
	assert_int_equal(found(fixture, "aten::view")->shapes->count, 2);
	assert_int_equal(found(fixture, "aten::view")->shapes->arguments[1].sizes[0], 42);
	assert_int_equal(found(fixture, "aten::view")->shapes->arguments[2].sizes[0], 0);
	/* The next call has none of them. */
	op_begin(fixture, 200, VIEW, 1000);
	assert_int_equal(spans_close_open(fixture->spans, 300), 0);
	assert_null(fixture->out.spans[1].shapes);
}

static void shapes_are_no_longer_than_their_record(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_shapes shapes = record_shapes(11, 7, ADD, 2);

	shapes.count = 200;
	op_begin(fixture, 10, ADD, 1000);
	call_fixture_feed(fixture, &shapes);
	shapes.header.size = sizeof(struct wire_header);
	op_begin(fixture, 20, ADD, 900);
	call_fixture_feed(fixture, &shapes);
	op_end(fixture, 30, ADD, 860);
	op_begin(fixture, 35, MUL, 900);
	op_end(fixture, 40, MUL, 860);
	op_end(fixture, 50, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->shapes->count, 2);
	assert_null(fixture->out.spans[0].shapes);
}

static void probes_cost_half_before_and_half_after(void **state)
{
	struct call_fixture *fixture = *state;

	set_cost(fixture, 11);
	range_begin(fixture, 0, 1, "range"); /* 6 into it */
	op_begin(fixture, 100, ADD, 1000);   /* 5 before, 6 in it */
	op_begin(fixture, 200, ITEM, 900);   /* 5, 6 */
	memory_event(fixture, 250, MEMORY_ALLOCATED, 800, 0xa, 1);
	op_end(fixture, 300, ITEM, 900); /* at a ret: 5, and 105 to step it */
	op_end(fixture, 400, ADD, 960);	 /* 5, 6 */
	range_end(fixture, 500, 1);	 /* 5 */
	assert_int_equal(found(fixture, "aten::item")->probe_self_ns, 6 + 11 + 5);
	assert_int_equal(found(fixture, "aten::item")->probe_total_ns, 22);
	assert_int_equal(found(fixture, "aten::add")->probe_self_ns, 6 + 5 + 105 + 5);
	assert_int_equal(found(fixture, "aten::add")->probe_total_ns, 121 + 22);
	assert_int_equal(found(fixture, "range")->probe_self_ns, 6 + 5 + 6 + 5);
	assert_int_equal(found(fixture, "range")->probe_total_ns, 22 + 121 + 22);
}

static void probes_cost_no_more_than_there_was(void **state)
{
	struct call_fixture *fixture = *state;

	set_cost(fixture, 1ULL << 63);
	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, MUL, 900);
	memory_event(fixture, 20, MEMORY_ALLOCATED, 800, 0xa, 64);
	op_end(fixture, 30, MUL, 860);
	op_end(fixture, 100, ADD, 960);
	assert_int_equal(found(fixture, "aten::mul")->probe_self_ns, 20);
	assert_int_equal(found(fixture, "aten::add")->probe_self_ns, 80);
	assert_int_equal(found(fixture, "aten::add")->probe_total_ns, 100);
}

static void an_only_child_of_the_same_name_is_merged(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *parent, *child;

	set_cost(fixture, 2);
	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, ADD_OUT, 900);
	memory_event(fixture, 20, MEMORY_ALLOCATED, 800, 0xa, 64);
	op_end(fixture, 40, ADD_OUT, 860);
	assert_int_equal(fixture->out.count, 0); /* there may be another */
	op_end(fixture, 100, ADD, 960);
	child = &fixture->out.spans[0];
	parent = &fixture->out.spans[1];
	assert_true(child->is_merged);
	assert_false(parent->is_merged);
	assert_string_equal(child->overload, "out");
	assert_int_equal(child->self_ns, 30);
	assert_int_equal(parent->self_ns, 100);
	assert_int_equal(parent->self_bytes[SPAN_CPU], 64);
	assert_int_equal(parent->total_bytes[SPAN_CPU], 64);
	assert_int_equal(parent->probe_self_ns, parent->probe_total_ns);
	assert_int_equal(parent->probe_self_ns, 4 + 4);
}

static void one_of_two_children_is_not_merged(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, ADD_OUT, 900);
	op_end(fixture, 40, ADD_OUT, 860);
	op_begin(fixture, 50, MUL, 900);
	assert_int_equal(fixture->out.count, 1); /* now it is known */
	assert_false(fixture->out.spans[0].is_merged);
	op_end(fixture, 60, MUL, 860);
	op_end(fixture, 100, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 60);
	/* Nor is a second one. */
	op_begin(fixture, 200, ADD, 1000);
	op_begin(fixture, 210, MUL, 900);
	op_end(fixture, 240, MUL, 860);
	op_begin(fixture, 250, ADD_OUT, 900);
	op_end(fixture, 260, ADD_OUT, 860);
	assert_string_equal(fixture->out.spans[4].overload, "out");
	assert_false(fixture->out.spans[4].is_merged);
	op_end(fixture, 300, ADD, 960);
	assert_int_equal(found(fixture, "aten::add")->self_ns, 60);
}

static void a_chain_of_one_name_is_merged_into_its_head(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, ADD, 900);
	op_begin(fixture, 20, ADD, 800);
	op_begin(fixture, 25, MUL, 700);
	op_end(fixture, 30, MUL, 660);
	op_end(fixture, 40, ADD, 760);
	op_end(fixture, 50, ADD, 860);
	op_end(fixture, 60, ADD, 960);
	assert_int_equal(fixture->out.count, 4);
	assert_int_equal(fixture->out.spans[1].start_ns, 20);
	assert_true(fixture->out.spans[1].is_merged);
	assert_int_equal(fixture->out.spans[2].start_ns, 10);
	assert_true(fixture->out.spans[2].is_merged);
	assert_int_equal(fixture->out.spans[2].self_ns, 35);
	assert_false(fixture->out.spans[3].is_merged);
	assert_int_equal(fixture->out.spans[3].self_ns, 55);
}

static void ranges_are_merged_as_well(void **state)
{
	struct call_fixture *fixture = *state;

	range_begin(fixture, 0, 1, "forward");
	range_begin(fixture, 10, 2, "forward");
	range_end(fixture, 20, 2);
	range_end(fixture, 30, 1);
	assert_true(fixture->out.spans[0].is_merged);
	assert_int_equal(fixture->out.spans[1].self_ns, 30);
	/* What ended elsewhere is in nobody's tree. */
	range_begin(fixture, 100, 1, "async");
	range_begin(fixture, 110, 2, "async");
	range_end(fixture, 120, 2);
	fixture->tid = 8;
	range_end(fixture, 130, 1);
	assert_int_equal(fixture->out.count, 4);
	assert_false(fixture->out.spans[2].is_merged);
	assert_true(fixture->out.spans[3].is_async);
	/* Nor waits for anything. */
	fixture->tid = 7;
	range_begin(fixture, 200, 1, "async");
	range_begin(fixture, 210, 2, "async");
	fixture->tid = 8;
	range_end(fixture, 220, 2);
	assert_int_equal(fixture->out.count, 5);
	fixture->tid = 7;
	range_end(fixture, 230, 1);
	assert_false(fixture->out.spans[4].is_merged);
	assert_int_equal(fixture->out.spans[5].self_ns, 30);
}

static void a_merge_is_decided_at_the_windows_end_too(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, ADD, 900);
	op_end(fixture, 20, ADD, 860);
	assert_int_equal(spans_close_open(fixture->spans, 50), 0);
	assert_int_equal(fixture->out.count, 2);
	assert_true(fixture->out.spans[0].is_merged);
	assert_int_equal(fixture->out.spans[1].self_ns, 50);
	/* Left to spans_free(). */
	op_begin(fixture, 100, ADD, 1000);
	op_begin(fixture, 110, ADD, 900);
	op_end(fixture, 120, ADD, 860);
	assert_int_equal(fixture->out.count, 2);
}

static void what_began_before_the_window_is_not_shown(void **state)
{
	struct call_fixture *fixture = *state;

	set_cost(fixture, 2);
	fixture->is_active = false;
	op_begin(fixture, 0, ADD, 1000);
	memory_event(fixture, 5, MEMORY_ALLOCATED, 900, 0xa, 64);
	fixture->is_active = true;
	op_begin(fixture, 10, ADD_OUT, 900);
	memory_event(fixture, 15, MEMORY_ALLOCATED, 800, 0xb, 32);
	op_end(fixture, 20, ADD_OUT, 860);
	memory_event(fixture, 25, MEMORY_ALLOCATED, 900, 0xc, 16);
	assert_int_equal(fixture->out.count, 1); /* and nothing waits for a hidden parent */
	op_end(fixture, 30, ADD, 960);
	assert_int_equal(fixture->out.count, 1);
	assert_true(fixture->out.spans[0].is_top);
	assert_int_equal(fixture->out.spans[0].id, 1);
	fixture->is_active = false;
	op_begin(fixture, 100, ADD, 1000);
	fixture->is_active = true;
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 0), 0);
	op_begin(fixture, 110, MUL, 900);
	assert_int_equal(spans_outermost_open(fixture->spans, 7, 0), 2);
	op_end(fixture, 120, MUL, 860);
	op_end(fixture, 130, ADD, 960);
	assert_int_equal(fixture->out.spans[0].self_bytes[SPAN_CPU], 32);
	assert_int_equal(fixture->memory_count, 2);
	assert_int_equal(spans_open_calls(fixture->spans), 0);
}

static void what_began_in_the_window_may_end_after_it(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, MUL, 900);
	assert_int_equal(spans_open_calls(fixture->spans), 2);
	fixture->is_active = false;
	op_end(fixture, 110, MUL, 860);
	op_begin(fixture, 120, VIEW, 900);
	op_end(fixture, 130, VIEW, 860);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 110);
	assert_true(found(fixture, "aten::mul")->is_finished);
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	assert_int_equal(fixture->out.count, 2);
	assert_false(found(fixture, "aten::add")->is_finished);
	assert_false(found(fixture, "aten::add")->is_unwound);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 110); /* it encloses its child */
	assert_int_equal(found(fixture, "aten::add")->self_ns, 10);
	assert_int_equal(spans_open_calls(fixture->spans), 0);
	/* Its end may still come. */
	op_end(fixture, 140, ADD, 960);
	assert_int_equal(fixture->out.count, 2);
}

static void begin_only_ends_need_no_window(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 30, 0);
	op_begin(fixture, 10, VIEW, 1000);
	fixture->tid = 8;
	op_begin(fixture, 90, VIEW, 1000);
	fixture->tid = 9;
	op_begin(fixture, 200, VIEW, 1000); /* this thread saw the window's end late */
	assert_int_equal(spans_close_open(fixture->spans, 100), 0);
	assert_int_equal(fixture->out.count, 3);
	fixture->tid = 7;
	assert_true(fixture->out.spans[0].is_inferred && fixture->out.spans[0].is_finished);
	assert_int_equal(fixture->out.spans[2].end_ns, 40);
	assert_int_equal(fixture->out.spans[1].end_ns, 100);
	assert_int_equal(fixture->out.spans[0].end_ns, 200);
	/* What it does in the tail is not in the window. */
	set_mode(fixture, MUL, MODE_BEGIN_ONLY, 30, 3);
	op_begin(fixture, 300, MUL, 1000);
	memory_event(fixture, 350, MEMORY_ALLOCATED, 900, 0xa, 64);
	fixture->is_active = false;
	memory_event(fixture, 450, MEMORY_ALLOCATED, 900, 0xb, 64);
	assert_int_equal(spans_close_open(fixture->spans, 400), 0);
	assert_int_equal(found(fixture, "aten::mul")->end_ns, 400);
}

static void what_is_hidden_stays_open_when_a_window_closes(void **state)
{
	struct call_fixture *fixture = *state;

	fixture->is_active = false;
	op_begin(fixture, 0, ADD, 1000);
	fixture->is_active = true;
	op_begin(fixture, 10, MUL, 900);
	fixture->is_active = false;
	op_begin(fixture, 20, VIEW, 800);
	assert_int_equal(spans_close_open(fixture->spans, 15), 0);
	assert_int_equal(fixture->out.count, 1);
	op_end(fixture, 30, VIEW, 760);
	op_end(fixture, 40, MUL, 860);
	op_end(fixture, 50, ADD, 960);
	assert_int_equal(fixture->out.count, 1);
	assert_int_equal(calls_unpaired(fixture->calls), 1); /* MUL's */
}

static void warmup_teaches(void **state)
{
	struct call_fixture *fixture = *state;
	const struct learned_row *rows;
	uint64_t start_ns;
	size_t count;

	set_cost(fixture, 2);
	fixture->is_active = false;
	for (start_ns = 1000; start_ns < 10000; start_ns += 1000) {
		op_begin(fixture, start_ns, ADD, 1000);
		memory_event(fixture, start_ns + 10, MEMORY_ALLOCATED, 900, 0xa, 64);
		op_begin(fixture, start_ns + 20, DETACH, 900);
		guard_end(fixture, start_ns + 30, 800, 820);
		op_end(fixture, start_ns + 40, DETACH, 860);
		sequence_event(fixture, start_ns + 50, 70, 900);
		op_end(fixture, start_ns + 100, ADD, 960);
	}
	node_begin(fixture, 20000, 1000, NODE_TYPE, WIRE_SEQUENCE_NONE);
	guard_end(fixture, 20500, 1000, 1016);
	rows = learned_rows(fixture->learned, &count);
	assert_int_equal(count, 3);
	assert_int_equal(rows[0].subject, ADD);
	assert_int_equal(rows[0].hits, 9);
	assert_int_equal(rows[0].mean_ns, 100 - 12);
	assert_int_equal(rows[0].self_ns, 9 * (80 - 8));
	assert_int_equal(rows[0].inner_children, 1);
	assert_int_equal(rows[0].inner_memory, 1);
	assert_true(rows[0].takes_numbers);
	assert_false(rows[1].takes_numbers);
	assert_int_equal(rows[0].inner_guards, 0);
	assert_true(rows[0].is_steady);
	assert_int_equal(rows[1].subject, DETACH);
	assert_int_equal(rows[1].inner_children, 1);
	assert_int_equal(rows[1].inner_guards, 1);
	assert_int_equal(rows[1].mean_ns, 20 - 4);
	assert_int_equal(rows[2].subject, MODE_SUBJECT_NODES);
	assert_int_equal(rows[2].mean_ns, 498);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_GUARDS), 10);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_NODES), 1);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_MEMORY), 9);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_SEQUENCES), 9);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_FUNCTIONS), 0);
	assert_int_equal(learned_span_ns(fixture->learned), 19500);
	assert_int_equal(fixture->out.count, 0);
	assert_int_equal(fixture->memory_count, 0);
}

static void an_unwound_call_is_learned_as_such(void **state)
{
	struct call_fixture *fixture = *state;
	const struct learned_row *rows;
	size_t count;

	fixture->is_active = false;
	op_begin(fixture, 0, ADD, 1000);
	op_begin(fixture, 10, MUL, 900);
	op_end(fixture, 20, ADD, 960);
	rows = learned_rows(fixture->learned, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[1].unwound, 1);
	assert_int_equal(rows[0].unwound, 0);
}

static void nothing_is_learned_in_the_window_or_behind_the_modes(void **state)
{
	struct call_fixture *fixture = *state;
	size_t count;

	op_begin(fixture, 5, ADD, 1000);
	op_end(fixture, 10, ADD, 960);
	memory_event(fixture, 15, MEMORY_ALLOCATED, 900, 0xa, 64);
	fixture->is_active = false;
	set_mode(fixture, VIEW, MODE_EXACT, 0, 0);
	op_begin(fixture, 20, ADD, 1000);
	op_end(fixture, 30, ADD, 960);
	assert_null(learned_rows(fixture->learned, &count));
	assert_int_equal(count, 0);
	assert_int_equal(learned_span_ns(fixture->learned), 0);
	assert_int_equal(learned_hits(fixture->learned, LEARNED_MEMORY), 0);
}

static void the_final_costs_end_learning(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_cost record = { .header = record_header(WIRE_COST, sizeof(record), 0, 1) };
	size_t count;

	fixture->is_active = false;
	call_fixture_feed(fixture, &record);
	op_begin(fixture, 20, ADD, 1000);
	op_end(fixture, 30, ADD, 960);
	record.is_final = 1;
	call_fixture_feed(fixture, &record);
	op_begin(fixture, 40, MUL, 1000);
	op_end(fixture, 50, MUL, 960);
	assert_non_null(learned_rows(fixture->learned, &count));
	assert_int_equal(count, 1);
}

static void modes_may_come_again(void **state)
{
	struct call_fixture *fixture = *state;

	set_mode(fixture, VIEW, MODE_BEGIN_ONLY, 5, 0);
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_BEGIN_ONLY, 5, 0);
	set_mode(fixture, VIEW, MODE_EXACT, 0, 0);
	set_mode(fixture, MODE_SUBJECT_NODES, MODE_EXACT, 0, 0);
	op_begin(fixture, 100, VIEW, 900);
	op_begin(fixture, 110, MUL, 800);
	op_end(fixture, 120, MUL, 760);
	op_end(fixture, 150, VIEW, 860);
	assert_int_equal(found(fixture, "aten::view")->end_ns, 150);
	node_begin(fixture, 400, 900, NODE_TYPE, WIRE_SEQUENCE_NONE);
	op_begin(fixture, 410, ADD, 1000);
	assert_true(found(fixture, NODE_NAME)->is_unwound);
}

static void an_operator_without_an_exit_site_is_begin_only(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_operator record = record_operator(OPERATORS, "aten::no_exit", "");
	const struct learned_row *rows;
	size_t count;

	record.exit_site = 0;
	call_fixture_feed(fixture, &record);
	op_begin(fixture, 0, OPERATORS, 1000);
	op_begin(fixture, 10, MUL, 900);
	op_end(fixture, 20, MUL, 860);
	op_begin(fixture, 100, ADD, 1000);
	assert_true(found(fixture, "aten::no_exit")->is_inferred);
	assert_false(found(fixture, "aten::no_exit")->is_unwound);
	assert_int_equal(found(fixture, "aten::no_exit")->end_ns, 20);
	/* How long it takes cannot be learned either. */
	fixture->is_active = false;
	op_begin(fixture, 200, OPERATORS, 1000);
	op_begin(fixture, 300, ADD, 1000);
	rows = learned_rows(fixture->learned, &count);
	assert_int_equal(count, 1);
	assert_int_equal(rows[0].unwound, 1);
}

#define DEPTH_MAX 1024

static void calls_that_are_too_deep_are_dropped_and_counted(void **state)
{
	struct call_fixture *fixture = *state;
	uint64_t depth, sp = 1000000;

	for (depth = 0; depth < DEPTH_MAX + 10; depth++)
		op_begin(fixture, depth, MUL, sp - 100 * depth);
	assert_int_equal(spans_dropped(fixture->spans), 10);
	node_begin(fixture, depth, sp - 100 * depth, NODE_TYPE, WIRE_SEQUENCE_NONE);
	assert_int_equal(spans_dropped(fixture->spans), 11);
	/* The ends of those are not the ends of others, though their operator is the same. */
	while (depth-- > DEPTH_MAX)
		op_end(fixture, 5000 - depth, MUL, sp - 100 * depth - 40);
	assert_int_equal(fixture->out.count, 0);
	assert_int_equal(spans_open_calls(fixture->spans), DEPTH_MAX);
	op_end(fixture, 6000, MUL, sp - 100 * depth - 40);
	assert_int_equal(spans_open_calls(fixture->spans), DEPTH_MAX - 1);
	op_end(fixture, 6005, MUL, sp - 100 * depth + 60);
	op_begin(fixture, 6010, VIEW, sp - 100 * depth);
	op_begin(fixture, 6020, ADD, sp - 100 * depth - 100); /* where one was dropped */
	op_end(fixture, 6030, ADD, sp - 100 * depth - 140);
	assert_int_equal(found(fixture, "aten::add")->end_ns, 6030);
	op_end(fixture, 6040, VIEW, sp - 100 * depth - 40);
	assert_int_equal(spans_dropped(fixture->spans), 11);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
}

#define TOTAL_MAX 262144

/* Threads cost a job little, and each could have as many open as one that is honest. */
static void calls_of_too_many_threads_are_dropped_and_counted(void **state)
{
	struct call_fixture *fixture = *state;
	uint64_t depth;

	for (depth = 0; depth < TOTAL_MAX; depth++) {
		fixture->tid = 100 + (uint32_t)(depth / DEPTH_MAX);
		op_begin(fixture, depth, MUL, 1000000 - 100 * (depth % DEPTH_MAX));
	}
	assert_int_equal(spans_dropped(fixture->spans), 0);
	fixture->tid = 7;
	op_begin(fixture, depth, ADD, 1000);
	node_begin(fixture, depth, 900, NODE_TYPE, WIRE_SEQUENCE_NONE);
	assert_int_equal(spans_dropped(fixture->spans), 2);
	op_end(fixture, depth + 10, ADD, 960);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
	/* where one has ended there is room for another */
	fixture->tid = 100;
	op_end(fixture, depth + 20, MUL, 1000000 - 100 * (DEPTH_MAX - 1));
	fixture->tid = 7;
	op_begin(fixture, depth + 30, ADD, 1000);
	op_end(fixture, depth + 40, ADD, 960);
	assert_int_equal(spans_dropped(fixture->spans), 2);
	assert_int_equal(found(fixture, "aten::add")->start_ns, depth + 30);
}

static void unnamed_operators_are_shown(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 0, 500, 1000);
	op_end(fixture, 10, 500, 960);
	op_begin(fixture, 20, UINT32_MAX, 1000);
	op_end(fixture, 30, UINT32_MAX, 960);
	assert_int_equal(fixture->out.count, 2);
	assert_string_equal(fixture->out.spans[0].name, "(unnamed operator)");
	assert_ptr_equal(fixture->out.spans[0].name, fixture->out.spans[1].name);
	assert_string_equal(fixture->out.spans[1].overload, "");
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_op op = record_op(WIRE_OP_END, 10, 7, ADD, 960);

	op_begin(fixture, 0, ADD, 1000);
	fixture->out.err = -EIO;
	assert_int_equal(call_fixture_try(fixture, &op), -EIO);
	op = record_op(WIRE_OP_BEGIN, 10, 7, ADD, 1000);
	assert_int_equal(call_fixture_try(fixture, &op), 0);
	op = record_op(WIRE_OP_BEGIN, 20, 7, ADD, 1000);
	assert_int_equal(call_fixture_try(fixture, &op), -EIO);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, call_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_end_closes_its_operator),
		TEST(ranges_and_operators_nest_in_each_other),
		TEST(threads_have_stacks_of_their_own),
		TEST(an_end_at_a_ret_closes_too),
		TEST(the_same_operator_may_run_inside_itself),
		TEST(an_exception_is_told_by_the_end_of_the_caller),
		TEST(an_exception_is_told_by_what_begins_in_its_place),
		TEST(memory_and_sequences_tell_an_exception_too),
		TEST(an_end_without_its_beginning_is_counted),
		TEST(a_range_that_ends_leaves_the_operators_in_it),
		TEST(a_range_that_ends_leaves_no_running_node),
		TEST(a_begin_only_operator_ends_after_its_usual_time),
		TEST(an_inferred_end_is_not_after_what_comes_next),
		TEST(an_inferred_end_is_not_before_its_childs),
		TEST(begin_only_operators_end_from_the_inside_out),
		TEST(any_event_ends_what_is_complete),
		TEST(an_incomplete_one_goes_by_the_stack_pointer),
		TEST(one_of_unknown_contents_is_never_complete),
		TEST(all_that_is_directly_inside_counts),
		TEST(a_sibling_within_the_frame_is_no_child),
		TEST(a_range_after_an_exception_is_not_inside_the_operator),
		TEST(a_range_inside_an_operator_is_its_child),
		TEST(a_number_is_taken_by_the_call_that_begins),
		TEST(a_begin_only_operator_takes_an_end_that_comes),
		TEST(the_probes_inside_make_an_inferred_end_later),
		TEST(a_range_does_not_begin_inside_a_short_operator),
		TEST(a_captured_gradient_has_one_row),
		TEST(a_node_is_two_rows_and_ends_with_its_guard),
		TEST(a_guard_ends_what_is_open_in_its_node),
		TEST(a_guard_elsewhere_ends_no_node),
		TEST(a_node_whose_guard_was_lost_goes_by_the_stack_pointer),
		TEST(begin_only_nodes_end_with_their_last_child),
		TEST(detach_has_a_row_inside),
		TEST(the_row_of_detach_has_its_probes),
		TEST(other_guards_are_ignored),
		TEST(an_unprobed_guard_of_detach_is_implied),
		TEST(detach_without_a_guard_in_warmup_implies_none),
		TEST(a_custom_function_ends_with_its_guard),
		TEST(a_custom_function_is_begin_only_where_nodes_are),
		TEST(a_boxed_call_has_no_end_of_its_own),
		TEST(a_forward_call_is_tied_to_its_node),
		TEST(a_number_is_of_no_node_and_of_nothing_outside_the_window),
		TEST(bytes_are_of_the_innermost_and_add_up),
		TEST(device_memory_is_kept_apart),
		TEST(shapes_come_with_their_operator),
		TEST(shapes_are_no_longer_than_their_record),
		TEST(probes_cost_half_before_and_half_after),
		TEST(probes_cost_no_more_than_there_was),
		TEST(an_only_child_of_the_same_name_is_merged),
		TEST(one_of_two_children_is_not_merged),
		TEST(a_chain_of_one_name_is_merged_into_its_head),
		TEST(ranges_are_merged_as_well),
		TEST(a_merge_is_decided_at_the_windows_end_too),
		TEST(what_began_before_the_window_is_not_shown),
		TEST(what_began_in_the_window_may_end_after_it),
		TEST(begin_only_ends_need_no_window),
		TEST(what_is_hidden_stays_open_when_a_window_closes),
		TEST(warmup_teaches),
		TEST(an_unwound_call_is_learned_as_such),
		TEST(nothing_is_learned_in_the_window_or_behind_the_modes),
		TEST(the_final_costs_end_learning),
		TEST(modes_may_come_again),
		TEST(an_operator_without_an_exit_site_is_begin_only),
		TEST(calls_that_are_too_deep_are_dropped_and_counted),
		TEST(calls_of_too_many_threads_are_dropped_and_counted),
		TEST(unnamed_operators_are_shown),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
