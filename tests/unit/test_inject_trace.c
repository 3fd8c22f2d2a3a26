/*
 * A child waits in each of the ways that are fit, is taken, and its tracer is killed after every
 * step: whatever the step, the wait goes on as if nothing had been, and the calls have been made
 * either whole or not at all.
 */
#include "support/test.h"

#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject_calls.h"
#include "attach/inject_trace.h"

#define OWN_ERRNO 4711
#define SOON_NS 20000000000ULL
#define STACK_BYTES 32768

enum way {
	WAY_POLL,
	WAY_SELECT,
	WAY_READ,
	WAY_CONDITION,
	WAY_SEMAPHORE,
	WAY_UNTIL,
	WAY_CNT,
};

enum step {
	STEP_SEIZE,
	STEP_STOP,
	STEP_READ,
	STEP_WRITE,
	STEP_SWITCH,
	STEP_RELEASE,
	STEP_CNT,
};

/* Between the test, its child and the tracer. */
struct shared {
	_Atomic uint32_t calls, wakes, wrong;
	_Atomic uint64_t argument_sum, flags_seen;
	_Atomic pid_t tid;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	sem_t semaphore;
	_Atomic uint32_t rung;
	_Atomic pid_t unfit[16];
	int pipe[2];
};

static struct shared *shared;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void pause_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&time, NULL);
}

/* ---- the child ---- */

/* What the thread is made to call: uses its stack, changes errno, and sees its arguments. */
static __attribute__((noinline)) long called(uint64_t a, uint64_t b, uint64_t c, uint64_t d,
					     uint64_t e, uint64_t f)
{
	volatile char deep[20000];
	sigset_t mask;

	deep[0] = deep[sizeof(deep) - 1] = 1;
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	if (!sigismember(&mask, SIGUSR1) || (uintptr_t)__builtin_frame_address(0) % 16)
		atomic_fetch_add(&shared->wrong, 1);
	atomic_fetch_add(&shared->argument_sum, a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f);
	atomic_fetch_add(&shared->calls, 1);
	errno = EINTR;
	return 12345;
}

static void check(bool is_right)
{
	if (!is_right)
		atomic_fetch_add(&shared->wrong, 1);
}

static void take_byte(void)
{
	char byte;

	check(read(shared->pipe[0], &byte, 1) == 1);
}

static void wait_by_descriptor(enum way way)
{
	struct pollfd fd = { .fd = shared->pipe[0], .events = POLLIN };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(shared->pipe[0], &set);
	if (way == WAY_SELECT)
		check(select(shared->pipe[0] + 1, &set, NULL, NULL, NULL) == 1);
	else if (way != WAY_READ)
		check(poll(&fd, 1, -1) == 1);
	take_byte();
}

static void wait_until(void)
{
	uint64_t due_ns = now_ns() + 300000000ULL;
	struct timespec due = { (time_t)(due_ns / 1000000000), (long)(due_ns % 1000000000) };

	check(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL));
	check(now_ns() >= due_ns);
}

static void wait_once(enum way way)
{
	switch (way) {
	case WAY_CONDITION:
		pthread_mutex_lock(&shared->lock);
		while (!atomic_load(&shared->rung))
			pthread_cond_wait(&shared->changed, &shared->lock);
		atomic_fetch_sub(&shared->rung, 1);
		pthread_mutex_unlock(&shared->lock);
		break;
	case WAY_SEMAPHORE:
		check(!sem_wait(&shared->semaphore));
		break;
	case WAY_UNTIL:
		wait_until();
		break;
	default:
		wait_by_descriptor(way);
	}
}

static void *wait_always(void *argument)
{
	enum way way = *(const enum way *)argument;

	atomic_store(&shared->tid, (pid_t)syscall(SYS_gettid));
	errno = OWN_ERRNO;
	for (;;) {
		wait_once(way);
		check(errno == OWN_ERRNO);
		atomic_fetch_add(&shared->wakes, 1);
	}
	return NULL;
}

static pid_t child_start(enum way *way)
{
	pid_t child = fork();
	pthread_t thread;

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pthread_create(&thread, NULL, wait_always, way);
	pause_ms(3600000);
	_exit(0);
}

static void ring(enum way way)
{
	if (way == WAY_SEMAPHORE) {
		assert_int_equal(sem_post(&shared->semaphore), 0);
	} else if (way == WAY_CONDITION) {
		pthread_mutex_lock(&shared->lock);
		atomic_fetch_add(&shared->rung, 1);
		pthread_cond_signal(&shared->changed);
		pthread_mutex_unlock(&shared->lock);
	} else if (way != WAY_UNTIL) {
		assert_int_equal(write(shared->pipe[1], "", 1), 1);
	}
}

/* ---- the tracer ---- */

enum {
	TRACER_DONE = 0,
	TRACER_FORBIDDEN = 77,
	TRACER_FAILED = 1,
};

static bool find(pid_t pid, struct inject_thread *thread)
{
	uint64_t end_ns = now_ns() + SOON_NS;
	struct inject_threads threads;
	size_t i;

	while (now_ns() < end_ns) {
		if (inject_threads_find(&threads, pid) || threads.obstacle)
			return false;
		for (i = 0; i < threads.count; i++) {
			*thread = threads.threads[i];
			if (thread->tid == atomic_load(&shared->tid))
				return true;
		}
	}
	return false;
}

static int build(const struct inject_thread *thread, const struct inject_image *image,
		 const struct inject_state *state, struct inject_frame *frame)
{
	int32_t own = OWN_ERRNO;
	struct inject_call calls[3];
	const struct inject_list list = { image->restorer, calls, COUNT_OF(calls), &own,
					  sizeof(own) };

	calls[0] = (struct inject_call){ (uintptr_t)called, { 1, 2, 3, 4, 5, 6 } };
	calls[1] = (struct inject_call){ (uintptr_t)called, { 10, 20, 30, 40, 50, 60 } };
	calls[2] = (struct inject_call){
		image->functions[INJECT_MEMCCPY],
		{ state->registers.fs_base + (uint64_t)image->errno_offset,
		  inject_frame_data(state, sizeof(own)), 0xee, sizeof(own), 0, 0 },
	};
	return inject_frame_build(frame, state, thread->wait.number, &list);
}

static int take_step(enum step step, const struct inject_thread *thread,
		     const struct inject_image *image)
{
	static struct inject_state state;
	static struct inject_frame frame;
	const char *why;
	uint64_t since_ns;
	int err = 0;

	switch (step) {
	case STEP_SEIZE:
		return inject_trace_seize(thread);
	case STEP_STOP:
		return inject_trace_stop(thread, &since_ns);
	case STEP_READ:
		err = inject_trace_read(thread, &state);
		why = err ? NULL : inject_trace_stack(thread, image, &state, STACK_BYTES);
		if (why) {
			fprintf(stderr, "%s\n", why);
			err = -ENOSPC;
		}
		return err ? err : build(thread, image, &state, &frame);
	case STEP_WRITE:
		return inject_trace_write(thread, &frame);
	case STEP_SWITCH:
		return inject_trace_switch(thread, &frame);
	default:
		inject_trace_release(thread);
		return 0;
	}
}

/* Up to last, and then it is killed. -EAGAIN: the thread was awake; nothing was done. */
static __attribute__((noreturn)) void trace(pid_t pid, enum step last)
{
	struct inject_thread thread;
	struct inject_image image;
	enum step step;
	int err;

	if (inject_image_read(&image, pid) || !find(pid, &thread))
		_exit(TRACER_FAILED);
	for (step = STEP_SEIZE; step <= last; step++) {
		err = take_step(step, &thread, &image);
		if (err == -EPERM && step == STEP_SEIZE)
			_exit(TRACER_FORBIDDEN);
		if (err == -EAGAIN && step < STEP_WRITE)
			_exit(TRACER_DONE);
		if (err) {
			fprintf(stderr, "step %d: %s\n", (int)step, strerror(-err));
			_exit(TRACER_FAILED);
		}
	}
	kill(getpid(), SIGKILL);
	_exit(TRACER_FAILED);
}

/* True: it was killed behind that step; false: the thread was awake, try again. */
static bool run_tracer(pid_t pid, enum step last)
{
	pid_t tracer = fork();
	int status;

	assert_true(tracer >= 0);
	if (!tracer)
		trace(pid, last);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TRACER_FORBIDDEN)
		skip();
	if (WIFEXITED(status) && WEXITSTATUS(status) == TRACER_DONE)
		return false;
	assert_true(WIFSIGNALED(status));
	return true;
}

static void assert_wakes(pid_t child, enum way way)
{
	uint32_t before = atomic_load(&shared->wakes);
	uint64_t end_ns = now_ns() + SOON_NS;

	ring(way);
	while (atomic_load(&shared->wakes) == before && now_ns() < end_ns)
		pause_ms(1);
	assert_true(atomic_load(&shared->wakes) > before);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
}

static void assert_calls(uint32_t want)
{
	uint64_t end_ns = now_ns() + SOON_NS;

	while (atomic_load(&shared->calls) != want && now_ns() < end_ns)
		pause_ms(1);
	assert_int_equal(atomic_load(&shared->calls), want);
}

static void killed_after_each_step(enum way way)
{
	static enum way own_way;
	uint32_t calls = 0;
	enum step last;
	pid_t child;

	own_way = way;
	child = child_start(&own_way);
	for (last = STEP_SEIZE; last < STEP_CNT; last++) {
		while (!run_tracer(child, last))
			;
		calls += last >= STEP_SWITCH ? 2 : 0;
		assert_calls(calls);
		assert_wakes(child, way);
		assert_wakes(child, way);
	}
	assert_calls(calls);
	assert_int_equal(atomic_load(&shared->argument_sum), 2 * 11 * 91);
	assert_int_equal(atomic_load(&shared->wrong), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

#define WAY_TEST(name, way)                  \
	static void name(void **state)       \
	{                                    \
		(void)state;                 \
		killed_after_each_step(way); \
	}

WAY_TEST(in_poll, WAY_POLL)
WAY_TEST(in_select, WAY_SELECT)
WAY_TEST(in_read, WAY_READ)
WAY_TEST(at_a_condition, WAY_CONDITION)
WAY_TEST(at_a_semaphore, WAY_SEMAPHORE)
WAY_TEST(asleep_until, WAY_UNTIL)

/* ---- who is not to be taken ---- */

enum {
	UNFIT_MUTEX,
	UNFIT_MUTEX_UNTIL,
	UNFIT_WRITER,
	UNFIT_JOIN,
	UNFIT_SMALL, /* with next to no stack */
	UNFIT_OWN_STACK,
	UNFIT_HANDLER, /* waits in a signal handler */
	UNFIT_CNT,
};

static pthread_mutex_t never_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t never_lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_t never_ends;

static void wait_in_handler(int number)
{
	(void)number;
	poll(NULL, 0, -1);
}

static void *be_unfit(void *argument)
{
	const struct timespec late = { 4000000000, 0 };
	int which = *(const int *)argument;

	atomic_store(&shared->unfit[which], (pid_t)syscall(SYS_gettid));
	switch (which) {
	case UNFIT_MUTEX:
		pthread_mutex_lock(&never_mutex);
		break;
	case UNFIT_MUTEX_UNTIL:
		pthread_mutex_timedlock(&never_mutex, &late);
		break;
	case UNFIT_WRITER:
		pthread_rwlock_wrlock(&never_lock);
		break;
	case UNFIT_JOIN:
		pthread_join(never_ends, NULL);
		break;
	case UNFIT_HANDLER:
		signal(SIGUSR2, wait_in_handler);
		raise(SIGUSR2);
		break;
	default:
		poll(NULL, 0, -1);
	}
	return NULL;
}

static void *sleep_for_ever(void *argument)
{
	(void)argument;
	pause();
	return NULL;
}

static void start_unfit(int *which)
{
	static char own_stack[1 << 20] __attribute__((aligned(4096)));
	pthread_attr_t attributes;
	pthread_t thread;

	pthread_attr_init(&attributes);
	if (*which == UNFIT_SMALL)
		pthread_attr_setstacksize(&attributes, STACK_BYTES);
	if (*which == UNFIT_OWN_STACK)
		pthread_attr_setstack(&attributes, own_stack, sizeof(own_stack));
	if (pthread_create(&thread, &attributes, be_unfit, which))
		_exit(1);
}

static pid_t unfit_child_start(void)
{
	static int numbers[UNFIT_CNT];
	pid_t child = fork();
	int i;

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pthread_mutex_lock(&never_mutex);
	pthread_rwlock_rdlock(&never_lock);
	pthread_create(&never_ends, NULL, sleep_for_ever, NULL);
	for (i = 0; i < UNFIT_CNT; i++) {
		numbers[i] = i;
		start_unfit(&numbers[i]);
	}
	pause_ms(3600000);
	_exit(0);
}

/* Tries them all, and lets each go. Exits with the number of those that it would take. */
static __attribute__((noreturn)) void try_all(pid_t pid)
{
	static struct inject_state state;
	struct inject_threads threads;
	struct inject_image image;
	uint64_t since_ns;
	int taken = 0;
	size_t i;

	if (inject_image_read(&image, pid) || inject_threads_find(&threads, pid))
		_exit(99);
	for (i = 0; i < threads.count; i++) {
		const struct inject_thread *thread = &threads.threads[i];
		int err = inject_trace_seize(thread);

		if (err)
			_exit(err == -EPERM ? TRACER_FORBIDDEN : 99);
		if (inject_trace_stop(thread, &since_ns))
			_exit(99);
		if (!inject_trace_read(thread, &state) &&
		    !inject_trace_stack(thread, &image, &state, STACK_BYTES))
			taken++;
		inject_trace_release(thread);
	}
	_exit(taken);
}

static void locks_and_odd_stacks(void **state)
{
	pid_t child = unfit_child_start(), tracer;
	int status, i;

	(void)state;
	for (i = 0; i < UNFIT_CNT; i++) {
		while (!atomic_load(&shared->unfit[i]))
			pause_ms(1);
	}
	pause_ms(200);
	tracer = fork();
	if (!tracer)
		try_all(child);
	assert_int_equal(waitpid(tracer, &status, 0), tracer);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == TRACER_FORBIDDEN)
		skip();
	/* The one that nothing is wrong with. */
	assert_int_equal(WEXITSTATUS(status), 1);
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

/* ---- while a lock of the loader is held ---- */

static int wait_in_walk(struct dl_phdr_info *info, size_t size, void *context)
{
	char byte;

	(void)info;
	(void)size;
	(void)context;
	atomic_store(&shared->rung, 1);
	return read(shared->pipe[0], &byte, 1) == 1;
}

static void *walk(void *argument)
{
	dl_iterate_phdr(wait_in_walk, argument);
	return sleep_for_ever(argument);
}

/* One thread is in the loader, another one could be taken. */
static pid_t loading_child_start(void)
{
	static enum way way = WAY_SEMAPHORE;
	pid_t child = fork();
	pthread_t thread;

	assert_true(child >= 0);
	if (child)
		return child;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	pthread_create(&thread, NULL, walk, NULL);
	pthread_create(&thread, NULL, wait_always, &way);
	sleep_for_ever(NULL);
	_exit(0);
}

static void nobody_is_taken_while_a_library_is_loaded(void **state)
{
	struct inject_order order = { INJECT_LOAD, "/nowhere", -1, 0 };
	struct inject_image image, own;
	struct inject_result result;
	pid_t child = loading_child_start();

	(void)state;
	while (!atomic_load(&shared->tid) || !atomic_load(&shared->rung))
		pause_ms(1);
	assert_int_equal(inject_image_read(&image, child), -EBUSY);
	/* Where the locks lie is the same for us, and nobody holds one here. */
	assert_int_equal(inject_image_read(&own, getpid()), 0);
	assert_true(inject_image_is_idle(&own, getpid()));
	assert_false(inject_image_is_idle(&own, child));
	memset(&result, 0, sizeof(result));
	assert_int_equal(inject_calls_make(&result, child, &own, &order), -EAGAIN);
	assert_int_equal(write(shared->pipe[1], "", 1), 1);
	while (inject_image_read(&image, child) == -EBUSY)
		pause_ms(1);
	assert_int_equal(image.loader_locks, own.loader_locks);
	/* What does not load leaves errno as it was. */
	order.tid = atomic_load(&shared->tid);
	assert_int_equal(inject_calls_make(&result, child, &image, &order), 0);
	assert_int_equal(result.tid, order.tid);
	assert_wakes(child, WAY_SEMAPHORE);
	assert_wakes(child, WAY_SEMAPHORE);
	assert_int_equal(atomic_load(&shared->wrong), 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static int set_up(void **state)
{
	pthread_mutexattr_t lock;
	pthread_condattr_t condition;

	(void)state;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(shared->pipe))
		return -1;
	pthread_mutexattr_init(&lock);
	pthread_mutexattr_setpshared(&lock, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->lock, &lock);
	pthread_condattr_init(&condition);
	pthread_condattr_setpshared(&condition, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->changed, &condition);
	return sem_init(&shared->semaphore, 1, 0);
}

static int tear_down(void **state)
{
	(void)state;
	close(shared->pipe[0]);
	close(shared->pipe[1]);
	return munmap(shared, sizeof(*shared));
}

/* Its threads are not the kernel's: there is nothing to trace. */
static bool is_valgrind(void)
{
	const char *preloaded = getenv("LD_PRELOAD");

	return preloaded && strstr(preloaded, "vgpreload");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(in_poll),
		TEST(in_select),
		TEST(in_read),
		TEST(at_a_condition),
		TEST(at_a_semaphore),
		TEST(asleep_until),
		TEST(locks_and_odd_stacks),
		TEST(nobody_is_taken_while_a_library_is_loaded),
	};

	if (is_valgrind()) {
		puts("[       OK ] not under valgrind");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
