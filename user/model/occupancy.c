/*
 * occupancy.c - see occupancy.h. Four things limit how many blocks fit: warps, registers, shared
 * memory, and a number for the generation. Shared memory is taken as if the kernel had opted in to
 * as much as the device gives a block, and with as little cache as there can be: what a launch
 * asked for there no record tells.
 */
#include "model/occupancy.h"

#include <stddef.h>

#define ANY_MINOR UINT32_MAX
#define REGISTER_UNIT 256	   /* registers are given to a warp in these */
#define RESERVED_SHARED_BYTES 1024 /* of each block, the driver's own, since 8.0 */
#define RESERVED_SINCE_MAJOR 8
#define OPT_IN_SINCE_MAJOR 7

struct generation {
	uint32_t major, minor; /* the first row that fits */
	uint32_t blocks_max, partitions, registers_max, shared_unit_bytes;
};

static const struct generation generations[] = {
	{ 3, ANY_MINOR, 16, 4, 255, 256 },  { 5, ANY_MINOR, 32, 4, 255, 256 },
	{ 6, 0, 32, 2, 255, 256 },	    { 6, ANY_MINOR, 32, 4, 255, 256 },
	{ 7, 5, 16, 4, 256, 256 },	    { 7, ANY_MINOR, 32, 4, 256, 256 },
	{ 8, 0, 32, 4, 256, 128 },	    { 8, 9, 24, 4, 256, 128 },
	{ 8, ANY_MINOR, 16, 4, 256, 128 },  { 9, ANY_MINOR, 32, 4, 256, 128 },
	{ 10, 1, 24, 4, 256, 128 },	    { 10, ANY_MINOR, 32, 4, 256, 128 },
	{ 11, 0, 24, 4, 256, 128 },	    { 11, ANY_MINOR, 32, 4, 256, 128 },
	{ 12, ANY_MINOR, 24, 4, 256, 128 },
};

static const struct generation *generation_of(const struct device_properties *device)
{
	size_t i;

	for (i = 0; i < sizeof(generations) / sizeof(generations[0]); i++) {
		const struct generation *row = &generations[i];

		if (row->major == device->compute_major &&
		    (row->minor == device->compute_minor || row->minor == ANY_MINOR))
			return row;
	}
	return NULL;
}

static bool is_known(const struct device_properties *device)
{
	return device->threads_per_block_max && device->threads_per_multiprocessor_max &&
	       device->registers_per_block && device->registers_per_multiprocessor &&
	       device->warp_size && device->multiprocessors && device->shared_per_block_bytes &&
	       device->shared_per_multiprocessor_bytes;
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
	return (value + unit - 1) / unit * unit;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Saturated: sizes are as the record has them. */
static uint64_t volume(const struct device_grid *grid)
{
	uint64_t plane = (uint64_t)grid->x * grid->y;

	return plane && grid->z > UINT64_MAX / plane ? UINT64_MAX : plane * grid->z;
}

/* warps: of a block, at least one. */
static uint64_t blocks_by_registers(const struct device_properties *device,
				    const struct generation *generation, uint32_t registers,
				    uint64_t warps)
{
	uint64_t of_warp = round_up((uint64_t)registers * device->warp_size, REGISTER_UNIT);
	uint64_t warps_of_partition;

	/* A launch is checked as if all partitions had the same number of its warps. */
	if (registers > generation->registers_max ||
	    of_warp * round_up(warps, generation->partitions) > device->registers_per_block)
		return 0;
	if (!of_warp)
		return UINT64_MAX;
	warps_of_partition =
		device->registers_per_multiprocessor / generation->partitions / of_warp;
	return warps_of_partition * generation->partitions / warps;
}

static uint64_t blocks_by_shared_memory(const struct device_properties *device,
					const struct generation *generation,
					const struct device_work *kernel)
{
	uint64_t limit = device->shared_per_block_bytes, reserved = 0, size;

	if (device->compute_major >= OPT_IN_SINCE_MAJOR &&
	    device->shared_per_block_optin_bytes > limit)
		limit = device->shared_per_block_optin_bytes;
	if (device->compute_major >= RESERVED_SINCE_MAJOR)
		reserved = RESERVED_SHARED_BYTES;
	size = round_up((uint64_t)kernel->static_shared_bytes + kernel->dynamic_shared_bytes +
				reserved,
			generation->shared_unit_bytes);
	if (size > limit + reserved)
		return 0;
	return size ? device->shared_per_multiprocessor_bytes / size : UINT64_MAX;
}

/*
 * The first chip of 6.x has two partitions only and could hold kernels that the others cannot: it
 * is not let.
 */
static bool runs_on_all_of(const struct device_properties *device, uint32_t registers,
			   uint64_t warps)
{
	struct device_properties other = *device;

	if (device->compute_major != 6 || device->compute_minor)
		return true;
	other.compute_minor = 1;
	return blocks_by_registers(&other, generation_of(&other), registers, warps);
}

bool occupancy_blocks(const struct device_properties *device, const struct device_work *kernel,
		      uint64_t *blocks)
{
	const struct generation *generation = generation_of(device);
	uint64_t threads = volume(&kernel->block), warps;

	if (!generation || !is_known(device) || !threads)
		return false;
	*blocks = 0;
	if (threads > device->threads_per_block_max)
		return true;
	warps = (threads + device->warp_size - 1) / device->warp_size;
	if (!runs_on_all_of(device, kernel->registers, warps))
		return true;
	*blocks = smaller(device->threads_per_multiprocessor_max / device->warp_size / warps,
			  generation->blocks_max);
	*blocks =
		smaller(*blocks, blocks_by_registers(device, generation, kernel->registers, warps));
	*blocks = smaller(*blocks, blocks_by_shared_memory(device, generation, kernel));
	return true;
}

bool occupancy_percent(const struct device_properties *device, const struct device_work *kernel,
		       uint32_t *percent)
{
	double of_multiprocessor, threads = (double)volume(&kernel->block);
	uint64_t blocks;

	if (!occupancy_blocks(device, kernel, &blocks))
		return false;
	of_multiprocessor = (double)volume(&kernel->grid) / device->multiprocessors;
	if ((double)blocks < of_multiprocessor)
		of_multiprocessor = (double)blocks;
	*percent = (uint32_t)(of_multiprocessor * threads / device->threads_per_multiprocessor_max *
				      100 +
			      0.5);
	return true;
}
