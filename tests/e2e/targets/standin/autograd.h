// Nodes of the autograd graph in the layouts of the real ones, and the engine that evaluates them.
// Lives in libtorch_cpu.so.

#ifndef STANDIN_AUTOGRAD_H
#define STANDIN_AUTOGRAD_H

#include <memory>
#include <vector>

#include "operators.h"
#include "record_function.h"

namespace at::sequence_number
{

// Of this thread, from 0.
TORCH_API uint64_t get_and_increment();

} // namespace at::sequence_number

namespace torch::autograd
{

constexpr size_t kNodeSize = STANDIN_TORCH < 202 ? 392 : STANDIN_TORCH < 213 ? 472 : 464;
constexpr size_t kNodeSequence = STANDIN_TORCH < 213 ? 24 : 16;

// Takes the thread's next sequence number, and keeps it with the thread's own.
struct TORCH_API Node {
	Node();
	explicit Node(uint64_t sequence_nr);
	virtual ~Node();
	Node(const Node &) = delete;
	Node &operator=(const Node &) = delete;

	at::Tensor operator()(at::Tensor gradient);
	virtual at::Tensor apply(at::Tensor gradient) = 0;

	// As the engine's rows show it.
	virtual std::string name() const = 0;

#if STANDIN_TORCH < 213
	uint64_t weak_this_[2] = {};
#else
	uint64_t refcount_ = 1;
#endif
	uint64_t sequence_nr_;
	uint64_t topological_nr_ = 0;
	uint64_t has_parent_ = 0;
	uint64_t thread_id_;
	char mutex_[40] = {};
	char next_edges_[24] = {};
	void *pyobj_ = nullptr;

	// The stand-in's own, where PyTorch keeps hooks and metadata: what made the node, and when.
	int forward_row_;
	int node_row_ = 0;
	int64_t forward_attempt_;
	char rest_[kNodeSize - kNodeSequence - 120];
};

static_assert(sizeof(Node) == kNodeSize, "sizeof(Node)");

// Adds to a parameter's gradient; has no sequence number.
struct TORCH_API AccumulateGrad : Node {
	explicit AccumulateGrad(const at::Tensor &gradient);
	~AccumulateGrad() override;
	at::Tensor apply(at::Tensor gradient) override;
	std::string name() const override;

	at::Tensor variable;
};

} // namespace torch::autograd

namespace standin
{

using torch::autograd::Node;

// The nodes of a forward pass, in the order in which they were made.
struct Tape {
	std::vector<std::unique_ptr<Node>> nodes;
};

// While it lives, forward calls on this thread make nodes for this tape; nullptr: none.
class TORCH_API Recording
{
      public:
	explicit Recording(Tape *tape);
	~Recording();

      private:
	Tape *before_;
};

TORCH_API bool is_recording();
TORCH_API void record_node(std::unique_ptr<Node> node);

// What surrounds the kernel of an operator: makes its node, if it has one, and sees to it that what
// the kernel calls makes none, unless it is made of other operators.
class AutogradKernel
{
      public:
	explicit AutogradKernel(OperatorId id);

      private:
	Recording inside_;
};

// Every node of the tape on this thread, the last one first, each in a scope 0 guard of the engine.
// The tape is empty then, also when it throws.
TORCH_API at::Tensor run_backward(Tape &tape, at::Tensor gradient);

} // namespace standin

#endif
