/* What the agent's batches tell, and what becomes of damaged ones. */
#include "support/test.h"

#include "ingest/agent_batch.h"
#include "ingest/agent_reader.h"
#include "model/sink.h"
#include "support/agent_batches.h"

struct fixture {
	struct agent_sink sink;
	struct name_table *names;
	struct agent_reader *reader;
	struct packed packed;
	struct summary summary;
	struct device_work work;
	struct device_call call;
	struct device_overhead overhead;
	size_t work_count, call_count, overhead_count;
};

static int on_work(struct agent_sink *sink, const struct device_work *work)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_non_null(work->name);
	assert_true(work->start_ns <= work->end_ns);
	fixture->work = *work;
	fixture->work_count++;
	return 0;
}

static int on_call(struct agent_sink *sink, const struct device_call *call)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_non_null(call->name);
	assert_true(call->start_ns <= call->end_ns);
	fixture->call = *call;
	fixture->call_count++;
	return 0;
}

static int on_overhead(struct agent_sink *sink, const struct device_overhead *overhead)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	fixture->overhead = *overhead;
	fixture->overhead_count++;
	return 0;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, 100))
		return -1;
	fixture->sink = (struct agent_sink){ on_work, on_call, on_overhead };
	packed_begin(&fixture->packed, 5, 0);
	*state = fixture;
	return agent_reader_new(&fixture->reader, fixture->names, &fixture->sink);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	agent_reader_free(fixture->reader);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static void feed(struct fixture *fixture)
{
	struct event event = packed_event(&fixture->packed);

	assert_int_equal(agent_reader_batch(fixture->reader, &event), 0);
}

static void summarize(struct fixture *fixture)
{
	memset(&fixture->summary, 0, sizeof(fixture->summary));
	assert_int_equal(agent_reader_summarize(fixture->reader, &fixture->summary), 0);
}

static bool has_remark(struct fixture *fixture, const char *part)
{
	size_t i;

	for (i = 0; i < fixture->summary.device.remark_count; i++) {
		if (strstr(fixture->summary.device.remarks[i], part))
			return true;
	}
	return false;
}

static void a_kernel_has_its_name_as_people_write_it(void **state)
{
	struct fixture *fixture = *state;
	struct agent_kernel *kernel;

	packed_name(&fixture->packed, 3, "_Z6vectorPfi");
	kernel = packed_kernel(&fixture->packed, 3, 1000, 2000);
	kernel->grid[1] = 4;
	kernel->registers_per_thread = 32;
	feed(fixture);
	assert_int_equal(fixture->work_count, 1);
	assert_string_equal(fixture->work.name, "vector(float*, int)");
	assert_int_equal(fixture->work.correlation_id, 77);
	assert_int_equal(fixture->work.stream, 7);
	assert_int_equal(fixture->work.grid.y, 4);
	assert_int_equal(fixture->work.registers, 32);
}

static void a_call_loses_the_version_of_its_name(void **state)
{
	struct fixture *fixture = *state;
	struct agent_api *api;

	packed_name(&fixture->packed, 1, "__cudaLaunchKernel_v13000");
	api = packed_add(&fixture->packed, AGENT_API, sizeof(*api), NULL);
	api->name = 1;
	api->start_ns = 10;
	api->end_ns = 20;
	api->thread = 42;
	api->domain = AGENT_API_RUNTIME;
	feed(fixture);
	assert_string_equal(fixture->call.name, "cudaLaunchKernel");
	assert_int_equal(fixture->call.tid, 42);
	assert_true(fixture->call.is_launch);
	assert_false(fixture->call.is_driver);
}

static void copies_and_sets_are_named_as_kineto_names_them(void **state)
{
	struct fixture *fixture = *state;
	struct agent_memcpy *copy = packed_add(&fixture->packed, AGENT_MEMCPY, sizeof(*copy), NULL);
	struct agent_memset *set;

	copy->start_ns = 10;
	copy->end_ns = 20;
	copy->copy_kind = 1;
	copy->source_kind = 2;
	copy->target_kind = 3;
	feed(fixture);
	assert_string_equal(fixture->work.name, "Memcpy HtoD (Pinned -> Device)");
	packed_begin(&fixture->packed, 5, 1);
	set = packed_add(&fixture->packed, AGENT_MEMSET, sizeof(*set), NULL);
	set->start_ns = 10;
	set->end_ns = 20;
	set->memory_kind = 3;
	feed(fixture);
	assert_string_equal(fixture->work.name, "Memset (Device)");
}

static void work_without_a_time_is_counted_and_dropped(void **state)
{
	struct fixture *fixture = *state;

	packed_kernel(&fixture->packed, 0, 0, 0)->record.flags = AGENT_TIME_NONE;
	packed_kernel(&fixture->packed, 0, 5, 6)->record.flags = AGENT_TIME_RAW;
	packed_kernel(&fixture->packed, 0, 6, 5);
	packed_kernel(&fixture->packed, 0, 5, 1ULL << 63);
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->work_count, 0);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_TIME], 4);
}

static void a_gap_in_the_sequence_is_a_lost_batch(void **state)
{
	struct fixture *fixture = *state;

	feed(fixture);
	packed_begin(&fixture->packed, 5, 3);
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_BATCH], 2);
	assert_true(has_remark(fixture, "did not say that it was done"));
}

static void what_the_job_lost_is_counted_once(void **state)
{
	struct fixture *fixture = *state;
	struct agent_end *end;

	packed_head(&fixture->packed)->counts[AGENT_COUNT_CUPTI_LOST] = 4;
	feed(fixture);
	packed_begin(&fixture->packed, 5, 1);
	packed_head(&fixture->packed)->counts[AGENT_COUNT_CUPTI_LOST] = 6;
	packed_head(&fixture->packed)->counts[AGENT_COUNT_MUTED] = 100; /* no loss */
	end = packed_add(&fixture->packed, AGENT_END, sizeof(*end), NULL);
	end->reason = AGENT_END_ASKED;
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_DROPPED], 6);
	assert_false(has_remark(fixture, "did not say"));
}

static void another_session_begins_with_no_names(void **state)
{
	struct fixture *fixture = *state;

	packed_name(&fixture->packed, 3, "first");
	feed(fixture);
	packed_begin(&fixture->packed, 6, 0);
	packed_kernel(&fixture->packed, 3, 1, 2);
	feed(fixture);
	assert_string_equal(fixture->work.name, "(unnamed kernel)");
	summarize(fixture);
	assert_true(has_remark(fixture, "without a name"));
	assert_true(has_remark(fixture, "began anew"));
}

/* As in a capture of several cycles. */
static void another_session_after_the_end_of_one_is_no_remark(void **state)
{
	struct fixture *fixture = *state;

	packed_add(&fixture->packed, AGENT_END, sizeof(struct agent_end), NULL);
	feed(fixture);
	packed_begin(&fixture->packed, 6, 0);
	packed_add(&fixture->packed, AGENT_END, sizeof(struct agent_end), NULL);
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->summary.device.remark_count, 0);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_ENDED_EARLY], 0);
}

static void what_the_agent_says_of_itself_becomes_a_sentence(void **state)
{
	struct fixture *fixture = *state;
	struct agent_status *status;
	unsigned int i;

	for (i = 0; i < 2; i++) { /* said once */
		status = packed_add(&fixture->packed, AGENT_STATUS, sizeof(*status),
				    "cuptiActivityEnable");
		status->code = AGENT_STATUS_BUSY;
		status->text_size = 19;
	}
	feed(fixture);
	packed_begin(&fixture->packed, 5, 1);
	packed_add(&fixture->packed, AGENT_END, sizeof(struct agent_end), NULL);
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->summary.device.remark_count, 1);
	assert_string_equal(fixture->summary.device.remarks[0],
			    "another tool has CUPTI in this job (cuptiActivityEnable: error 39)");
}

/* Its calls are probed instead: that it did not end is no loss, why it was given up is still said.
 */
static void of_an_agent_that_was_given_up_only_words_are_left(void **state)
{
	struct fixture *fixture = *state;
	struct agent_status *status =
		packed_add(&fixture->packed, AGENT_STATUS, sizeof(*status), NULL);

	status->code = AGENT_STATUS_NO_CUPTI;
	packed_kernel(&fixture->packed, 0, 0, 0)->record.flags = AGENT_TIME_NONE;
	packed_head(&fixture->packed)->counts[AGENT_COUNT_CUPTI_LOST] = 4;
	packed_head(&fixture->packed)->sequence = 2;
	feed(fixture);
	summarize(fixture);
	assert_true(has_remark(fixture, "did not say that it was done"));
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_ENDED_EARLY], 1);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_DROPPED], 4);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_BATCH], 2);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_TIME], 1);
	agent_reader_free(fixture->reader);
	assert_int_equal(agent_reader_new(&fixture->reader, fixture->names, &fixture->sink), 0);
	feed(fixture);
	agent_reader_give_up(fixture->reader);
	summarize(fixture);
	assert_false(summary_has_lost_data(&fixture->summary));
	assert_int_equal(fixture->summary.device.remark_count, 1);
	assert_string_equal(fixture->summary.device.remarks[0], "the job has no libcupti mapped");
}

static void devices_are_listed_up_to_the_highest(void **state)
{
	struct fixture *fixture = *state;
	struct agent_device *device =
		packed_add(&fixture->packed, AGENT_DEVICE, sizeof(*device), "NVIDIA H200");
	const struct device_properties *devices;
	size_t count;

	device->id = 2;
	device->name_size = 11;
	device->multiprocessors = 132;
	device = packed_add(&fixture->packed, AGENT_DEVICE, sizeof(*device), "many");
	device->id = 4000000000U;
	feed(fixture);
	devices = agent_reader_devices(fixture->reader, &count);
	assert_int_equal(count, 3);
	assert_int_equal(devices[1].id, 1);
	assert_string_equal(devices[2].name, "NVIDIA H200");
	assert_int_equal(devices[2].multiprocessors, 132);
}

static void what_is_no_batch_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct agent_batch *head = packed_head(&fixture->packed);

	head->magic = 1;
	feed(fixture);
	head->magic = AGENT_MAGIC;
	head->size = (uint32_t)fixture->packed.size_bytes + 1;
	feed(fixture);
	head->size = (uint32_t)fixture->packed.size_bytes;
	head->header_size = 8;
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_BATCH], 3);
}

static void records_of_wrong_sizes_end_the_batch_and_are_counted(void **state)
{
	static const uint16_t sizes[] = { 0, 4, 12, 64, 65528 };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(sizes); i++) {
		struct agent_kernel *kernel;

		packed_begin(&fixture->packed, 5, i);
		packed_kernel(&fixture->packed, 0, 5, 6);
		kernel = packed_kernel(&fixture->packed, 0, 5, 6);
		kernel->record.size = sizes[i];
		feed(fixture);
		assert_int_equal(fixture->work_count, i + 1);
	}
	summarize(fixture);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_BATCH], COUNT_OF(sizes));
}

static void records_of_a_later_version_are_passed_over(void **state)
{
	struct fixture *fixture = *state;

	packed_add(&fixture->packed, 200, 64, NULL);
	packed_kernel(&fixture->packed, 0, 5, 6);
	feed(fixture);
	summarize(fixture);
	assert_int_equal(fixture->work_count, 1);
	assert_int_equal(fixture->summary.loss[LOSS_DEVICE_BATCH], 0);
}

/* Nothing to assert but what the sinks do: the sanitizers look on. */
static void no_mutation_harms(void **state)
{
	struct fixture *fixture = *state;
	uint64_t random = 12345;
	unsigned int round;

	for (round = 0; round < 20000; round++) {
		unsigned int changes = 1 + random_next(&random) % 8;
		struct agent_status *status;

		packed_begin(&fixture->packed, 5, round);
		packed_name(&fixture->packed, 1, "_ZN2at6native3addEv");
		packed_kernel(&fixture->packed, 1, 5, 6);
		status = packed_add(&fixture->packed, AGENT_STATUS, sizeof(*status), "text");
		status->text_size = 4;
		while (changes--)
			fixture->packed.bytes[sizeof(struct wire_agent) +
					      random_next(&random) % fixture->packed.size_bytes] =
				(unsigned char)random_next(&random);
		feed(fixture);
	}
	summarize(fixture);
	assert_true(fixture->work_count > 0);
	assert_true(fixture->summary.loss[LOSS_DEVICE_BATCH] > 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_kernel_has_its_name_as_people_write_it),
		TEST(a_call_loses_the_version_of_its_name),
		TEST(copies_and_sets_are_named_as_kineto_names_them),
		TEST(work_without_a_time_is_counted_and_dropped),
		TEST(a_gap_in_the_sequence_is_a_lost_batch),
		TEST(what_the_job_lost_is_counted_once),
		TEST(another_session_begins_with_no_names),
		TEST(another_session_after_the_end_of_one_is_no_remark),
		TEST(what_the_agent_says_of_itself_becomes_a_sentence),
		TEST(of_an_agent_that_was_given_up_only_words_are_left),
		TEST(devices_are_listed_up_to_the_highest),
		TEST(what_is_no_batch_is_counted),
		TEST(records_of_wrong_sizes_end_the_batch_and_are_counted),
		TEST(records_of_a_later_version_are_passed_over),
		TEST(no_mutation_harms),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
