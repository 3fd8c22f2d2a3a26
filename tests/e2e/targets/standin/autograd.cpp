// A translation unit of its own, as profiler_ops.cpp: calls of RecordFunction go through the PLT.

#include "autograd.h"

#include <stdexcept>

#include "fault.h"
#include "ledger.h"

namespace ops = at::_ops;

namespace torch::autograd {

using at::Tensor;
using c10::Scalar;
using standin::ledger::Kind;

Node::Node() : Node(at::sequence_number::get_and_increment()) {}

Node::Node(uint64_t sequence_nr)
	: sequence_nr_(sequence_nr), thread_id_(at::RecordFunction::currentThreadId()),
	  forward_row_(standin::ledger::innermost_row()),
	  forward_attempt_(standin::ledger::attempt())
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Winvalid-offsetof" // it is where a tracer looks, standard or not
	static_assert(offsetof(Node, sequence_nr_) == kNodeSequence, "sequence_nr_");
	static_assert(offsetof(Node, thread_id_) == kNodeSequence + 24, "thread_id_");
	static_assert(offsetof(Node, pyobj_) == kNodeSequence + 96, "pyobj_");
#pragma GCC diagnostic pop
}

Node::~Node() {}

Tensor Node::operator()(Tensor gradient)
{
	std::optional<at::StepCallbacks> callbacks =
		at::getStepCallbacksUnlessEmpty(at::RecordScope::BACKWARD_FUNCTION);

	return apply(std::move(gradient));
}

static std::vector<c10::SymInt> size_of(const Tensor &tensor)
{
	return {tensor.impl()->numel};
}

namespace generated {

#define STANDIN_NODE(type, ...)                                                                   \
	struct TORCH_API type : Node {                                                            \
		~type() override;                                                                 \
		Tensor apply(Tensor gradient) override;                                           \
		std::string name() const override                                                 \
		{                                                                                 \
			return #type;                                                             \
		}                                                                                 \
	};                                                                                        \
	type::~type() {}                                                                          \
	Tensor type::apply(Tensor gradient) __VA_ARGS__

STANDIN_NODE(AddmmBackward0, {
	Tensor transposed = ops::t::call(gradient);
	Tensor product = ops::mm::call(gradient, transposed);

	ops::sum_dim_IntList::call(gradient, {}, true, {});
	return product;
})
STANDIN_NODE(MmBackward0, { return ops::mm::call(gradient, gradient); })
STANDIN_NODE(AddBackward0, { return gradient; })
STANDIN_NODE(SubBackward0, { return gradient; })
STANDIN_NODE(MulBackward0, { return ops::mul_Tensor::call(gradient, gradient); })
STANDIN_NODE(DivBackward0, { return ops::div_Tensor::call(gradient, gradient); })
STANDIN_NODE(ReluBackward0,
	     { return ops::threshold_backward::call(gradient, gradient, Scalar(0)); })
STANDIN_NODE(ErfBackward0, { return ops::erf::call(gradient); })
STANDIN_NODE(TBackward0, { return ops::t::call(gradient); })
STANDIN_NODE(TransposeBackward0, { return ops::transpose_int::call(gradient, 0, 1); })
STANDIN_NODE(ViewBackward0, {
	std::vector<c10::SymInt> size = size_of(gradient);

	return ops::reshape::call(gradient, {size.data(), size.size()});
})
STANDIN_NODE(ExpandBackward0, { return ops::sum_dim_IntList::call(gradient, {}, true, {}); })
STANDIN_NODE(SumBackward0, {
	std::vector<c10::SymInt> size = size_of(gradient);

	return ops::expand::call(gradient, {size.data(), size.size()}, false);
})
STANDIN_NODE(MeanBackward0, {
	std::vector<c10::SymInt> size = size_of(gradient);
	Tensor expanded = ops::expand::call(gradient, {size.data(), size.size()}, false);

	return ops::div_Tensor::call(expanded, gradient);
})
STANDIN_NODE(LogSoftmaxBackward0, {
	return ops::_log_softmax_backward_data::call(gradient, gradient, 1,
						     c10::ScalarType::Float);
})
STANDIN_NODE(MseLossBackward0,
	     { return ops::mse_loss_backward::call(gradient, gradient, gradient, 1); })
STANDIN_NODE(CloneBackward0, { return gradient; })
STANDIN_NODE(ToCopyBackward0,
	     { return ops::to_dtype_layout::call(gradient, {}, {}, {}, {}, false, false, {}); })
STANDIN_NODE(CatBackward0, { return ops::clone::call(gradient, {}); })

} // namespace generated

namespace {

// As PyTorch has some: the name of such a class begins with a '*' in its type information.
struct UndefinedGradBackward : Node {
	Tensor apply(Tensor gradient) override
	{
		return gradient;
	}
	std::string name() const override
	{
		return "torch::autograd::(anonymous namespace)::UndefinedGradBackward";
	}
};

} // namespace

AccumulateGrad::AccumulateGrad(const Tensor &gradient) : Node(UINT64_MAX), variable(gradient) {}

AccumulateGrad::~AccumulateGrad() {}

Tensor AccumulateGrad::apply(Tensor gradient)
{
	Tensor own = ops::detach::call(gradient);

	ops::add__Tensor::call(variable, own, Scalar(1));
	return gradient;
}

std::string AccumulateGrad::name() const
{
	return "torch::autograd::AccumulateGrad";
}

Engine::~Engine() {}

void Engine::evaluate_function(std::shared_ptr<GraphTask> &, Node *node, InputBuffer &inputs,
			       const std::shared_ptr<ReadyQueue> &)
{
	std::string name = node->name();
	int row = standin::ledger::row(name, Kind::node);
	standin::ledger::Call outer(standin::ledger::row(
		"autograd::engine::evaluate_function: " + name, Kind::node));
	// Before the node is run, which is what has its own row.
	standin::fault_point(standin::Fault::kernel);
	standin::ledger::Call inner(row);

	if (node->forward_row_ && node->forward_attempt_ == standin::ledger::attempt() &&
	    node->sequence_nr_ != UINT64_MAX)
		standin::ledger::pair(node->forward_row_, row);
	inputs.gradient = (*node)(std::move(inputs.gradient));
}

} // namespace torch::autograd

namespace standin {

namespace generated = torch::autograd::generated;

static thread_local Tape *current_tape;

Recording::Recording(Tape *tape) : before_(current_tape)
{
	current_tape = tape;
}

Recording::~Recording()
{
	current_tape = before_;
}

bool is_recording()
{
	return current_tape;
}

void record_node(std::unique_ptr<Node> node)
{
	current_tape->nodes.push_back(std::move(node));
}

template <class T> static std::unique_ptr<Node> made()
{
	return std::make_unique<T>();
}

static std::unique_ptr<Node> node_of(OperatorId id)
{
	switch (id) {
	case OperatorId::mm:
		return made<generated::MmBackward0>();
	case OperatorId::addmm:
		return made<generated::AddmmBackward0>();
	case OperatorId::add_Tensor:
	case OperatorId::add__Tensor:
		return made<generated::AddBackward0>();
	case OperatorId::sub_Tensor:
		return made<generated::SubBackward0>();
	case OperatorId::mul_Tensor:
	case OperatorId::mul__Tensor:
		return made<generated::MulBackward0>();
	case OperatorId::div_Tensor:
		return made<generated::DivBackward0>();
	case OperatorId::relu:
	case OperatorId::relu_:
		return made<generated::ReluBackward0>();
	case OperatorId::erf:
		return made<generated::ErfBackward0>();
	case OperatorId::t:
		return made<generated::TBackward0>();
	case OperatorId::transpose_int:
		return made<generated::TransposeBackward0>();
	case OperatorId::view:
		return made<generated::ViewBackward0>();
	case OperatorId::expand:
		return made<generated::ExpandBackward0>();
	case OperatorId::sum:
	case OperatorId::sum_dim_IntList:
		return made<generated::SumBackward0>();
	case OperatorId::mean:
		return made<generated::MeanBackward0>();
	case OperatorId::_log_softmax:
		return made<generated::LogSoftmaxBackward0>();
	case OperatorId::mse_loss:
		return made<generated::MseLossBackward0>();
	case OperatorId::clone:
		return made<generated::CloneBackward0>();
	case OperatorId::_to_copy:
		return made<generated::ToCopyBackward0>();
	case OperatorId::cat:
		return made<generated::CatBackward0>();
	case OperatorId::lift_fresh:
		return made<torch::autograd::UndefinedGradBackward>();
	default:
		return nullptr;
	}
}

// Not an operator of its own for autograd: what it calls has the nodes.
static bool is_composite(OperatorId id)
{
	return id == OperatorId::linear || id == OperatorId::reshape ||
	       id == OperatorId::contiguous || id == OperatorId::to_dtype_layout ||
	       id == OperatorId::special_erf;
}

static Tape *tape_inside(OperatorId id)
{
	if (!current_tape || is_composite(id))
		return current_tape;

	std::unique_ptr<Node> node = node_of(id);

	if (node)
		record_node(std::move(node));
	return nullptr;
}

AutogradKernel::AutogradKernel(OperatorId id) : inside_(tape_inside(id)) {}

at::Tensor run_backward(Tape &tape, at::Tensor gradient)
{
	static torch::autograd::Engine engine;
	std::shared_ptr<torch::autograd::GraphTask> task;
	std::shared_ptr<torch::autograd::ReadyQueue> queue;
	torch::autograd::InputBuffer inputs = {std::move(gradient)};
	std::vector<std::unique_ptr<Node>> nodes = std::move(tape.nodes);
	Recording nothing(nullptr);

	for (size_t i = nodes.size(); i-- > 0;) {
		at::RecordFunction guard(at::RecordScope::FUNCTION);

		engine.evaluate_function(task, nodes[i].get(), inputs, queue);
	}
	return std::move(inputs.gradient);
}

} // namespace standin
