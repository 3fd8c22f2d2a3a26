// What a process may do to itself while it is watched, once and on demand: when a file appears, in
// the middle of an operator.

#ifndef STANDIN_DEEDS_H
#define STANDIN_DEEDS_H

#include <cstdint>
#include <vector>

#include <sys/types.h>

#include "options.h"
#include "torch_types.h"

class Deeds {
    public:
	Deeds(const Options &options, char **argv);

	// Does it, if it is time.
	void poll();

	// This library is to be given up after the attempt that is under way.
	bool wants_unload() const
	{
		return wants_unload_;
	}

	// Waits for the processes that were made.
	void finish();

    private:
	void act();
	void inside_an_operator();
	void fork_in_operator(bool is_orphan);
	[[noreturn]] void live_on(uint32_t seed);

	const Options &options_;
	char **argv_;
	bool is_over_, wants_unload_ = false, is_child_ = false;
	std::vector<pid_t> children_;
	at::Tensor scratch_;
};

#endif
