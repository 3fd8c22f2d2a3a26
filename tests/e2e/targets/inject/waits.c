/*
 * waits.c - a job of 64 threads that would notice: eight allocate without pause, the others wait in
 * every way there is, are woken at known times and count, and look after each wait whether anything
 * is not as it was: the result, errno, the signal mask, the alternate stack, the registers.
 *
 *   waits [--gate FILE] [--stop FILE]
 *     says {"thread": TID, "kind": NAME} for each thread and "ready PID"; runs until FILE exists,
 * or SIGTERM; then says what it has seen.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "registers.h"

#define THREADS 64
#define OWN_ERRNO 4711 /* no call gives it */

enum kind {
	ALLOCATES,
	POLLS,
	PPOLLS,
	SELECTS,
	EPOLLS,
	READS,
	WAITS_FUTEX,
	WAITS_CONDITION,
	WAITS_CONDITION_UNTIL,
	WAITS_SEMAPHORE,
	SLEEPS,
	SLEEPS_UNTIL,
	REGISTERS_POLL,
	REGISTERS_READ,
	GETS_SIGNALS,
	RINGS, /* the one that wakes the others */
	KINDS,
};

static const struct {
	const char *name;
	unsigned int count;
} kinds[KINDS] = {
	[ALLOCATES] = { "allocates", 8 },
	[POLLS] = { "poll", 5 },
	[PPOLLS] = { "ppoll", 3 },
	[SELECTS] = { "select", 3 },
	[EPOLLS] = { "epoll_wait", 6 },
	[READS] = { "read", 4 },
	[WAITS_FUTEX] = { "futex", 4 },
	[WAITS_CONDITION] = { "condition", 6 },
	[WAITS_CONDITION_UNTIL] = { "condition until", 4 },
	[WAITS_SEMAPHORE] = { "semaphore", 4 },
	[SLEEPS] = { "nanosleep", 3 },
	[SLEEPS_UNTIL] = { "clock_nanosleep until", 3 },
	[REGISTERS_POLL] = { "registers poll", 4 },
	[REGISTERS_READ] = { "registers read", 3 },
	[GETS_SIGNALS] = { "signals", 3 },
	[RINGS] = { "rings", 1 },
};

struct thread {
	pthread_t id;
	pid_t tid;
	enum kind kind;
	int pipe[2];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	sem_t semaphore;
	_Atomic uint32_t word; /* of the futex; and of the condition */
	_Atomic uint64_t last; /* the ring that is the last one; 0: not known yet */
	_Atomic uint64_t rung, seen, signals_sent, signals_seen;
	char alternate[65536];
};

static struct thread threads[THREADS];
static atomic_bool over;
static pthread_barrier_t begun;

/* What must stay 0. */
static _Atomic uint64_t interrupted, wrong_results, wrong_errno, wrong_masks, wrong_stacks,
	wrong_registers, early, corrupt;
static _Atomic uint64_t allocations, latest_us;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static struct timespec time_of(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static void note_late(uint64_t due_ns)
{
	uint64_t now = now_ns(), us = now > due_ns ? (now - due_ns) / 1000 : 0;

	if (now < due_ns)
		atomic_fetch_add(&early, 1);
	if (us > atomic_load(&latest_us))
		atomic_store(&latest_us, us);
}

/* ---- what is looked at around every wait ---- */

static sigset_t own_mask(const struct thread *thread)
{
	sigset_t mask;

	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGRTMIN + 2 + (int)(thread - threads) % 20);
	if (thread->kind != GETS_SIGNALS)
		sigaddset(&mask, SIGRTMIN + 1);
	return mask;
}

static void prepare(struct thread *thread)
{
	stack_t stack = { .ss_sp = thread->alternate, .ss_size = sizeof(thread->alternate) };
	sigset_t mask = own_mask(thread);

	sigaltstack(&stack, NULL);
	pthread_sigmask(SIG_SETMASK, &mask, NULL);
	errno = OWN_ERRNO;
}

static void look(struct thread *thread)
{
	sigset_t want = own_mask(thread), have;
	stack_t stack;
	int number;

	if (errno != OWN_ERRNO)
		atomic_fetch_add(&wrong_errno, 1);
	pthread_sigmask(SIG_SETMASK, NULL, &have);
	for (number = 1; number < 65; number++) {
		if (sigismember(&want, number) != sigismember(&have, number)) {
			atomic_fetch_add(&wrong_masks, 1);
			break;
		}
	}
	sigaltstack(NULL, &stack);
	if (stack.ss_sp != thread->alternate || stack.ss_flags)
		atomic_fetch_add(&wrong_stacks, 1);
	errno = OWN_ERRNO;
}

/* A call that was to give 1 and gave result. */
static void judge(long result)
{
	if (result == 1)
		return;
	if (result < 0 && errno == EINTR)
		atomic_fetch_add(&interrupted, 1);
	else
		atomic_fetch_add(&wrong_results, 1);
	errno = OWN_ERRNO;
}

/* ---- the waits; each takes one ring ---- */

static void take_byte(struct thread *thread)
{
	char byte;

	judge(read(thread->pipe[0], &byte, 1));
	atomic_fetch_add(&thread->seen, 1);
}

static void wait_poll(struct thread *thread)
{
	struct pollfd fd = { .fd = thread->pipe[0], .events = POLLIN };

	judge(thread->kind == POLLS ? poll(&fd, 1, -1) : ppoll(&fd, 1, NULL, NULL));
	take_byte(thread);
}

static void wait_select(struct thread *thread)
{
	struct timeval limit = { .tv_sec = 100 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(thread->pipe[0], &set);
	judge(select(thread->pipe[0] + 1, &set, NULL, NULL, &limit));
	take_byte(thread);
}

static void wait_epoll(struct thread *thread, int set)
{
	struct epoll_event event;

	judge(epoll_wait(set, &event, 1, -1));
	take_byte(thread);
}

/* By the bare call: only it shows what the kernel says. */
static void wait_futex(struct thread *thread)
{
	uint32_t seen = (uint32_t)atomic_load(&thread->seen);
	long result;

	while (atomic_load(&thread->word) == seen) {
		result = syscall(SYS_futex, &thread->word, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		if (result < 0 && errno == EINTR)
			atomic_fetch_add(&interrupted, 1);
		else if (result < 0 && errno != EAGAIN)
			atomic_fetch_add(&wrong_results, 1);
		if (result < 0)
			errno = OWN_ERRNO;
	}
	atomic_fetch_add(&thread->seen, 1);
}

static void wait_condition(struct thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	while (atomic_load(&thread->word) == (uint32_t)atomic_load(&thread->seen))
		pthread_cond_wait(&thread->changed, &thread->lock);
	atomic_fetch_add(&thread->seen, 1);
	pthread_mutex_unlock(&thread->lock);
}

/* Nobody rings: the time comes. */
static void wait_condition_until(struct thread *thread)
{
	uint64_t due_ns = now_ns() + 40000000;
	struct timespec due = time_of(due_ns);
	int result = 0;

	pthread_mutex_lock(&thread->lock);
	while (!result)
		result = pthread_cond_timedwait(&thread->changed, &thread->lock, &due);
	pthread_mutex_unlock(&thread->lock);
	if (result != ETIMEDOUT)
		atomic_fetch_add(&wrong_results, 1);
	note_late(due_ns);
}

static void wait_semaphore(struct thread *thread)
{
	int result = sem_wait(&thread->semaphore);

	judge(result ? result : 1);
	atomic_fetch_add(&thread->seen, 1);
}

static void wait_sleep(struct thread *thread)
{
	uint64_t due_ns = now_ns() + 30000000;
	struct timespec due = time_of(due_ns), length = { 0, 30000000 };
	long result;

	if (thread->kind == SLEEPS) /* the C library's own is clock_nanosleep */
		result = syscall(SYS_nanosleep, &length, NULL);
	else
		result = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
	if (result == EINTR || (result < 0 && errno == EINTR))
		atomic_fetch_add(&interrupted, 1);
	else if (result)
		atomic_fetch_add(&wrong_results, 1);
	note_late(due_ns);
}

static void wait_registers(struct thread *thread)
{
	struct pollfd fd = { .fd = thread->pipe[0], .events = POLLIN };
	uint64_t seed = now_ns();
	char byte;
	long result;

	if (thread->kind == REGISTERS_POLL) {
		result = registers_keep(SYS_poll, (long)&fd, 1, -1, seed, &wrong_registers);
		judge(result);
		take_byte(thread);
		return;
	}
	result = registers_keep(SYS_read, thread->pipe[0], (long)&byte, 1, seed, &wrong_registers);
	judge(result);
	atomic_fetch_add(&thread->seen, 1);
}

/* Blocks of many sizes, kept for a while, all their bytes known. */
static void allocate(struct thread *thread)
{
	enum {
		SLOTS = 64
	};
	unsigned char *blocks[SLOTS] = { NULL };
	size_t sizes[SLOTS] = { 0 };
	uint64_t random = (uint64_t)(thread - threads) * 2654435761U + 1, count = 0;
	unsigned int i;

	while (!atomic_load(&over)) {
		i = (unsigned int)((random = random * 6364136223846793005ULL + 1) >> 58);
		if (blocks[i] && (blocks[i][0] != (unsigned char)i ||
				  blocks[i][sizes[i] - 1] != (unsigned char)i))
			atomic_fetch_add(&corrupt, 1);
		free(blocks[i]);
		sizes[i] = 1 + (random >> 20) % (count % 64 ? 4000 : 400000);
		blocks[i] = malloc(sizes[i]);
		blocks[i][0] = blocks[i][sizes[i] - 1] = (unsigned char)i;
		count++;
	}
	atomic_fetch_add(&allocations, count);
	for (i = 0; i < SLOTS; i++)
		free(blocks[i]);
}

/* ---- who wakes them ---- */

static bool has_pipe(enum kind kind)
{
	return kind == POLLS || kind == PPOLLS || kind == SELECTS || kind == EPOLLS ||
	       kind == READS || kind == REGISTERS_POLL || kind == REGISTERS_READ ||
	       kind == GETS_SIGNALS;
}

static void ring(struct thread *thread)
{
	union sigval nothing = { 0 };

	if (thread->kind == GETS_SIGNALS) {
		if (!pthread_sigqueue(thread->id, SIGRTMIN + 1, nothing))
			atomic_fetch_add(&thread->signals_sent, 1);
		if (atomic_load(&thread->signals_sent) % 8)
			return;
	}
	atomic_fetch_add(&thread->rung, 1);
	if (has_pipe(thread->kind)) {
		if (write(thread->pipe[1], "", 1) != 1)
			atomic_fetch_add(&wrong_results, 1);
	} else if (thread->kind == WAITS_SEMAPHORE) {
		sem_post(&thread->semaphore);
	} else if (thread->kind == WAITS_FUTEX) {
		atomic_fetch_add(&thread->word, 1);
		syscall(SYS_futex, &thread->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	} else {
		pthread_mutex_lock(&thread->lock);
		atomic_fetch_add(&thread->word, 1);
		pthread_cond_signal(&thread->changed);
		pthread_mutex_unlock(&thread->lock);
	}
}

static bool is_rung(const struct thread *thread)
{
	return has_pipe(thread->kind) || thread->kind == WAITS_SEMAPHORE ||
	       thread->kind == WAITS_FUTEX || thread->kind == WAITS_CONDITION;
}

/* One thread a millisecond, in an order that has no pattern: each some twenty times a second. */
static void ring_all(void)
{
	uint64_t random = 88172645463325252ULL;
	const struct timespec pause = { 0, 1000000 };
	unsigned int i;

	while (!atomic_load(&over)) {
		random ^= random << 13;
		random ^= random >> 7;
		random ^= random << 17;
		i = (unsigned int)(random % THREADS);
		if (is_rung(&threads[i]))
			ring(&threads[i]);
		nanosleep(&pause, NULL);
	}
	/* So that each sees the end. */
	for (i = 0; i < THREADS; i++) {
		if (!is_rung(&threads[i]))
			continue;
		atomic_store(&threads[i].last, atomic_load(&threads[i].rung) + 1);
		if (threads[i].kind != GETS_SIGNALS) {
			ring(&threads[i]);
			continue;
		}
		atomic_fetch_add(&threads[i].rung, 1);
		if (write(threads[i].pipe[1], "", 1) != 1)
			atomic_fetch_add(&wrong_results, 1);
	}
}

/* A wake-up that is lost leaves its thread waiting: the job would not end. */
static bool is_over(const struct thread *thread)
{
	uint64_t last = atomic_load(&thread->last);

	return is_rung(thread) ? last && atomic_load(&thread->seen) >= last : atomic_load(&over);
}

static __thread struct thread *self;

static void on_signal(int number)
{
	(void)number;
	atomic_fetch_add(&self->signals_seen, 1);
}

static void wait_once(struct thread *thread, int set)
{
	switch (thread->kind) {
	case POLLS:
	case PPOLLS:
		wait_poll(thread);
		break;
	case SELECTS:
		wait_select(thread);
		break;
	case EPOLLS:
		wait_epoll(thread, set);
		break;
	case READS:
	case GETS_SIGNALS: /* begun again after a handler, as it asks for */
		take_byte(thread);
		break;
	case WAITS_FUTEX:
		wait_futex(thread);
		break;
	case WAITS_CONDITION:
		wait_condition(thread);
		break;
	case WAITS_CONDITION_UNTIL:
		wait_condition_until(thread);
		break;
	case WAITS_SEMAPHORE:
		wait_semaphore(thread);
		break;
	case SLEEPS:
	case SLEEPS_UNTIL:
		wait_sleep(thread);
		break;
	default:
		wait_registers(thread);
		break;
	}
}

static void *run(void *argument)
{
	struct thread *thread = self = argument;
	struct epoll_event event = { .events = EPOLLIN };
	int set = epoll_create1(0);

	epoll_ctl(set, EPOLL_CTL_ADD, thread->pipe[0], &event);
	thread->tid = (pid_t)syscall(SYS_gettid);
	prepare(thread);
	pthread_barrier_wait(&begun);
	errno = OWN_ERRNO;
	if (thread->kind == ALLOCATES)
		allocate(thread);
	else if (thread->kind == RINGS)
		ring_all();
	else
		while (!is_over(thread)) {
			wait_once(thread, set);
			look(thread);
		}
	return NULL;
}

static void thread_start(struct thread *thread, enum kind kind)
{
	pthread_condattr_t attributes;

	thread->kind = kind;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->changed, &attributes);
	sem_init(&thread->semaphore, 0, 0);
	if (pipe(thread->pipe) || pthread_create(&thread->id, NULL, run, thread)) {
		fprintf(stderr, "waits: no thread %u\n", (unsigned int)(thread - threads));
		exit(2);
	}
}

static void start_all(void)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	unsigned int count = 0, kind, i;
	sigset_t set;

	sigaction(SIGRTMIN + 1, &action, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGRTMIN + 1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_barrier_init(&begun, NULL, THREADS + 1);
	for (kind = 0; kind < KINDS; kind++) {
		for (i = 0; i < kinds[kind].count; i++)
			thread_start(&threads[count++], (enum kind)kind);
	}
	pthread_barrier_wait(&begun);
	for (i = 0; i < THREADS; i++)
		printf("{\"thread\": %d, \"kind\": \"%s\"}\n", threads[i].tid,
		       kinds[threads[i].kind].name);
}

static int say_end(void)
{
	uint64_t rung = 0, seen = 0, lost = 0, sent = 0, handled = 0;
	unsigned int i;

	for (i = 0; i < THREADS; i++) {
		pthread_join(threads[i].id, NULL);
		rung += threads[i].rung;
		seen += threads[i].seen;
		lost += threads[i].rung != threads[i].seen;
		sent += threads[i].signals_sent;
		handled += threads[i].signals_seen;
	}
	printf("{\"done\": true, \"rung\": %" PRIu64 ", \"seen\": %" PRIu64 ", \"lost\": %" PRIu64
	       ", \"signals_sent\": %" PRIu64 ", \"signals_seen\": %" PRIu64
	       ", \"allocations\": %" PRIu64 ", \"latest_us\": %" PRIu64 ", \"wrong\": {"
	       "\"interrupted\": %" PRIu64 ", \"results\": %" PRIu64 ", \"errno\": %" PRIu64
	       ", \"masks\": %" PRIu64 ", \"stacks\": %" PRIu64 ", \"registers\": %" PRIu64
	       ", \"early\": %" PRIu64 ", \"memory\": %" PRIu64 "}}\n",
	       rung, seen, lost, sent, handled, allocations, latest_us, interrupted, wrong_results,
	       wrong_errno, wrong_masks, wrong_stacks, wrong_registers, early, corrupt);
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec look_again = { 0, 200000000 };
	const char *gate = argc > 2 && !strcmp(argv[1], "--gate") ? argv[2] : NULL;
	sigset_t end;

	setvbuf(stdout, NULL, _IOLBF, 0);
	start_all();
	printf("ready %d\n", getpid());
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	while (sigtimedwait(&end, NULL, &look_again) != SIGTERM && (!gate || access(gate, F_OK)))
		;
	atomic_store(&over, true);
	return say_end();
}
