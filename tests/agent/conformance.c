/*
 * conformance.c - compiled against the headers of one version of CUPTI: that the agent's table, and
 * the stand-in's records, are what these headers say. Nothing of it runs but the last sizes.
 * KERNEL, MEMCPY, PEER, MEMSET, SYNC, EVENT, OVERHEAD: the newest structure of each that the
 * headers have (conformance.sh looks).
 */
#include <cupti.h>

#include <stddef.h>
#include <stdio.h>

/* The agent's names are shorter than CUPTI's, but for these. */
#define CUPTI_SUCCESS AGENT_CUPTI_SUCCESS
#include "agent/cupti_layout.h"
#undef CUPTI_SUCCESS
#include "agent/recorder.h"
#include "fakes/cuda_names.h"
#include "fakes/fake_layout.h"

#define FIELD(type, field, offset, bytes)                                               \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field ": offset"); \
	_Static_assert(sizeof(((type *)0)->field) == (bytes), #type "." #field ": size")
#define VALUE(theirs, ours) _Static_assert((int)(theirs) == (int)(ours), #theirs)
#define FAKE(type, field, record, name) \
	_Static_assert(offsetof(type, field) == offsetof(record, name), #record "." #name)

FIELD(KERNEL, kind, 0, 4);
FIELD(KERNEL, registersPerThread, KERNEL_REGISTERS, 2);
FIELD(KERNEL, start, KERNEL_START, 8);
FIELD(KERNEL, end, KERNEL_END, 8);
FIELD(KERNEL, deviceId, KERNEL_DEVICE, 4);
FIELD(KERNEL, contextId, KERNEL_CONTEXT, 4);
FIELD(KERNEL, streamId, KERNEL_STREAM, 4);
FIELD(KERNEL, gridX, KERNEL_GRID, 4);
FIELD(KERNEL, gridY, KERNEL_GRID + 4, 4);
FIELD(KERNEL, gridZ, KERNEL_GRID + 8, 4);
FIELD(KERNEL, blockX, KERNEL_BLOCK, 4);
FIELD(KERNEL, blockY, KERNEL_BLOCK + 4, 4);
FIELD(KERNEL, blockZ, KERNEL_BLOCK + 8, 4);
FIELD(KERNEL, staticSharedMemory, KERNEL_STATIC_SHARED, 4);
FIELD(KERNEL, dynamicSharedMemory, KERNEL_DYNAMIC_SHARED, 4);
FIELD(KERNEL, localMemoryPerThread, KERNEL_LOCAL_PER_THREAD, 4);
FIELD(KERNEL, correlationId, KERNEL_CORRELATION, 4);
FIELD(KERNEL, name, KERNEL_NAME, 8);
FIELD(KERNEL, graphNodeId, KERNEL_GRAPH_NODE, 8);
FIELD(KERNEL, graphId, KERNEL_GRAPH, 4);
FIELD(KERNEL, channelID, KERNEL_CHANNEL, 4);
FIELD(KERNEL, channelType, KERNEL_CHANNEL_TYPE, 4);
FIELD(KERNEL, clusterX, KERNEL_CLUSTER, 4);
FIELD(KERNEL, clusterY, KERNEL_CLUSTER + 4, 4);
FIELD(KERNEL, clusterZ, KERNEL_CLUSTER + 8, 4);
#if CUPTI_API_VERSION >= 130100
FIELD(KERNEL, priority, KERNEL_PRIORITY, 4);
#endif

FIELD(MEMCPY, copyKind, MEMCPY_KIND, 1);
FIELD(MEMCPY, srcKind, MEMCPY_SOURCE_KIND, 1);
FIELD(MEMCPY, dstKind, MEMCPY_TARGET_KIND, 1);
FIELD(MEMCPY, flags, MEMCPY_FLAGS, 1);
FIELD(MEMCPY, bytes, MEMCPY_BYTES, 8);
FIELD(MEMCPY, start, MEMCPY_START, 8);
FIELD(MEMCPY, end, MEMCPY_END, 8);
FIELD(MEMCPY, deviceId, MEMCPY_DEVICE, 4);
FIELD(MEMCPY, contextId, MEMCPY_CONTEXT, 4);
FIELD(MEMCPY, streamId, MEMCPY_STREAM, 4);
FIELD(MEMCPY, correlationId, MEMCPY_CORRELATION, 4);
FIELD(MEMCPY, graphNodeId, MEMCPY_GRAPH_NODE, 8);
FIELD(MEMCPY, graphId, MEMCPY_GRAPH, 4);
FIELD(MEMCPY, channelID, MEMCPY_CHANNEL, 4);
FIELD(MEMCPY, channelType, MEMCPY_CHANNEL_TYPE, 4);
#if CUPTI_API_VERSION >= 26
FIELD(MEMCPY, copyCount, MEMCPY_COPY_COUNT, 8);
#endif

FIELD(PEER, copyKind, MEMCPY_KIND, 1);
FIELD(PEER, srcKind, MEMCPY_SOURCE_KIND, 1);
FIELD(PEER, dstKind, MEMCPY_TARGET_KIND, 1);
FIELD(PEER, flags, MEMCPY_FLAGS, 1);
FIELD(PEER, bytes, MEMCPY_BYTES, 8);
FIELD(PEER, start, MEMCPY_START, 8);
FIELD(PEER, end, MEMCPY_END, 8);
FIELD(PEER, deviceId, MEMCPY_DEVICE, 4);
FIELD(PEER, contextId, MEMCPY_CONTEXT, 4);
FIELD(PEER, streamId, MEMCPY_STREAM, 4);
FIELD(PEER, srcDeviceId, PEER_SOURCE_DEVICE, 4);
FIELD(PEER, srcContextId, PEER_SOURCE_CONTEXT, 4);
FIELD(PEER, dstDeviceId, PEER_TARGET_DEVICE, 4);
FIELD(PEER, dstContextId, PEER_TARGET_CONTEXT, 4);
FIELD(PEER, correlationId, PEER_CORRELATION, 4);
FIELD(PEER, graphNodeId, PEER_GRAPH_NODE, 8);
FIELD(PEER, graphId, PEER_GRAPH, 4);
FIELD(PEER, channelID, PEER_CHANNEL, 4);
FIELD(PEER, channelType, PEER_CHANNEL_TYPE, 4);

FIELD(MEMSET, value, MEMSET_VALUE, 4);
FIELD(MEMSET, bytes, MEMSET_BYTES, 8);
FIELD(MEMSET, start, MEMSET_START, 8);
FIELD(MEMSET, end, MEMSET_END, 8);
FIELD(MEMSET, deviceId, MEMSET_DEVICE, 4);
FIELD(MEMSET, contextId, MEMSET_CONTEXT, 4);
FIELD(MEMSET, streamId, MEMSET_STREAM, 4);
FIELD(MEMSET, correlationId, MEMSET_CORRELATION, 4);
FIELD(MEMSET, flags, MEMSET_FLAGS, 2);
FIELD(MEMSET, memoryKind, MEMSET_MEMORY_KIND, 2);
FIELD(MEMSET, graphNodeId, MEMSET_GRAPH_NODE, 8);
FIELD(MEMSET, graphId, MEMSET_GRAPH, 4);
FIELD(MEMSET, channelID, MEMSET_CHANNEL, 4);
FIELD(MEMSET, channelType, MEMSET_CHANNEL_TYPE, 4);

FIELD(CUpti_ActivityAPI, cbid, API_CALLBACK, 4);
FIELD(CUpti_ActivityAPI, start, API_START, 8);
FIELD(CUpti_ActivityAPI, end, API_END, 8);
FIELD(CUpti_ActivityAPI, threadId, API_THREAD, 4);
FIELD(CUpti_ActivityAPI, correlationId, API_CORRELATION, 4);
FIELD(CUpti_ActivityAPI, returnValue, API_RESULT, 4);

FIELD(SYNC, type, SYNC_TYPE, 4);
FIELD(SYNC, start, SYNC_START, 8);
FIELD(SYNC, end, SYNC_END, 8);
FIELD(SYNC, correlationId, SYNC_CORRELATION, 4);
FIELD(SYNC, contextId, SYNC_CONTEXT, 4);
FIELD(SYNC, streamId, SYNC_STREAM, 4);
FIELD(SYNC, cudaEventId, SYNC_EVENT, 4);
#if CUPTI_API_VERSION >= 26
FIELD(SYNC, cudaEventSyncId, SYNC_EVENT_SYNC, 8);
FIELD(SYNC, returnValue, SYNC_RESULT, 4);
#endif

FIELD(EVENT, correlationId, EVENT_CORRELATION, 4);
FIELD(EVENT, contextId, EVENT_CONTEXT, 4);
FIELD(EVENT, streamId, EVENT_STREAM, 4);
FIELD(EVENT, eventId, EVENT_ID, 4);
#if CUPTI_API_VERSION >= 26
FIELD(EVENT, deviceId, EVENT_DEVICE, 4);
FIELD(EVENT, cudaEventSyncId, EVENT_EVENT_SYNC, 8);
#endif

FIELD(OVERHEAD, overheadKind, OVERHEAD_KIND, 4);
FIELD(OVERHEAD, objectKind, OVERHEAD_OBJECT, 4);
FIELD(OVERHEAD, objectId, OVERHEAD_IDS, 12);
FIELD(OVERHEAD, objectId.pt.processId, OVERHEAD_IDS, 4);
FIELD(OVERHEAD, objectId.pt.threadId, OVERHEAD_IDS + 4, 4);
FIELD(OVERHEAD, objectId.dcs.deviceId, OVERHEAD_IDS, 4);
FIELD(OVERHEAD, objectId.dcs.streamId, OVERHEAD_IDS + 8, 4);
FIELD(OVERHEAD, start, OVERHEAD_START, 8);
FIELD(OVERHEAD, end, OVERHEAD_END, 8);
#if CUPTI_API_VERSION >= 22
FIELD(OVERHEAD, correlationId, OVERHEAD_CORRELATION, 4);
#endif

VALUE(CUPTI_ACTIVITY_KIND_MEMCPY, KIND_MEMCPY);
VALUE(CUPTI_ACTIVITY_KIND_MEMSET, KIND_MEMSET);
VALUE(CUPTI_ACTIVITY_KIND_KERNEL, KIND_KERNEL);
VALUE(CUPTI_ACTIVITY_KIND_DRIVER, KIND_DRIVER);
VALUE(CUPTI_ACTIVITY_KIND_RUNTIME, KIND_RUNTIME);
VALUE(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, KIND_CONCURRENT_KERNEL);
VALUE(CUPTI_ACTIVITY_KIND_OVERHEAD, KIND_OVERHEAD);
VALUE(CUPTI_ACTIVITY_KIND_MEMCPY2, KIND_MEMCPY2);
VALUE(CUPTI_ACTIVITY_KIND_CUDA_EVENT, KIND_CUDA_EVENT);
VALUE(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, KIND_SYNCHRONIZATION);

VALUE(CUPTI_SUCCESS, AGENT_CUPTI_SUCCESS);
VALUE(CUPTI_ERROR_MAX_LIMIT_REACHED, CUPTI_MAX_LIMIT_REACHED);
VALUE(CUPTI_ERROR_NOT_INITIALIZED, CUPTI_NOT_INITIALIZED);
VALUE(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, CUPTI_INSUFFICIENT_PRIVILEGES);
VALUE(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, CUPTI_MULTIPLE_SUBSCRIBERS);
VALUE(CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, CUPTI_VIRTUAL_PRIVILEGES);
VALUE(CUPTI_ERROR_UNKNOWN, CUPTI_UNKNOWN);

VALUE(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED, CUPTI_FLUSH_FORCED);
VALUE(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM, CUPTI_THREAD_ID_SYSTEM);
VALUE(CUPTI_ACTIVITY_OBJECT_THREAD, OBJECT_THREAD);
VALUE(CUPTI_ACTIVITY_OBJECT_PROCESS, 1);
VALUE(CUPTI_ACTIVITY_OBJECT_STREAM, 5);
VALUE(CUPTI_CB_DOMAIN_DRIVER_API, AGENT_API_DRIVER);
VALUE(CUPTI_CB_DOMAIN_RUNTIME_API, AGENT_API_RUNTIME);
VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, 1);
VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 2);
VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 3);
VALUE(CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, 4);

VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, RUNTIME_GET_LAST_ERROR);
VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaSetDevice_v3020, RUNTIME_SET_DEVICE);
VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, RUNTIME_GET_DEVICE);
VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaEventCreate_v3020, RUNTIME_EVENT_CREATE);
VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaEventCreateWithFlags_v3020, RUNTIME_EVENT_CREATE_WITH_FLAGS);
VALUE(CUPTI_RUNTIME_TRACE_CBID_cudaEventDestroy_v3020, RUNTIME_EVENT_DESTROY);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion, DRIVER_GET_VERSION);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, DRIVER_LAUNCH_KERNEL);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, DRIVER_LAUNCH_KERNEL_EX);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemCreate, DRIVER_MEM_CREATE);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemMap, DRIVER_MEM_MAP);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemUnmap, DRIVER_MEM_UNMAP);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemRelease, DRIVER_MEM_RELEASE);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemExportToShareableHandle, DRIVER_MEM_EXPORT);
VALUE(CUPTI_DRIVER_TRACE_CBID_cuMemImportFromShareableHandle, DRIVER_MEM_IMPORT);
_Static_assert(CUPTI_DRIVER_TRACE_CBID_SIZE < CALLBACKS_MAX, "driver callbacks");
_Static_assert(CUPTI_RUNTIME_TRACE_CBID_SIZE < CALLBACKS_MAX, "runtime callbacks");

VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, ATTRIBUTE_THREADS_PER_BLOCK);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, ATTRIBUTE_SHARED_PER_BLOCK);
VALUE(CU_DEVICE_ATTRIBUTE_WARP_SIZE, ATTRIBUTE_WARP_SIZE);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, ATTRIBUTE_REGISTERS_PER_BLOCK);
VALUE(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, ATTRIBUTE_MULTIPROCESSORS);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, ATTRIBUTE_THREADS_PER_MULTIPROCESSOR);
VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, ATTRIBUTE_COMPUTE_MAJOR);
VALUE(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, ATTRIBUTE_COMPUTE_MINOR);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
      ATTRIBUTE_SHARED_PER_MULTIPROCESSOR);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, ATTRIBUTE_REGISTERS_PER_MULTIPROCESSOR);
VALUE(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, ATTRIBUTE_SHARED_PER_BLOCK_OPTIN);

/* The stand-in's records, at their ends: what is in front of a field has its size, too. */
FAKE(KERNEL, clusterX, struct fake_kernel_record, cluster);
FAKE(KERNEL, correlationId, struct fake_kernel_record, correlation);
FAKE(KERNEL, name, struct fake_kernel_record, name);
FAKE(KERNEL, localMemoryTotal_v2, struct fake_kernel_record, local_total_v2);
FAKE(MEMCPY, channelType, struct fake_memcpy_record, channel_type);
FAKE(MEMCPY, correlationId, struct fake_memcpy_record, correlation);
FAKE(PEER, channelType, struct fake_peer_record, channel_type);
FAKE(PEER, correlationId, struct fake_peer_record, correlation);
FAKE(MEMSET, channelType, struct fake_memset_record, channel_type);
FAKE(MEMSET, memoryKind, struct fake_memset_record, memory_kind);
FAKE(CUpti_ActivityAPI, returnValue, struct fake_api_record, result);
FAKE(SYNC, cudaEventId, struct fake_sync_record, event);
FAKE(EVENT, eventId, struct fake_event_record, event);
FAKE(OVERHEAD, end, struct fake_overhead_record, end);
#if CUPTI_API_VERSION >= 130100
FAKE(KERNEL, priority, struct fake_kernel_record, priority);
#endif
#if CUPTI_API_VERSION >= 130300
FAKE(KERNEL, executionModel, struct fake_kernel_record, execution_model);
#endif
#if CUPTI_API_VERSION >= 130400
FAKE(KERNEL, sourceGraphNodeId, struct fake_kernel_record, source_graph_node);
FAKE(MEMCPY, sourceGraphNodeId, struct fake_memcpy_record, source_graph_node);
FAKE(MEMSET, sourceGraphNodeId, struct fake_memset_record, source_graph_node);
#endif

#if CUPTI_API_VERSION >= 130500
FAKE(EVENT, sourceGraphNodeId, struct fake_event_record, source_graph_node);
#endif

/* The ids of the calls in the stand-ins. */
#define CBID(name, theirs) VALUE(theirs, CBID_##name)
CBID(cuDriverGetVersion, CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);
CBID(cuStreamSynchronize, CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize);
CBID(cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
CBID(cudaMemcpyAsync, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyAsync_v3020);
CBID(cudaMemsetAsync, CUPTI_RUNTIME_TRACE_CBID_cudaMemsetAsync_v3020);
CBID(cudaStreamSynchronize, CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020);
CBID(cudaEventRecord, CUPTI_RUNTIME_TRACE_CBID_cudaEventRecord_v3020);
CBID(cudaEventSynchronize, CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020);
CBID(cudaStreamWaitEvent, CUPTI_RUNTIME_TRACE_CBID_cudaStreamWaitEvent_v3020);
CBID(cudaMemcpyPeerAsync, CUPTI_RUNTIME_TRACE_CBID_cudaMemcpyPeerAsync_v4000);
CBID(cudaDeviceSynchronize, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
CBID(cudaStreamCreateWithPriority, CUPTI_RUNTIME_TRACE_CBID_cudaStreamCreateWithPriority_v5050);
CBID(cudaLaunchKernel, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
CBID(cudaGraphLaunch, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000);

int main(void)
{
	const struct recorder recorder = { .version = CUPTI_API_VERSION };
	const struct {
		const char *name;
		uint32_t kind;
		size_t size;
	} records[] = {
		{ "kernel", KIND_CONCURRENT_KERNEL, sizeof(KERNEL) },
		{ "memcpy", KIND_MEMCPY, sizeof(MEMCPY) },
		{ "peer", KIND_MEMCPY2, sizeof(PEER) },
		{ "memset", KIND_MEMSET, sizeof(MEMSET) },
		{ "api", KIND_RUNTIME, sizeof(CUpti_ActivityAPI) },
		{ "sync", KIND_SYNCHRONIZATION, sizeof(SYNC) },
		{ "event", KIND_CUDA_EVENT, sizeof(EVENT) },
		{ "overhead", KIND_OVERHEAD, sizeof(OVERHEAD) },
	};
	int failed = 0;
	size_t i;

	for (i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		size_t read = recorder_size(&recorder, records[i].kind);
		size_t fake = fake_record_size(CUPTI_API_VERSION, records[i].kind);

		/* 12.0 and 12.1 say that they are 18, as 11.8 does, and write longer kernels. */
		if (!read || read > records[i].size ||
		    (fake != records[i].size && CUPTI_API_VERSION != 18)) {
			printf("%s: %zu bytes, the agent reads %zu, the stand-in writes %zu\n",
			       records[i].name, records[i].size, read, fake);
			failed = 1;
		}
	}
	printf("CUPTI_API_VERSION %d\n", CUPTI_API_VERSION);
	return failed;
}
