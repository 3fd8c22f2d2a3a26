/* caller.c - see caller.h. */
#include "agent/caller.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "agent/session.h"

/* CUPTI's own functions run on it. */
#define CALLER_STACK_BYTES (1UL << 20)

static const char *const step_names[] = {
	[STEP_NONE] = "",      [STEP_OPEN] = "open",   [STEP_OPEN_SYNC] = "open",
	[STEP_TICK] = "flush", [STEP_CLOSE] = "close", [STEP_RECOVER] = "disable",
};

void caller_init(struct caller *caller)
{
	pthread_condattr_t attributes;

	pthread_mutex_init(&caller->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&caller->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	caller->step = STEP_NONE;
	caller->running = false;
}

int agent_thread_start(void *(*run)(void *), void *argument, const char *name, size_t stack_bytes)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;
	int err;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, stack_bytes);
	sigfillset(&all);
	/* Of this thread alone on Linux; pthread_sigmask() is newer than the oldest glibc wanted.
	 */
	sigprocmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&thread, &attributes, run, argument);
	/* It is detached, but cannot have ended yet: its first step waits for us. */
	if (!err)
		pthread_setname_np(thread, name);
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -err;
}

static void take_step(enum caller_step step)
{
	switch (step) {
	case STEP_OPEN:
	case STEP_OPEN_SYNC:
		session_open(&agent_session, step == STEP_OPEN_SYNC);
		break;
	case STEP_TICK:
		session_tick(&agent_session);
		break;
	case STEP_CLOSE:
		session_close(&agent_session);
		break;
	case STEP_RECOVER:
		session_recover(&agent_session);
		break;
	default:
		break;
	}
}

static void *run(void *argument)
{
	struct caller *caller = argument;
	enum caller_step step;

	pthread_mutex_lock(&caller->lock);
	do {
		/* Woken by the next step alone: an idle agent costs nothing. */
		while (caller->step == STEP_NONE)
			pthread_cond_wait(&caller->changed, &caller->lock);
		step = caller->step;
		pthread_mutex_unlock(&caller->lock);
		take_step(step);
		pthread_mutex_lock(&caller->lock);
		caller->step = STEP_NONE;
		caller->running = step != STEP_CLOSE && step != STEP_RECOVER;
		pthread_cond_broadcast(&caller->changed);
	} while (caller->running);
	pthread_mutex_unlock(&caller->lock);
	return NULL;
}

int caller_give(struct caller *caller, enum caller_step step)
{
	int err = 0;

	pthread_mutex_lock(&caller->lock);
	if (caller->step != STEP_NONE)
		err = -EBUSY;
	else if (!caller->running)
		err = agent_thread_start(run, caller, "tpbpf-cupti", CALLER_STACK_BYTES);
	if (!err) {
		caller->running = true;
		caller->step = step;
		caller->since_ns = session_now_ns();
		pthread_cond_broadcast(&caller->changed);
	}
	pthread_mutex_unlock(&caller->lock);
	return err;
}

bool caller_wait(struct caller *caller, unsigned int ms)
{
	struct timespec deadline;
	bool idle;
	int err = 0;

	clock_gettime(CLOCK_MONOTONIC, &deadline);
	deadline.tv_sec += ms / 1000;
	deadline.tv_nsec += (long)(ms % 1000) * 1000000L;
	if (deadline.tv_nsec >= 1000000000L) {
		deadline.tv_sec++;
		deadline.tv_nsec -= 1000000000L;
	}
	pthread_mutex_lock(&caller->lock);
	while (caller->step != STEP_NONE && !err)
		err = pthread_cond_timedwait(&caller->changed, &caller->lock, &deadline);
	idle = caller->step == STEP_NONE;
	pthread_mutex_unlock(&caller->lock);
	return idle;
}

const char *caller_busy(struct caller *caller, uint64_t *ms)
{
	const char *name = NULL;

	pthread_mutex_lock(&caller->lock);
	if (caller->step != STEP_NONE) {
		name = step_names[caller->step];
		*ms = (session_now_ns() - caller->since_ns) / 1000000;
	}
	pthread_mutex_unlock(&caller->lock);
	return name;
}
