/* cuda_runtime.h - the part of the CUDA runtime that the stand-in has, for the simulated job. */
#ifndef FAKE_CUDA_RUNTIME_H
#define FAKE_CUDA_RUNTIME_H

#include <stddef.h>

#include "cuda_names.h"

typedef struct fake_stream *cudaStream_t;
typedef struct fake_cuda_event *cudaEvent_t;
typedef struct fake_graph *cudaGraphExec_t;
typedef struct {
	unsigned int x, y, z;
} dim3;

enum {
	cudaMemcpyHostToDevice = 1,
	cudaMemcpyDeviceToHost = 2,
	cudaMemcpyDeviceToDevice = 3,
};

int cudaGetDevice(int *device);
int cudaSetDevice(int device);
int cudaGetLastError(void);
int cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned int flags, int priority);
int cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
		     size_t shared_bytes, cudaStream_t stream);
int cudaMemcpyAsync(void *target, const void *source, size_t bytes, int kind, cudaStream_t stream);
int cudaMemcpyPeerAsync(void *target, int target_device, const void *source, int source_device,
			size_t bytes, cudaStream_t stream);
int cudaMemsetAsync(void *target, int value, size_t bytes, cudaStream_t stream);
int cudaStreamSynchronize(cudaStream_t stream);
int cudaDeviceSynchronize(void);
int cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags);
int cudaEventDestroy(cudaEvent_t event);
int cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
int cudaEventSynchronize(cudaEvent_t event);
int cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags);

/* A graph here is a list of launches. */
struct fake_graph {
	unsigned int id, node_count;
	struct {
		const struct fake_function *function;
		dim3 grid, block;
		void **arguments;
	} nodes[8];
};
int cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);

#endif /* FAKE_CUDA_RUNTIME_H */
