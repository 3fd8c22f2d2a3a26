/* Calls of CUDA's among operators: paired as those are, of a kind of their own, and one row each.
 */
#include "support/test.h"

#include "support/call_fixture.h"

enum {
	COPY, /* an operator */
	LAUNCH,
	MEMCPY,
	DRIVER_LAUNCH,
	FUNCTIONS,
};

static int setup(void **state)
{
	static const struct {
		const char *name;
		enum wire_call_domain domain;
		uint16_t callback_id;
	} functions[FUNCTIONS] = {
		[COPY] = { "aten::copy_", CALL_OPERATOR, 0 },
		[LAUNCH] = { "cudaLaunchKernel", CALL_RUNTIME, 211 },
		[MEMCPY] = { "cudaMemcpyAsync", CALL_RUNTIME, 41 },
		[DRIVER_LAUNCH] = { "cuLaunchKernel", CALL_DRIVER, 307 },
	};
	struct call_fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t i;

	if (!fixture || call_fixture_init(fixture, NULL))
		return -1;
	for (i = 0; i < FUNCTIONS; i++) {
		struct wire_operator record = record_operator(i, functions[i].name, "");

		record.domain = (uint8_t)functions[i].domain;
		record.callback_id = functions[i].callback_id;
		if (i != COPY)
			record.exit_site = 6; /* 1 + PROBE_SITE_RET */
		call_fixture_feed(fixture, &record);
	}
	*state = fixture;
	return 0;
}

/* Its end is at a ret: at the stack pointer of its beginning. */
static void a_call_ends_where_it_returns(void **state)
{
	struct call_fixture *fixture = *state;
	const struct span *span;

	op_begin(fixture, 100, COPY, 1000);
	op_begin(fixture, 110, MEMCPY, 900);
	op_end(fixture, 150, MEMCPY, 900);
	op_begin(fixture, 160, LAUNCH, 900); /* from the same place */
	op_end(fixture, 170, LAUNCH, 900);
	op_end(fixture, 200, COPY, 960);
	assert_int_equal(fixture->out.count, 3);
	span = found(fixture, "cudaMemcpyAsync");
	assert_int_equal(span->kind, SPAN_CUDA_CALL);
	assert_int_equal(span->domain, CALL_RUNTIME);
	assert_int_equal(span->callback_id, 41);
	assert_int_equal(span->start_ns, 110);
	assert_int_equal(span->end_ns, 150);
	assert_true(span->is_finished && !span->is_unwound);
	assert_int_equal(found(fixture, "aten::copy_")->kind, SPAN_OPERATOR);
	assert_int_equal(found(fixture, "aten::copy_")->self_ns, 100 - 40 - 10);
	assert_int_equal(calls_unpaired(fixture->calls), 0);
}

static void a_call_that_an_exception_left_is_marked(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, COPY, 1000);
	op_begin(fixture, 110, MEMCPY, 900);
	op_begin(fixture, 120, LAUNCH, 800); /* of a callback, which throws */
	op_end(fixture, 200, COPY, 960);
	assert_true(found(fixture, "cudaMemcpyAsync")->is_unwound);
	assert_true(found(fixture, "cudaLaunchKernel")->is_unwound);
	assert_false(found(fixture, "aten::copy_")->is_unwound);
}

static void what_is_open_when_the_window_closes_is_not_finished(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, MEMCPY, 900);
	assert_int_equal(spans_open_calls(fixture->spans), 1);
	assert_int_equal(spans_close_open(fixture->spans, 500), 0);
	assert_false(found(fixture, "cudaMemcpyAsync")->is_finished);
	assert_int_equal(found(fixture, "cudaMemcpyAsync")->end_ns, 500);
}

static void what_was_open_when_the_window_opened_is_not_shown(void **state)
{
	struct call_fixture *fixture = *state;

	fixture->is_active = false;
	op_begin(fixture, 100, MEMCPY, 900);
	fixture->is_active = true;
	op_end(fixture, 200, MEMCPY, 900);
	assert_int_equal(fixture->out.count, 0);
}

/* However the runtime came by the driver's function: it is no second launch. */
static void a_driver_call_of_the_runtimes_own_has_no_row(void **state)
{
	struct call_fixture *fixture = *state;

	op_begin(fixture, 100, LAUNCH, 1000);
	op_begin(fixture, 110, DRIVER_LAUNCH, 900);
	op_begin(fixture, 115, DRIVER_LAUNCH, 800);
	op_end(fixture, 120, DRIVER_LAUNCH, 800);
	op_end(fixture, 150, DRIVER_LAUNCH, 900);
	op_end(fixture, 160, LAUNCH, 1000);
	assert_int_equal(fixture->out.count, 1);
	assert_int_equal(found(fixture, "cudaLaunchKernel")->self_ns, 60);
	/* On its own, or in an operator, it is one. */
	op_begin(fixture, 200, COPY, 1000);
	op_begin(fixture, 210, DRIVER_LAUNCH, 900);
	op_end(fixture, 250, DRIVER_LAUNCH, 900);
	op_end(fixture, 260, COPY, 960);
	assert_int_equal(fixture->out.count, 3);
	assert_int_equal(found(fixture, "cuLaunchKernel")->start_ns, 210);
	assert_int_equal(found(fixture, "cuLaunchKernel")->domain, CALL_DRIVER);
}

static void warmup_learns_of_calls_and_counts_them_in_their_operator(void **state)
{
	struct call_fixture *fixture = *state;
	const struct learned_row *rows;
	size_t count, i;

	fixture->is_active = false;
	for (i = 0; i < 10; i++) {
		op_begin(fixture, 1000 * i + 100, COPY, 1000);
		op_begin(fixture, 1000 * i + 110, MEMCPY, 900);
		op_end(fixture, 1000 * i + 150, MEMCPY, 900);
		op_end(fixture, 1000 * i + 200, COPY, 960);
	}
	rows = learned_rows(fixture->learned, &count);
	assert_int_equal(count, 2);
	assert_int_equal(rows[0].subject, COPY);
	assert_int_equal(rows[0].inner_children, 1);
	assert_true(rows[0].is_steady);
	assert_int_equal(rows[1].subject, MEMCPY);
	assert_int_equal(rows[1].hits, 10);
	assert_int_equal(rows[1].mean_ns, 40);
}

/* By what warmup told, the operator is over when its copy is. */
static void an_inferred_end_holds_the_calls_inside(void **state)
{
	struct call_fixture *fixture = *state;
	struct wire_mode_record mode = record_mode(COPY, MODE_BEGIN_ONLY, 20, 1);

	call_fixture_feed(fixture, &mode);
	op_begin(fixture, 100, COPY, 1000);
	op_begin(fixture, 110, MEMCPY, 900);
	op_end(fixture, 150, MEMCPY, 900);
	op_begin(fixture, 300, LAUNCH, 900);
	op_end(fixture, 310, LAUNCH, 900);
	assert_true(found(fixture, "aten::copy_")->is_inferred);
	assert_true(found(fixture, "aten::copy_")->end_ns >= 150);
	assert_true(found(fixture, "aten::copy_")->end_ns <= 300);
	assert_true(found(fixture, "cudaLaunchKernel")->is_top);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, call_fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_ends_where_it_returns),
		TEST(a_call_that_an_exception_left_is_marked),
		TEST(what_is_open_when_the_window_closes_is_not_finished),
		TEST(what_was_open_when_the_window_opened_is_not_shown),
		TEST(a_driver_call_of_the_runtimes_own_has_no_row),
		TEST(warmup_learns_of_calls_and_counts_them_in_their_operator),
		TEST(an_inferred_end_holds_the_calls_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
