// Exceptions through everything that a tracer probes and that can throw.

#ifndef STANDIN_THROW_ALL_H
#define STANDIN_THROW_ALL_H

#include <functional>

#include "fault.h"
#include "torch_types.h"
#include "truth.h"

class ThrowAll {
    public:
	explicit ThrowAll(Truth &truth);

	// One through each operator of the table, through ranges, nodes, functions, guards and the
	// reports of allocators.
	void round();

    private:
	void operators();
	void ranges();
	void nodes();
	void functions();
	void guards();
	void thrown(standin::Fault fault, const std::function<void()> &call, int skip = 0);

	Truth &truth_;
	at::Tensor scratch_;
};

#endif
