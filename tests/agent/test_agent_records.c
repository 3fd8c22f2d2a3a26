/* The agent on a simulated device: what it hands over equals what the device did, in every version
 * of CUPTI's records, by every clock, from every order of buffers. */
#include "agent/agent_harness.h"

struct variant {
	const char *version, *clock, *faults;
	uint64_t slack_ns;
	bool with_sync;
};

/* The clocks are read between each other: on a busy machine that costs microseconds. MONO is exact.
 */
#define SLACK_NS 20000

static void compare(const struct variant *v)
{
	struct harness_expect expect = { .version = (uint32_t)strtoul(v->version, NULL, 10),
					 .slack_ns = v->slack_ns,
					 .with_sync = v->with_sync };
	const struct agent_batch *last;

	harness_begin(v->version, v->clock, v->faults);
	harness_open(v->with_sync);
	assert_int_equal(harness_session()->cupti_version, expect.version);
	assert_int_equal(harness_session()->kinds, v->with_sync ? 0x1ff : 0x7f);
	assert_int_equal(harness_session()->thread_ids, AGENT_THREAD_IDS_SYSTEM);
	harness_work(3, 6);
	harness_settle();
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	harness_compare(&expect);
	assert_int_equal(harness_count(AGENT_STATUS), 0);
	assert_int_equal(fake_cupti_enabled(), 0);
	assert_int_equal(fake_cupti_thread_id_type(), 0);
	last = harness_last_batch();
	assert_int_equal(last->counts[AGENT_COUNT_UNTIMED], 0);
	assert_true(last->counts[AGENT_COUNT_MUTED] > 0);
}

static void every_version_of_the_records_is_read(void **state)
{
	static const struct variant variants[] = {
		{ "18", "mono", "", 0, true },	   { "24", "mono", "", 0, true },
		{ "26", "mono", "", 0, true },	   { "28", "mono", "", 0, true },
		{ "130001", "mono", "", 0, true }, { "130100", "mono", "", 0, true },
		{ "130300", "mono", "", 0, true }, { "130400", "mono", "", 0, true },
		{ "130500", "mono", "", 0, true },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(variants); i++)
		compare(&variants[i]);
}

static void every_clock_is_told_and_converted(void **state)
{
	static const struct {
		struct variant variant;
		enum agent_domain domain;
	} rows[] = {
		{ { "28", "real", "", SLACK_NS, false }, AGENT_DOMAIN_REALTIME },
		{ { "28", "mono", "", 0, false }, AGENT_DOMAIN_MONOTONIC },
		{ { "28", "tsc", "", SLACK_NS, false }, AGENT_DOMAIN_TSC },
		{ { "130400", "tsc", "", SLACK_NS, true }, AGENT_DOMAIN_TSC },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		compare(&rows[i].variant);
		assert_row(i, harness_last_batch()->clock.domain == rows[i].domain);
		assert_row(i, harness_last_batch()->clock.changes == 0);
	}
}

static void buffers_come_in_any_order_and_late(void **state)
{
	static const struct variant variants[] = {
		{ "28", "mono", "shuffle,smallbuffers", 0, true },
		{ "130001", "mono", "shuffle,smallbuffers", 0, true },
		{ "28", "mono", "slow=300000", 0, false },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(variants); i++)
		compare(&variants[i]);
}

static void without_sync_nobody_asks_for_it(void **state)
{
	static const struct variant variant = { "28", "mono", "", 0, false };

	(void)state;
	compare(&variant);
	assert_int_equal(harness_count(AGENT_SYNC), 0);
}

static void devices_are_as_the_driver_says(void **state)
{
	const struct agent_device *device;

	(void)state;
	harness_begin("28", "real", "");
	harness_open(false);
	harness_close();
	assert_int_equal(harness_count(AGENT_DEVICE), 2);
	device = harness_record(AGENT_DEVICE, 1);
	assert_string_equal(harness_text(device->name, device->name_size), "Simulated GPU 1");
	assert_int_equal(device->id, 1);
	assert_true(device->memory_bytes == 80ULL << 30);
	assert_int_equal(device->compute_major, 9);
	assert_int_equal(device->compute_minor, 0);
	assert_int_equal(device->threads_per_block, 1024);
	assert_int_equal(device->threads_per_multiprocessor, 2048);
	assert_int_equal(device->registers_per_block, 65536);
	assert_int_equal(device->registers_per_multiprocessor, 65536);
	assert_int_equal(device->warp_size, 32);
	assert_int_equal(device->shared_per_block, 49152);
	assert_int_equal(device->shared_per_block_optin, 232448);
	assert_int_equal(device->shared_per_multiprocessor, 233472);
	assert_int_equal(device->multiprocessors, 132);
	assert_int_equal(harness_session()->driver_version, 12080);
}

static void a_session_follows_another(void **state)
{
	struct harness_expect expect = { .version = 28 };
	uint64_t first;

	(void)state;
	harness_begin("28", "mono", "");
	harness_open(false);
	harness_work(1, 2);
	harness_close();
	first = harness_last_batch()->session;
	harness_begin("28", "mono", "");
	harness_open(false);
	harness_work(2, 3);
	harness_settle();
	harness_close();
	assert_true(harness_last_batch()->session != first);
	harness_compare(&expect);
}

static bool nothing_happens(void)
{
	return harness_batches() > 0;
}

static void dormant_it_calls_nothing(void **state)
{
	(void)state;
	harness_begin("28", "real", "");
	assert_false(harness_pump(nothing_happens, 1.5));
	/* Somebody listens, but nobody asks; somebody asks, but nobody listens. */
	harness_listening = 1;
	assert_false(harness_pump(nothing_happens, 0.3));
	harness_listening = 0;
	harness_collecting = 1;
	assert_false(harness_pump(nothing_happens, 0.3));
	assert_int_equal(fake_cupti_calls(), 0);
}

static bool is_dormant(void)
{
	return !fake_cupti_enabled();
}

static void a_collector_that_dies_switches_it_off(void **state)
{
	(void)state;
	harness_begin("28", "real", "");
	harness_open(false);
	harness_work(1, 2);
	harness_listening = harness_collecting = 0;
	assert_true(harness_pump(is_dormant, 1));
	assert_true(harness_pump(harness_ended, 5));
	harness_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dormant_it_calls_nothing),
		cmocka_unit_test(every_version_of_the_records_is_read),
		cmocka_unit_test(every_clock_is_told_and_converted),
		cmocka_unit_test(buffers_come_in_any_order_and_late),
		cmocka_unit_test(without_sync_nobody_asks_for_it),
		cmocka_unit_test(devices_are_as_the_driver_says),
		cmocka_unit_test(a_session_follows_another),
		cmocka_unit_test(a_collector_that_dies_switches_it_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
