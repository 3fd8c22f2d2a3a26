/*
 * occupancy_conformance.c - the occupancy that we work out against NVIDIA's own cuda_occupancy.h
 * (conformance.sh), for devices as they are sold and kernels of all sizes. Prints how many were
 * compared.
 */
#include <cuda_occupancy.h>

#include <stdint.h>
#include <stdio.h>

#include "model/occupancy.h"

#define KERNELS 50000 /* of each device */
#define KIB 1024U

/* As cudaGetDeviceProperties() tells them (the CUDA programming guide's table of compute
 * capabilities). */
static const struct device {
	const char *name;
	uint32_t major, minor, threads, registers, registers_of_block, shared, of_block, opt_in;
} devices[] = {
	{ "K80", 3, 7, 2048, 131072, 65536, 112 * KIB, 48 * KIB, 48 * KIB },
	{ "M40", 5, 2, 2048, 65536, 65536, 96 * KIB, 48 * KIB, 48 * KIB },
	{ "P100", 6, 0, 2048, 65536, 65536, 64 * KIB, 48 * KIB, 48 * KIB },
	{ "P40", 6, 1, 2048, 65536, 65536, 96 * KIB, 48 * KIB, 48 * KIB },
	{ "V100", 7, 0, 2048, 65536, 65536, 96 * KIB, 48 * KIB, 96 * KIB },
	{ "T4", 7, 5, 1024, 65536, 65536, 64 * KIB, 48 * KIB, 64 * KIB },
	{ "A100", 8, 0, 2048, 65536, 65536, 164 * KIB, 48 * KIB, 163 * KIB },
	{ "A10", 8, 6, 1536, 65536, 65536, 100 * KIB, 48 * KIB, 99 * KIB },
	{ "Orin", 8, 7, 1536, 65536, 65536, 164 * KIB, 48 * KIB, 163 * KIB },
	{ "L4", 8, 9, 1536, 65536, 65536, 100 * KIB, 48 * KIB, 99 * KIB },
	{ "H100", 9, 0, 2048, 65536, 65536, 228 * KIB, 48 * KIB, 227 * KIB },
	{ "B200", 10, 0, 2048, 65536, 65536, 228 * KIB, 48 * KIB, 227 * KIB },
	{ "RTX 5090", 12, 0, 1536, 65536, 65536, 100 * KIB, 48 * KIB, 99 * KIB },
};

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

/* Sizes that programs use, and some that none should. */
static uint32_t random_size(uint64_t *state, uint32_t max)
{
	uint64_t value = random_next(state);

	return value % 4 ? (uint32_t)((value >> 8) % (max / 256 + 1)) * 256
			 : (uint32_t)((value >> 8) % (max + 1));
}

static int theirs(const struct device *device, const struct device_work *kernel)
{
	struct cudaOccDeviceProp properties = {
		.computeMajor = (int)device->major,
		.computeMinor = (int)device->minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = (int)device->threads,
		.regsPerBlock = (int)device->registers_of_block,
		.regsPerMultiprocessor = (int)device->registers,
		.warpSize = 32,
		.sharedMemPerBlock = device->of_block,
		.sharedMemPerMultiprocessor = device->shared,
		.numSms = 100,
		.sharedMemPerBlockOptin = device->opt_in,
		.reservedSharedMemPerBlock = device->major >= 8 ? 1024 : 0,
	};
	struct cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = INT_MAX,
		.numRegs = (int)kernel->registers,
		.sharedSizeBytes = kernel->static_shared_bytes,
		.partitionedGCConfig = PARTITIONED_GC_OFF,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = INT_MAX,
	};
	struct cudaOccDeviceState state = { CACHE_PREFER_NONE, SHAREDMEM_CARVEOUT_DEFAULT };
	struct cudaOccResult result = { 0 };
	cudaOccError err = cudaOccMaxActiveBlocksPerMultiprocessor(
		&result, &properties, &attributes, &state, (int)kernel->block.x,
		kernel->dynamic_shared_bytes);

	return err == CUDA_OCC_SUCCESS ? result.activeBlocksPerMultiprocessor : -(int)err;
}

static long long ours(const struct device *device, const struct device_work *kernel)
{
	const struct device_properties properties = {
		.compute_major = device->major,
		.compute_minor = device->minor,
		.threads_per_block_max = 1024,
		.threads_per_multiprocessor_max = device->threads,
		.registers_per_block = device->registers_of_block,
		.registers_per_multiprocessor = device->registers,
		.warp_size = 32,
		.multiprocessors = 100,
		.shared_per_block_bytes = device->of_block,
		.shared_per_multiprocessor_bytes = device->shared,
		.shared_per_block_optin_bytes = device->opt_in,
	};
	uint64_t blocks;

	return occupancy_blocks(&properties, kernel, &blocks) ? (long long)blocks : -1;
}

int main(void)
{
	uint64_t state = 7;
	unsigned int compared = 0;
	size_t i;
	int j;

	for (i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		for (j = 0; j < KERNELS; j++) {
			const struct device_work kernel = {
				.block = { 1 + (uint32_t)(random_next(&state) % 1100), 1, 1 },
				.registers = (uint32_t)(random_next(&state) % 260),
				.static_shared_bytes = random_size(&state, 50 * KIB),
				.dynamic_shared_bytes = j % 2 ? 0 : random_size(&state, 240 * KIB),
			};
			int want = theirs(&devices[i], &kernel);
			long long got = ours(&devices[i], &kernel);

			if (got != want) {
				printf("%s: %u threads, %u registers, %u + %u bytes: %lld, theirs "
				       "%d\n",
				       devices[i].name, kernel.block.x, kernel.registers,
				       kernel.static_shared_bytes, kernel.dynamic_shared_bytes, got,
				       want);
				return 1;
			}
			compared++;
		}
	}
	printf("%u kernels\n", compared);
	return 0;
}
