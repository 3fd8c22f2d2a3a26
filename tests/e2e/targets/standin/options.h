// What the stand-in is asked to do; see options.cpp for the command line.

#ifndef STANDIN_OPTIONS_H
#define STANDIN_OPTIONS_H

#include <cstdint>
#include <string>

struct Options {
	int64_t attempts = 0;
	int64_t step_us = 1000;
	int64_t ranges = 2;
	int64_t threads = 0;
	std::string scaler = "none";
	std::string optimizer = "sgd";
	bool decoy = false;
	int64_t overflow_every = 0;
	int64_t nested_step_from = 0;
	int64_t throws = 0;
	bool nested = false;
	bool leak_ranges = false;
	bool cross_thread_end = false;
	bool loop_thread = false;
	bool compiled_region = false;
	bool native_scope = false;
	bool no_optimizer_range = false;
	bool inside_step = false;
	bool interleave = false;
	int64_t fork_workers = 0;
	int64_t fork_at = 0;
	int64_t worker_iterations = 200;
	int64_t exec_at = -1;
	int64_t exit_at = -1;
	int64_t abort_at = -1;
	int64_t operators = 0;
	int64_t op_threads = 0;
	int64_t op_depth = 3;
	int64_t op_errors = 0;
	int64_t op_pause_us = 0;
	bool backward_thread = false;
	bool device_memory = false;
	bool boxed = false;
	bool old_frames = false;
	std::string gate;
	std::string gpu;
	std::string gpu_truth;
	bool hostile_names = false;
	bool lies = false;
	bool memory_lies = false;
	int64_t range_rate = 0;
	int64_t throw_all = 0;
	int64_t module_errors = 0;
	int64_t spawn_threads = 0;
	int64_t timer_us = 0;
	std::string deed = "none";
	std::string trigger;
};

// Exits with status 2 and a message on a command line it does not understand.
Options options_parse(int argc, char **argv);

#endif
