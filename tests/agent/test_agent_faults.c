/* What goes wrong in the job's CUPTI is said by name, and what can still be recorded is. */
#include "agent/agent_harness.h"

#include <sys/wait.h>
#include <unistd.h>

#include "agent/session.h"
#include "fakes/fake_cuda.h"

static bool has_failed(void)
{
	return atomic_load(&agent_session.state) == SESSION_FAILED;
}

static void a_refusal_ends_in_its_name(void **state)
{
	static const struct {
		const char *version, *faults;
		enum agent_status_code code;
		int64_t value;
		const char *text;
	} rows[] = {
		{ "28", "err39", AGENT_STATUS_BUSY, 39, "cuptiActivityRegisterCallbacks" },
		{ "28", "err999", AGENT_STATUS_UNKNOWN, 999, "cuptiActivityRegisterCallbacks" },
		{ "28", "err999all", AGENT_STATUS_UNKNOWN, 999, "cuptiGetVersion" },
		{ "28", "privileges", AGENT_STATUS_PRIVILEGES, 35, "cuptiActivityEnable" },
		{ "28", "refuse=10", AGENT_STATUS_REFUSED, 21, "cuptiActivityEnable" },
		{ "28", "refuse=5", AGENT_STATUS_REFUSED, 21, "cuptiActivityEnable" },
		{ "17", "", AGENT_STATUS_TOO_OLD, 17, "" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		const struct agent_status *status;

		harness_begin(rows[i].version, "real", rows[i].faults);
		harness_listening = harness_collecting = 1;
		assert_row(i, harness_pump(has_failed, 10));
		harness_work(1, 1);
		assert_row(i, harness_close() == AGENT_END_NOTHING);
		status = harness_status(rows[i].code);
		assert_row(i, status != NULL);
		assert_row(i, status->effect == AGENT_EFFECT_NOTHING);
		assert_row(i, status->value == rows[i].value);
		assert_string_equal(harness_text(status->text, status->text_size), rows[i].text);
		assert_row(i, !harness_count(AGENT_KERNEL) && !harness_count(AGENT_API));
		assert_row(i, !fake_cupti_enabled());
	}
}

static void a_version_from_the_future_is_read_as_the_newest_known(void **state)
{
	struct harness_expect expect = { .version = 140000 };

	(void)state;
	harness_begin("140000", "mono", "");
	harness_open(false);
	harness_work(2, 3);
	harness_settle();
	harness_close();
	harness_compare(&expect);
	assert_non_null(harness_status(AGENT_STATUS_NEWER));
	assert_int_equal(harness_status(AGENT_STATUS_NEWER)->value, 140000);
}

static void one_kind_that_is_refused_costs_no_other(void **state)
{
	const struct agent_status *status;
	const struct fake_op *ops;
	size_t count, i, copies = 0;

	(void)state;
	harness_begin("28", "mono", "refuse=22");
	harness_open(false);
	harness_work(2, 3);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	status = harness_status(AGENT_STATUS_KIND);
	assert_non_null(status);
	assert_int_equal(status->value, 21 << 8 | AGENT_ACTIVITY_MEMCPY_PEER);
	assert_int_equal(harness_session()->kinds, 0x7f & ~(1 << AGENT_ACTIVITY_MEMCPY_PEER));
	count = fake_truth(FAKE_TRUTH_OPS, (const void **)&ops);
	for (i = 0; i < count; i++)
		copies += ops[i].kind == FAKE_MEMCPY;
	assert_int_equal(harness_count(AGENT_MEMCPY), copies);
	assert_int_equal(harness_count(AGENT_API), harness_calls_wanted());
}

static void threads_are_told_by_what_cupti_gives(void **state)
{
	struct harness_expect expect = { .version = 28, .pthread_ids = true };

	(void)state;
	harness_begin("28", "mono", "nothreadids");
	harness_open(false);
	harness_work(2, 3);
	harness_settle();
	harness_close();
	assert_non_null(harness_status(AGENT_STATUS_THREAD_IDS));
	assert_int_equal(harness_session()->thread_ids, AGENT_THREAD_IDS_PTHREAD);
	harness_compare(&expect);
}

static size_t device_records(void)
{
	return harness_count(AGENT_KERNEL) + harness_count(AGENT_MEMCPY) +
	       harness_count(AGENT_MEMSET);
}

static size_t device_truth(void)
{
	const void *ops;

	return fake_truth(FAKE_TRUTH_OPS, &ops);
}

static void what_cupti_drops_is_counted(void **state)
{
	const struct agent_status *status;
	const __u64 *counts;
	size_t seen, own_calls;

	(void)state;
	harness_begin("28", "mono", "droppedN=10");
	harness_open(false);
	harness_work(2, 6);
	own_calls = session_lock(&agent_session)->own_calls;
	session_unlock(&agent_session);
	harness_close();
	counts = harness_last_batch()->counts;
	status = harness_status(AGENT_STATUS_LOST);
	assert_non_null(status);
	assert_int_equal(status->value, AGENT_COUNT_CUPTI_LOST);
	assert_true(counts[AGENT_COUNT_CUPTI_LOST] > 10);
	assert_true(device_records() < device_truth());
	/* All that CUPTI wrote, and what it dropped: one in ten. */
	seen = device_records() + harness_count(AGENT_API) + harness_count(AGENT_OVERHEAD) +
	       counts[AGENT_COUNT_MUTED] + own_calls;
	assert_true(counts[AGENT_COUNT_CUPTI_LOST] >= seen / 9 - 2 &&
		    counts[AGENT_COUNT_CUPTI_LOST] <= seen / 9 + 2);
}

static void records_without_times_come_and_are_counted(void **state)
{
	const struct agent_kernel *kernel;
	size_t n = 0, untimed = 0;

	(void)state;
	harness_begin("28", "real", "untimedN=3");
	harness_open(false);
	harness_work(2, 6);
	harness_close();
	assert_int_equal(device_records(), device_truth());
	assert_int_equal(harness_last_batch()->counts[AGENT_COUNT_UNTIMED], device_truth() / 3);
	assert_non_null(harness_status(AGENT_STATUS_UNTIMED));
	while ((kernel = harness_record(AGENT_KERNEL, n++))) {
		if (!(kernel->record.flags & AGENT_TIME_NONE)) {
			assert_true(kernel->start_ns && kernel->end_ns > kernel->start_ns);
			continue;
		}
		untimed++;
		assert_int_equal(kernel->start_ns, 0);
		assert_int_equal(kernel->end_ns, 0);
		assert_true(kernel->correlation && kernel->name);
	}
	assert_true(untimed > 0);
}

static void a_buffer_that_cannot_be_read_is_counted(void **state)
{
	(void)state;
	harness_begin("28", "mono", "brokenN=2,smallbuffers");
	harness_open(false);
	harness_work(2, 30);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	assert_non_null(harness_status(AGENT_STATUS_LOST));
	assert_int_equal(harness_status(AGENT_STATUS_LOST)->value, AGENT_COUNT_BROKEN);
	assert_true(harness_last_batch()->counts[AGENT_COUNT_BROKEN] > 0);
	assert_true(device_records() > 0 && device_records() < device_truth());
}

static void without_buffers_cupti_still_gets_one(void **state)
{
	const __u64 *counts;

	(void)state;
	/* No record is ever complete, so no buffer comes back; the stand-in aborts when it gets
	 * none. */
	harness_begin("24", "mono", "slow=100000000,smallbuffers");
	harness_open(false);
	harness_work(8, 80);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	counts = harness_last_batch()->counts;
	assert_true(counts[AGENT_COUNT_NO_BUFFER] > 0);
	assert_non_null(harness_status(AGENT_STATUS_LOST));
	assert_true(counts[AGENT_COUNT_UNTIMED] > 0);
	assert_int_equal(pool_taken(&agent_session.pool), 0);
}

static bool is_hung(void)
{
	return harness_status(AGENT_STATUS_HUNG) != NULL;
}

static bool has_returned(void)
{
	return harness_status(AGENT_STATUS_RETURNED) != NULL;
}

static void a_flush_that_hangs_for_a_while_loses_nothing(void **state)
{
	struct harness_expect expect = { .version = 28 };

	(void)state;
	harness_begin("28", "mono", "hang=3000");
	harness_open(false);
	harness_work(2, 3);
	assert_true(harness_pump(is_hung, 10));
	assert_string_equal(harness_text(harness_status(AGENT_STATUS_HUNG)->text,
					 harness_status(AGENT_STATUS_HUNG)->text_size),
			    "flush");
	assert_true(harness_pump(has_returned, 10));
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	harness_compare(&expect);
}

static void a_flush_that_hangs_does_not_hold_up_the_end(void **state)
{
	struct harness_expect expect = { .version = 28 };
	uint64_t begun_ns;

	(void)state;
	harness_begin("28", "mono", "hang=6000");
	harness_open(false);
	harness_work(1, 1);
	assert_true(harness_pump(is_hung, 10));
	begun_ns = session_now_ns();
	harness_collecting = 0;
	assert_true(harness_pump(harness_ended, 3));
	assert_true(session_now_ns() - begun_ns < 2000000000ULL);
	/* Asked again while it still hangs: says so, and ends. */
	assert_int_equal(harness_close(), AGENT_END_HUNG);
	assert_int_equal(fake_cupti_enabled(), 0);
	/* And is as good as new. */
	harness_begin("28", "mono", "");
	harness_open(false);
	harness_work(2, 3);
	harness_settle();
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	harness_compare(&expect);
}

static bool is_excused(void)
{
	const struct agent_status *status;
	size_t n = 0;

	while ((status = harness_record(AGENT_STATUS, n++)))
		if (status->code == AGENT_STATUS_HUNG && status->effect == AGENT_EFFECT_NOTHING)
			return true;
	return false;
}

static void asked_again_while_it_hangs_it_says_so(void **state)
{
	(void)state;
	harness_begin("28", "mono", "hangopen=7000");
	harness_listening = harness_collecting = 1;
	assert_true(harness_pump(is_hung, 10));
	harness_collecting = 0;
	assert_true(harness_pump(harness_ended, 5));
	harness_collecting = 1;
	assert_true(harness_pump(is_excused, 5));
	assert_int_equal(harness_count(AGENT_SESSION), 2);
	harness_collecting = 0;
	harness_listening = 0;
	assert_false(harness_pump(has_returned, 6));
	assert_int_equal(fake_cupti_enabled(), 0);
}

static bool is_taken(void)
{
	return harness_status(AGENT_STATUS_TAKEN) != NULL;
}

static void callbacks_taken_by_somebody_else_are_missed(void **state)
{
	(void)state;
	harness_begin("28", "mono", "steal=300");
	harness_open(false);
	harness_work(2, 3);
	assert_true(harness_pump(is_taken, 10));
	assert_int_equal(harness_status(AGENT_STATUS_TAKEN)->effect, AGENT_EFFECT_NOTHING);
	assert_int_equal(harness_close(), AGENT_END_TAKEN);
	/* Theirs now. */
	assert_true(fake_cupti_enabled() > 0);
	/* Buffers that they took stay away: the next test must not miss them. */
	atomic_store(&agent_session.pool.free, ~0U);
}

static bool never(void)
{
	return is_taken();
}

static void a_long_kernel_is_not_taken_for_a_thief(void **state)
{
	(void)state;
	/* Nothing is complete for six seconds: the buffer with our own calls in it is held up. */
	harness_begin("28", "mono", "slow=6000000");
	harness_open(false);
	harness_work(1, 2);
	assert_false(harness_pump(never, 5));
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	assert_int_equal(device_records(), device_truth());
}

static void a_clock_that_becomes_another_is_noticed(void **state)
{
	const struct agent_kernel *kernel;
	const struct agent_batch *last;
	size_t n = 0, timed = 0;

	(void)state;
	harness_begin("28", "real", "tsc=300");
	harness_open(false);
	harness_work(2, 3);
	harness_pump(NULL, 1);
	harness_work(2, 3);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	assert_non_null(harness_status(AGENT_STATUS_CLOCK_CHANGED));
	assert_int_equal(harness_status(AGENT_STATUS_CLOCK_CHANGED)->value,
			 AGENT_DOMAIN_REALTIME << 8 | AGENT_DOMAIN_TSC);
	last = harness_last_batch();
	assert_int_equal(last->clock.domain, AGENT_DOMAIN_TSC);
	assert_int_equal(last->clock.changes, 1);
	assert_int_equal(device_records(), device_truth());
	while ((kernel = harness_record(AGENT_KERNEL, n++))) {
		const struct fake_op *ops;
		size_t count = fake_truth(FAKE_TRUTH_OPS, (const void **)&ops), i;

		if (kernel->record.flags & AGENT_TIME_NONE)
			continue;
		timed++;
		for (i = 0; i < count; i++)
			if (ops[i].correlation == kernel->correlation &&
			    ops[i].graph_node == kernel->graph_node_id)
				assert_true(llabs((int64_t)(kernel->start_ns - ops[i].start_ns)) <
					    50000);
	}
	assert_true(timed > 0);
}

static void a_clock_of_no_kind_is_said(void **state)
{
	const struct agent_kernel *kernel;
	size_t n = 0;

	(void)state;
	harness_begin("28", "none", "");
	harness_open(false);
	harness_work(1, 2);
	harness_close();
	assert_non_null(harness_status(AGENT_STATUS_CLOCK));
	assert_int_equal(harness_last_batch()->clock.domain, AGENT_DOMAIN_UNKNOWN);
	while ((kernel = harness_record(AGENT_KERNEL, n++)))
		assert_true(kernel->record.flags & AGENT_TIME_RAW);
	assert_int_equal(device_records(), device_truth());
}

static bool has_no_cuda(void)
{
	return harness_status(AGENT_STATUS_NO_CUDA) != NULL;
}

static void without_a_device_it_keeps_looking(void **state)
{
	(void)state;
	harness_begin("28", "mono", "");
	setenv("FAKE_CUDA_DEVICES", "0", 1);
	harness_listening = harness_collecting = 1;
	assert_true(harness_pump(has_no_cuda, 5));
	assert_int_equal(fake_cupti_calls(), 0);
	assert_false(harness_pump(harness_ended, 0.5));
	assert_int_equal(harness_count(AGENT_STATUS), 1);
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	harness_open(false);
	harness_work(1, 2);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
	assert_int_equal(device_records(), device_truth());
}

static void a_child_of_fork_touches_nothing(void **state)
{
	int status = -1;
	pid_t child;

	(void)state;
	harness_begin("28", "mono", "");
	harness_open(false);
	child = fork();
	if (!child) {
		uint32_t free = atomic_load(&agent_session.pool.free);
		size_t size = 0, max_records = 1, batches = harness_batches();
		uint8_t *buffer = NULL;

		/* As CUPTI would, in a child that uses it all the same. */
		session_buffer_requested(&buffer, &size, &max_records);
		if (!buffer || !size || atomic_load(&agent_session.pool.free) != free)
			_exit(1);
		session_buffer_completed(NULL, 0, buffer, size, size);
		session_buffer_completed(NULL, 0, (uint8_t *)agent_session.pool.memory, size, size);
		_exit(harness_batches() != batches ? 2 : 0);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(harness_close(), AGENT_END_ASKED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refusal_ends_in_its_name),
		cmocka_unit_test(a_version_from_the_future_is_read_as_the_newest_known),
		cmocka_unit_test(one_kind_that_is_refused_costs_no_other),
		cmocka_unit_test(threads_are_told_by_what_cupti_gives),
		cmocka_unit_test(what_cupti_drops_is_counted),
		cmocka_unit_test(records_without_times_come_and_are_counted),
		cmocka_unit_test(a_buffer_that_cannot_be_read_is_counted),
		cmocka_unit_test(without_buffers_cupti_still_gets_one),
		cmocka_unit_test(a_flush_that_hangs_for_a_while_loses_nothing),
		cmocka_unit_test(a_flush_that_hangs_does_not_hold_up_the_end),
		cmocka_unit_test(asked_again_while_it_hangs_it_says_so),
		cmocka_unit_test(callbacks_taken_by_somebody_else_are_missed),
		cmocka_unit_test(a_long_kernel_is_not_taken_for_a_thief),
		cmocka_unit_test(a_clock_that_becomes_another_is_noticed),
		cmocka_unit_test(a_clock_of_no_kind_is_said),
		cmocka_unit_test(without_a_device_it_keeps_looking),
		cmocka_unit_test(a_child_of_fork_touches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
