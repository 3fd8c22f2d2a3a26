#include "model.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "operators.h"
#include "record_function.h"

namespace ops = at::_ops;

using standin::Function;
using standin::PythonFrame;

static constexpr int kWidth = 64;

static at::TensorList list(const std::vector<at::Tensor> &tensors)
{
	return {tensors.data(), tensors.size()};
}

Model::Model(uint32_t seed, standin::DeviceKind device)
	: activation_(standin::make_tensor(kWidth)), scale_(standin::make_tensor(1, device)),
	  inv_scale_(standin::make_tensor(1, device)),
	  growth_tracker_(standin::make_tensor(1, device)),
	  found_inf_(standin::make_tensor(1, device))
{
	for (int layer = 0; layer < kLayers; layer++) {
		weights_.push_back(standin::make_tensor(kWidth));
		grads_.push_back(standin::make_tensor(kWidth));
		for (int i = 0; i < kWidth; i++) {
			seed = seed * 1103515245U + 12345U;
			standin::tensor_data(weights_.back())[i] =
				static_cast<float>(seed >> 8) / 16777216.0F;
		}
	}
	standin::tensor_data(scale_)[0] = 4.0F;
	standin::tensor_data(inv_scale_)[0] = 0.25F;
}

// From functions whose frames lie where those of the model and of the last module in it lay: the
// first has its code where the model had its own; what the module left there is still to be seen.
static at::Tensor detached(const at::Tensor &tensor)
{
	PythonFrame compute_loss(Function::compute_loss), prepare(Function::prepare),
		detach(Function::detach);

	return ops::detach::call(tensor);
}

void Model::forward()
{
	tape_.nodes.clear();
	standin::Recording recording(&tape_);
	PythonFrame train_step(Function::train_step);

	net_([this] { layers(); });
	at::Tensor output = detached(activation_);
	log_softmax_([&] { activation_ = ops::_log_softmax::call(output, 1, false); });
}

void Model::layers()
{
	for (int i = 0; i < kLayers; i++) {
		{
			PythonFrame project(Function::project);

			layers_[i].linear([&] {
				activation_ =
					ops::linear::call(activation_, weights_[i], weights_[0]);
			});
		}
		standin::call_python(Function::neighbour, nullptr, [] {});
		layers_[i].relu([&] {
			standin::call_python(Function::namesake, nullptr, [&] {
				activation_ = ops::relu::call(activation_);
			});
		});
	}
}

void Model::backward(bool overflow)
{
	PythonFrame train_step(Function::train_step), own(Function::backward);

	standin::run_backward(tape_, ops::detach::call(activation_));
	for (at::Tensor &grad : grads_)
		ops::add__Tensor::call(grad, ops::mm::call(activation_, grad), c10::Scalar(1));
	if (overflow)
		standin::tensor_data(grads_[0])[0] = std::numeric_limits<float>::infinity();
}

void Model::zero_grad()
{
	for (at::Tensor &grad : grads_)
		ops::zero_::call(grad);
}

void Model::update()
{
	ops::_foreach_add__List::call(list(weights_), list(grads_), c10::Scalar(-0.1));
}

void Model::fused_update(bool adam)
{
	c10::optional<at::Tensor> scale, inf = found_inf_;

#if STANDIN_TORCH >= 203
	if (!adam) {
		ops::_fused_sgd_::call(list(weights_), list(grads_), list(weights_), 0, 0.9, 0.1, 0,
				       false, false, false, scale, inf);
		return;
	}
#endif
	(void)adam;
	ops::_fused_adam_::call(list(weights_), list(grads_), list(weights_), list(weights_),
				list(weights_), list(weights_), 0.1, 0.9, 0.999, 0, 1e-8, false,
				false, scale, inf);
}

void Model::unscale()
{
	standin::tensor_data(found_inf_)[0] = 0.0F;
	ops::_amp_foreach_non_finite_check_and_unscale_::call(list(grads_), found_inf_, inv_scale_);
}

bool Model::item_found_inf()
{
	return ops::item::call(found_inf_).value != 0.0;
}

void Model::update_scale()
{
	ops::_amp_update_scale_::call(scale_, growth_tracker_, found_inf_, 2.0, 0.5, 2000);
}

bool Model::overflowed() const
{
	return standin::tensor_data(found_inf_)[0] != 0.0F;
}

uint64_t Model::checksum() const
{
	uint64_t sum = 0xcbf29ce484222325U;

	for (const at::Tensor &weight : weights_) {
		for (int i = 0; i < kWidth; i++) {
			uint32_t bits;

			memcpy(&bits, &standin::tensor_data(weight)[i], sizeof(bits));
			sum = (sum ^ bits) * 0x100000001b3U;
		}
	}
	return sum;
}
