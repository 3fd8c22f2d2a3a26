/* How many blocks of a kernel a multiprocessor holds. The figures are NVIDIA's header's. */
#include "support/test.h"

#include "model/occupancy.h"

static struct device_properties device_of(uint32_t major, uint32_t minor)
{
	return (struct device_properties){
		.compute_major = major,
		.compute_minor = minor,
		.threads_per_block_max = 1024,
		.threads_per_multiprocessor_max = 2048,
		.registers_per_block = 65536,
		.registers_per_multiprocessor = 65536,
		.warp_size = 32,
		.multiprocessors = 132,
		.shared_per_block_bytes = 49152,
		.shared_per_multiprocessor_bytes = 233472,
		.shared_per_block_optin_bytes = 232448,
	};
}

static void the_scarcest_thing_decides(void **state)
{
	static const struct {
		uint32_t threads, registers, static_bytes, dynamic_bytes;
		uint64_t blocks;
	} rows[] = {
		{ 256, 32, 0, 0, 8 },  /* warps and registers */
		{ 32, 16, 0, 0, 32 },  /* the number of blocks */
		{ 128, 255, 0, 0, 2 }, /* registers */
		{ 1024, 65, 0, 0, 0 }, /* of one block there are not enough */
		{ 256, 32, 16384, 0, 8 },      { 256, 32, 0, 102400, 2 }, /* shared memory */
		{ 128, 168, 1024, 230400, 1 }, { 128, 32, 0, 232449, 0 }, { 1025, 32, 0, 0, 0 },
	};
	const struct device_properties device = device_of(9, 0);
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		const struct device_work kernel = {
			.block = { rows[i].threads, 1, 1 },
			.registers = rows[i].registers,
			.static_shared_bytes = rows[i].static_bytes,
			.dynamic_shared_bytes = rows[i].dynamic_bytes,
		};
		uint64_t blocks;

		assert_row(i, occupancy_blocks(&device, &kernel, &blocks));
		assert_row(i, blocks == rows[i].blocks);
	}
}

static void a_small_grid_fills_little(void **state)
{
	const struct device_properties device = device_of(9, 0);
	struct device_work kernel = {
		.grid = { 33, 2, 1 },
		.block = { 16, 8, 8 },
		.registers = 32,
	};
	uint32_t percent;

	(void)state;
	assert_true(occupancy_percent(&device, &kernel, &percent));
	assert_int_equal(percent, 25); /* half a block of 1,024 threads each */
	kernel.grid.z = 1000;
	assert_true(occupancy_percent(&device, &kernel, &percent));
	assert_int_equal(percent, 100);
}

static void what_is_not_known_is_not_guessed(void **state)
{
	struct device_work kernel = { .block = { 128, 1, 1 } };
	struct device_properties device = device_of(13, 0);
	uint64_t blocks;

	(void)state;
	assert_false(occupancy_blocks(&device, &kernel, &blocks));
	device = device_of(8, 0);
	assert_true(occupancy_blocks(&device, &kernel, &blocks));
	device.registers_per_multiprocessor = 0;
	assert_false(occupancy_blocks(&device, &kernel, &blocks));
	device = device_of(8, 0);
	kernel.block.y = 0;
	assert_false(occupancy_blocks(&device, &kernel, &blocks));
	/* sizes of a record that lies */
	kernel.block = (struct device_grid){ UINT32_MAX, UINT32_MAX, UINT32_MAX };
	assert_true(occupancy_blocks(&device, &kernel, &blocks));
	assert_int_equal(blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_scarcest_thing_decides),
		cmocka_unit_test(a_small_grid_fills_little),
		cmocka_unit_test(what_is_not_known_is_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
