/*
 * site_cost.c - see site_cost.h. The child calls a function of each kind in rounds, first
 * unwatched, then with all sites probed at once, so that there is one attach and one detach to pay
 * for. Kinds take turns within a round: what disturbs the machine for a while disturbs all of them,
 * and the median of the rounds leaves it out. The child touches nothing but its socket and dies
 * with us.
 */
#include "attach/site_cost.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process.h"
#include "base/clock.h"
#include "base/privilege.h"

#define CHILD_TIMEOUT_NS 1000000000ULL /* it needs 6 ms, attaching 20 or so */

/* A first round is not counted: it pays for page faults and for the kernel's page to step on. */
#define ROUNDS 15
#define EMULATED_CALLS 32
#define STEPPED_CALLS 8 /* each is some ten times as dear */

_Static_assert((ROUNDS + 1) * ((PROBE_SITE_KIND_CNT - 2) * EMULATED_CALLS + 2 * STEPPED_CALLS) <=
		       SITE_COST_HITS_MAX,
	       "the ring may fill up");

/* A hit is at least a trap, and one above the other bound is a machine that stood still. */
#define HIT_MIN_NS 50
#define HIT_MAX_NS 1000000

#define EMULATED_DEFAULT_NS 1000
#define STEPPED_DEFAULT_NS 10000

/*
 * A function for each kind; the probed instruction has a name of its own. Slots of 32 bytes, so
 * that a function lies in one cache line.
 */
#define DEFINE(name, before, site, after)                                         \
	asm(".pushsection .text\n"                                                \
	    ".balign 32\n"                                                        \
	    ".globl site_cost_" #name ", site_cost_at_" #name "\n"                \
	    ".hidden site_cost_" #name ", site_cost_at_" #name "\n"               \
	    ".type site_cost_" #name ", @function\n"                              \
	    "site_cost_" #name ":\n"                                              \
	    "endbr64\n" before "site_cost_at_" #name ":\n" site after "ret\n"     \
	    ".size site_cost_" #name ", . - site_cost_" #name "\n"                \
	    ".balign 32\n"                                                        \
	    ".popsection\n");                                                     \
	extern __attribute__((visibility("hidden"))) void site_cost_##name(void); \
	extern __attribute__((visibility("hidden"))) const uint8_t site_cost_at_##name[]

DEFINE(push, "", "pushq %rbx\n", "popq %rbx\n");
DEFINE(nop, "", "nop\n", "");
DEFINE(call, "", "call 1f\n", "ret\n1:\n");
DEFINE(jump, "", "jmp 1f\n", "1:\n");
DEFINE(branch, "testl %eax, %eax\n", "je 1f\n", "1:\n");
DEFINE(ret, "", "", "");
DEFINE(stepped, "", "leaq 8(%rsp), %rax\n", "");

struct site_function {
	void (*function)(void);
	const uint8_t *site;
	uint32_t calls; /* in a round */
};

#define ROW(name, calls)                                     \
	{                                                    \
		site_cost_##name, site_cost_at_##name, calls \
	}

static const struct site_function functions[PROBE_SITE_KIND_CNT] = {
	[PROBE_SITE_PUSH] = ROW(push, EMULATED_CALLS),
	[PROBE_SITE_NOP] = ROW(nop, EMULATED_CALLS),
	[PROBE_SITE_CALL] = ROW(call, EMULATED_CALLS),
	[PROBE_SITE_JUMP] = ROW(jump, EMULATED_CALLS),
	[PROBE_SITE_BRANCH] = ROW(branch, EMULATED_CALLS),
	[PROBE_SITE_RET] = ROW(ret, STEPPED_CALLS),
	[PROBE_SITE_STEPPED] = ROW(stepped, STEPPED_CALLS),
};

/* What one side of the measurement took, by kind: the median of the rounds. */
struct round_times {
	uint64_t median_ns[PROBE_SITE_KIND_CNT];
};

static uint64_t time_calls(const struct site_function *of)
{
	uint64_t start_ns = clock_monotonic_ns();
	uint32_t i;

	for (i = 0; i < of->calls; i++)
		of->function();
	return clock_monotonic_ns() - start_ns;
}

static uint64_t median_of(uint64_t values[ROUNDS])
{
	unsigned int i, at;

	for (i = 1; i < ROUNDS; i++) {
		uint64_t value = values[i];

		for (at = i; at && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
	return values[ROUNDS / 2];
}

static void time_rounds(struct round_times *times)
{
	uint64_t rounds_ns[PROBE_SITE_KIND_CNT][ROUNDS];
	unsigned int kind, round;

	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++)
		time_calls(&functions[kind]);
	for (round = 0; round < ROUNDS; round++) {
		for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++)
			rounds_ns[kind][round] = time_calls(&functions[kind]);
	}
	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++)
		times->median_ns[kind] = median_of(rounds_ns[kind]);
}

/* Never returns: the parent's state is not ours to unwind. */
static __attribute__((noreturn)) void run_child(int parent_fd, pid_t parent)
{
	struct round_times times;
	char go;

	privilege_keep(0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) /* it died before we asked to die with it */
		_exit(1);
	time_rounds(&times);
	if (send(parent_fd, &times, sizeof(times), MSG_NOSIGNAL) != (ssize_t)sizeof(times) ||
	    recv(parent_fd, &go, sizeof(go), 0) != (ssize_t)sizeof(go))
		_exit(1);
	time_rounds(&times);
	if (send(parent_fd, &times, sizeof(times), MSG_NOSIGNAL) != (ssize_t)sizeof(times))
		_exit(1);
	/* Until we are killed, or the parent's end is closed. */
	while (recv(parent_fd, &go, sizeof(go), 0) > 0)
		;
	_exit(0);
}

static int receive(int child_fd, uint64_t deadline_ns, struct round_times *times)
{
	struct pollfd fd = { .fd = child_fd, .events = POLLIN };
	uint64_t now_ns = clock_monotonic_ns();
	int ready = 0;

	while (now_ns < deadline_ns) {
		ready = poll(&fd, 1, (int)((deadline_ns - now_ns) / 1000000 + 1));
		if (ready > 0 || (ready < 0 && errno != EINTR))
			break;
		now_ns = clock_monotonic_ns();
	}
	if (ready <= 0)
		return now_ns < deadline_ns ? -EIO : -ETIMEDOUT;
	if (recv(child_fd, times, sizeof(*times), MSG_DONTWAIT) != (ssize_t)sizeof(*times))
		return -EIO;
	return 0;
}

struct places {
	uint64_t file_offsets[PROBE_SITE_KIND_CNT];
	unsigned int found;
};

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	struct places *places = context;
	unsigned int kind;

	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++) {
		uint64_t address = (uint64_t)(uintptr_t)functions[kind].site;

		if (address < mapping->start || address >= mapping->end)
			continue;
		places->file_offsets[kind] = address - mapping->start + mapping->offset;
		places->found++;
	}
	return 0;
}

static int measure(const struct site_cost_ops *ops, pid_t child, int child_fd,
		   struct round_times *unwatched, struct round_times *watched)
{
	uint64_t deadline_ns = clock_monotonic_ns() + CHILD_TIMEOUT_NS;
	struct places places = { .found = 0 };
	int err;

	process_each_mapping(getpid(), on_mapping, &places);
	if (places.found != PROBE_SITE_KIND_CNT)
		return -ENOENT;
	err = receive(child_fd, deadline_ns, unwatched);
	if (!err)
		err = ops->attach(ops->context, child, "/proc/self/exe", places.file_offsets,
				  PROBE_SITE_KIND_CNT);
	if (err)
		return err;
	if (send(child_fd, "", 1, MSG_NOSIGNAL) == 1)
		err = receive(child_fd, deadline_ns, watched);
	else
		err = -EIO;
	ops->detach(ops->context);
	return err;
}

/* SIGKILL cannot be put off, so this wait needs no deadline. */
static void end_child(pid_t child)
{
	kill(child, SIGKILL);
	while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
}

int site_cost_measure(const struct site_cost_ops *ops, uint64_t hit_ns[PROBE_SITE_KIND_CNT])
{
	struct round_times unwatched, watched;
	pid_t child, parent = getpid();
	int sockets[2], err;
	unsigned int kind;

	memset(hit_ns, 0, PROBE_SITE_KIND_CNT * sizeof(*hit_ns));
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return -errno;
	child = fork();
	if (!child) {
		close(sockets[0]);
		run_child(sockets[1], parent);
	}
	err = child < 0 ? -errno : 0;
	close(sockets[1]);
	if (!err) {
		err = measure(ops, child, sockets[0], &unwatched, &watched);
		end_child(child);
	}
	close(sockets[0]);
	for (kind = 0; kind < PROBE_SITE_KIND_CNT && !err; kind++)
		hit_ns[kind] = site_cost_of_calls(unwatched.median_ns[kind],
						  watched.median_ns[kind], functions[kind].calls);
	return err;
}

uint64_t site_cost_of_calls(uint64_t unwatched_ns, uint64_t watched_ns, uint32_t calls)
{
	uint64_t cost_ns;

	if (!calls || watched_ns <= unwatched_ns)
		return 0;
	cost_ns = (watched_ns - unwatched_ns) / calls;
	return cost_ns < HIT_MIN_NS || cost_ns > HIT_MAX_NS ? 0 : cost_ns;
}

uint64_t site_cost_or_default(const uint64_t hit_ns[PROBE_SITE_KIND_CNT], enum probe_site_kind kind)
{
	bool is_stepped = kind == PROBE_SITE_RET || kind == PROBE_SITE_STEPPED;

	if ((unsigned int)kind < PROBE_SITE_KIND_CNT && hit_ns[kind])
		return hit_ns[kind];
	return is_stepped ? STEPPED_DEFAULT_NS : EMULATED_DEFAULT_NS;
}
