/* What the programs keep of losses, told as a hole for each stretch of time, in its place. */
#include "support/test.h"

#include "ingest/holes.h"
#include "support/records.h"

#define RINGS 2
#define TOLD_MAX 64

struct fixture {
	struct record_sink sink;
	struct ring_loss losses[RINGS];
	uint32_t epoch;
	struct holes *holes;
	struct wire_hole told[TOLD_MAX];
	size_t count;
};

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	assert_int_equal(size_bytes, sizeof(fixture->told[0]));
	assert_true(fixture->count < TOLD_MAX);
	memcpy(&fixture->told[fixture->count++], bytes, size_bytes);
	return 0;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->sink.record = on_record;
	*state = fixture;
	return holes_new(&fixture->holes,
			 (struct loss_source){ fixture->losses, RINGS, &fixture->epoch });
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	holes_free(fixture->holes);
	free(fixture);
	return 0;
}

/* As the programs do it. */
static void lose(struct fixture *fixture, size_t ring, enum wire_kind kind, uint32_t tid,
		 uint64_t time_ns)
{
	struct ring_loss *loss = &fixture->losses[ring];
	struct ring_hole *hole = &loss->holes[(loss->holes_begun - 1) % RING_HOLES];

	loss->records++;
	if (!loss->holes_begun || hole->epoch != fixture->epoch) {
		hole = &loss->holes[loss->holes_begun++ % RING_HOLES];
		*hole = (struct ring_hole){ .first_ns = time_ns,
					    .tid = tid,
					    .epoch = fixture->epoch,
					    .sequence = (uint32_t)loss->holes_begun };
	}
	if (time_ns > hole->last_ns)
		hole->last_ns = time_ns;
	if (time_ns < hole->first_ns)
		hole->first_ns = time_ns;
	if (tid != hole->tid)
		hole->tid = 0;
	hole->kinds |= 1U << kind;
	hole->count++;
}

/* Collects and passes on; how many were told. */
static size_t tell(struct fixture *fixture, uint64_t until_ns)
{
	size_t before = fixture->count;

	assert_int_equal(holes_collect(fixture->holes), 0);
	assert_int_equal(holes_pass_on(fixture->holes, until_ns, &fixture->sink), 0);
	return fixture->count - before;
}

#define assert_hole(hole, first, last, number, thread)            \
	do {                                                      \
		assert_int_equal((hole)->header.kind, WIRE_HOLE); \
		assert_int_equal((hole)->header.time_ns, first);  \
		assert_int_equal((hole)->last_ns, last);          \
		assert_int_equal((hole)->count, number);          \
		assert_int_equal((hole)->header.tid, thread);     \
	} while (0)

static void nothing_lost_is_nothing_told(void **state)
{
	assert_int_equal(tell(*state, UINT64_MAX), 0);
}

static void a_hole_reaches_from_the_first_to_the_last(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 1, WIRE_OP_BEGIN, 7, 100);
	lose(fixture, 1, WIRE_MEMORY, 7, 150);
	assert_int_equal(tell(fixture, 200), 1);
	assert_hole(&fixture->told[0], 100, 150, 2, 7);
	assert_int_equal(fixture->told[0].kinds, 1U << WIRE_OP_BEGIN | 1U << WIRE_MEMORY);
	assert_int_equal(fixture->told[0].ring, 1);
	assert_int_equal(tell(fixture, UINT64_MAX), 0);
}

static void a_hole_of_two_threads_is_nobodys(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	lose(fixture, 0, WIRE_OP_BEGIN, 8, 110);
	lose(fixture, 0, WIRE_OP_BEGIN, 7, 120);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	assert_hole(&fixture->told[0], 100, 120, 3, 0);
}

static void it_waits_for_its_place(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	assert_int_equal(tell(fixture, 99), 0);
	assert_int_equal(tell(fixture, 100), 1);
}

static void holes_of_all_rings_come_in_order(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 1, WIRE_OP_BEGIN, 7, 100);
	lose(fixture, 0, WIRE_OP_BEGIN, 8, 130);
	holes_next_epoch(fixture->holes);
	lose(fixture, 1, WIRE_OP_BEGIN, 7, 160);
	lose(fixture, 0, WIRE_OP_BEGIN, 8, 140);
	assert_int_equal(tell(fixture, UINT64_MAX), 4);
	assert_hole(&fixture->told[0], 100, 100, 1, 7);
	assert_hole(&fixture->told[1], 130, 130, 1, 8);
	assert_hole(&fixture->told[2], 140, 140, 1, 8);
	assert_hole(&fixture->told[3], 160, 160, 1, 7);
}

static void one_that_grew_is_told_with_what_is_new(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	lose(fixture, 0, WIRE_OP_BEGIN, 7, 120);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	lose(fixture, 0, WIRE_OP_END, 7, 140);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	assert_hole(&fixture->told[1], 120, 140, 1, 7);
}

/* A program that was interrupted between taking its time and leaving its mark. */
static void one_that_grew_towards_the_past_is_told_whole(void **state)
{
	struct fixture *fixture = *state;

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	lose(fixture, 0, WIRE_OP_BEGIN, 7, 120);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	lose(fixture, 0, WIRE_OP_END, 7, 90);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	assert_hole(&fixture->told[1], 90, 120, 1, 7);
	lose(fixture, 0, WIRE_OP_END, 7, 110);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	assert_hole(&fixture->told[2], 90, 120, 1, 7);
}

static void holes_that_gave_way_are_bridged(void **state)
{
	struct fixture *fixture = *state;
	uint64_t known = 0;
	size_t i, told;

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
	for (i = 0; i < RING_HOLES + 3; i++) {
		holes_next_epoch(fixture->holes);
		lose(fixture, 0, WIRE_OP_BEGIN, 7, 200 + 10 * i);
	}
	told = tell(fixture, UINT64_MAX);
	assert_int_equal(told, RING_HOLES + 1);
	/* From what was told last to the first that is still there. */
	assert_hole(&fixture->told[1], 100, 230, 0, 0);
	for (i = 1; i < told; i++)
		known += fixture->told[1 + i].count;
	assert_int_equal(known, RING_HOLES);
}

static void one_that_is_being_written_is_told_later(void **state)
{
	struct fixture *fixture = *state;
	struct ring_hole *hole = &fixture->losses[0].holes[0];

	lose(fixture, 0, WIRE_OP_BEGIN, 7, 100);
	hole->sequence = 0;
	assert_int_equal(tell(fixture, UINT64_MAX), 0);
	hole->sequence = 1;
	fixture->losses[0].records++; /* counted behind it */
	assert_int_equal(tell(fixture, UINT64_MAX), 1);
}

static void without_a_source_nothing_is_lost(void **state)
{
	struct record_sink sink = { on_record };
	struct holes *holes;

	(void)state;
	assert_int_equal(holes_new(&holes, (struct loss_source){ .count = 3 }), 0);
	holes_next_epoch(holes);
	assert_int_equal(holes_collect(holes), 0);
	assert_int_equal(holes_pass_on(holes, UINT64_MAX, &sink), 0);
	holes_free(holes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_lost_is_nothing_told),
		TEST(a_hole_reaches_from_the_first_to_the_last),
		TEST(a_hole_of_two_threads_is_nobodys),
		TEST(it_waits_for_its_place),
		TEST(holes_of_all_rings_come_in_order),
		TEST(one_that_grew_is_told_with_what_is_new),
		TEST(one_that_grew_towards_the_past_is_told_whole),
		TEST(holes_that_gave_way_are_bridged),
		TEST(one_that_is_being_written_is_told_later),
		TEST(without_a_source_nothing_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
