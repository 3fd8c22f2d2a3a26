/* work.c - see work.h. */
#include "work.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_runtime.h"

#define ELEMENTS 4096

int cuLaunchKernel(const struct fake_function *function, unsigned int grid_x, unsigned int grid_y,
		   unsigned int grid_z, unsigned int block_x, unsigned int block_y,
		   unsigned int block_z, unsigned int shared_bytes, cudaStream_t stream,
		   void **arguments, void **extra);
int cuStreamSynchronize(cudaStream_t stream);

struct worker {
	unsigned int index;
	cudaStream_t compute, copy;
	cudaEvent_t ready;
	uint32_t *host, *device, *peer;
	struct fake_graph graph;
	void *arguments[3];
	uint32_t factor;
	uint64_t checksum;
};

static void multiply(void **arguments)
{
	uint32_t *data = arguments[0], factor = *(uint32_t *)arguments[1];
	int i;

	for (i = 0; i < ELEMENTS; i++)
		data[i] = data[i] * factor + (uint32_t)i;
}

static void rotate(void **arguments)
{
	uint32_t *data = arguments[0];
	int i;

	for (i = 0; i < ELEMENTS; i++)
		data[i] = data[i] << 7 | data[i] >> 25;
}

static void nothing(void **arguments)
{
	(void)arguments;
}

static const struct fake_function gemm = {
	"_ZN7cutlass7Kernel2I51cutlass_80_simt_sgemm_64x64_8x5_nn_align1EEvNT_6ParamsE", multiply
};
static const struct fake_function elementwise = {
	"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_", rotate
};
static const struct fake_function reduce = {
	"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_", rotate
};
static const struct fake_function triton = { "triton_poi_fused_add_0", multiply };
static const struct fake_function slow = { "spin_kernel", nothing };

struct worker *worker_new(unsigned int index)
{
	struct worker *worker = calloc(1, sizeof(*worker));
	int i;

	worker->index = index;
	worker->factor = 2654435761U + index;
	cudaSetDevice((int)(index % 2));
	cudaStreamCreateWithPriority(&worker->compute, 1, -1);
	cudaStreamCreateWithPriority(&worker->copy, 1, 0);
	worker->host = calloc(ELEMENTS, sizeof(uint32_t));
	worker->device = calloc(ELEMENTS, sizeof(uint32_t));
	worker->peer = calloc(ELEMENTS, sizeof(uint32_t));
	worker->arguments[0] = worker->device;
	worker->arguments[1] = &worker->factor;
	worker->graph.id = index + 1;
	worker->graph.node_count = 3;
	for (i = 0; i < 3; i++) {
		worker->graph.nodes[i].function = i == 1 ? &elementwise : &gemm;
		worker->graph.nodes[i].grid = (dim3){ 8, 1, 1 };
		worker->graph.nodes[i].block = (dim3){ 64, 1, 1 };
		worker->graph.nodes[i].arguments = worker->arguments;
	}
	return worker;
}

void worker_free(struct worker *worker)
{
	free(worker->host);
	free(worker->device);
	free(worker->peer);
	free(worker);
}

static void compute(struct worker *worker, unsigned int step)
{
	unsigned int blocks = 1 + (step * 7 + worker->index) % 40;
	int device;

	cudaGetDevice(&device);
	cudaLaunchKernel(&gemm, (dim3){ blocks, 2, 1 }, (dim3){ 128, 1, 1 }, worker->arguments,
			 4096, worker->compute);
	cudaGetLastError();
	cudaLaunchKernel(&elementwise, (dim3){ blocks, 1, 1 }, (dim3){ 256, 1, 1 },
			 worker->arguments, 0, NULL);
	cudaLaunchKernel(&reduce, (dim3){ 1, 1, blocks }, (dim3){ 32, 16, 1 }, worker->arguments, 0,
			 worker->compute);
	cuLaunchKernel(&triton, blocks, 1, 1, 64, 1, 1, 512, worker->compute, worker->arguments,
		       NULL);
	cudaGraphLaunch(&worker->graph, worker->compute);
}

void worker_step(struct worker *worker, unsigned int step)
{
	size_t bytes = ELEMENTS * sizeof(uint32_t);
	int i, device = (int)(worker->index % 2);

	for (i = 0; i < ELEMENTS; i++)
		worker->host[i] = (uint32_t)i * (step + 1) + worker->index;
	cudaMemsetAsync(worker->peer, (int)(step & 0xff), bytes / 2, worker->copy);
	cudaMemcpyAsync(worker->device, worker->host, bytes, cudaMemcpyHostToDevice, worker->copy);
	cudaEventCreateWithFlags(&worker->ready, 2);
	cudaEventRecord(worker->ready, worker->copy);
	cudaStreamWaitEvent(worker->compute, worker->ready, 0);
	compute(worker, step);
	cudaEventRecord(worker->ready, worker->compute);
	cudaEventSynchronize(worker->ready);
	cudaEventDestroy(worker->ready);
	cudaMemcpyPeerAsync(worker->peer, !device, worker->device, device, bytes, worker->copy);
	cudaMemcpyAsync(worker->host, worker->peer, bytes, cudaMemcpyDeviceToHost, worker->copy);
	cudaStreamSynchronize(worker->copy);
	cuStreamSynchronize(worker->compute);
	for (i = 0; i < ELEMENTS; i++)
		worker->checksum = worker->checksum * 31 + worker->host[i];
}

uint64_t worker_checksum(const struct worker *worker)
{
	return worker->checksum;
}

void worker_slow_kernel(struct worker *worker, unsigned int ms)
{
	/* 0.1 us a block. */
	cudaLaunchKernel(&slow, (dim3){ ms * 100, 100, 1 }, (dim3){ 32, 1, 1 }, worker->arguments,
			 0, worker->compute);
}
