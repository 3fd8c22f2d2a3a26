// A range that counts itself.

#ifndef STANDIN_RANGES_H
#define STANDIN_RANGES_H

#include <string>

#include "bindings.h"
#include "ledger.h"
#include "truth.h"

class CountedRange
{
      public:
	CountedRange(Truth &truth, const std::string &name)
	    : truth_(truth), name_(name), range_(standin::range_enter(name)),
	      call_(new standin::ledger::Call(
		      standin::ledger::row(name, standin::ledger::Kind::range)))
	{
		truth_.begun(name_);
	}
	~CountedRange()
	{
		end();
	}
	CountedRange(const CountedRange &) = delete;
	CountedRange &operator=(const CountedRange &) = delete;

	void end()
	{
		if (!range_)
			return;
		standin::ledger::Call::end_anywhere(call_);
		standin::range_exit(range_);
		truth_.ended(name_);
		range_ = nullptr;
	}
	void leak()
	{
		standin::range_leak(range_);
		standin::ledger::Call::end_anywhere(call_);
		range_ = nullptr;
	}

      private:
	Truth &truth_;
	std::string name_;
	standin::PythonRange *range_;
	standin::ledger::Call *call_;
};

#endif
