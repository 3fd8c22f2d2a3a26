/*
 * work.h - one step of the simulated training job, on the CUDA runtime and driver: copies in, four
 * kernels on two streams that wait for each other, a graph, a driver launch, a copy to the other
 * device, a copy out. The result depends on every byte that was computed.
 */
#ifndef CUDA_WORK_H
#define CUDA_WORK_H

#include <stdint.h>

struct worker;

struct worker *worker_new(unsigned int index);
void worker_free(struct worker *worker);

/* Adds its result to the worker's checksum. */
void worker_step(struct worker *worker, unsigned int step);

uint64_t worker_checksum(const struct worker *worker);

/* A kernel that the device takes ms for. */
void worker_slow_kernel(struct worker *worker, unsigned int ms);

#endif /* CUDA_WORK_H */
