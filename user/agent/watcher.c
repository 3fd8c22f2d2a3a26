/* watcher.c - see watcher.h. It calls nothing that may block for long, CUPTI least of all. */
#include "agent/watcher.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "agent/handover.h"
#include "agent/session.h"

#define STACK_BYTES (256UL << 10)
#define DORMANT_MS 1000
#define RETRY_MS 1000
/* A step that takes longer is said to hang, and is not waited for any more. */
#define STEP_LIMIT_MS 2000
/* What the end of the job may be held up by. */
#define FINISH_MS 500

static bool wanted(void)
{
	return handover_collecting() && handover_listening();
}

static void give(struct watcher *watcher, enum caller_step step)
{
	int err = caller_give(&watcher->caller, step);

	if (!err || err == -EBUSY)
		return;
	/* Without a thread for it, a session that has begun cannot even end in good order. */
	if (step == STEP_OPEN || step == STEP_OPEN_SYNC) {
		session_excuse(&agent_session, AGENT_STATUS_NO_MEMORY, -err, NULL);
		watcher->excused = true;
	}
}

static unsigned int look_while_busy(struct watcher *watcher, const char *step, uint64_t ms)
{
	if (ms < STEP_LIMIT_MS)
		return SESSION_POLL_MS;
	if (!watcher->hung && !watcher->abandoned)
		session_say(&agent_session, AGENT_STATUS_HUNG, AGENT_EFFECT_DEGRADED, (int64_t)ms,
			    step);
	watcher->hung = true;
	watcher->hung_step = step;
	watcher->hung_ms = ms;
	if (!wanted()) {
		if (!watcher->abandoned || watcher->excused)
			session_abandon(&agent_session);
		watcher->abandoned = true;
		watcher->excused = false;
		return DORMANT_MS;
	}
	if (watcher->abandoned && !watcher->excused) {
		session_excuse(&agent_session, AGENT_STATUS_HUNG, (int64_t)ms, step);
		watcher->excused = true;
	}
	return SESSION_POLL_MS;
}

/* The step that hung has returned. */
static void come_back(struct watcher *watcher)
{
	if (watcher->hung && !watcher->abandoned)
		session_say(&agent_session, AGENT_STATUS_RETURNED, AGENT_EFFECT_NONE,
			    (int64_t)watcher->hung_ms, watcher->hung_step);
	watcher->hung = false;
	if (!watcher->abandoned)
		return;
	if (watcher->excused)
		session_abandon(&agent_session);
	watcher->excused = false;
	/* Abandoned until this is done: it may hang as well. */
	if (atomic_load(&agent_session.abandoned))
		give(watcher, STEP_RECOVER);
	else
		watcher->abandoned = false;
}

/*
 * Now, that is after CUPTI has been called for the first time: handlers run last in, first out, so
 * ours finds CUPTI still alive.
 */
static void expect_exit(struct watcher *watcher)
{
	if (!watcher->exit_expected && watcher->at_exit)
		atexit(watcher->at_exit);
	watcher->exit_expected = true;
}

static unsigned int look_while_idle(struct watcher *watcher)
{
	enum caller_step open = handover_wants_sync() ? STEP_OPEN_SYNC : STEP_OPEN;
	int state = atomic_load(&agent_session.state);

	if (watcher->excused) {
		if (wanted())
			return SESSION_POLL_MS;
		session_abandon(&agent_session);
		atomic_store(&agent_session.abandoned, false);
		watcher->excused = false;
		return DORMANT_MS;
	}
	if (!wanted()) {
		if (state == SESSION_CLOSED)
			return DORMANT_MS;
		give(watcher, STEP_CLOSE);
		return SESSION_POLL_MS;
	}
	switch (state) {
	case SESSION_CLOSED:
		give(watcher, open);
		break;
	case SESSION_SEARCHING:
		give(watcher, open);
		return RETRY_MS;
	case SESSION_ACTIVE:
		expect_exit(watcher);
		give(watcher, STEP_TICK);
		break;
	default:
		break;
	}
	return SESSION_POLL_MS;
}

unsigned int watcher_look(struct watcher *watcher)
{
	uint64_t ms = 0;
	const char *step = caller_busy(&watcher->caller, &ms);

	if (atomic_load(&watcher->finished))
		return DORMANT_MS;
	if (step)
		return look_while_busy(watcher, step, ms);
	if (watcher->hung || watcher->abandoned) {
		come_back(watcher);
		return 1;
	}
	return look_while_idle(watcher);
}

void watcher_finish(struct watcher *watcher)
{
	uint64_t end_ns = session_now_ns() + FINISH_MS * 1000000ULL, now_ns;

	atomic_store(&watcher->finished, true);
	atomic_store(&agent_session.hurried, true);
	while ((now_ns = session_now_ns()) < end_ns) {
		if (!caller_wait(&watcher->caller, (unsigned int)((end_ns - now_ns) / 1000000) + 1))
			return;
		if (atomic_load(&agent_session.state) == SESSION_CLOSED)
			return;
		give(watcher, STEP_CLOSE);
	}
}

static void *run(void *argument)
{
	struct watcher *watcher = argument;

	while (!atomic_load(&watcher->stop)) {
		unsigned int ms = watcher_look(watcher);
		struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000L };

		clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
	}
	atomic_store(&watcher->stopped, true);
	return NULL;
}

int watcher_start(struct watcher *watcher)
{
	caller_init(&watcher->caller);
	return agent_thread_start(run, watcher, "tpbpf-agent", STACK_BYTES);
}
