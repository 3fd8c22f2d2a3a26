/*
 * session.h - what is done to CUPTI, step by step, and what comes back from it.
 *
 * Every step that calls into CUPTI runs on one thread, the caller (caller.h), which may hang in it.
 * CUPTI's own callbacks come on any thread. The lock guards the recorder alone and is never held
 * while CUPTI is called. It is held for microseconds, or for as long as it takes to hand over a
 * batch.
 */
#ifndef AGENT_SESSION_H
#define AGENT_SESSION_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/cupti_api.h"
#include "agent/pool.h"
#include "agent/recorder.h"

#define SESSION_POLL_MS 100

enum session_state {
	SESSION_CLOSED,
	SESSION_SEARCHING, /* no CUDA, no CUPTI yet: opens again later */
	SESSION_ACTIVE,
	SESSION_FAILED, /* said why; waits to be closed */
	SESSION_TAKEN,	/* somebody else has the callbacks; waits to be closed */
};

struct session {
	pid_t owner; /* the process whose session this is: a fork child's is inert */
	atomic_bool inert;
	atomic_bool delivering;		/* records of CUPTI's callbacks count */
	atomic_bool abandoned;		/* the watcher has said goodbye: undo, and say nothing */
	atomic_bool hurried;		/* the job ends: no waiting for the device */
	_Atomic uint32_t caller_thread; /* its id */
	_Atomic int state;		/* enum session_state; written by the caller alone */
	pthread_mutex_t lock;
	bool has_recorder; /* under the lock: between begin and end */
	struct recorder recorder;
	struct pool pool;

	/* The caller's own. */
	bool found;
	struct cupti_api cupti;
	struct cuda_api cuda;
	uint32_t driver_version, cupti_version;
	uint32_t kinds; /* enabled: bits of enum agent_activity */
	uint32_t thread_ids, old_thread_ids;
	bool wants_sync;
	uint64_t begin_ns;
	uint32_t statuses; /* bits of enum agent_status_code that are said once */
	uint32_t losses;   /* bits of enum agent_count that have been said */
	uint64_t alive_ns, callbacks_seen, silence_ms;
	bool forced; /* the last flush was a forced one */

	/* Filled by callbacks. */
	_Atomic uint64_t callbacks; /* how many there were */
	_Atomic uint64_t unread_buffers, late_buffers, broken_buffers;
	_Atomic(const char *) callback_names[2][CALLBACKS_MAX];
};

/* The one session of this process: CUPTI's callbacks carry no pointer of ours. */
extern struct session agent_session;

/* Once, before all else. */
void session_init(struct session *session);

/* ---- steps, on the caller's thread ---- */

/* Begins, or looks again when there was nothing to find. */
void session_open(struct session *session, bool wants_sync);

/* Flushes, watches the clock and CUPTI's callbacks. */
void session_tick(struct session *session);

/* Disables, flushes, and says goodbye. */
void session_close(struct session *session);

/* After session_abandon(): the step has returned, and what it did is undone. */
void session_recover(struct session *session);

/* ---- CUPTI's callbacks, on any thread (callbacks.c) ---- */

void session_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records);
void session_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid_size);

/* ---- on any thread ---- */

/* The recorder, with the lock held; NULL: no session, or the lock is not to be had. */
struct recorder *session_lock(struct session *session);
void session_unlock(struct session *session);

/* A reading of the clock, for what is converted next; says when it was stepped. */
void session_read_clock(struct session *session);

/* True in a child of fork(): CUPTI and the locks are not to be touched. */
bool session_is_inert(struct session *session);

/* ---- on the watcher's thread, whatever the caller is doing ---- */

/* A status, handed over at once. */
void session_say(struct session *session, enum agent_status_code code, enum agent_effect effect,
		 int64_t value, const char *text);

/* Ends the session while a step hangs. Its buffers are dropped when they come. */
void session_abandon(struct session *session);

/* A session that has nothing to give but the reason. Ended by session_abandon(). */
void session_excuse(struct session *session, enum agent_status_code code, int64_t value,
		    const char *text);

uint64_t session_now_ns(void);

#endif /* AGENT_SESSION_H */
