#include "gpu.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

#include "device_hook.h"

namespace {

struct Dim3 {
	unsigned int x, y, z;
};

// As cuda_names.h of the stand-ins has it: what a kernel's address points to.
struct Function {
	const char *name;
	void (*run)(void **arguments);
};

struct Runtime {
	int (*launch)(const void *, Dim3, Dim3, void **, size_t, void *);
	int (*driver_launch)(const void *, unsigned int, unsigned int, unsigned int, unsigned int, unsigned int,
			     unsigned int, unsigned int, void *, void **, void **);
	int (*copy)(void *, const void *, size_t, int, void *);
	int (*set)(void *, int, size_t, void *);
	int (*new_stream)(void **, unsigned int, int);
	int (*wait_device)();
	int (*new_event)(void **, unsigned int);
	int (*record)(void *, void *);
	int (*wait_event)(void *, void *, unsigned int);
	int (*write_truth)(const char *);
	void *compute, *collective, *copies, *ready, *reduced;
	unsigned char host[65536], device[65536];
	bool by_driver; // some launches, as Triton's are
} runtime;

void nothing(void **)
{
}

struct Kernel {
	const char *operator_name;
	Function function;
	Dim3 grid, block;
};

// One kernel an operator, at its innermost call.
const Kernel kernels[] = {
	{"mm", {"_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_nn_align1EEvNT_6ParamsE", nothing},
	 {256, 1, 1}, {128, 1, 1}},
	{"addmm", {"_ZN7cutlass7Kernel2I41cutlass_80_simt_sgemm_64x64_8x5_nn_align1EEvNT_6ParamsE", nothing},
	 {192, 2, 1}, {128, 1, 1}},
	{"relu", {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEEEEviT0_", nothing},
	 {128, 1, 1}, {64, 1, 1}},
	{"_log_softmax", {"_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfEEEEvT1_", nothing},
	 {64, 1, 1}, {32, 16, 1}},
	{"add_.Tensor", {"_ZN2at6native10add_kernelIfEEvT_", nothing}, {32, 1, 1}, {128, 1, 1}},
	{"_foreach_add_.List", {"multi_tensor_apply_kernel", nothing}, {300, 1, 1}, {512, 1, 1}},
};

const Function all_reduce_kernel = {
	"_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE", nothing};

const Function triton_kernel = {"triton_poi_fused_relu_0", nothing};

void launch_by_driver(void **)
{
	runtime.driver_launch(&triton_kernel, 16, 1, 1, 128, 1, 1, 0, runtime.compute, nullptr, nullptr);
}

// What a runtime does whose launch ends in the driver's function.
const Function launching_kernel = {"_Z8launchesv", launch_by_driver};

void on_operator(const char *name)
{
	if (runtime.by_driver && strcmp(name, "relu") == 0)
		launch_by_driver(nullptr);
	if (runtime.by_driver && strcmp(name, "zero_") == 0)
		runtime.launch(&launching_kernel, {1, 1, 1}, {32, 1, 1}, nullptr, 0, runtime.compute);
	for (const Kernel &kernel : kernels) {
		if (strcmp(name, kernel.operator_name) == 0)
			runtime.launch(&kernel.function, kernel.grid, kernel.block, nullptr, 0,
				       runtime.compute);
	}
	if (strcmp(name, "zero_") == 0)
		runtime.set(runtime.device, 0, 4096, runtime.compute);
}

void *load(const std::string &path)
{
	void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);

	if (library)
		return library;
	fprintf(stderr, "standin: %s\n", dlerror());
	exit(2);
}

template <typename T> void find(T &function, void *library, const char *name)
{
	function = reinterpret_cast<T>(dlsym(library, name));
	if (!function) {
		fprintf(stderr, "standin: no %s\n", name);
		exit(2);
	}
}

} // namespace

Gpu::Gpu(const std::string &directory)
{
	const char *cupti = getenv("STANDIN_CUPTI");

	if (directory.empty())
		return;
	void *driver = load(directory + "/libcuda.so.1");
	void *library = load(directory + "/libcudart.so.12");
	int (*initialize)(unsigned int);

	load(directory + "/" + (cupti ? cupti : "libcupti.so.12")); // as libtorch does
	find(initialize, driver, "cuInit");
	find(runtime.write_truth, driver, "fake_write_truth");
	find(runtime.launch, library, "cudaLaunchKernel");
	find(runtime.driver_launch, driver, "cuLaunchKernel");
	runtime.by_driver = getenv("STANDIN_GPU_DRIVER");
	find(runtime.copy, library, "cudaMemcpyAsync");
	find(runtime.set, library, "cudaMemsetAsync");
	find(runtime.new_stream, library, "cudaStreamCreateWithPriority");
	find(runtime.wait_device, library, "cudaDeviceSynchronize");
	find(runtime.new_event, library, "cudaEventCreateWithFlags");
	find(runtime.record, library, "cudaEventRecord");
	find(runtime.wait_event, library, "cudaStreamWaitEvent");
	initialize(0);
	runtime.new_stream(&runtime.compute, 1, 0);
	runtime.new_stream(&runtime.collective, 1, -1);
	runtime.new_stream(&runtime.copies, 1, 0);
	runtime.new_event(&runtime.ready, 2);
	runtime.new_event(&runtime.reduced, 2);
	standin::device_hook = on_operator;
	is_there_ = true;
}

void Gpu::copy_in()
{
	if (is_there_)
		runtime.copy(runtime.device, runtime.host, sizeof(runtime.device), 1, runtime.copies);
}

void Gpu::all_reduce()
{
	if (!is_there_)
		return;
	runtime.record(runtime.ready, runtime.compute);
	runtime.wait_event(runtime.collective, runtime.ready, 0);
	runtime.launch(&all_reduce_kernel, {2000, 1, 1}, {512, 1, 1}, nullptr, 0,
		       runtime.collective);
	runtime.record(runtime.reduced, runtime.collective);
	runtime.wait_event(runtime.compute, runtime.reduced, 0);
}

void Gpu::wait()
{
	if (is_there_)
		runtime.wait_device();
}

void Gpu::write_truth(const std::string &path)
{
	if (is_there_ && !path.empty() && runtime.write_truth(path.c_str()))
		fprintf(stderr, "standin: cannot write %s\n", path.c_str());
}
