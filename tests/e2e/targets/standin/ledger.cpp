// The ledger's tables.
//
// A child of its parent's name, and the only one, counts as a part of the parent: PyTorch's tables
// show the two as one call. Its bytes are then the parent's own. The trace shows both.

#include "ledger.h"

#include <cstdlib>
#include <exception>
#include <map>
#include <mutex>
#include <utility>

namespace standin::ledger {

namespace {

struct Row {
	int64_t calls = 0, merged = 0, unwound = 0, out_of_memory = 0;
	std::vector<Bytes> bytes;
};

struct Tally {
	std::map<int, Row> rows;
	std::map<std::pair<int, int>, int64_t> pairs; // forward call, node
	std::map<std::pair<int, int>, int64_t> edges; // caller, called
	std::vector<Bytes> bytes;                     // as they came and went
};

struct Name {
	std::string full;
	std::string shown; // without an overload
	Kind kind;
};

struct Thread;

struct Books {
	std::mutex mutex;
	std::vector<Name> names = {{"", "", Kind::nothing}};
	std::map<std::pair<std::string, Kind>, int> rows;
	std::vector<Thread *> threads;
	Tally departed;
	std::atomic<int64_t> attempt{0};
	uint64_t calls = 0;
};

Books &books()
{
	static Books *books = new Books; // threads may outlive static objects

	return *books;
}

void add(std::vector<Bytes> &sums, const Bytes &more)
{
	for (Bytes &sum : sums) {
		if (sum.device != more.device || sum.block_from != more.block_from)
			continue;
		sum.events += more.events;
		sum.self += more.self;
		sum.total += more.total;
		return;
	}
	sums.push_back(more);
}

void add(Tally &sum, const Tally &more)
{
	for (const auto &[number, row] : more.rows) {
		Row &into = sum.rows[number];

		into.calls += row.calls;
		into.merged += row.merged;
		into.unwound += row.unwound;
		into.out_of_memory += row.out_of_memory;
		for (const Bytes &bytes : row.bytes)
			add(into.bytes, bytes);
	}
	for (const auto &[rows, count] : more.pairs)
		sum.pairs[rows] += count;
	for (const auto &[rows, count] : more.edges)
		sum.edges[rows] += count;
	for (const Bytes &bytes : more.bytes)
		add(sum.bytes, bytes);
}

struct Thread {
	Call *top = nullptr;
	Tally tally;

	Thread()
	{
		std::lock_guard<std::mutex> lock(books().mutex);

		books().threads.push_back(this);
	}
	~Thread()
	{
		std::lock_guard<std::mutex> lock(books().mutex);
		auto &all = books().threads;

		add(books().departed, tally);
		for (size_t i = 0; i < all.size(); i++) {
			if (all[i] == this)
				all.erase(all.begin() + static_cast<ptrdiff_t>(i));
		}
	}
};

Thread &thread()
{
	static thread_local Thread thread;

	return thread;
}

// The first row of a row's name without the overload. Written before anyone knows the row.
constexpr int kRowsMax = 4096;
int first_of_name[kRowsMax];

bool are_of_one_name(int a, int b)
{
	return first_of_name[a] == first_of_name[b];
}

void commit(int number, const std::vector<Bytes> &bytes)
{
	Row &row = thread().tally.rows[number];

	for (const Bytes &b : bytes)
		add(row.bytes, b);
}

} // namespace

int row(const std::string &name, Kind kind)
{
	std::lock_guard<std::mutex> lock(books().mutex);
	auto [found, is_new] = books().rows.try_emplace({name, kind}, 0);

	if (is_new) {
		std::string shown = name;

		if (kind == Kind::operation)
			shown.resize(std::min(shown.size(), shown.find('.')));
		found->second = static_cast<int>(books().names.size());
		if (found->second == kRowsMax)
			abort();
		books().names.push_back({name, shown, kind});
		for (int i = found->second; i >= 0; i--) {
			if (books().names[static_cast<size_t>(i)].shown == shown)
				first_of_name[found->second] = i;
		}
	}
	return found->second;
}

int64_t attempt()
{
	return books().attempt;
}

// Ranges that were ended elsewhere or never go when they are reached, and are nobody's child.
Call *Call::top()
{
	Thread &mine = thread();

	while (mine.top && mine.top->is_abandoned_) {
		Call *gone = mine.top;

		mine.top = gone->parent_;
		delete gone;
	}
	return mine.top;
}

Call::Call(int row)
	: thread_(&thread()), parent_(top()), row_(row), uncaught_(std::uncaught_exceptions())
{
	thread().top = this;
	thread().tally.rows[row].calls++;
	if (parent_)
		thread().tally.edges[{parent_->row_, row}]++;
}

Call::~Call()
{
	if (is_abandoned_)
		return;
	top();
	leave(std::uncaught_exceptions() > uncaught_);
}

void Call::leave(bool is_unwound)
{
	Row &row = thread().tally.rows[row_];

	thread().top = parent_;
	row.unwound += is_unwound;
	if (namesake_ >= 0 && children_ == 1) {
		Row &merged = thread().tally.rows[namesake_];

		merged.merged++;
		merged.unwound -= namesake_is_unwound_;
		for (Bytes b : namesake_bytes_) {
			b.total = 0; // was added when the child ended
			add(bytes_, b);
		}
	} else if (namesake_ >= 0) {
		commit(namesake_, namesake_bytes_);
	}
	if (parent_) {
		for (Bytes b : bytes_) {
			b.self = b.events = 0;
			add(parent_->bytes_, b);
		}
		if (++parent_->children_ == 1 && are_of_one_name(parent_->row_, row_)) {
			parent_->namesake_ = row_;
			parent_->namesake_is_unwound_ = is_unwound;
			parent_->namesake_bytes_ = std::move(bytes_);
			return;
		}
	}
	commit(row_, bytes_);
}

void Call::end_anywhere(Call *call)
{
	if (call->thread_ == &thread() && call == top())
		delete call;
	else
		call->is_abandoned_ = true;
}

void bytes(int device, int64_t block_from, int64_t size)
{
	Bytes event = {device, block_from, 1, size, size};
	Call *call = Call::top();

	add(call ? call->bytes_ : thread().tally.rows[0].bytes, event);
	add(thread().tally.bytes, event);
}

void out_of_memory()
{
	thread().tally.rows[innermost_row()].out_of_memory++;
}

int innermost_row()
{
	Call *call = Call::top();

	return call ? call->row_ : 0;
}

void pair(int forward_row, int node_row)
{
	thread().tally.pairs[{forward_row, node_row}]++;
}

static std::string quoted(int number)
{
	return "\"" + books().names[static_cast<size_t>(number)].full + "\"";
}

// "KIND": {"NAME": [calls, merged, unwound, out of memory], ...}
static std::string rows_of(const Tally &tally, Kind kind)
{
	std::string out = "{";

	for (const auto &[number, row] : tally.rows) {
		if (books().names[static_cast<size_t>(number)].kind != kind)
			continue;
		out += (out.size() > 1 ? ", " : "") + quoted(number) + ": [";
		out += std::to_string(row.calls) + ", " + std::to_string(row.merged) + ", ";
		out += std::to_string(row.unwound) + ", " + std::to_string(row.out_of_memory) + "]";
	}
	return out + "}";
}

// [["NAME", device, block_from, events, self, total], ...], without those of ranges, which may end
// in another attempt; the name is "" outside of all calls and ranges
static std::string bytes_of(const Tally &tally)
{
	std::string out = "[";

	for (const auto &[number, row] : tally.rows) {
		if (books().names[static_cast<size_t>(number)].kind == Kind::range)
			continue;
		for (const Bytes &b : row.bytes) {
			out += (out.size() > 1 ? ", [" : "[") + quoted(number);
			for (int64_t value : {static_cast<int64_t>(b.device), b.block_from,
					      b.events, b.self, b.total})
				out += ", " + std::to_string(value);
			out += "]";
		}
	}
	return out + "]";
}

// [[device, block_from, events, bytes], ...]
static std::string totals_of(const Tally &tally)
{
	std::string out = "[";

	for (const Bytes &b : tally.bytes) {
		out += (out.size() > 1 ? ", [" : "[") + std::to_string(b.device) + ", ";
		out += std::to_string(b.block_from) + ", " + std::to_string(b.events) + ", ";
		out += std::to_string(b.self) + "]";
	}
	return out + "]";
}

// [["NAME", "NAME", count], ...], without those of ranges
static std::string counts_of(const std::map<std::pair<int, int>, int64_t> &counts)
{
	std::string out = "[";

	for (const auto &[rows, count] : counts) {
		if (books().names[static_cast<size_t>(rows.first)].kind == Kind::range)
			continue;
		out += (out.size() > 1 ? ", [" : "[") + quoted(rows.first) + ", " +
		       quoted(rows.second) + ", " + std::to_string(count) + "]";
	}
	return out + "]";
}

std::map<std::string, int64_t> merged_ranges()
{
	std::lock_guard<std::mutex> lock(books().mutex);
	std::map<std::string, int64_t> out;

	for (Thread *thread : books().threads) {
		for (const auto &[number, row] : thread->tally.rows) {
			const Name &name = books().names[static_cast<size_t>(number)];

			if (name.kind == Kind::range && row.merged)
				out[name.full] += row.merged;
		}
	}
	return out;
}

std::string collect()
{
	std::lock_guard<std::mutex> lock(books().mutex);
	Tally all;

	std::swap(all, books().departed);
	for (Thread *thread : books().threads) {
		add(all, thread->tally);
		thread->tally = Tally();
	}
	for (const auto &[number, row] : all.rows) {
		if (books().names[static_cast<size_t>(number)].kind == Kind::operation)
			books().calls += static_cast<uint64_t>(row.calls);
	}
	books().attempt++;
	return "\"operators\": " + rows_of(all, Kind::operation) +
	       ", \"nodes\": " + rows_of(all, Kind::node) +
	       ", \"functions\": " + rows_of(all, Kind::function) +
	       ", \"pairs\": " + counts_of(all.pairs) + ", \"edges\": " + counts_of(all.edges) +
	       ", \"bytes\": " + bytes_of(all) + ", \"memory\": " + totals_of(all);
}

uint64_t calls_so_far()
{
	return books().calls;
}

} // namespace standin::ledger
