/* libcudart.c - the runtime's stand-in. Copies and kernels happen at once; their times are later.
 */
#include <string.h>

#include "cuda_runtime.h"
#include "fake_cuda.h"

#define EXPORT FAKE_API

#define ENTER(name, version) fake_enter(&call, FAKE_RUNTIME, CBID_##name, #name "_v" #version)

enum {
	KIND_PINNED = 2,
	KIND_DEVICE = 3,
	COPY_HTOD = 1,
	COPY_DTOH = 2,
	COPY_DTOD = 8,
	COPY_PTOP = 10
};

int cuInit(unsigned int flags);

static void initialize(void)
{
	cuInit(0);
}

EXPORT int cudaGetDevice(int *device)
{
	struct fake_call call;

	initialize();
	ENTER(cudaGetDevice, 3020);
	*device = (int)fake_current_device();
	return fake_leave(&call, 0);
}

EXPORT int cudaSetDevice(int device)
{
	struct fake_call call;

	initialize();
	ENTER(cudaSetDevice, 3020);
	fake_set_device((uint32_t)device);
	return fake_leave(&call, 0);
}

EXPORT int cudaGetLastError(void)
{
	struct fake_call call;

	ENTER(cudaGetLastError, 3020);
	return fake_leave(&call, 0);
}

EXPORT int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority)
{
	struct fake_call call;

	(void)flags;
	initialize();
	ENTER(cudaStreamCreateWithPriority, 5050);
	*stream = fake_stream_new(priority);
	return fake_leave(&call, 0);
}

EXPORT int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
			    size_t shared_bytes, cudaStream_t stream)
{
	const struct fake_function *kernel = function;
	struct fake_op op = { .kind = FAKE_KERNEL,
			      .name = kernel->name,
			      .grid = { grid.x, grid.y, grid.z },
			      .block = { block.x, block.y, block.z },
			      .registers = 32,
			      .static_shared = 1024,
			      .dynamic_shared = (uint32_t)shared_bytes };
	struct fake_call call;

	ENTER(cudaLaunchKernel, 7000);
	kernel->run(arguments);
	fake_submit(stream, &op, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream)
{
	struct fake_call call;
	unsigned int i;

	ENTER(cudaGraphLaunch, 10000);
	for (i = 0; i < graph->node_count; i++) {
		dim3 grid = graph->nodes[i].grid, block = graph->nodes[i].block;
		struct fake_op op = { .kind = FAKE_KERNEL,
				      .name = graph->nodes[i].function->name,
				      .grid = { grid.x, grid.y, grid.z },
				      .block = { block.x, block.y, block.z },
				      .registers = 24,
				      .graph_id = graph->id,
				      .graph_node = ((uint64_t)graph->id << 32) + i };

		graph->nodes[i].function->run(graph->nodes[i].arguments);
		fake_submit(stream, &op, &call);
	}
	return fake_leave(&call, 0);
}

EXPORT int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind,
			   cudaStream_t stream)
{
	static const struct {
		uint32_t copy, source, target;
	} kinds[] = {
		[cudaMemcpyHostToDevice] = { COPY_HTOD, KIND_PINNED, KIND_DEVICE },
		[cudaMemcpyDeviceToHost] = { COPY_DTOH, KIND_DEVICE, KIND_PINNED },
		[cudaMemcpyDeviceToDevice] = { COPY_DTOD, KIND_DEVICE, KIND_DEVICE },
	};
	struct fake_op op = { .kind = FAKE_MEMCPY,
			      .bytes = bytes,
			      .copy_kind = kinds[kind].copy,
			      .source_kind = kinds[kind].source,
			      .target_kind = kinds[kind].target };
	struct fake_call call;

	ENTER(cudaMemcpyAsync, 3020);
	memmove(target, source, bytes);
	fake_submit(stream, &op, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaMemcpyPeerAsync(void *target, int target_device, const void *source,
			       int source_device, size_t bytes, cudaStream_t stream)
{
	struct fake_op op = { .kind = FAKE_PEER,
			      .bytes = bytes,
			      .copy_kind = COPY_PTOP,
			      .source_kind = KIND_DEVICE,
			      .target_kind = KIND_DEVICE,
			      .source_device = (uint32_t)source_device,
			      .target_device = (uint32_t)target_device };
	struct fake_call call;

	ENTER(cudaMemcpyPeerAsync, 4000);
	memmove(target, source, bytes);
	fake_submit(stream, &op, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream)
{
	struct fake_op op = { .kind = FAKE_MEMSET,
			      .bytes = bytes,
			      .value = (uint32_t)value,
			      .target_kind = KIND_DEVICE };
	struct fake_call call;

	ENTER(cudaMemsetAsync, 3020);
	memset(target, value, bytes);
	fake_submit(stream, &op, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaStreamSynchronize(cudaStream_t stream)
{
	struct fake_call call;

	ENTER(cudaStreamSynchronize, 3020);
	fake_sync_stream(stream, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaDeviceSynchronize(void)
{
	struct fake_call call;

	ENTER(cudaDeviceSynchronize, 3020);
	fake_sync_device(&call);
	return fake_leave(&call, 0);
}

EXPORT int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
	struct fake_call call;

	(void)flags;
	ENTER(cudaEventCreateWithFlags, 3020);
	*event = fake_event_new();
	return fake_leave(&call, 0);
}

EXPORT int cudaEventDestroy(cudaEvent_t event)
{
	struct fake_call call;

	ENTER(cudaEventDestroy, 3020);
	fake_event_free(event);
	return fake_leave(&call, 0);
}

EXPORT int cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct fake_call call;

	ENTER(cudaEventRecord, 3020);
	fake_event_record(event, stream, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaEventSynchronize(cudaEvent_t event)
{
	struct fake_call call;

	ENTER(cudaEventSynchronize, 3020);
	fake_event_sync(event, &call);
	return fake_leave(&call, 0);
}

EXPORT int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
	struct fake_call call;

	(void)flags;
	ENTER(cudaStreamWaitEvent, 3020);
	fake_event_wait(event, stream, &call);
	return fake_leave(&call, 0);
}
