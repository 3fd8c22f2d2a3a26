/*
 * The measurement runs a real child. What a probe does is played by code that is written over a
 * site of the child: it takes a while and returns.
 */
#include "support/test.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/process.h"
#include "attach/site_cost.h"
#include "base/clock.h"

struct kernel {
	int attach_result;
	int signal; /* sent to the child by attach; 0: none */
	bool is_slow[PROBE_SITE_KIND_CNT];
	bool cannot_write;
	int report_fd; /* attach writes the child's id here and ends this process; 0: not */
	int attached, detached;
	pid_t child;
	uint64_t file_offsets[PROBE_SITE_KIND_CNT];
};

struct place {
	uint64_t file_offset;
	uint64_t address; /* 0: not found */
	uint8_t code[8];  /* as the file has it */
};

/* Where the kernel would put the breakpoint: our own file is known by where this code lies. */
static int on_mapping(void *context, const struct process_mapping *mapping)
{
	struct place *place = context;
	int fd;

	if (!mapping->is_executable || !strstr(mapping->path, "test_site_cost") ||
	    place->file_offset < mapping->offset ||
	    place->file_offset - mapping->offset >= mapping->end - mapping->start)
		return 0;
	place->address = mapping->start + (place->file_offset - mapping->offset);
	fd = open(mapping->path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, place->code, sizeof(place->code), (off_t)place->file_offset),
			 sizeof(place->code));
	close(fd);
	return 1;
}

static struct place find_place(uint64_t file_offset)
{
	struct place place = { .file_offset = file_offset };

	process_each_mapping(getpid(), on_mapping, &place);
	assert_true(place.address != 0);
	return place;
}

/* The child was forked from us: an address here is one there. */
static bool make_slow(pid_t child, uint64_t file_offset)
{
	/* mov $2000, %ecx; 1: pause; dec %ecx; jnz 1b; ret */
	static const uint8_t loop[] = { 0xb9, 0xd0, 0x07, 0,	0,    0xf3,
					0x90, 0xff, 0xc9, 0x75, 0xfa, 0xc3 };
	struct place place = find_place(file_offset);
	char path[64];
	bool is_written;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", child);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	is_written = pwrite(fd, loop, sizeof(loop), (off_t)place.address) == (ssize_t)sizeof(loop);
	close(fd);
	return is_written;
}

static int attach(void *context, pid_t pid, const char *path, const uint64_t *file_offsets,
		  size_t count)
{
	struct kernel *kernel = context;
	unsigned int kind;

	assert_true(pid > 0 && pid != getpid() && !kill(pid, 0));
	assert_string_equal(path, "/proc/self/exe");
	assert_int_equal(count, PROBE_SITE_KIND_CNT);
	kernel->child = pid;
	memcpy(kernel->file_offsets, file_offsets, sizeof(kernel->file_offsets));
	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++) {
		if (kernel->is_slow[kind] && !make_slow(pid, file_offsets[kind]))
			kernel->cannot_write = true;
	}
	if (kernel->signal)
		kill(pid, kernel->signal);
	if (kernel->report_fd)
		_exit(write(kernel->report_fd, &pid, sizeof(pid)) != (ssize_t)sizeof(pid));
	kernel->attached += !kernel->attach_result;
	return kernel->attach_result;
}

static void detach(void *context)
{
	((struct kernel *)context)->detached++;
}

static int measure(struct kernel *kernel, uint64_t hit_ns[PROBE_SITE_KIND_CNT])
{
	const struct site_cost_ops ops = { attach, detach, kernel };
	int err;

	memset(hit_ns, 0xff, PROBE_SITE_KIND_CNT * sizeof(*hit_ns));
	err = site_cost_measure(&ops, hit_ns);
	assert_int_equal(kernel->detached, kernel->attached);
	/* Nothing is left of the child. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	return err;
}

static void assert_nothing_measured(const uint64_t hit_ns[PROBE_SITE_KIND_CNT])
{
	unsigned int kind;

	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++)
		assert_row(kind, hit_ns[kind] == 0);
}

static void every_kind_has_its_instruction(void **state)
{
	static const uint8_t opcodes[PROBE_SITE_KIND_CNT] = {
		[PROBE_SITE_PUSH] = 0x53,    [PROBE_SITE_NOP] = 0x90,	 [PROBE_SITE_CALL] = 0xe8,
		[PROBE_SITE_JUMP] = 0xeb,    [PROBE_SITE_BRANCH] = 0x74, [PROBE_SITE_RET] = 0xc3,
		[PROBE_SITE_STEPPED] = 0x48, /* lea */
	};
	struct kernel kernel = { .attach_result = 0 };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];
	unsigned int kind, other;

	(void)state;
	assert_int_equal(measure(&kernel, hit_ns), 0);
	assert_int_equal(kernel.attached, 1);
	for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++) {
		assert_row(kind, find_place(kernel.file_offsets[kind]).code[0] == opcodes[kind]);
		for (other = 0; other < kind; other++)
			assert_row(kind, kernel.file_offsets[kind] != kernel.file_offsets[other]);
	}
}

static void sites_that_cost_nothing_are_not_measured(void **state)
{
	struct kernel kernel = { .attach_result = 0 };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];

	(void)state;
	assert_int_equal(measure(&kernel, hit_ns), 0);
	assert_nothing_measured(hit_ns);
}

/* Code that is written over is not seen by an emulator that has translated it before. */
static bool is_emulated(void)
{
	const char *preload = getenv("LD_PRELOAD");

	return preload && strstr(preload, "vgpreload");
}

static void each_kind_is_measured_by_itself(void **state)
{
	unsigned int slow, kind;

	(void)state;
	if (is_emulated())
		skip();
	for (slow = 0; slow < PROBE_SITE_KIND_CNT; slow++) {
		struct kernel kernel = { .attach_result = 0 };
		uint64_t hit_ns[PROBE_SITE_KIND_CNT];

		kernel.is_slow[slow] = true;
		assert_int_equal(measure(&kernel, hit_ns), 0);
		if (kernel.cannot_write)
			skip();
		/* 2,000 turns of at least one cycle, and at most a few hundred. */
		assert_row(slow, hit_ns[slow] > 200);
		for (kind = 0; kind < PROBE_SITE_KIND_CNT; kind++)
			assert_row(slow, kind == slow || hit_ns[kind] == 0);
	}
}

static void a_refusal_is_passed_on(void **state)
{
	struct kernel kernel = { .attach_result = -EACCES };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];

	(void)state;
	assert_int_equal(measure(&kernel, hit_ns), -EACCES);
	assert_int_equal(kernel.detached, 0);
	assert_nothing_measured(hit_ns);
}

static void a_child_that_dies_is_an_error(void **state)
{
	struct kernel kernel = { .signal = SIGKILL };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];

	(void)state;
	assert_int_equal(measure(&kernel, hit_ns), -EIO);
	assert_int_equal(kernel.detached, 1);
	assert_nothing_measured(hit_ns);
}

static void a_child_that_stands_still_is_given_up(void **state)
{
	struct kernel kernel = { .signal = SIGSTOP };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];
	uint64_t start_ns = clock_monotonic_ns();

	(void)state;
	assert_int_equal(measure(&kernel, hit_ns), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() - start_ns < 5000000000ULL);
	assert_int_equal(kernel.detached, 1);
	assert_nothing_measured(hit_ns);
}

/* Stopped, it can neither see that its socket is closed nor end by itself. */
static void the_child_dies_with_its_parent(void **state)
{
	struct kernel kernel = { .signal = SIGSTOP };
	const struct site_cost_ops ops = { attach, detach, &kernel };
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];
	pid_t parent, child = 0;
	int fds[2], status = 0, waits = 0;

	(void)state;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe(fds), 0);
	kernel.report_fd = fds[1];
	parent = fork();
	if (!parent) {
		site_cost_measure(&ops, hit_ns);
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &child, sizeof(child)), sizeof(child));
	close(fds[0]);
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	while (waitpid(child, &status, WNOHANG) == 0 && waits++ < 5000)
		poll(NULL, 0, 1);
	if (!WIFSIGNALED(status))
		kill(child, SIGKILL);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void a_cost_is_what_a_call_took_longer(void **state)
{
	static const struct {
		uint64_t unwatched_ns, watched_ns;
		uint32_t calls;
		uint64_t cost_ns;
	} rows[] = {
		{ 100, 100100, 100, 1000 },
		{ 0, 320000, 32, 10000 },
		{ 100, 100, 100, 0 },	     /* the same */
		{ 200, 100, 100, 0 },	     /* less than unwatched */
		{ 0, 100 * 50 - 1, 100, 0 }, /* a trap takes longer than that */
		{ 0, 100 * 50, 100, 50 },
		{ 0, 100 * 1000000ULL, 100, 1000000 },
		{ 0, 100 * 1000001ULL, 100, 0 }, /* the machine stood still */
		{ 0, UINT64_MAX, 1, 0 },
		{ 0, 1000, 0, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, site_cost_of_calls(rows[i].unwatched_ns, rows[i].watched_ns,
						 rows[i].calls) == rows[i].cost_ns);
}

static void what_was_not_measured_has_a_usual_cost(void **state)
{
	uint64_t hit_ns[PROBE_SITE_KIND_CNT] = { 0 };

	(void)state;
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_PUSH), 1000);
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_BRANCH), 1000);
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_RET), 10000);
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_STEPPED), 10000);
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_KIND_CNT), 1000);
	hit_ns[PROBE_SITE_PUSH] = 700;
	hit_ns[PROBE_SITE_RET] = 9000;
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_PUSH), 700);
	assert_int_equal(site_cost_or_default(hit_ns, PROBE_SITE_RET), 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_its_instruction),
		cmocka_unit_test(sites_that_cost_nothing_are_not_measured),
		cmocka_unit_test(each_kind_is_measured_by_itself),
		cmocka_unit_test(a_refusal_is_passed_on),
		cmocka_unit_test(a_child_that_dies_is_an_error),
		cmocka_unit_test(a_child_that_stands_still_is_given_up),
		cmocka_unit_test(the_child_dies_with_its_parent),
		cmocka_unit_test(a_cost_is_what_a_call_took_longer),
		cmocka_unit_test(what_was_not_measured_has_a_usual_cost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
