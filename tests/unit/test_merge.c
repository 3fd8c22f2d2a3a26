/* The rings of several CPUs in the order of time, with what is younger than the horizon kept. */
#include "support/test.h"

#include "ingest/merge.h"
#include "support/records.h"

#define RECORDS_MAX 4096

struct recorder {
	struct record_sink sink;
	uint64_t times_ns[RECORDS_MAX];
	uint32_t tids[RECORDS_MAX];
	uint64_t sps[RECORDS_MAX];
	size_t count;
	size_t fail_at; /* 0: never */
};

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct recorder *recorder = container_of(sink, struct recorder, sink);
	struct wire_op record;

	assert_int_equal(size_bytes, sizeof(record));
	assert_true(recorder->count < RECORDS_MAX);
	memcpy(&record, bytes, sizeof(record));
	recorder->times_ns[recorder->count] = record.header.time_ns;
	recorder->tids[recorder->count] = record.header.tid;
	recorder->sps[recorder->count++] = record.sp;
	return recorder->fail_at && recorder->count == recorder->fail_at ? -EIO : 0;
}

static void add(struct merge *merge, size_t ring, uint64_t time_ns, uint32_t tid, uint64_t sp)
{
	const struct wire_op record = {
		.header = record_header(WIRE_OP_BEGIN, sizeof(record), tid, time_ns), .sp = sp
	};

	assert_int_equal(merge_add(merge, ring, &record, sizeof(record)), 0);
}

static void records_come_in_order_of_time(void **state)
{
	struct recorder recorder = { .sink = { on_record } };
	struct merge *merge;
	size_t i;

	(void)state;
	assert_int_equal(merge_new(&merge, 3), 0);
	add(merge, 2, 10, 1, 0);
	add(merge, 0, 20, 1, 0);
	add(merge, 1, 5, 2, 0);
	add(merge, 1, 15, 2, 0);
	add(merge, 2, 30, 1, 0);
	assert_int_equal(merge_pass_on(merge, UINT64_MAX, &recorder.sink), 0);
	assert_int_equal(recorder.count, 5);
	for (i = 0; i + 1 < recorder.count; i++)
		assert_true(recorder.times_ns[i] < recorder.times_ns[i + 1]);
	merge_free(merge);
}

static void younger_records_wait(void **state)
{
	struct recorder recorder = { .sink = { on_record } };
	struct merge *merge;

	(void)state;
	assert_int_equal(merge_new(&merge, 2), 0);
	add(merge, 0, 10, 1, 0);
	add(merge, 0, 21, 1, 0);
	add(merge, 1, 20, 1, 0);
	assert_int_equal(merge_pass_on(merge, 20, &recorder.sink), 0);
	assert_int_equal(recorder.count, 2);
	/* What comes later to a ring, but is older than what waits in another one. */
	add(merge, 1, 20, 1, 7);
	assert_int_equal(merge_pass_on(merge, 21, &recorder.sink), 0);
	assert_int_equal(recorder.count, 4);
	assert_int_equal(recorder.sps[2], 7);
	assert_int_equal(recorder.times_ns[3], 21);
	merge_free(merge);
}

static void an_error_ends_it_and_loses_nothing_else(void **state)
{
	struct recorder recorder = { .sink = { on_record }, .fail_at = 1 };
	struct merge *merge;

	(void)state;
	assert_int_equal(merge_new(&merge, 2), 0);
	add(merge, 0, 1, 1, 0);
	add(merge, 1, 2, 1, 0);
	assert_int_equal(merge_pass_on(merge, UINT64_MAX, &recorder.sink), -EIO);
	assert_int_equal(merge_pass_on(merge, UINT64_MAX, &recorder.sink), 0);
	assert_int_equal(recorder.count, 2);
	merge_free(merge);
}

static void what_is_no_record_is_refused(void **state)
{
	static char large[128 * 1024];
	struct merge *merge;

	(void)state;
	assert_int_equal(merge_new(&merge, 1), 0);
	assert_int_equal(merge_add(merge, 1, large, sizeof(struct wire_header)), -EINVAL);
	assert_int_equal(merge_add(merge, 0, large, sizeof(struct wire_header) - 1), -EINVAL);
	assert_int_equal(merge_add(merge, 0, large, sizeof(large)), -EINVAL);
	merge_free(merge);
}

/* Threads that wander between CPUs, rings that are read in rounds: no thread's order is broken. */
static void each_thread_keeps_its_order(void **state)
{
	enum {
		RINGS = 5,
		THREADS = 7,
		ROUNDS = 20,
		PER_ROUND = 100
	};
	struct recorder recorder = { .sink = { on_record } };
	uint64_t random = 88172645463325252ULL, next_sp[THREADS] = { 0 }, seen_sp[THREADS] = { 0 };
	uint64_t now_ns = 1000;
	struct merge *merge;
	size_t round, i;

	(void)state;
	assert_int_equal(merge_new(&merge, RINGS), 0);
	for (round = 0; round < ROUNDS; round++) {
		uint64_t horizon_ns;

		for (i = 0; i < PER_ROUND; i++) {
			uint32_t tid = (uint32_t)(random_next(&random) % THREADS);

			now_ns += 1 + random_next(&random) % 5;
			add(merge, random_next(&random) % RINGS, now_ns, tid, ++next_sp[tid]);
			if (i == PER_ROUND / 2)
				horizon_ns = now_ns;
		}
		assert_int_equal(merge_pass_on(merge, horizon_ns, &recorder.sink), 0);
	}
	assert_int_equal(merge_pass_on(merge, UINT64_MAX, &recorder.sink), 0);
	assert_int_equal(recorder.count, ROUNDS * PER_ROUND);
	for (i = 0; i < recorder.count; i++)
		assert_int_equal(recorder.sps[i], ++seen_sp[recorder.tids[i]]);
	merge_free(merge);
}

static void a_ring_that_was_never_read_holds_all_back(void **state)
{
	struct merge *merge;

	(void)state;
	assert_int_equal(merge_new(&merge, 2), 0);
	add(merge, 0, 10, 1, 0);
	merge_read(merge, 0, 100, true);
	assert_int_equal(merge_horizon_ns(merge), 0);
	merge_read(merge, 1, 90, true);
	assert_int_equal(merge_horizon_ns(merge), 90);
	merge_free(merge);
}

/* Behind a record that is being written, thread 1 left one and went to the other CPU. */
static void a_ring_that_was_not_read_whole_holds_younger_records_back(void **state)
{
	struct recorder recorder = { .sink = { on_record } };
	struct merge *merge;

	(void)state;
	assert_int_equal(merge_new(&merge, 2), 0);
	add(merge, 0, 10, 1, 1);
	add(merge, 1, 40, 1, 3);
	merge_read(merge, 0, 50, false);
	merge_read(merge, 1, 50, true);
	assert_int_equal(merge_horizon_ns(merge), 10);
	assert_int_equal(merge_pass_on(merge, merge_horizon_ns(merge), &recorder.sink), 0);
	assert_int_equal(recorder.count, 1);
	add(merge, 0, 20, 2, 0);
	add(merge, 0, 30, 1, 2);
	merge_read(merge, 0, 60, true);
	merge_read(merge, 1, 60, true);
	assert_int_equal(merge_pass_on(merge, merge_horizon_ns(merge), &recorder.sink), 0);
	assert_int_equal(recorder.count, 4);
	assert_int_equal(recorder.sps[2], 2);
	assert_int_equal(recorder.sps[3], 3);
	/* A bound that was reached is not given up. */
	merge_read(merge, 0, 70, false);
	assert_int_equal(merge_horizon_ns(merge), 60);
	merge_free(merge);
}

/* ---- programs that are interrupted at any point ---- */

enum {
	CPUS = 3,
	TASKS = 6,
	MOVES = 20000,
};

enum point {
	OUTSIDE,
	HAS_TIME,
	HAS_ROOM,
};

struct slot {
	uint64_t time_ns, sp;
	uint32_t tid;
	bool is_complete;
};

struct cpu {
	struct slot slots[MOVES];
	size_t reserved, read;
};

struct task {
	enum point point;
	size_t cpu, slot; /* from its program's beginning to its end */
	uint64_t time_ns, count;
};

struct machine {
	struct cpu cpus[CPUS];
	struct task tasks[TASKS];
	uint64_t now_ns, random;
	struct merge *merge;
};

/* One thread goes a step further, whoever else is in the middle of it. */
static void run(struct machine *machine)
{
	size_t tid = random_next(&machine->random) % TASKS;
	struct task *task = &machine->tasks[tid];
	struct cpu *cpu = &machine->cpus[task->cpu];

	machine->now_ns++;
	switch (task->point) {
	case OUTSIDE:
		task->cpu = random_next(&machine->random) % CPUS;
		task->time_ns = machine->now_ns;
		task->point = HAS_TIME;
		break;
	case HAS_TIME:
		task->slot = cpu->reserved++;
		cpu->slots[task->slot] = (struct slot){ .time_ns = task->time_ns,
							.sp = ++task->count,
							.tid = (uint32_t)tid };
		task->point = HAS_ROOM;
		break;
	case HAS_ROOM:
		cpu->slots[task->slot].is_complete = true;
		task->point = OUTSIDE;
		break;
	}
}

/* As ring.c and libbpf do it; threads go on meanwhile. True: a ring held younger records back. */
static bool read_rings(struct machine *machine, struct record_sink *sink)
{
	uint64_t until_ns = machine->now_ns;
	size_t reserved[CPUS], i, moves;

	for (i = 0; i < CPUS; i++) {
		run(machine);
		reserved[i] = machine->cpus[i].reserved;
	}
	for (i = 0; i < CPUS; i++) {
		struct cpu *cpu = &machine->cpus[i];

		for (moves = random_next(&machine->random) % 8; moves; moves--)
			run(machine);
		for (; cpu->read < cpu->reserved && cpu->slots[cpu->read].is_complete; cpu->read++)
			add(machine->merge, i, cpu->slots[cpu->read].time_ns,
			    cpu->slots[cpu->read].tid, cpu->slots[cpu->read].sp);
	}
	for (i = 0; i < CPUS; i++)
		merge_read(machine->merge, i, until_ns, machine->cpus[i].read >= reserved[i]);
	assert_int_equal(merge_pass_on(machine->merge, merge_horizon_ns(machine->merge), sink), 0);
	return merge_horizon_ns(machine->merge) < until_ns;
}

static void interrupted_programs_keep_each_threads_order(void **state)
{
	struct machine *machine = calloc(1, sizeof(*machine));
	struct recorder *recorder = calloc(1, sizeof(*recorder));
	uint64_t seen_sp[TASKS] = { 0 };
	size_t i, held_back = 0, passed = 0;

	(void)state;
	assert_true(machine && recorder);
	machine->random = 88172645463325252ULL;
	recorder->sink.record = on_record;
	assert_int_equal(merge_new(&machine->merge, CPUS), 0);
	while (machine->now_ns < MOVES / 2) {
		for (i = random_next(&machine->random) % 40; i; i--)
			run(machine);
		recorder->count = 0;
		held_back += read_rings(machine, &recorder->sink);
		passed += recorder->count;
		for (i = 0; i < recorder->count; i++)
			assert_int_equal(recorder->sps[i], ++seen_sp[recorder->tids[i]]);
	}
	assert_true(held_back > 100 && passed > MOVES / 8);
	merge_free(machine->merge);
	free(machine);
	free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order_of_time),
		cmocka_unit_test(younger_records_wait),
		cmocka_unit_test(an_error_ends_it_and_loses_nothing_else),
		cmocka_unit_test(what_is_no_record_is_refused),
		cmocka_unit_test(each_thread_keeps_its_order),
		cmocka_unit_test(a_ring_that_was_never_read_holds_all_back),
		cmocka_unit_test(a_ring_that_was_not_read_whole_holds_younger_records_back),
		cmocka_unit_test(interrupted_programs_keep_each_threads_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
