/* trace.json: Kineto's form, field by field, and valid JSON whatever the names hold. */
#include "support/test.h"

#include <cjson/cJSON.h>

#include "support/shapes.h"
#include "support/summaries.h"

struct fixture {
	struct capture capture;
	struct memory_sink memory;
	struct writer *writer;
	cJSON *root;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	capture_init(&fixture->capture);
	memory_sink_init(&fixture->memory);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	if (fixture->writer)
		fixture->writer->ops->free(fixture->writer);
	cJSON_Delete(fixture->root);
	memory_sink_fini(&fixture->memory);
	free(fixture);
	return 0;
}

static void open_trace(struct fixture *fixture)
{
	assert_int_equal(chrome_trace_new(&fixture->writer, &fixture->memory.sink,
					  &fixture->capture.summary),
			 0);
}

static struct span span_of(const char *name, uint64_t start_ns, uint64_t end_ns)
{
	static uint64_t last_id;

	return (struct span){
		.name = name,
		.id = ++last_id,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.sequence = WIRE_SEQUENCE_NONE,
		.tid = 42,
		.is_finished = true,
	};
}

static struct span operator_of(const char *name, uint64_t start_ns, uint64_t end_ns)
{
	struct span span = span_of(name, start_ns, end_ns);

	span.kind = SPAN_OPERATOR;
	span.overload = "";
	return span;
}

static void add(struct fixture *fixture, const struct span *span)
{
	assert_int_equal(fixture->writer->ops->span(fixture->writer, span), 0);
}

static void finish(struct fixture *fixture)
{
	assert_int_equal(fixture->writer->ops->finish(fixture->writer, &fixture->capture.summary),
			 0);
	fixture->root = cJSON_ParseWithOpts(memory_sink_text(&fixture->memory), NULL, true);
	assert_non_null(fixture->root);
}

static const cJSON *events(const struct fixture *fixture)
{
	return cJSON_GetObjectItemCaseSensitive(fixture->root, "traceEvents");
}

/* The first event of that name. */
static const cJSON *event(const struct fixture *fixture, const char *name)
{
	const cJSON *at;

	cJSON_ArrayForEach(at, events(fixture))
	{
		if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(at, "name")), name))
			return at;
	}
	fail_msg("no event %s", name);
	return NULL;
}

#define assert_text(object, key, text)                                                           \
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key)), \
			    text)
#define assert_number(object, key, number) \
	assert_true(cJSON_GetObjectItemCaseSensitive(object, key)->valuedouble == (double)(number))

/* An id that no work has would make a launch of it whose work was lost. */
static void a_probed_call_has_no_correlation_and_no_arrow(void **state)
{
	struct fixture *fixture = *state;
	struct device_call call = {
		.start_ns = 2000,
		.end_ns = 5000,
		.external_id = 9,
		.name = "cudaLaunchKernel",
		.tid = 42,
		.callback_id = 211,
		.is_probed = true,
	};
	const cJSON *args, *at;

	open_trace(fixture);
	assert_int_equal(fixture->writer->ops->device_call(fixture->writer, &call), 0);
	call.name = "cudaNewCall"; /* whose number is not known */
	call.external_id = call.callback_id = 0;
	call.is_unfinished = true;
	assert_int_equal(fixture->writer->ops->device_call(fixture->writer, &call), 0);
	finish(fixture);
	args = cJSON_GetObjectItem(event(fixture, "cudaLaunchKernel"), "args");
	assert_text(event(fixture, "cudaLaunchKernel"), "cat", "cuda_runtime");
	assert_number(args, "External id", 9);
	assert_number(args, "cbid", 211);
	assert_int_equal(cJSON_GetArraySize(args), 2);
	args = cJSON_GetObjectItem(event(fixture, "cudaNewCall"), "args");
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(args, "finished")));
	assert_int_equal(cJSON_GetArraySize(args), 1);
	cJSON_ArrayForEach(at, events(fixture))
	{
		assert_string_not_equal(cJSON_GetStringValue(cJSON_GetObjectItem(at, "name")),
					"ac2g");
	}
}

static void the_head_is_what_readers_look_for(void **state)
{
	struct fixture *fixture = *state;
	const cJSON *info;
	const char *text, *rank;

	open_trace(fixture);
	finish(fixture);
	text = memory_sink_text(&fixture->memory);
	rank = strstr(text, "\"rank\": 0"); /* TensorBoard's plugin searches for these bytes */
	assert_non_null(rank);
	assert_true(rank < strstr(text, "traceEvents"));
	info = cJSON_GetObjectItem(fixture->root, "distributedInfo");
	assert_number(info, "rank", 0);
	assert_number(info, "world_size", 1);
	assert_number(fixture->root, "schemaVersion", 1);
	assert_text(fixture->root, "host_name", "node-1");
	assert_text(fixture->root, "trace_id", fixture->capture.session.session_id);
	assert_text(fixture->root, "displayTimeUnit", "ms");
	assert_true(cJSON_IsArray(cJSON_GetObjectItem(fixture->root, "deviceProperties")));
	/* The last multiple of three months before 2001-09-09. */
	assert_number(fixture->root, "baseTimeNanoseconds", 126 * 7889238 * 1e9);
}

static void the_rank_of_a_distributed_job_is_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.session.job.rank = 3;
	fixture->capture.session.job.world_size = 8;
	open_trace(fixture);
	finish(fixture);
	assert_non_null(strstr(memory_sink_text(&fixture->memory), "\"rank\": 3"));
	assert_number(cJSON_GetObjectItem(fixture->root, "distributedInfo"), "world_size", 8);
}

/* One line, with these fields in this order; the numbers as text, for double is too short. */
static void an_event_is_a_line_of_kinetos_fields(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("forward", 22001234, 23001239);
	const int64_t ts_ns = 1000000000000000000LL - 126 * 7889238LL * 1000000000LL + 22001234;
	char expected[512];

	span.id = 7;
	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	snprintf(expected, sizeof(expected),
		 "\n    {\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"forward\", "
		 "\"pid\": 42, \"tid\": 42, \"ts\": %lld.%03lld, \"dur\": 1000.005, "
		 "\"args\": {\"External id\": 7, \"Record function id\": 0, \"Ev Idx\": 6}},\n",
		 (long long)(ts_ns / 1000), (long long)(ts_ns % 1000));
	assert_non_null(strstr(memory_sink_text(&fixture->memory), expected));
}

static void times_have_three_decimals(void **state)
{
	struct fixture *fixture = *state;
	struct span first = span_of("a", 22000000, 22000000);
	struct span second = span_of("b", 22000001, 1022000000);
	const char *at;
	int seen = 0;

	open_trace(fixture);
	add(fixture, &first);
	add(fixture, &second);
	finish(fixture);
	for (at = memory_sink_text(&fixture->memory); (at = strstr(at, "\"ts\": ")); seen++) {
		at += strlen("\"ts\": ");
		at += strspn(at, "0123456789");
		assert_int_equal(*at, '.');
		assert_int_equal(strspn(at + 1, "0123456789"), 3);
	}
	assert_true(seen >= 7);
	assert_non_null(strstr(memory_sink_text(&fixture->memory), "\"dur\": 0.000,"));
	assert_non_null(strstr(memory_sink_text(&fixture->memory), "\"dur\": 999999.999,"));
}

static void a_region_is_an_operator_to_readers(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("## Call CompiledFxGraph x ##", 22000000, 23000000);

	span.kind = SPAN_REGION;
	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	assert_text(event(fixture, span.name), "cat", "cpu_op");
}

static void an_unfinished_span_says_so(void **state)
{
	struct fixture *fixture = *state;
	struct span whole = span_of("whole", 22000000, 23000000);
	struct span open = span_of("open", 22000000, 47000000);
	const cJSON *args;

	open.is_finished = false;
	open_trace(fixture);
	add(fixture, &whole);
	add(fixture, &open);
	finish(fixture);
	args = cJSON_GetObjectItem(event(fixture, "open"), "args");
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(args, "finished")));
	args = cJSON_GetObjectItem(event(fixture, "whole"), "args");
	assert_false(cJSON_HasObjectItem(args, "finished"));
}

/* What args holds, as text. */
static void assert_args(struct fixture *fixture, const struct span *span, const char *expected)
{
	char args[512];

	open_trace(fixture);
	add(fixture, span);
	finish(fixture);
	snprintf(args, sizeof(args), "\"args\": {\"External id\": 7, \"Record function id\": 0%s}}",
		 expected);
	if (!strstr(memory_sink_text(&fixture->memory), args))
		fail_msg("no %s in %s", args, memory_sink_text(&fixture->memory));
}

static void an_operator_has_its_numbers(void **state)
{
	struct span span = operator_of("aten::addmm", 22000000, 23000000);

	span.id = 7;
	span.sequence = 12;
	assert_args(*state, &span,
		    ", \"Sequence number\": 12, \"Fwd thread id\": 0, \"Ev Idx\": 6");
	assert_text(event(*state, "aten::addmm"), "cat", "cpu_op");
}

static void a_node_names_the_thread_of_its_forward(void **state)
{
	struct span span = operator_of("AddmmBackward0", 22000000, 23000000);

	span.id = 7;
	span.kind = SPAN_NODE;
	span.sequence = 0;
	span.forward_thread = 1;
	assert_args(*state, &span, ", \"Sequence number\": 0, \"Fwd thread id\": 1, \"Ev Idx\": 6");
}

static void what_is_known_of_an_end_is_told(void **state)
{
	struct span span = operator_of("aten::add", 22000000, 23000000);

	span.id = 7;
	span.overload = "Tensor";
	span.is_inferred = true;
	span.is_unwound = true;
	assert_args(*state, &span,
		    ", \"Ev Idx\": 6, \"overload\": \"Tensor\", \"inferred end\": true, "
		    "\"unwound\": true");
}

/* Whoever makes a range need not know of numbers. */
static void a_range_has_no_sequence(void **state)
{
	struct span span = span_of("forward", 22000000, 23000000);

	span.id = 7;
	span.sequence = 0;
	assert_args(*state, &span, ", \"Ev Idx\": 6");
}

static void every_kind_has_its_category(void **state)
{
	static const struct {
		enum span_kind kind;
		const char *name, *category;
	} rows[] = {
		{ SPAN_RANGE, "range", "user_annotation" },
		{ SPAN_REGION, "region", "cpu_op" },
		{ SPAN_OPERATOR, "operator", "cpu_op" },
		{ SPAN_NODE_OUTER, "outer", "cpu_op" },
		{ SPAN_NODE, "node", "cpu_op" },
		{ SPAN_FUNCTION, "function", "cpu_op" },
	};
	struct fixture *fixture = *state;
	size_t i;

	open_trace(fixture);
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct span span = span_of(rows[i].name, 22000000, 23000000);

		span.kind = (uint8_t)rows[i].kind;
		add(fixture, &span);
	}
	finish(fixture);
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_text(event(fixture, rows[i].name), "cat", rows[i].category);
}

static void shapes_are_told_as_kineto_does(void **state)
{
	struct wire_shapes shapes = shapes_none();
	struct span span = operator_of("aten::addmm", 22000000, 23000000);

	span.id = 7;
	span.shapes = &shapes;
	shapes_tensor(&shapes, 10);
	shapes_tensor(&shapes, 64, 512);
	shapes.arguments[1].type = SCALAR_LONG;
	shapes_add(&shapes, ARGUMENT_UNDEFINED);
	shapes_integers(&shapes, 1, 1);
	shapes.argument_count = 5;
	assert_args(*state, &span,
		    ", \"Input Dims\": [[10], [64, 512], [], [], []], "
		    "\"Input Strides\": [[1], [512, 1], [], [], []], "
		    "\"Input type\": [\"float\", \"long int\", \"\", \"ScalarList\", \"\"], "
		    "\"Ev Idx\": 6");
}

static void shapes_of_any_bytes_parse(void **state)
{
	struct fixture *fixture = *state;
	struct wire_shapes shapes;
	struct span span = operator_of("aten::addmm", 22000000, 23000000);
	uint64_t random = 7;
	unsigned int i;

	span.shapes = &shapes;
	open_trace(fixture);
	for (i = 0; i < 300; i++) {
		unsigned char *bytes = (unsigned char *)&shapes;
		size_t at;

		for (at = 0; at < sizeof(shapes); at++)
			bytes[at] = (unsigned char)random_next(&random);
		add(fixture, &span);
	}
	finish(fixture);
}

static void an_arrow_ties_to_both_its_slices(void **state)
{
	struct fixture *fixture = *state;
	struct span forward = operator_of("aten::addmm", 22000123, 23000000);
	struct span backward = operator_of("AddmmBackward0", 24000457, 25000000);
	const struct flow flow = {
		.id = 3, .from_ns = 22000123, .to_ns = 24000457, .from_tid = 42, .to_tid = 43
	};
	const cJSON *at, *row;
	int seen = 0;

	backward.kind = SPAN_NODE;
	backward.tid = 43;
	open_trace(fixture);
	add(fixture, &forward);
	add(fixture, &backward);
	assert_int_equal(fixture->writer->ops->flow(fixture->writer, &flow), 0);
	finish(fixture);
	cJSON_ArrayForEach(at, events(fixture))
	{
		bool is_start = !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(at, "ph")), "s");

		if (strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(at, "name")), "fwdbwd"))
			continue;
		seen++;
		row = event(fixture, is_start ? "aten::addmm" : "AddmmBackward0");
		assert_text(at, "ph", is_start ? "s" : "f");
		assert_text(at, "cat", "fwdbwd");
		assert_number(at, "id", 3);
		assert_number(at, "pid", 42);
		assert_number(at, "tid", cJSON_GetObjectItem(row, "tid")->valuedouble);
		assert_number(at, "ts", cJSON_GetObjectItem(row, "ts")->valuedouble);
		assert_true(cJSON_HasObjectItem(at, "bp") == !is_start);
	}
	assert_int_equal(seen, 2);
}

static void memory_is_told_in_instants(void **state)
{
	struct fixture *fixture = *state;
	const struct memory_event freed = {
		.time_ns = 22000000,
		.address = 0x7f0000001000,
		.size_bytes = -4096,
		.total_allocated_bytes = 8192,
		.tid = 42,
		.device_type = WIRE_DEVICE_CPU,
	};
	const struct memory_event out = {
		.time_ns = 22000001,
		.size_bytes = 1 << 20,
		.total_allocated_bytes = 1 << 10,
		.total_reserved_bytes = 1 << 11,
		.tid = 43,
		.device_type = 1,
		.device_index = 3,
		.is_out_of_memory = true,
	};

	open_trace(fixture);
	assert_int_equal(fixture->writer->ops->memory(fixture->writer, &freed), 0);
	assert_int_equal(fixture->writer->ops->memory(fixture->writer, &out), 0);
	finish(fixture);
	assert_text(event(fixture, "[memory]"), "ph", "i");
	assert_text(event(fixture, "[memory]"), "s", "t");
	assert_text(event(fixture, "[memory]"), "cat", "cpu_instant_event");
	assert_number(event(fixture, "[memory]"), "tid", 42);
	assert_non_null(strstr(memory_sink_text(&fixture->memory),
			       "\"args\": {\"Total Reserved\": 0, \"Total Allocated\": 8192, "
			       "\"Bytes\": -4096, \"Device Id\": -1, \"Device Type\": 0, "
			       "\"Addr\": 139637976731648, \"Ev Idx\": 0}}"));
	assert_number(event(fixture, "[OutOfMemory]"), "tid", 43);
	assert_non_null(strstr(memory_sink_text(&fixture->memory),
			       "\"args\": {\"Total Reserved\": 2048, \"Total Allocated\": 1024, "
			       "\"Bytes\": 1048576, \"Device Id\": 3, \"Device Type\": 1, "
			       "\"Ev Idx\": 1}}"));
	assert_number(event(fixture, "process_name"), "ts",
		      cJSON_GetObjectItem(event(fixture, "[memory]"), "ts")->valuedouble);
}

static void calls_of_modules_are_pythons_functions(void **state)
{
	struct fixture *fixture = *state;
	const struct module_call outer = {
		.name = "nn.Module: Net_0",
		.id = 1,
		.start_ns = 22000000,
		.end_ns = 23000000,
		.tid = 42,
		.module_id = 7,
		.is_finished = true,
	};
	const struct module_call inner = {
		.name = "nn.Module: \"Linear\"_0",
		.id = 2,
		.parent_id = 1,
		.start_ns = 22000500,
		.end_ns = 22000500,
		.tid = 42,
	};

	open_trace(fixture);
	assert_int_equal(fixture->writer->ops->module(fixture->writer, &inner), 0);
	assert_int_equal(fixture->writer->ops->module(fixture->writer, &outer), 0);
	finish(fixture);
	assert_text(event(fixture, outer.name), "ph", "X");
	assert_text(event(fixture, outer.name), "cat", "python_function");
	assert_number(event(fixture, outer.name), "pid", 42);
	assert_number(event(fixture, outer.name), "tid", 42);
	assert_number(event(fixture, outer.name), "dur", 1000);
	assert_number(event(fixture, inner.name), "dur", 0);
	assert_non_null(strstr(memory_sink_text(&fixture->memory),
			       "\"args\": {\"Python parent id\": null, \"Python id\": 1, "
			       "\"Python module id\": 7}}"));
	assert_non_null(strstr(memory_sink_text(&fixture->memory),
			       "\"args\": {\"Python parent id\": 1, \"Python id\": 2, "
			       "\"Python module id\": 0, \"finished\": false}}"));
	assert_number(event(fixture, "process_name"), "ts",
		      cJSON_GetObjectItem(event(fixture, outer.name), "ts")->valuedouble);
}

static void process_and_threads_have_rows(void **state)
{
	struct fixture *fixture = *state;
	struct span late = span_of("late", 30000000, 31000000);
	struct span early = span_of("early", 25000000, 26000000);
	const cJSON *row;

	open_trace(fixture);
	add(fixture, &late);
	add(fixture, &early);
	finish(fixture);
	row = event(fixture, "process_name");
	assert_text(row, "ph", "M");
	assert_number(row, "pid", 42);
	assert_number(row, "tid", 0);
	assert_number(row, "ts", cJSON_GetObjectItem(event(fixture, "early"), "ts")->valuedouble);
	assert_text(cJSON_GetObjectItem(row, "args"), "name", "python3");
	assert_text(cJSON_GetObjectItem(event(fixture, "process_labels"), "args"), "labels", "CPU");
	assert_number(cJSON_GetObjectItem(event(fixture, "process_sort_index"), "args"),
		      "sort_index", 42);
	row = event(fixture, "thread_name");
	assert_number(row, "tid", 42);
	assert_text(cJSON_GetObjectItem(row, "args"), "name", "thread 42 (python3)");
	assert_number(cJSON_GetObjectItem(event(fixture, "thread_sort_index"), "args"),
		      "sort_index", 42);
}

static void steps_on_a_row_of_their_own_have_its_name(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.steps_on_own_row = true;
	fixture->capture.summary.thread_count = 0;
	open_trace(fixture);
	finish(fixture);
	assert_number(event(fixture, "thread_name"), "tid", 0);
	assert_text(cJSON_GetObjectItem(event(fixture, "thread_name"), "args"), "name", "steps");
}

static void the_window_ends_the_trace(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("forward", 22000000, 23000000);
	const cJSON *start, *last, *at;
	int ends = 0;

	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	start = event(fixture, "Iteration Start: PyTorch Profiler");
	assert_text(start, "ph", "i");
	assert_text(start, "s", "g");
	assert_text(start, "pid", "Traces");
	assert_text(start, "tid", "Trace PyTorch Profiler");
	assert_number(start, "ts",
		      cJSON_GetObjectItem(event(fixture, "forward"), "ts")->valuedouble);
	cJSON_ArrayForEach(at, events(fixture))
	{
		ends += !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(at, "name")),
				"Record Window End");
	}
	assert_int_equal(ends, 1);
	last = cJSON_GetArrayItem(events(fixture), cJSON_GetArraySize(events(fixture)) - 1);
	assert_text(last, "name", "Record Window End");
	assert_text(last, "pid", "");
	assert_text(last, "tid", "");
}

static void holes_are_marked_at_both_ends(void **state)
{
	static const struct hole hole = { 23000000, 24000000, 4, 1U << WIRE_OP_END, 0 };
	struct fixture *fixture = *state;
	const cJSON *from, *to, *args;

	fixture->capture.summary.holes = &hole;
	fixture->capture.summary.hole_count = 1;
	open_trace(fixture);
	finish(fixture);
	from = event(fixture, "Records lost from here");
	to = event(fixture, "Records lost up to here");
	assert_text(from, "ph", "i");
	assert_text(from, "s", "g");
	args = cJSON_GetObjectItem(from, "args");
	assert_number(args, "records", 4);
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetArrayItem(cJSON_GetObjectItem(args, "kinds"), 0)),
		"operator_ends");
	assert_true(cJSON_GetObjectItem(to, "ts")->valuedouble -
			    cJSON_GetObjectItem(from, "ts")->valuedouble ==
		    1000);
}

/* speedscope refuses them. */
static void no_span_is_a_trace_span(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("forward", 22000000, 23000000);

	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	assert_null(strstr(memory_sink_text(&fixture->memory), "\"cat\": \"Trace\""));
}

static void hostile_names_stay_names(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of(HOSTILE_NAME, 22000000, 23000000);
	int spans = 0;
	const cJSON *at;

	strcpy(fixture->capture.session.job.host, HOSTILE_NAME);
	strcpy(fixture->capture.session.job.process_name, HOSTILE_NAME);
	strcpy(fixture->capture.session.session_id, "\"\x01\xff");
	fixture->capture.threads[0].name = "\"},{\x1b\xc3"; /* cut inside a character */
	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	cJSON_ArrayForEach(at, events(fixture))
	{
		spans += !strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(at, "ph")), "X");
	}
	assert_int_equal(spans, 1);
	assert_null(strpbrk(memory_sink_text(&fixture->memory), "\x1b\x07\r\x7f"));
}

/* A capture file may say anything of its clock. */
static void times_before_the_base_are_zero(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("forward", 0, 1000);

	fixture->capture.session.header.time_ns = 1ULL << 61;
	open_trace(fixture);
	add(fixture, &span);
	finish(fixture);
	assert_number(event(fixture, "forward"), "ts", 0);
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of("forward", 22000000, 23000000);

	memory_sink_init_limited(&fixture->memory, 700);
	open_trace(fixture);
	while (!fixture->writer->ops->span(fixture->writer, &span))
		;
	assert_int_equal(fixture->writer->ops->span(fixture->writer, &span), -ENOSPC);
	assert_int_equal(fixture->writer->ops->finish(fixture->writer, &fixture->capture.summary),
			 -ENOSPC);
	assert_int_equal(fixture->memory.failures, 1);
}

static void an_error_in_the_head_comes_back_at_once(void **state)
{
	struct fixture *fixture = *state;

	memory_sink_init_limited(&fixture->memory, 10);
	assert_int_equal(chrome_trace_new(&fixture->writer, &fixture->memory.sink,
					  &fixture->capture.summary),
			 -ENOSPC);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_head_is_what_readers_look_for),
		TEST(a_probed_call_has_no_correlation_and_no_arrow),
		TEST(the_rank_of_a_distributed_job_is_told),
		TEST(an_event_is_a_line_of_kinetos_fields),
		TEST(times_have_three_decimals),
		TEST(a_region_is_an_operator_to_readers),
		TEST(an_unfinished_span_says_so),
		TEST(an_operator_has_its_numbers),
		TEST(a_node_names_the_thread_of_its_forward),
		TEST(what_is_known_of_an_end_is_told),
		TEST(a_range_has_no_sequence),
		TEST(every_kind_has_its_category),
		TEST(shapes_are_told_as_kineto_does),
		TEST(shapes_of_any_bytes_parse),
		TEST(an_arrow_ties_to_both_its_slices),
		TEST(memory_is_told_in_instants),
		TEST(calls_of_modules_are_pythons_functions),
		TEST(process_and_threads_have_rows),
		TEST(steps_on_a_row_of_their_own_have_its_name),
		TEST(the_window_ends_the_trace),
		TEST(holes_are_marked_at_both_ends),
		TEST(no_span_is_a_trace_span),
		TEST(hostile_names_stay_names),
		TEST(times_before_the_base_are_zero),
		TEST(the_error_of_the_sink_comes_back),
		TEST(an_error_in_the_head_comes_back_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
