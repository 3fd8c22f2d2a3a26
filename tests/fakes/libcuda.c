/*
 * libcuda.c - the driver's stand-in: what the job, the runtime's stand-in and the agent call.
 * FAKE_CUDA_DEVICES: how many devices there are (2). CUDA_INJECTION64_PATH is honoured by cuInit(),
 * as the driver does.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_names.h"
#include "fake_cuda.h"

#define DRIVER_VERSION 12080
#define ERROR_INVALID_VALUE 1
#define ERROR_NOT_INITIALIZED 3
#define ERROR_INVALID_DEVICE 101

static atomic_int initialized;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	int (*start)(void);
	void *handle;

	atomic_store(&initialized, 1);
	handle = path ? dlopen(path, RTLD_NOW) : NULL;
	if (path && !handle) {
		fprintf(stderr, "libcuda: %s\n", dlerror());
		return;
	}
	start = handle ? (int (*)(void))dlsym(handle, "InitializeInjection") : NULL;
	if (start && start() != 1)
		fprintf(stderr, "libcuda: InitializeInjection failed\n");
}

FAKE_API int cuInit(unsigned int flags)
{
	(void)flags;
	pthread_once(&once, inject);
	return 0;
}

FAKE_API int cuDriverGetVersion(int *version)
{
	struct fake_call call;

	fake_enter(&call, FAKE_DRIVER, CBID_cuDriverGetVersion, "cuDriverGetVersion");
	*version = DRIVER_VERSION;
	return fake_leave(&call, 0);
}

FAKE_API int cuDeviceGetCount(int *count)
{
	if (!atomic_load(&initialized))
		return ERROR_NOT_INITIALIZED;
	*count = (int)fake_device_count();
	return 0;
}

FAKE_API int cuDeviceGet(int *device, int ordinal)
{
	if (!atomic_load(&initialized))
		return ERROR_NOT_INITIALIZED;
	if (ordinal < 0 || ordinal >= (int)fake_device_count())
		return ERROR_INVALID_DEVICE;
	*device = ordinal;
	return 0;
}

FAKE_API int cuDeviceGetName(char *name, int size, int device)
{
	snprintf(name, (size_t)size, "Simulated GPU %d", device);
	return 0;
}

FAKE_API int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
	(void)device;
	*bytes = 80ULL << 30;
	return 0;
}

/* As an H200's. */
FAKE_API int cuDeviceGetAttribute(int *value, int attribute, int device)
{
	static const struct {
		int attribute, value;
	} values[] = {
		{ 1, 1024 },	{ 8, 49152 },  { 10, 32 },     { 12, 65536 },
		{ 16, 132 },	{ 39, 2048 },  { 75, 9 },      { 76, 0 },
		{ 81, 233472 }, { 82, 65536 }, { 97, 232448 },
	};
	size_t i;

	(void)device;
	for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		if (values[i].attribute == attribute) {
			*value = values[i].value;
			return 0;
		}
	}
	return ERROR_INVALID_VALUE;
}

/* A function is what it is called and what it does on the host. */
FAKE_API int cuLaunchKernel(const struct fake_function *function, unsigned int grid_x,
			    unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
			    unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
			    struct fake_stream *stream, void **arguments, void **extra)
{
	struct fake_op op = { .kind = FAKE_KERNEL,
			      .name = function->name,
			      .grid = { grid_x, grid_y, grid_z },
			      .block = { block_x, block_y, block_z },
			      .registers = 40,
			      .dynamic_shared = shared_bytes };
	struct fake_call call;

	(void)extra;
	fake_enter(&call, FAKE_DRIVER, CBID_cuLaunchKernel, "cuLaunchKernel");
	function->run(arguments);
	fake_submit(stream, &op, &call);
	return fake_leave(&call, 0);
}

FAKE_API int cuStreamSynchronize(struct fake_stream *stream)
{
	struct fake_call call;

	fake_enter(&call, FAKE_DRIVER, CBID_cuStreamSynchronize, "cuStreamSynchronize");
	fake_sync_stream(stream, &call);
	return fake_leave(&call, 0);
}
