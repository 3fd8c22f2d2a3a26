/* cuda_names.h - the ids of the calls that the stand-ins make, and the shape of a kernel there. */
#ifndef CUDA_NAMES_H
#define CUDA_NAMES_H

#define CBID_cuDriverGetVersion 2
#define CBID_cuStreamSynchronize 126
#define CBID_cuLaunchKernel 307

#define CBID_cudaGetLastError 10
#define CBID_cudaSetDevice 16
#define CBID_cudaGetDevice 17
#define CBID_cudaMemcpyAsync 41
#define CBID_cudaMemsetAsync 51
#define CBID_cudaStreamSynchronize 131
#define CBID_cudaEventRecord 135
#define CBID_cudaEventDestroy 136
#define CBID_cudaEventSynchronize 137
#define CBID_cudaStreamWaitEvent 147
#define CBID_cudaMemcpyPeerAsync 161
#define CBID_cudaDeviceSynchronize 165
#define CBID_cudaStreamCreateWithPriority 202
#define CBID_cudaEventCreateWithFlags 134
#define CBID_cudaLaunchKernel 211
#define CBID_cudaGraphLaunch 311

struct fake_function {
	const char *name; /* mangled */
	void (*run)(void **arguments);
};

#endif /* CUDA_NAMES_H */
