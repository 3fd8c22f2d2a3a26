// A range that counts itself.

#ifndef STANDIN_RANGES_H
#define STANDIN_RANGES_H

#include <string>

#include "bindings.h"
#include "truth.h"

class CountedRange {
    public:
	CountedRange(Truth &truth, const std::string &name)
		: truth_(truth), name_(name), range_(standin::range_enter(name))
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
		standin::range_exit(range_);
		truth_.ended(name_);
		range_ = nullptr;
	}
	void leak()
	{
		standin::range_leak(range_);
		range_ = nullptr;
	}

    private:
	Truth &truth_;
	std::string name_;
	standin::PythonRange *range_;
};

#endif
