// The numbers that are trained: a few tensors and the operators of one step on them.

#ifndef STANDIN_MODEL_H
#define STANDIN_MODEL_H

#include <vector>

#include "autograd.h"
#include "python.h"
#include "torch_types.h"

class Model
{
      public:
	explicit Model(uint32_t seed, standin::DeviceKind device = standin::DeviceKind::cpu);

	void forward(); // with nodes where backward() follows
	void backward(bool overflow);
	void zero_grad();
	void update();		      // the operators of an optimizer that is not fused
	void fused_update(bool adam); // one operator, which looks at found_inf itself
	void unscale();
	bool item_found_inf();
	void update_scale();
	bool overflowed() const;
	uint64_t checksum() const;

      private:
	static constexpr int kLayers = 3;
	struct Layer {
		standin::Module linear{ standin::ModuleClass::Linear };
		standin::Module relu{ standin::ModuleClass::ReLU };
	};

	void layers();

	Layer layers_[kLayers];
	standin::Module net_{ standin::ModuleClass::Net };
	standin::Module log_softmax_{ standin::ModuleClass::LogSoftmax };
	std::vector<at::Tensor> weights_, grads_;
	standin::Tape tape_;
	at::Tensor activation_, scale_, inv_scale_, growth_tracker_, found_inf_;
};

#endif
