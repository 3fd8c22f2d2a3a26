/* Calls of modules, among the spans that tell when they are over. */
#include "support/call_fixture.h"

#include "analyze/modules.h"

#define CALLS_MAX 256
#define LINEAR 0x1000
#define RELU 0x2000
#define NET 0x3000
#define ADD 3

struct fixture {
	struct call_fixture calls;
	struct mark_sink marks;
	struct modules *modules;
	struct module_call told[CALLS_MAX]; /* the first ones */
	size_t count;
	int err; /* what the sink returns */
};

static int on_module(struct mark_sink *sink, const struct module_call *call)
{
	struct fixture *fixture = container_of(sink, struct fixture, marks);

	if (fixture->count < CALLS_MAX)
		fixture->told[fixture->count] = *call;
	fixture->count++;
	return fixture->err;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	*state = fixture;
	fixture->marks.module = on_module;
	if (call_fixture_init(&fixture->calls, NULL))
		return -1;
	return modules_new(&fixture->modules, fixture->calls.spans, fixture->calls.symbols,
			   fixture->calls.names, &fixture->marks);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	modules_free(fixture->modules);
	call_fixture_fini(&fixture->calls);
	free(fixture);
	return 0;
}

static void name_types(struct fixture *fixture)
{
	const struct wire_symbol symbols[] = {
		record_symbol(SYMBOL_PYTHON, LINEAR, "Linear"),
		record_symbol(SYMBOL_PYTHON, RELU, "ReLU"),
		record_symbol(SYMBOL_PYTHON, NET, "Net"),
	};
	const struct wire_operator add = record_operator(ADD, "aten::add", "");
	size_t i;

	for (i = 0; i < COUNT_OF(symbols); i++)
		call_fixture_feed(&fixture->calls, &symbols[i]);
	call_fixture_feed(&fixture->calls, &add);
}

static int feed(struct fixture *fixture, const struct wire_module *record)
{
	struct event event = event_of(record);

	return modules_event(fixture->modules, &event, fixture->calls.is_active);
}

static void begin(struct fixture *fixture, uint64_t time_ns, uint32_t depth, uint64_t object,
		  uint64_t type)
{
	struct wire_module record =
		record_module(time_ns, fixture->calls.tid, MODULE_BEGIN, depth, object, type);

	assert_int_equal(feed(fixture, &record), 0);
}

static void end(struct fixture *fixture, uint64_t time_ns, uint32_t depth)
{
	struct wire_module record =
		record_module(time_ns, fixture->calls.tid, MODULE_END, depth, 0, 0);

	assert_int_equal(feed(fixture, &record), 0);
}

static void operation(struct fixture *fixture, uint64_t from_ns, uint64_t to_ns)
{
	op_begin(&fixture->calls, from_ns, ADD, 1000);
	op_end(&fixture->calls, to_ns, ADD, 1000);
}

#define assert_call(fixture, at, text, from_ns, to_ns)                  \
	do {                                                            \
		assert_string_equal((fixture)->told[at].name, text);    \
		assert_true((fixture)->told[at].start_ns == (from_ns)); \
		assert_true((fixture)->told[at].end_ns == (to_ns));     \
	} while (0)

static void a_call_ends_with_the_last_thing_inside(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	begin(fixture, 110, 1, 0xb, LINEAR);
	operation(fixture, 120, 150);
	begin(fixture, 160, 1, 0xc, RELU); /* the other one is over */
	operation(fixture, 170, 180);
	end(fixture, 300, 0);
	operation(fixture, 300, 310);
	assert_int_equal(fixture->count, 3);
	assert_call(fixture, 0, "nn.Module: Linear_0", 110, 152);
	assert_call(fixture, 1, "nn.Module: ReLU_0", 160, 182);
	assert_call(fixture, 2, "nn.Module: Net_0", 100, 184);
	assert_true(fixture->told[0].parent_id == 1 && fixture->told[0].id == 2);
	assert_true(fixture->told[1].parent_id == 1 && fixture->told[1].id == 3);
	assert_true(fixture->told[2].parent_id == 0 && fixture->told[2].id == 1);
	assert_true(fixture->told[0].is_finished && fixture->told[0].tid == 7);
}

/* An end that was not probed is later than the last record. */
static void a_told_end_of_an_operator_counts(void **state)
{
	struct fixture *fixture = *state;
	struct wire_mode_record mode = record_mode(ADD, MODE_BEGIN_ONLY, 30, 0);

	name_types(fixture);
	call_fixture_feed(&fixture->calls, &mode);
	begin(fixture, 100, 0, 0xa, LINEAR);
	op_begin(&fixture->calls, 110, ADD, 1000);
	end(fixture, 200, 0);
	assert_call(fixture, 0, "nn.Module: Linear_0", 100, 142);
	begin(fixture, 300, 0, 0xa, LINEAR);
	op_begin(&fixture->calls, 310, ADD, 1000);
	begin(fixture, 320, 0, 0xa, LINEAR); /* before what comes next, as the trace shows it */
	assert_int_equal(fixture->count, 2);
	assert_true(fixture->told[1].end_ns > 310 && fixture->told[1].end_ns <= 320);
	assert_true(fixture->told[1].end_ns >
		    span_shown_end_ns(span_recorder_find(&fixture->calls.out, "aten::add")));
}

/* As far as there is room before what comes next. */
static void rows_that_end_together_are_apart(void **state)
{
	struct fixture *fixture = *state;
	uint32_t depth;

	name_types(fixture);
	for (depth = 0; depth < 3; depth++)
		begin(fixture, 100 + depth, depth, 0xa + depth, NET);
	operation(fixture, 110, 120);
	end(fixture, 200, 0);
	for (depth = 0; depth < 3; depth++)
		assert_true(fixture->told[depth].end_ns == 120 + 2 * (depth + 1));
	for (depth = 0; depth < 3; depth++)
		begin(fixture, 300 + depth, depth, 0xa + depth, NET);
	operation(fixture, 310, 320);
	end(fixture, 323, 0);
	for (depth = 0; depth < 3; depth++)
		assert_true(fixture->told[3 + depth].end_ns == 322);
}

static void an_empty_call_has_hardly_any_time(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	operation(fixture, 10, 20);
	begin(fixture, 100, 0, 0xa, RELU);
	end(fixture, 200, 0);
	assert_call(fixture, 0, "nn.Module: ReLU_0", 100, 102);
}

static void instances_are_numbered_by_class(void **state)
{
	struct fixture *fixture = *state;
	static const struct {
		uint64_t object, type;
		const char *name;
		uint32_t module_id;
	} rows[] = {
		{ 0xa, LINEAR, "nn.Module: Linear_0", 0 },
		{ 0xb, LINEAR, "nn.Module: Linear_1", 1 },
		{ 0xc, RELU, "nn.Module: ReLU_0", 2 },
		{ 0xa, LINEAR, "nn.Module: Linear_0", 0 },
		{ 0xb, RELU, "nn.Module: ReLU_1", 3 }, /* another one at its address */
		{ 0xb, RELU, "nn.Module: ReLU_1", 3 },
		{ 0xd, 0x9999, "nn.Module: (unnamed function)_0", 4 },
	};
	size_t i;

	name_types(fixture);
	for (i = 0; i < COUNT_OF(rows); i++)
		begin(fixture, 100 + i, 0, rows[i].object, rows[i].type);
	end(fixture, 200, 0);
	assert_int_equal(fixture->count, COUNT_OF(rows));
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_string_equal(fixture->told[i].name, rows[i].name);
		assert_row(i, fixture->told[i].module_id == rows[i].module_id);
	}
	assert_int_equal(symbols_nameless(fixture->calls.symbols), 1);
}

static void threads_are_apart(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	fixture->calls.tid = 8;
	begin(fixture, 110, 0, 0xb, LINEAR);
	operation(fixture, 120, 130);
	end(fixture, 140, 0);
	fixture->calls.tid = 7;
	end(fixture, 150, 0);
	assert_call(fixture, 0, "nn.Module: Linear_0", 110, 132);
	assert_true(fixture->told[0].parent_id == 0 && fixture->told[0].tid == 8);
	assert_call(fixture, 1, "nn.Module: Net_0", 100, 102);
}

static void what_began_before_the_window_is_not_shown(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	fixture->calls.is_active = false;
	begin(fixture, 90, 0, 0xc, LINEAR); /* takes no number */
	begin(fixture, 100, 0, 0xa, NET);
	fixture->calls.is_active = true;
	begin(fixture, 200, 1, 0xb, LINEAR);
	end(fixture, 300, 0);
	assert_int_equal(fixture->count, 1);
	assert_string_equal(fixture->told[0].name, "nn.Module: Linear_0");
	assert_true(fixture->told[0].parent_id == 0 && fixture->told[0].id == 1);
}

static void the_windows_end_closes_what_is_open(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	begin(fixture, 110, 1, 0xb, LINEAR);
	assert_int_equal(modules_close_open(fixture->modules, 400), 0);
	assert_call(fixture, 0, "nn.Module: Linear_0", 110, 400);
	assert_call(fixture, 1, "nn.Module: Net_0", 100, 400);
	assert_false(fixture->told[0].is_finished || fixture->told[1].is_finished);
	end(fixture, 500, 0); /* of what is closed */
	begin(fixture, 600, 0, 0xa, NET);
	end(fixture, 700, 0);
	assert_int_equal(fixture->count, 3);
	assert_true(fixture->told[2].is_finished);
}

static void none_ends_before_it_began(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	begin(fixture, 500, 1, 0xb, LINEAR);
	assert_int_equal(modules_close_open(fixture->modules, 400), 0);
	assert_call(fixture, 0, "nn.Module: Linear_0", 500, 500);
	assert_call(fixture, 1, "nn.Module: Net_0", 100, 500);
	begin(fixture, 900, 0, 0xa, NET); /* times may go back as well */
	end(fixture, 800, 0);
	assert_call(fixture, 2, "nn.Module: Net_0", 900, 900);
}

/* Records are lost: what comes next says how deep it lies. */
static void a_lost_record_is_made_up_for(void **state)
{
	struct fixture *fixture = *state;

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	begin(fixture, 110, 1, 0xb, LINEAR);
	begin(fixture, 120, 0, 0xa, NET); /* an end was lost */
	assert_int_equal(fixture->count, 2);
	begin(fixture, 130, 2, 0xc, RELU); /* a beginning was lost: of it nothing is made up */
	end(fixture, 140, 2);
	assert_int_equal(fixture->count, 2);
	end(fixture, 150, 1);
	assert_int_equal(fixture->count, 3);
	assert_string_equal(fixture->told[2].name, "nn.Module: ReLU_0");
	assert_true(fixture->told[2].parent_id == 3);
}

static void a_call_in_which_records_were_lost_is_not_finished(void **state)
{
	struct fixture *fixture = *state;
	struct wire_hole hole = { .header = record_header(WIRE_HOLE, sizeof(hole), 7, 200),
				  .last_ns = 250,
				  .kinds = 1U << WIRE_OP_END };
	struct event event = event_of(&hole);

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	assert_int_equal(modules_hole(fixture->modules, &event), 0); /* of nothing that matters */
	end(fixture, 300, 0);
	begin(fixture, 310, 0, 0xa, NET);
	hole = (struct wire_hole){ .header = record_header(WIRE_HOLE, sizeof(hole), 8, 320),
				   .last_ns = 330,
				   .kinds = 1U << WIRE_MODULE };
	assert_int_equal(modules_hole(fixture->modules, &event), 0); /* of another thread */
	end(fixture, 340, 0);
	begin(fixture, 350, 0, 0xa, NET);
	hole.header.tid = 7;
	hole.last_ns = 360;
	assert_int_equal(modules_hole(fixture->modules, &event), 0);
	begin(fixture, 370, 1, 0xb, LINEAR);
	end(fixture, 380, 0);
	hole.header.tid = 0; /* of several */
	hole.last_ns = 400;
	begin(fixture, 390, 0, 0xa, NET);
	assert_int_equal(modules_hole(fixture->modules, &event), 0);
	end(fixture, 410, 0);
	begin(fixture, 420, 0, 0xa, NET);
	end(fixture, 430, 0);
	assert_int_equal(fixture->count, 6);
	assert_true(fixture->told[0].is_finished && fixture->told[1].is_finished);
	assert_true(fixture->told[2].is_finished); /* Linear began behind it */
	assert_false(fixture->told[3].is_finished || fixture->told[4].is_finished);
	assert_true(fixture->told[5].is_finished);
}

static void no_depth_goes_past_the_table(void **state)
{
	struct fixture *fixture = *state;
	uint32_t depth;

	name_types(fixture);
	for (depth = 0; depth < 2 * MODULES_OPEN_MAX; depth++)
		begin(fixture, 100 + depth, depth, 0xa, NET);
	assert_int_equal(modules_refused(fixture->modules), MODULES_OPEN_MAX);
	begin(fixture, 500, UINT32_MAX, 0xa, NET);
	end(fixture, 510, UINT32_MAX);
	end(fixture, 520, 0);
	assert_int_equal(fixture->count, MODULES_OPEN_MAX);
}

static void instances_and_threads_are_bounded(void **state)
{
	struct fixture *fixture = *state;
	uint32_t i;

	name_types(fixture);
	for (i = 0; i < MODULES_THREADS_MAX + 2; i++) {
		fixture->calls.tid = 100 + i;
		begin(fixture, 100 + i, 0, 0xa, NET);
	}
	assert_int_equal(modules_refused(fixture->modules), 2);
	fixture->calls.tid = 100;
	for (i = 0; i < MODULES_MAX + 2; i++)
		begin(fixture, 100000 + i, 0, 0x1000 + i, LINEAR);
	end(fixture, 200000, 0);
	/* One of them is the Net. */
	assert_int_equal(modules_refused(fixture->modules), 2 + 3);
	for (i = 0; i < fixture->count && i < CALLS_MAX; i++)
		assert_row(i, fixture->told[i].module_id <= MODULES_MAX);
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct wire_module record = record_module(200, 7, MODULE_END, 0, 0, 0);

	name_types(fixture);
	begin(fixture, 100, 0, 0xa, NET);
	begin(fixture, 110, 1, 0xb, NET);
	fixture->err = -ENOSPC;
	assert_int_equal(feed(fixture, &record), -ENOSPC);
	assert_int_equal(modules_close_open(fixture->modules, 300), -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_ends_with_the_last_thing_inside),
		TEST(a_told_end_of_an_operator_counts),
		TEST(rows_that_end_together_are_apart),
		TEST(an_empty_call_has_hardly_any_time),
		TEST(instances_are_numbered_by_class),
		TEST(threads_are_apart),
		TEST(what_began_before_the_window_is_not_shown),
		TEST(the_windows_end_closes_what_is_open),
		TEST(none_ends_before_it_began),
		TEST(a_lost_record_is_made_up_for),
		TEST(a_call_in_which_records_were_lost_is_not_finished),
		TEST(no_depth_goes_past_the_table),
		TEST(instances_and_threads_are_bounded),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
