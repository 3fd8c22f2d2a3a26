/* Blocks of memory: what was allocated while the window recorded, and what of it was freed. */
#include "support/test.h"

#include "analyze/allocations.h"
#include "support/call_records.h"

#define TID 7
#define SP 0x7ffc0000
#define BLOCKS_MAX 8

struct fixture {
	struct allocations *allocations;
	struct memory_event out;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	*state = fixture;
	return allocations_new(&fixture->allocations, BLOCKS_MAX);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	allocations_free(fixture->allocations);
	free(fixture);
	return 0;
}

/* True: it is shown. */
static bool give_record(struct fixture *fixture, const struct wire_memory *record, bool is_active)
{
	struct event event = event_of(record);
	bool is_shown = !is_active;

	assert_int_equal(allocations_event(fixture->allocations, &event, is_active, &fixture->out,
					   &is_shown),
			 0);
	return is_shown;
}

static bool give(struct fixture *fixture, bool is_active, enum wire_memory_action action,
		 uint64_t address, int64_t size_bytes)
{
	struct wire_memory record = record_memory(1234, TID, action, SP, address, size_bytes);

	return give_record(fixture, &record, is_active);
}

#define assert_shown(fixture, address_, size, total)                           \
	do {                                                                   \
		assert_int_equal((fixture)->out.time_ns, 1234);                \
		assert_int_equal((fixture)->out.tid, TID);                     \
		assert_int_equal((fixture)->out.address, address_);            \
		assert_int_equal((fixture)->out.size_bytes, size);             \
		assert_int_equal((fixture)->out.total_allocated_bytes, total); \
		assert_int_equal((fixture)->out.total_reserved_bytes, 0);      \
		assert_int_equal((fixture)->out.device_type, WIRE_DEVICE_CPU); \
		assert_int_equal((fixture)->out.device_index, -1);             \
	} while (0)

static void a_free_has_the_size_of_its_block(void **state)
{
	struct fixture *fixture = *state;

	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 4096));
	assert_shown(fixture, 0x1000, 4096, 4096);
	assert_false(fixture->out.is_out_of_memory);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x3000, 100));
	assert_shown(fixture, 0x3000, 100, 4196);
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_shown(fixture, 0x1000, -4096, 100);
	assert_true(give(fixture, true, MEMORY_FREED, 0x3000, 0));
	assert_shown(fixture, 0x3000, -100, 0);
	assert_int_equal(allocations_old_frees(fixture->allocations), 0);
}

static void nothing_allocated_is_no_allocation(void **state)
{
	struct fixture *fixture = *state;

	assert_false(give(fixture, true, MEMORY_ALLOCATED, 0, 4096));
	assert_false(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 0));
	assert_false(give(fixture, true, MEMORY_ALLOCATED, 0x1000, -1));
	assert_false(give(fixture, true, MEMORY_FREED, 0, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 0);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x2000, 1));
	assert_shown(fixture, 0x2000, 1, 1);
}

static void a_free_of_an_unknown_block_is_old(void **state)
{
	struct fixture *fixture = *state;

	assert_false(give(fixture, false, MEMORY_ALLOCATED, 0x1000, 4096)); /* in warmup */
	assert_false(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_false(give(fixture, true, MEMORY_FREED, 0x2000, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 2);
	assert_false(give(fixture, false, MEMORY_FREED, 0x3000, 0)); /* nor counted outside */
	assert_int_equal(allocations_old_frees(fixture->allocations), 2);
}

static void a_block_is_freed_once(void **state)
{
	struct fixture *fixture = *state;

	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 4096);
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_false(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 1);
}

static void blocks_stay_known_in_the_next_window(void **state)
{
	struct fixture *fixture = *state;

	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 4096);
	give(fixture, false, MEMORY_ALLOCATED, 0x2000, 100);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x3000, 10));
	assert_shown(fixture, 0x3000, 10, 4106);
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_shown(fixture, 0x1000, -4096, 10);
}

static void a_block_freed_outside_of_the_window_is_forgotten(void **state)
{
	struct fixture *fixture = *state;

	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 4096);
	give(fixture, true, MEMORY_ALLOCATED, 0x2000, 50);
	assert_false(give(fixture, false, MEMORY_FREED, 0x1000, 0));
	assert_false(
		give(fixture, false, MEMORY_ALLOCATED, 0x2000, 60)); /* its free was not seen */
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x3000, 10));
	assert_shown(fixture, 0x3000, 10, 10);
	assert_false(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_false(give(fixture, true, MEMORY_FREED, 0x2000, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 2);
}

static void an_address_allocated_again_is_another_block(void **state)
{
	struct fixture *fixture = *state;

	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 4096);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 100)); /* a free was lost */
	assert_shown(fixture, 0x1000, 100, 100);
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_shown(fixture, 0x1000, -100, 0);
}

static void what_a_device_reports_is_shown_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct wire_memory record = record_memory(1234, TID, MEMORY_REPORTED, SP, 0x1000, -512);

	record.total_allocated_bytes = 1 << 20;
	record.total_reserved_bytes = 2 << 20;
	record.device_type = 1;
	record.device_index = 3;
	assert_false(give_record(fixture, &record, false));
	assert_true(give_record(fixture, &record, true));
	assert_int_equal(fixture->out.address, 0x1000);
	assert_int_equal(fixture->out.size_bytes, -512);
	assert_int_equal(fixture->out.total_allocated_bytes, 1 << 20);
	assert_int_equal(fixture->out.total_reserved_bytes, 2 << 20);
	assert_int_equal(fixture->out.device_type, 1);
	assert_int_equal(fixture->out.device_index, 3);
	assert_false(fixture->out.is_out_of_memory);
	/* The CPU's total knows nothing of it. */
	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 10);
	assert_shown(fixture, 0x1000, 10, 10);
}

static void out_of_memory_is_shown_without_an_address(void **state)
{
	struct fixture *fixture = *state;
	struct wire_memory record = record_memory(1234, TID, MEMORY_OUT, SP, 0x1000, INT64_MAX);

	give(fixture, true, MEMORY_ALLOCATED, 0x1000, 10);
	assert_false(give_record(fixture, &record, false));
	assert_int_equal(allocations_out_of_memory(fixture->allocations), 0);
	assert_true(give_record(fixture, &record, true));
	assert_true(fixture->out.is_out_of_memory);
	assert_shown(fixture, 0, INT64_MAX, 10);
	record.device_type = 1;
	record.device_index = 3;
	record.total_reserved_bytes = 99;
	assert_true(give_record(fixture, &record, true));
	assert_int_equal(fixture->out.device_index, 3);
	assert_int_equal(fixture->out.total_reserved_bytes, 99);
	assert_int_equal(allocations_out_of_memory(fixture->allocations), 2);
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
}

static void blocks_over_the_bound_are_shown_and_not_kept(void **state)
{
	struct fixture *fixture = *state;
	uint64_t block;

	for (block = 1; block <= BLOCKS_MAX; block++)
		assert_true(give(fixture, true, MEMORY_ALLOCATED, block << 12, 10));
	assert_int_equal(allocations_untracked(fixture->allocations), 0);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, block << 12, 10));
	assert_shown(fixture, block << 12, 10, BLOCKS_MAX * 10);
	assert_int_equal(allocations_untracked(fixture->allocations), 1);
	assert_false(give(fixture, true, MEMORY_FREED, block << 12, 0));
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 1 << 12, 20)); /* in the place of one */
	assert_int_equal(allocations_untracked(fixture->allocations), 1);
	assert_shown(fixture, 1 << 12, 20, BLOCKS_MAX * 10 + 10);
}

static void freeing_nothing_is_legal(void **state)
{
	(void)state;
	allocations_free(NULL);
}

static void a_block_from_before_a_hole_has_no_size(void **state)
{
	struct fixture *fixture = *state;

	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 100));
	allocations_lost(fixture->allocations, 1300);
	assert_false(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 1);
}

/* give() is of the time 1234: its free may be lost, and another one stand there. */
static void a_block_that_came_in_a_hole_has_no_size(void **state)
{
	struct fixture *fixture = *state;

	allocations_lost(fixture->allocations, 1234);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 100));
	assert_false(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_int_equal(allocations_old_frees(fixture->allocations), 1);
}

static void a_block_that_came_after_a_hole_has_one(void **state)
{
	struct fixture *fixture = *state;

	allocations_lost(fixture->allocations, 1233);
	assert_true(give(fixture, true, MEMORY_ALLOCATED, 0x1000, 100));
	assert_true(give(fixture, true, MEMORY_FREED, 0x1000, 0));
	assert_int_equal(fixture->out.size_bytes, -100);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_free_has_the_size_of_its_block),
		TEST(nothing_allocated_is_no_allocation),
		TEST(a_free_of_an_unknown_block_is_old),
		TEST(a_block_is_freed_once),
		TEST(blocks_stay_known_in_the_next_window),
		TEST(a_block_freed_outside_of_the_window_is_forgotten),
		TEST(an_address_allocated_again_is_another_block),
		TEST(what_a_device_reports_is_shown_as_it_is),
		TEST(out_of_memory_is_shown_without_an_address),
		TEST(blocks_over_the_bound_are_shown_and_not_kept),
		cmocka_unit_test(freeing_nothing_is_legal),
		TEST(a_block_from_before_a_hole_has_no_size),
		TEST(a_block_that_came_in_a_hole_has_no_size),
		TEST(a_block_that_came_after_a_hole_has_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
