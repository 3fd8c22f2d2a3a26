// Rounds of operators of every kind: nested, recursive, unwound, with nodes and memory.

#ifndef STANDIN_OPERATOR_WORK_H
#define STANDIN_OPERATOR_WORK_H

#include "autograd.h"
#include "crew.h"
#include "options.h"
#include "truth.h"

class OperatorWork : public CrewWork
{
      public:
	OperatorWork(Truth &truth, const Options &options, uint32_t seed);

	void round() override;
	uint64_t checksum() const override;

      private:
	void pause() const;
	void forward(standin::Tape &tape);
	void backward(standin::Tape &tape);
	void recursion();
	void views();
	void memory();
	void retry_smaller();
	void device_memory();
	void errors();
	void error(int64_t kind);
	void python();

	Truth &truth_;
	const Options &options_;
	at::Tensor state_, gradient_;
};

Crew::Make crew_of_operators(Truth &truth, const Options &options);

#endif
