// What a tracer reads out of a target's memory, with nothing of it true.

#ifndef STANDIN_LIES_H
#define STANDIN_LIES_H

#include <functional>
#include <vector>

#include "fault.h"
#include "torch_types.h"
#include "truth.h"

class Lies
{
      public:
	explicit Lies(Truth &truth);
	~Lies();
	Lies(const Lies &) = delete;
	Lies &operator=(const Lies &) = delete;

	// Operators and nodes whose arguments lead nowhere, or to what they are not. None of them
	// is looked at by the stand-in: an exception comes before.
	void round();

	// Blocks of sizes and at addresses that cannot be.
	void memory();

      private:
	void tensors();
	void layouts();
	void lists();
	void nodes();
	void node_of_type(const void *type_info);
	void thrown(standin::Fault fault, const std::function<void()> &call);

	Truth &truth_;
	at::Tensor scratch_;
	char *page_, *page_end_; // the last bytes that can be read
	std::vector<uintptr_t> nowhere_;
	std::vector<std::vector<void *>> vtables_; // kept: a tracer remembers classes by them
	size_t next_vtable_ = 0;
};

#endif
