/* Which operator asked for what ran on a device, and what the tables make of it. */
#include "support/test.h"

#include "analyze/correlate.h"
#include "analyze/device_busy.h"
#include "analyze/device_ranges.h"
#include "base/name_table.h"

#define SEEN_MAX 64

struct fixture {
	struct device_sink sink;
	struct name_table *names;
	struct op_stats *stats;
	struct correlate *correlate;
	struct summary summary;
	struct attempt_log attempts;
	struct device_work work[SEEN_MAX];
	struct device_call calls[SEEN_MAX];
	struct device_annotation annotations[SEEN_MAX];
	size_t work_count, call_count, annotation_count, overhead_count;
	uint64_t last_id;
};

static int on_work(struct device_sink *sink, const struct device_work *work)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_true(fixture->work_count < SEEN_MAX);
	fixture->work[fixture->work_count++] = *work;
	return 0;
}

static int on_call(struct device_sink *sink, const struct device_call *call)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_true(fixture->call_count < SEEN_MAX);
	fixture->calls[fixture->call_count++] = *call;
	return 0;
}

static int on_annotation(struct device_sink *sink, const struct device_annotation *annotation)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_true(fixture->annotation_count < SEEN_MAX);
	fixture->annotations[fixture->annotation_count++] = *annotation;
	return 0;
}

static int on_overhead(struct device_sink *sink, const struct device_overhead *overhead)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	(void)overhead;
	fixture->overhead_count++;
	return 0;
}

/* A window from 1,000 to 9,000 of two active attempts. */
static int setup(void **state)
{
	const struct attempt first = { .start_ns = 1000, .end_ns = 5000, .phase = PHASE_ACTIVE };
	const struct attempt second = { .start_ns = 5000, .end_ns = 9000, .phase = PHASE_ACTIVE };
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, 100) ||
	    op_stats_new(&fixture->stats, NULL) ||
	    correlate_new(&fixture->correlate, fixture->stats))
		return -1;
	fixture->sink = (struct device_sink){ on_work, on_call, on_annotation, on_overhead };
	if (attempt_log_add(&fixture->attempts, &first) ||
	    attempt_log_add(&fixture->attempts, &second))
		return -1;
	fixture->summary.attempts = &fixture->attempts;
	fixture->summary.started_ns = 1000;
	fixture->summary.ended_ns = 9000;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	device_busy_free(&fixture->summary);
	attempt_log_clear(&fixture->attempts);
	correlate_free(fixture->correlate);
	op_stats_free(fixture->stats);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static const char *named(struct fixture *fixture, const char *name)
{
	return name_table_add(fixture->names, name, strlen(name));
}

static struct span span_at(struct fixture *fixture, const char *name, enum span_kind kind,
			   uint64_t start_ns, uint64_t end_ns)
{
	return (struct span){
		.name = named(fixture, name),
		.id = ++fixture->last_id,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.self_ns = end_ns - start_ns,
		.sequence = WIRE_SEQUENCE_NONE,
		.tid = 7,
		.kind = (uint8_t)kind,
		.is_finished = true,
	};
}

static uint64_t add(struct fixture *fixture, const struct span *span)
{
	size_t row = 0;

	assert_int_equal(op_stats_add(fixture->stats, span, &row), 0);
	assert_int_equal(correlate_span(fixture->correlate, span, row), 0);
	return span->id;
}

static uint64_t add_at(struct fixture *fixture, const char *name, enum span_kind kind,
		       uint64_t start_ns, uint64_t end_ns)
{
	struct span span = span_at(fixture, name, kind, start_ns, end_ns);

	return add(fixture, &span);
}

static void launch(struct fixture *fixture, uint32_t correlation_id, uint64_t start_ns)
{
	struct device_call call = {
		.start_ns = start_ns,
		.end_ns = start_ns + 10,
		.name = named(fixture, "cudaLaunchKernel"),
		.tid = 7,
		.correlation_id = correlation_id,
		.is_launch = true,
	};

	assert_int_equal(correlate_call(fixture->correlate, &call), 0);
}

static void run(struct fixture *fixture, uint32_t correlation_id, uint32_t stream,
		uint64_t start_ns, uint64_t end_ns)
{
	struct device_work work = {
		.start_ns = start_ns,
		.end_ns = end_ns,
		.name = named(fixture, "gemm"),
		.correlation_id = correlation_id,
		.stream = stream,
	};

	assert_int_equal(correlate_work(fixture->correlate, &work), 0);
}

static void finish(struct fixture *fixture)
{
	assert_int_equal(correlate_finish(fixture->correlate, &fixture->sink, &fixture->summary),
			 0);
	assert_int_equal(op_stats_summarize(fixture->stats, &fixture->summary), 0);
}

static const struct op_row *row_of(const struct fixture *fixture, const char *name)
{
	size_t i;

	for (i = 0; i < fixture->summary.row_count; i++) {
		if (!strcmp(fixture->summary.rows[i].name, name))
			return &fixture->summary.rows[i];
	}
	fail_msg("no row %s", name);
	return NULL;
}

static void work_belongs_to_the_innermost_operator_of_its_call(void **state)
{
	struct fixture *fixture = *state;
	uint64_t mm, linear;

	mm = add_at(fixture, "aten::mm", SPAN_OPERATOR, 1200, 1400);
	linear = add_at(fixture, "aten::linear", SPAN_OPERATOR, 1100, 1600);
	add_at(fixture, "train_step", SPAN_RANGE, 1050, 2000);
	run(fixture, 2, 7, 2100, 2130); /* what comes late and in no order */
	run(fixture, 1, 7, 1300, 2000);
	launch(fixture, 1, 1250);
	launch(fixture, 2, 1500);
	finish(fixture);
	assert_int_equal(fixture->work_count, 2);
	assert_int_equal(fixture->work[0].external_id, mm);
	assert_int_equal(fixture->work[1].external_id, linear);
	assert_int_equal(fixture->calls[0].external_id, mm);
	assert_int_equal(fixture->calls[1].external_id, linear);
	assert_int_equal(row_of(fixture, "aten::mm")->device_self_ns, 700);
	assert_int_equal(row_of(fixture, "aten::linear")->device_self_ns, 30);
	assert_int_equal(row_of(fixture, "aten::linear")->device_total_ns, 730);
	assert_int_equal(row_of(fixture, "train_step")->device_self_ns, 0);
	assert_int_equal(row_of(fixture, "train_step")->device_total_ns, 730);
	assert_int_equal(fixture->summary.device.self_total_ns, 730);
}

static void a_call_takes_its_time_out_of_the_operator(void **state)
{
	struct fixture *fixture = *state;

	add_at(fixture, "aten::mm", SPAN_OPERATOR, 1200, 1400);
	launch(fixture, 1, 1250);
	finish(fixture);
	assert_int_equal(row_of(fixture, "aten::mm")->self_ns, 190);
	assert_int_equal(row_of(fixture, "cudaLaunchKernel")->self_ns, 10);
	assert_int_equal(row_of(fixture, "cudaLaunchKernel")->count, 1);
	assert_int_equal(fixture->summary.device.launches_without_work, 1);
}

/* Its time is in the tables, and taken out of the operator, as that of any span. */
static void a_probed_call_learns_its_operator_and_counts_once(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_at(fixture, "cudaMemcpyAsync", SPAN_CUDA_CALL, 1250, 1300);
	struct device_call call = {
		.start_ns = 1250,
		.end_ns = 1300,
		.name = span.name,
		.tid = 7,
		.callback_id = 41,
		.is_probed = true,
	};
	uint64_t copy = add_at(fixture, "aten::copy_", SPAN_OPERATOR, 1200, 1400);

	add_at(fixture, "train_step", SPAN_RANGE, 1150, 1500);
	assert_int_equal(op_stats_add(fixture->stats, &span, NULL), 0);
	assert_int_equal(correlate_call(fixture->correlate, &call), 0);
	call.start_ns = 1450; /* in no operator */
	call.end_ns = 1460;
	assert_int_equal(correlate_call(fixture->correlate, &call), 0);
	run(fixture, 0, 7, 1310, 1320); /* work that names no call has none */
	finish(fixture);
	assert_int_equal(fixture->call_count, 2);
	assert_int_equal(fixture->calls[0].external_id, copy);
	assert_int_equal(fixture->calls[1].external_id, 0);
	assert_int_equal(row_of(fixture, "aten::copy_")->self_ns, 200);
	assert_int_equal(row_of(fixture, "cudaMemcpyAsync")->count, 1);
	assert_int_equal(row_of(fixture, "cudaMemcpyAsync")->self_ns, 50);
	assert_int_equal(fixture->summary.device.calls, 2);
	assert_int_equal(fixture->summary.device.launches_without_work, 0);
	assert_int_equal(fixture->summary.device.work_outside, 1);
}

static void a_call_that_outlasts_an_inferred_end_is_the_outer_ones(void **state)
{
	struct fixture *fixture = *state;

	add_at(fixture, "aten::mm", SPAN_OPERATOR, 1200, 1255);
	add_at(fixture, "aten::linear", SPAN_OPERATOR, 1100, 1400);
	launch(fixture, 1, 1250);
	finish(fixture);
	assert_int_equal(row_of(fixture, "aten::mm")->self_ns, 55);
	assert_int_equal(row_of(fixture, "aten::linear")->self_ns, 290);
}

static void a_driver_call_inside_a_runtime_call_is_its_child(void **state)
{
	struct fixture *fixture = *state;
	struct device_call driver = {
		.start_ns = 1252,
		.end_ns = 1258,
		.name = named(fixture, "cuLaunchKernel"),
		.tid = 7,
		.correlation_id = 1, /* of the call around it */
		.is_driver = true,
		.is_launch = true,
	};

	add_at(fixture, "aten::mm", SPAN_OPERATOR, 1200, 1400);
	assert_int_equal(correlate_call(fixture->correlate, &driver), 0);
	launch(fixture, 1, 1250);
	run(fixture, 1, 7, 1300, 1310);
	finish(fixture);
	assert_int_equal(row_of(fixture, "aten::mm")->self_ns, 190);
	assert_int_equal(row_of(fixture, "cudaLaunchKernel")->self_ns, 4);
	assert_int_equal(row_of(fixture, "cuLaunchKernel")->self_ns, 6);
	assert_int_equal(fixture->work_count, 1);
}

static int on_counted_work(struct device_sink *sink, const struct device_work *work)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	(void)work;
	fixture->work_count++;
	return 0;
}

static int on_counted_annotation(struct device_sink *sink,
				 const struct device_annotation *annotation)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	(void)annotation;
	fixture->annotation_count++;
	return 0;
}

static int on_counted_call(struct device_sink *sink, const struct device_call *call)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	(void)call;
	fixture->call_count++;
	return 0;
}

/* Each begins in the one before and ends after it: to look at all of them for each takes minutes.
 */
static void calls_of_which_none_holds_the_next_are_quickly_through(void **state)
{
	enum {
		CALLS = 300000
	};
	struct fixture *fixture = *state;
	const char *name = named(fixture, "cuLaunchKernel");
	unsigned int i;

	fixture->sink.call = on_counted_call;
	fixture->summary.ended_ns = 1000 + CALLS;
	for (i = 0; i < CALLS; i++) {
		const struct device_call call = {
			.start_ns = 1000 + i,
			.end_ns = 1000000 + i,
			.name = name,
			.tid = 7,
			.correlation_id = i + 1,
			.is_driver = true,
		};

		assert_int_equal(correlate_call(fixture->correlate, &call), 0);
	}
	finish(fixture);
	assert_int_equal(fixture->call_count, CALLS);
}

static void what_was_asked_for_outside_the_window_is_left_out_and_counted(void **state)
{
	struct fixture *fixture = *state;

	launch(fixture, 1, 900);
	run(fixture, 1, 7, 1100, 1200);
	run(fixture, 9, 7, 1100, 1200); /* its call was not seen */
	launch(fixture, 2, 8990);
	run(fixture, 2, 7, 9500, 9600); /* runs on behind the window */
	finish(fixture);
	assert_int_equal(fixture->work_count, 1);
	assert_int_equal(fixture->work[0].correlation_id, 2);
	assert_int_equal(fixture->call_count, 1);
	assert_int_equal(fixture->summary.device.work_outside, 2);
}

static void what_was_asked_for_between_two_windows_is_left_out_and_counted(void **state)
{
	const struct attempt wait = { .start_ns = 9000, .end_ns = 20000, .phase = PHASE_WAIT };
	const struct attempt third = { .start_ns = 20000, .end_ns = 21000, .phase = PHASE_ACTIVE };
	struct fixture *fixture = *state;

	assert_int_equal(attempt_log_add(&fixture->attempts, &wait), 0);
	assert_int_equal(attempt_log_add(&fixture->attempts, &third), 0);
	fixture->summary.ended_ns = 21000;
	launch(fixture, 1, 8000);
	run(fixture, 1, 7, 8100, 8200);
	launch(fixture, 2, 10000);
	run(fixture, 2, 7, 10100, 10200);
	launch(fixture, 3, 20500);
	run(fixture, 3, 7, 20600, 20700);
	finish(fixture);
	assert_int_equal(fixture->call_count, 2);
	assert_int_equal(fixture->work_count, 2);
	assert_int_equal(fixture->work[0].correlation_id, 1);
	assert_int_equal(fixture->work[1].correlation_id, 3);
	assert_int_equal(fixture->summary.device.work_outside, 1);
}

static void work_before_its_launch_is_dropped_and_counted(void **state)
{
	struct fixture *fixture = *state;

	launch(fixture, 1, 1500);
	run(fixture, 1, 7, 1499, 1600);
	finish(fixture);
	assert_int_equal(fixture->work_count, 0);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_TIME], 1);
}

static void a_range_has_a_row_on_each_stream_but_a_step_has_none(void **state)
{
	struct fixture *fixture = *state;
	struct span step = span_at(fixture, "ProfilerStep#3", SPAN_RANGE, 1000, 5000);

	add_at(fixture, "forward", SPAN_RANGE, 1100, 2000);
	step.is_step = true;
	add(fixture, &step);
	launch(fixture, 1, 1200);
	launch(fixture, 2, 1300);
	launch(fixture, 3, 1400);
	run(fixture, 1, 7, 1250, 1350);
	run(fixture, 2, 20, 1500, 1600);
	run(fixture, 3, 7, 1700, 1900);
	finish(fixture);
	assert_int_equal(fixture->annotation_count, 2);
	assert_int_equal(fixture->annotations[0].stream, 7);
	assert_int_equal(fixture->annotations[0].start_ns, 1250);
	assert_int_equal(fixture->annotations[0].end_ns, 1900);
	assert_int_equal(fixture->annotations[1].stream, 20);
	assert_string_equal(fixture->annotations[1].name, "forward");
	/* its rows are no device time of its own */
	assert_int_equal(fixture->summary.device.self_total_ns, 400);
}

static void a_range_on_too_many_streams_loses_rows_and_says_so(void **state)
{
	struct fixture *fixture = *state;
	uint32_t stream;

	fixture->sink.work = on_counted_work;
	fixture->sink.annotation = on_counted_annotation;
	add_at(fixture, "forward", SPAN_RANGE, 1100, 2000);
	launch(fixture, 1, 1200);
	for (stream = 0; stream < DEVICE_RANGE_STREAMS_MAX + 10; stream++)
		run(fixture, 1, stream, 1300, 1400);
	run(fixture, 1, 3, 1300, 1500); /* has its row */
	finish(fixture);
	assert_int_equal(fixture->annotation_count, DEVICE_RANGE_STREAMS_MAX);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_TABLE_FULL], 10);
}

static void busy_is_the_union_of_the_streams_in_each_attempt(void **state)
{
	struct fixture *fixture = *state;

	launch(fixture, 1, 1100);
	launch(fixture, 2, 1200);
	launch(fixture, 3, 1300);
	run(fixture, 1, 7, 2000, 3000);
	run(fixture, 2, 20, 2500, 3500);
	run(fixture, 3, 7, 4900, 5200);
	finish(fixture);
	assert_int_equal(fixture->summary.device.busy_count, 2);
	assert_int_equal(fixture->summary.device.busy[0].busy_ns, 1600);
	assert_int_equal(fixture->summary.device.busy[0].idle_ns, 2400);
	assert_int_equal(fixture->summary.device.busy[1].attempt, 1);
	assert_int_equal(fixture->summary.device.busy[1].busy_ns, 200);
}

static void a_merged_only_child_gives_its_work_to_the_row_of_both(void **state)
{
	struct fixture *fixture = *state;
	struct span inner = span_at(fixture, "AddBackward0", SPAN_NODE, 1200, 1400);

	inner.is_merged = true;
	add(fixture, &inner);
	add_at(fixture, "AddBackward0", SPAN_NODE, 1100, 1500);
	launch(fixture, 1, 1250);
	run(fixture, 1, 7, 1300, 1400);
	finish(fixture);
	assert_int_equal(row_of(fixture, "AddBackward0")->device_self_ns, 100);
	assert_int_equal(row_of(fixture, "AddBackward0")->device_total_ns, 100);
}

static void a_wait_is_no_work(void **state)
{
	struct fixture *fixture = *state;
	struct device_work wait = {
		.start_ns = 1300,
		.end_ns = 1900,
		.name = named(fixture, "Stream Wait Event"),
		.correlation_id = 1,
		.kind = DEVICE_SYNC,
		.sync = SYNC_STREAM_WAITS,
	};

	add_at(fixture, "aten::mm", SPAN_OPERATOR, 1200, 1400);
	launch(fixture, 1, 1250);
	assert_int_equal(correlate_work(fixture->correlate, &wait), 0);
	finish(fixture);
	assert_int_equal(fixture->work_count, 1);
	assert_int_equal(row_of(fixture, "aten::mm")->device_total_ns, 0);
	assert_int_equal(fixture->summary.device.busy_count, 0);
}

static void another_threads_operators_are_not_the_calls(void **state)
{
	struct fixture *fixture = *state;
	struct span other = span_at(fixture, "aten::mm", SPAN_OPERATOR, 1000, 9000);

	other.tid = 8;
	add(fixture, &other);
	launch(fixture, 1, 1250);
	run(fixture, 1, 7, 1300, 1400);
	finish(fixture);
	assert_int_equal(fixture->work[0].external_id, 0);
	assert_int_equal(row_of(fixture, "aten::mm")->device_total_ns, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(work_belongs_to_the_innermost_operator_of_its_call),
		TEST(a_call_takes_its_time_out_of_the_operator),
		TEST(a_call_that_outlasts_an_inferred_end_is_the_outer_ones),
		TEST(a_probed_call_learns_its_operator_and_counts_once),
		TEST(a_driver_call_inside_a_runtime_call_is_its_child),
		TEST(calls_of_which_none_holds_the_next_are_quickly_through),
		TEST(what_was_asked_for_outside_the_window_is_left_out_and_counted),
		TEST(what_was_asked_for_between_two_windows_is_left_out_and_counted),
		TEST(work_before_its_launch_is_dropped_and_counted),
		TEST(a_range_has_a_row_on_each_stream_but_a_step_has_none),
		TEST(a_range_on_too_many_streams_loses_rows_and_says_so),
		TEST(busy_is_the_union_of_the_streams_in_each_attempt),
		TEST(a_merged_only_child_gives_its_work_to_the_row_of_both),
		TEST(a_wait_is_no_work),
		TEST(another_threads_operators_are_not_the_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
