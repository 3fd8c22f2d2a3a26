// The simulated device of --gpu: the stand-ins of tests/fakes, loaded as a job with CUDA loads the
// real libraries. Operators launch kernels, the optimizer waits for a collective on another stream.

#ifndef STANDIN_GPU_H
#define STANDIN_GPU_H

#include <string>

class Gpu
{
      public:
	// directory: where the stand-ins are; empty: no device, and nothing happens.
	explicit Gpu(const std::string &directory);

	bool is_there() const
	{
		return is_there_;
	}
	void copy_in();	   // the batch: at the begin of an attempt
	void all_reduce(); // of the gradients, on the stream of collectives
	void wait();	   // until the device has done everything
	void write_truth(const std::string &path);

      private:
	bool is_there_ = false;
};

#endif
