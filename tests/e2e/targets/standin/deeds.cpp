#include "deeds.h"

#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

#include "confine.h"
#include "fault.h"
#include "model.h"
#include "operators.h"
#include "ranges.h"
#include "truth.h"

namespace ops = at::_ops;

static constexpr int kChildren = 3;
static constexpr int kIterations = 60;
static constexpr int kPatienceMs = 120000; // nobody needs a child for longer

Deeds::Deeds(const Options &options, char **argv)
	: options_(options), argv_(argv),
	  is_over_(options.deed == "none" || getenv("STANDIN_SECOND_LIFE")),
	  scratch_(standin::make_tensor(4))
{
}

void Deeds::poll()
{
	if (is_over_ || access(options_.trigger.c_str(), F_OK))
		return;
	is_over_ = true;
	act();
	printf("deed %s\n", options_.deed.c_str());
	fflush(stdout);
}

void Deeds::act()
{
	const std::string &deed = options_.deed;

	if (deed == "unload")
		wants_unload_ = true;
	else if (deed == "limits")
		confine_limits();
	else if (deed == "seccomp")
		confine_system_calls();
	else if (deed == "fork")
		fork_in_operator(false);
	else if (deed == "orphan")
		fork_in_operator(true);
	else
		inside_an_operator();
}

// Four frames deep: as_strided, transpose, t, linear.
void Deeds::inside_an_operator()
{
	standin::call_inside(
		[this] {
			const std::string &deed = options_.deed;

			if (deed == "exec") {
				setenv("STANDIN_SECOND_LIFE", "1", 1);
				execv("/proc/self/exe", argv_);
				_exit(126);
			}
			if (deed == "exit")
				_exit(7);
			if (deed == "abort")
				abort();
			volatile int *volatile nowhere = nullptr;

			*nowhere = 1;
		},
		3);
	ops::linear::call(scratch_, scratch_, scratch_);
}

// The children leave the operator on their own, and go on.
void Deeds::fork_in_operator(bool is_orphan)
{
	for (int i = 0; i < kChildren; i++) {
		pid_t pid = -1;

		standin::call_inside([&pid] { pid = fork(); }, 3);
		ops::linear::call(scratch_, scratch_, scratch_);
		if (pid == 0)
			live_on(static_cast<uint32_t>(100 + i));
		if (pid < 0) {
			perror("standin: fork");
			_exit(1);
		}
		children_.push_back(pid);
		printf("{\"forked\": %d}\n", static_cast<int>(pid));
		fflush(stdout);
	}
	if (is_orphan)
		_exit(0);
}

static int work(Model &model, Truth &truth)
{
	CountedRange range(truth, "forked");
	at::Tensor tensor = standin::make_tensor(4);

	model.forward();
	model.backward(false);
	model.update();
	usleep(1000);
	standin::arm_fault(standin::Fault::kernel);
	try {
		ops::mul__Tensor::call(tensor, tensor);
	} catch (const std::runtime_error &) {
		return 1;
	}
	return 0;
}

// Half of its work before it is told to go on, and half after that.
void Deeds::live_on(uint32_t seed)
{
	std::string release = options_.trigger + ".release";
	int64_t thrown = 0;
	Truth own;
	Model model(seed);

	for (int i = 0; i < kIterations; i++)
		thrown += work(model, own);
	printf("{\"waits\": %d}\n", static_cast<int>(getpid()));
	fflush(stdout);
	for (int ms = 0; access(release.c_str(), F_OK); ms++) {
		if (ms > kPatienceMs)
			_exit(1);
		usleep(1000);
	}
	for (int i = 0; i < kIterations; i++)
		thrown += work(model, own);
	printf("{\"child\": %d, \"seed\": %" PRIu32 ", \"checksum\": \"%016" PRIx64
	       "\", \"thrown\": %" PRId64 "}\n",
	       static_cast<int>(getpid()), seed, model.checksum(), thrown);
	fflush(stdout);
	_exit(0);
}

void Deeds::finish()
{
	for (pid_t pid : children_) {
		int status = -1;

		waitpid(pid, &status, 0);
		printf("{\"ended\": %d, \"status\": %d}\n", static_cast<int>(pid), status);
	}
	fflush(stdout);
	confine_finish();
}
