// What the stand-in did, call by call and block by block, under the names that a profiler shows.
//
// Each thread counts for itself; collect() adds up what all of them did since it was last called,
// and may only be called while no other thread is in a call. Lives in libc10.so, since allocators
// write into it too.

#ifndef STANDIN_LEDGER_H
#define STANDIN_LEDGER_H

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "torch_types.h"

namespace standin::ledger
{

enum class Kind {
	nothing,
	operation,
	node,
	function,
	range
};

// The number of a row. Equal names of one kind have one number; "aten::add_.Tensor" is the overload
// Tensor of aten::add_.
TORCH_API int row(const std::string &name, Kind kind);

// Which attempt is under way, from 0; collect() ends it.
TORCH_API int64_t attempt();

// Bytes that came or went, of one device, of blocks of one attempt.
struct Bytes {
	int device;	    // 0 CPU, 1 another
	int64_t block_from; // frees on the CPU: the attempt that allocated the block; else -1
	int64_t events;
	int64_t self;
	int64_t total; // with what it called
};

// A call under way, on the stack of its thread.
class Call
{
      public:
	TORCH_API explicit Call(int row);
	TORCH_API ~Call();
	Call(const Call &) = delete;
	Call &operator=(const Call &) = delete;

	// For a call that need not end where it began: deletes it, now or when its thread can.
	TORCH_API static void end_anywhere(Call *call);

      private:
	friend TORCH_API void bytes(int device, int64_t block_from, int64_t size);
	friend TORCH_API void out_of_memory();
	friend TORCH_API int innermost_row();
	static Call *top();
	void leave(bool is_unwound);

	const void *thread_;
	Call *parent_;
	int row_;
	int uncaught_;
	int children_ = 0;
	int namesake_ = -1; // the first child's row, if it has the name of this one
	bool namesake_is_unwound_ = false;
	std::vector<Bytes> bytes_, namesake_bytes_;
	std::atomic<bool> is_abandoned_{ false };
};

// In the innermost call of this thread.
TORCH_API void bytes(int device, int64_t block_from, int64_t size);
TORCH_API void out_of_memory();
TORCH_API int innermost_row();

// A node that a forward call made in this attempt is evaluated.
TORCH_API void pair(int forward_row, int node_row);

// In this attempt, of threads that are there: ranges that count as a part of their parents.
TORCH_API std::map<std::string, int64_t> merged_ranges();

// Ends the attempt. What was counted, as the members of a JSON object; see ledger.cpp.
TORCH_API std::string collect();
TORCH_API uint64_t calls_so_far(); // operators, up to the last collect()

} // namespace standin::ledger

#endif
