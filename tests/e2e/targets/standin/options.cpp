// The command line: one table of numbers, one of switches, one of words.

#include "options.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

struct Number {
	const char *name;
	int64_t Options::*value;
	const char *help;
};

struct Switch {
	const char *name;
	bool Options::*value;
	const char *help;
};

struct Word {
	const char *name;
	std::string Options::*value;
	const char *choices; // nullptr: anything
	const char *help;
};

static const Number numbers[] = {
	{"--attempts", &Options::attempts, "stop after N attempts (0: at SIGTERM)"},
	{"--step-us", &Options::step_us, "sleep so long in an attempt"},
	{"--ranges", &Options::ranges, "user_0 ... user_N-1 in every attempt"},
	{"--threads", &Options::threads, "N more threads with the same ranges and some work"},
	{"--overflow-every", &Options::overflow_every, "an inf in every Nth attempt's gradients"},
	{"--nested-step-from", &Options::nested_step_from,
	 "from attempt N on Optimizer.step holds another one (0: never)"},
	{"--throw", &Options::throws, "N C++ exceptions an attempt through probed functions"},
	{"--fork-workers", &Options::fork_workers, "fork N processes that work on their own"},
	{"--fork-at", &Options::fork_at, "fork them at the start of attempt N"},
	{"--worker-iterations", &Options::worker_iterations, "what each of them has to do"},
	{"--exec-at", &Options::exec_at, "exec itself at the start of attempt N"},
	{"--exit-at", &Options::exit_at, "exit with status 7 in the middle of attempt N"},
	{"--abort-at", &Options::abort_at, "abort in the middle of attempt N"},
	{"--range-rate", &Options::range_rate, "N ranges `burst` an attempt, at full speed"},
	{"--operators", &Options::operators, "N rounds of operators an attempt, told in its line"},
	{"--op-threads", &Options::op_threads, "N more threads with one such round an attempt"},
	{"--op-depth", &Options::op_depth, "how deep operators call themselves in a round"},
	{"--op-pause-us", &Options::op_pause_us, "sleep so long between the parts of a round"},
	{"--op-errors", &Options::op_errors, "N C++ exceptions a round through operators"},
	{"--throw-all", &Options::throw_all, "N rounds of exceptions through all that is probed"},
	{"--module-errors", &Options::module_errors, "N C++ exceptions an attempt through modules"},
	{"--spawn-threads", &Options::spawn_threads, "N threads an attempt that come and go"},
	{"--timer-us", &Options::timer_us, "a signal that often"},
};

static const Switch switches[] = {
	{"--decoy", &Options::decoy, "device tensors point to readable memory with a wrong value"},
	{"--nested", &Options::nested, "8 ranges of one name inside each other"},
	{"--leak-ranges", &Options::leak_ranges, "a range that is never ended"},
	{"--cross-thread-end", &Options::cross_thread_end, "a range ended by another thread"},
	{"--loop-thread", &Options::loop_thread, "the loop is not on the main thread"},
	{"--compiled-region", &Options::compiled_region, "what torch.compile announces"},
	{"--native-scope", &Options::native_scope, "a user scope from C++, whose name is not told"},
	{"--no-optimizer-range", &Options::no_optimizer_range, "as a compiled optimizer"},
	{"--inside-step", &Options::inside_step, "what is mixed in happens inside Optimizer.step"},
	{"--interleave", &Options::interleave, "ranges across both ends of Optimizer.step"},
	{"--hostile-names", &Options::hostile_names, "ranges whose names try to break something"},
	{"--lies", &Options::lies, "operators and nodes whose pointers lie"},
	{"--memory-lies", &Options::memory_lies, "blocks of memory that cannot be"},
	{"--backward-thread", &Options::backward_thread, "nodes of a round run on their own thread"},
	{"--device-memory", &Options::device_memory, "rounds use a device's allocator too"},
	{"--boxed", &Options::boxed, "rounds call an operator as torch.ops does"},
	{"--old-frames", &Options::old_frames, "backward's frame is over what a module left of its own"},
};

static const Word words[] = {
	{"--scaler", &Options::scaler, "none cpu fused cuda fused-cuda",
	 "loss scaling: where the tensors are, and whether the optimizer is fused"},
	{"--optimizer", &Options::optimizer, "sgd adam", "which optimizer"},
	{"--gpu", &Options::gpu, nullptr, "a simulated device: the stand-ins in this directory"},
	{"--gpu-truth", &Options::gpu_truth, nullptr, "write what it did to this file at the end"},
	{"--gate", &Options::gate, nullptr, "after `ready PID`, wait until this file exists"},
	{"--deed", &Options::deed,
	 "none exec exit abort segv fork orphan unload limits seccomp",
	 "what it does to itself when the trigger exists"},
	{"--trigger", &Options::trigger, nullptr, "the file that --deed waits for"},
};

[[noreturn]] static void usage(FILE *to, int status)
{
	fprintf(to, "usage: standin [options]\n");
	for (const Number &n : numbers)
		fprintf(to, "  %s N\n\t%s\n", n.name, n.help);
	for (const Switch &s : switches)
		fprintf(to, "  %s\n\t%s\n", s.name, s.help);
	for (const Word &w : words)
		fprintf(to, "  %s %s\n\t%s\n", w.name, w.choices ? w.choices : "TEXT", w.help);
	exit(status);
}

[[noreturn]] static void refuse(const char *option, const char *value)
{
	fprintf(stderr, "standin: %s %s is not understood\n", option, value ? value : "");
	usage(stderr, 2);
}

static bool is_choice(const char *choices, const std::string &value)
{
	return !choices ||
	       (" " + std::string(choices) + " ").find(" " + value + " ") != std::string::npos;
}

static bool parse_switch(Options &options, const char *name)
{
	for (const Switch &s : switches) {
		if (!strcmp(s.name, name)) {
			options.*s.value = true;
			return true;
		}
	}
	return false;
}

static bool parse_value(Options &options, const char *name, const char *value)
{
	char *end;

	for (const Number &n : numbers) {
		if (strcmp(n.name, name))
			continue;
		options.*n.value = value ? strtoll(value, &end, 10) : -1;
		if (!value || *end || options.*n.value < 0)
			refuse(name, value);
		return true;
	}
	for (const Word &w : words) {
		if (strcmp(w.name, name))
			continue;
		if (!value || !is_choice(w.choices, value))
			refuse(name, value);
		options.*w.value = value;
		return true;
	}
	return false;
}

Options options_parse(int argc, char **argv)
{
	Options options;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--help"))
			usage(stdout, 0);
		if (parse_switch(options, argv[i]))
			continue;
		if (!parse_value(options, argv[i], argv[i + 1]))
			refuse(argv[i], nullptr);
		i++;
	}
	return options;
}
