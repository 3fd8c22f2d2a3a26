/* session.c - see session.h. */
#include "agent/session.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/devices.h"
#include "agent/handover.h"
#include "agent/kinds.h"

/* Nothing that a session sees began longer before it. */
#define EARLIER_NS 60000000000ULL
/* At the end: how long what is running on the device may take to end. */
#define DRAIN_MS 1000
#define DRAIN_POLL_MS 20
#define LOCK_WAIT_S 1
/* CUPTI is silent about a call of ours for so long: find out who has the callbacks. */
#define SILENCE_MS 2000
#define SILENCE_MAX_MS 60000

struct session agent_session;

uint64_t session_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

static void pause_ms(unsigned int ms)
{
	struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000L };

	clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
}

void session_init(struct session *session)
{
	session->owner = getpid();
	pthread_mutex_init(&session->lock, NULL);
}

bool session_is_inert(struct session *session)
{
	/* The second catches a clone() that no fork handler sees. */
	return atomic_load(&session->inert) || getpid() != session->owner;
}

struct recorder *session_lock(struct session *session)
{
	struct timespec deadline;

	/* The step that was given up goes on, but the session that is open now is not its own. */
	if (atomic_load(&session->abandoned) &&
	    atomic_load(&session->caller_thread) == (uint32_t)syscall(SYS_gettid))
		return NULL;
	if (pthread_mutex_trylock(&session->lock)) {
		clock_gettime(CLOCK_REALTIME, &deadline);
		deadline.tv_sec += LOCK_WAIT_S;
		if (pthread_mutex_timedlock(&session->lock, &deadline))
			return NULL;
	}
	if (session->has_recorder)
		return &session->recorder;
	pthread_mutex_unlock(&session->lock);
	return NULL;
}

void session_unlock(struct session *session)
{
	pthread_mutex_unlock(&session->lock);
}

static void say_locked(struct recorder *recorder, enum agent_status_code code,
		       enum agent_effect effect, int64_t value, const char *text)
{
	struct agent_status *status =
		batch_reserve_text(&recorder->batch, AGENT_STATUS, sizeof(*status),
				   offsetof(struct agent_status, text_size), text);

	status->time_ns = session_now_ns();
	status->code = code;
	status->effect = effect;
	status->value = value;
}

void session_say(struct session *session, enum agent_status_code code, enum agent_effect effect,
		 int64_t value, const char *text)
{
	struct recorder *recorder = session_lock(session);

	if (!recorder)
		return;
	say_locked(recorder, code, effect, value, text);
	batch_hand_over(&recorder->batch);
	session_unlock(session);
}

/* What would be said again with every retry or tick. */
static void say_once(struct session *session, enum agent_status_code code, enum agent_effect effect,
		     int64_t value, const char *text)
{
	if (session->statuses & 1U << code)
		return;
	session->statuses |= 1U << code;
	session_say(session, code, effect, value, text);
}

void session_read_clock(struct session *session)
{
	struct clock_reading now = clock_read();
	struct recorder *recorder = session_lock(session);
	int64_t step_ns;

	if (!recorder)
		return;
	step_ns = cupti_clock_sample(&recorder->clock, &now);
	cupti_clock_describe(&recorder->clock, &recorder->batch.clock);
	if (step_ns)
		say_locked(recorder, AGENT_STATUS_CLOCK_STEP, AGENT_EFFECT_DEGRADED, step_ns, NULL);
	session_unlock(session);
}

static void say_session(struct session *session)
{
	struct recorder *recorder = session_lock(session);
	struct agent_session *record;

	if (!recorder)
		return;
	record = batch_reserve_text(&recorder->batch, AGENT_SESSION, sizeof(*record),
				    offsetof(struct agent_session, path_size), session->cupti.path);
	record->begin_ns = session->begin_ns;
	record->cupti_version = session->cupti_version;
	record->driver_version = session->driver_version;
	record->kinds = session->kinds;
	record->thread_ids = session->thread_ids;
	record->poll_ms = SESSION_POLL_MS;
	batch_hand_over(&recorder->batch);
	session_unlock(session);
}

static int begin_recorder(struct session *session, uint64_t begin_ns)
{
	struct clock_reading now = clock_read();
	int err;

	pthread_mutex_lock(&session->lock);
	memset(&session->recorder, 0, sizeof(session->recorder));
	err = batch_init(&session->recorder.batch, begin_ns);
	cupti_clock_init(&session->recorder.clock, AGENT_DOMAIN_UNKNOWN, &now,
			 begin_ns > EARLIER_NS ? begin_ns - EARLIER_NS : 0);
	session->has_recorder = !err;
	pthread_mutex_unlock(&session->lock);
	return err;
}

static int begin(struct session *session)
{
	int err;

	session->begin_ns = session_now_ns();
	session->statuses = session->losses = 0;
	session->kinds = 0;
	session->thread_ids = AGENT_THREAD_IDS_PTHREAD;
	session->cupti_version = session->driver_version = 0;
	atomic_store(&session->unread_buffers, 0);
	atomic_store(&session->late_buffers, 0);
	atomic_store(&session->broken_buffers, 0);
	err = begin_recorder(session, session->begin_ns);
	if (!err)
		say_session(session);
	return err;
}

/* Under the lock. */
static void end_locked(struct session *session, enum agent_end_reason reason)
{
	struct batch *batch = &session->recorder.batch;
	struct agent_end *end = batch_reserve(batch, AGENT_END, sizeof(*end));

	end->time_ns = session_now_ns();
	end->reason = reason;
	batch_hand_over(batch);
	batch_fini(batch);
	session->has_recorder = false;
}

/* A call of CUPTI's that did not succeed ends the session. */
static void fail(struct session *session, const char *call, int error)
{
	enum agent_status_code code = AGENT_STATUS_REFUSED;

	if (error == CUPTI_MULTIPLE_SUBSCRIBERS)
		code = AGENT_STATUS_BUSY;
	else if (error == CUPTI_UNKNOWN)
		code = AGENT_STATUS_UNKNOWN;
	else if (error == CUPTI_INSUFFICIENT_PRIVILEGES || error == CUPTI_VIRTUAL_PRIVILEGES)
		code = AGENT_STATUS_PRIVILEGES;
	session_say(session, code, AGENT_EFFECT_NOTHING, error, call);
	atomic_store(&session->state, SESSION_FAILED);
}

/* False: not there, or not yet; said. */
static bool find_cuda(struct session *session, int *devices)
{
	int err, version = 0;

	if (!cuda_api_find(&session->cuda)) {
		say_once(session, AGENT_STATUS_NO_CUDA, AGENT_EFFECT_NOTHING, 0, NULL);
		return false;
	}
	err = session->cuda.get_count(devices);
	if (err || *devices <= 0) {
		say_once(session, AGENT_STATUS_NO_CUDA, AGENT_EFFECT_NOTHING, err, NULL);
		return false;
	}
	session->cuda.get_version(&version);
	session->driver_version = (uint32_t)version;
	return true;
}

/* False: said why; searching again may help, or the session has failed. */
static bool find_cupti(struct session *session)
{
	enum cupti_found found;
	const char *missing;

	if (session->found)
		return true;
	found = cupti_api_find(&session->cupti, &missing);
	session->found = found == CUPTI_FOUND;
	if (found == CUPTI_NONE) {
		say_once(session, AGENT_STATUS_NO_CUPTI, AGENT_EFFECT_NOTHING, 0, NULL);
	} else if (found == CUPTI_STATIC) {
		session_say(session, AGENT_STATUS_STATIC_CUPTI, AGENT_EFFECT_NOTHING, 0,
			    session->cupti.path);
		atomic_store(&session->state, SESSION_FAILED);
	} else if (found == CUPTI_INCOMPLETE) {
		session_say(session, AGENT_STATUS_INCOMPLETE, AGENT_EFFECT_NOTHING, 0, missing);
		atomic_store(&session->state, SESSION_FAILED);
	}
	return session->found;
}

static bool check_version(struct session *session)
{
	uint32_t version = 0;
	int err = session->cupti.get_version(&version);

	if (err) {
		fail(session, "cuptiGetVersion", err);
		return false;
	}
	session->cupti_version = version;
	if (version < CUPTI_OLDEST) {
		session_say(session, AGENT_STATUS_TOO_OLD, AGENT_EFFECT_NOTHING, version, NULL);
		atomic_store(&session->state, SESSION_FAILED);
		return false;
	}
	if (version > CUPTI_NEWEST)
		session_say(session, AGENT_STATUS_NEWER, AGENT_EFFECT_NONE, version, NULL);
	if (session->cupti.count > 1)
		session_say(session, AGENT_STATUS_SEVERAL, AGENT_EFFECT_DEGRADED,
			    session->cupti.count, session->cupti.path);
	return true;
}

/* CUPTI's own clock, between two readings of all clocks. */
static enum agent_domain classify(struct session *session, uint64_t *value)
{
	struct clock_reading before = clock_read(), after;

	*value = 0;
	if (session->cupti.get_timestamp(value))
		return AGENT_DOMAIN_UNKNOWN;
	after = clock_read();
	return clock_classify(&before, *value, &after);
}

static void check_clock(struct session *session)
{
	struct recorder *recorder;
	enum agent_domain domain, old = AGENT_DOMAIN_UNKNOWN;
	uint64_t value;

	domain = classify(session, &value);
	session_read_clock(session);
	recorder = session_lock(session);
	if (!recorder)
		return;
	old = recorder->clock.domain;
	if (domain && domain != old) {
		if (old)
			cupti_clock_change(&recorder->clock, domain);
		else
			recorder->clock.domain = domain;
	}
	session_unlock(session);
	if (!domain)
		say_once(session, AGENT_STATUS_CLOCK, AGENT_EFFECT_DEGRADED, (int64_t)value, NULL);
	else if (old && domain != old)
		session_say(session, AGENT_STATUS_CLOCK_CHANGED, AGENT_EFFECT_DEGRADED,
			    (int64_t)old << 8 | domain, NULL);
}

static void choose_thread_ids(struct session *session)
{
	struct cupti_api *cupti = &session->cupti;
	int err = CUPTI_UNKNOWN;

	session->thread_ids = AGENT_THREAD_IDS_PTHREAD;
	if (cupti->get_thread_id_type && cupti->set_thread_id_type) {
		err = cupti->get_thread_id_type(&session->old_thread_ids);
		if (!err)
			err = cupti->set_thread_id_type(CUPTI_THREAD_ID_SYSTEM);
	}
	if (!err)
		session->thread_ids = AGENT_THREAD_IDS_SYSTEM;
	else
		session_say(session, AGENT_STATUS_THREAD_IDS, AGENT_EFFECT_DEGRADED, err, NULL);
}

static void prepare_recorder(struct session *session)
{
	struct recorder *recorder = session_lock(session);

	if (!recorder)
		return;
	recorder->version = session->cupti_version;
	recorder->own_thread = (uint32_t)syscall(SYS_gettid);
	recorder->own_pthread = (uint32_t)(uintptr_t)pthread_self();
	session_unlock(session);
}

static void restore_thread_ids(struct session *session)
{
	if (session->thread_ids == AGENT_THREAD_IDS_SYSTEM)
		session->cupti.set_thread_id_type(session->old_thread_ids);
	session->thread_ids = AGENT_THREAD_IDS_PTHREAD;
}

static void undo(struct session *session)
{
	kinds_disable(session);
	session->cupti.flush_all(CUPTI_FLUSH_FORCED);
	restore_thread_ids(session);
}

static bool activate(struct session *session)
{
	int err;

	if (pool_open(&session->pool)) {
		session_say(session, AGENT_STATUS_NO_MEMORY, AGENT_EFFECT_NOTHING, ENOMEM, NULL);
		atomic_store(&session->state, SESSION_FAILED);
		return false;
	}
	choose_thread_ids(session);
	prepare_recorder(session);
	err = session->cupti.register_callbacks(session_buffer_requested, session_buffer_completed);
	if (err) {
		restore_thread_ids(session);
		fail(session, "cuptiActivityRegisterCallbacks", err);
		return false;
	}
	check_clock(session);
	/* A second point, far enough from the first one to tell how the clock runs. */
	pause_ms(5);
	check_clock(session);
	atomic_store(&session->delivering, true);
	err = kinds_enable(session);
	if (!err)
		return true;
	fail(session, "cuptiActivityEnable", err);
	undo(session);
	atomic_store(&session->delivering, false);
	return false;
}

void session_open(struct session *session, bool wants_sync)
{
	int devices = 0;

	session->wants_sync = wants_sync;
	atomic_store(&session->caller_thread, (uint32_t)syscall(SYS_gettid));
	if (atomic_load(&session->state) == SESSION_CLOSED) {
		if (begin(session))
			return;
		atomic_store(&session->state, SESSION_SEARCHING);
	}
	if (!find_cuda(session, &devices) || !find_cupti(session) || !check_version(session))
		return;
	devices_say(session, devices);
	if (!activate(session))
		return;
	session->alive_ns = session_now_ns();
	session->callbacks_seen = atomic_load(&session->callbacks);
	session->silence_ms = SILENCE_MS;
	session->forced = false;
	atomic_store(&session->state, SESSION_ACTIVE);
	say_session(session);
}

/* What CUPTI and the callbacks counted goes into the batch, and is said once a cause. */
static void count_losses(struct session *session)
{
	struct recorder *recorder;
	size_t dropped = 0;
	int i;

	if (session->cupti.get_dropped(NULL, 0, &dropped))
		dropped = 0;
	recorder = session_lock(session);
	if (!recorder)
		return;
	recorder->batch.counts[AGENT_COUNT_CUPTI_LOST] += dropped;
	recorder->batch.counts[AGENT_COUNT_NO_BUFFER] = atomic_load(&session->unread_buffers);
	recorder->batch.counts[AGENT_COUNT_LATE] = atomic_load(&session->late_buffers);
	recorder->batch.counts[AGENT_COUNT_BROKEN] = atomic_load(&session->broken_buffers);
	for (i = AGENT_COUNT_FIRST_LOSS; i < AGENT_COUNT_CNT; i++) {
		if (!recorder->batch.counts[i] || session->losses & 1U << i)
			continue;
		session->losses |= 1U << i;
		say_locked(recorder, AGENT_STATUS_LOST, AGENT_EFFECT_DEGRADED, i, NULL);
	}
	if (recorder->batch.counts[AGENT_COUNT_UNTIMED] &&
	    !(session->statuses & 1U << AGENT_STATUS_UNTIMED)) {
		session->statuses |= 1U << AGENT_STATUS_UNTIMED;
		say_locked(recorder, AGENT_STATUS_UNTIMED, AGENT_EFFECT_DEGRADED, 0, NULL);
	}
	session_unlock(session);
}

/*
 * Who registered callbacks last has them, and nothing tells who lost them. So the agent makes a
 * cheap call that CUPTI records, and looks whether its callbacks are called. A kernel that runs for
 * long may hold up the buffer; a forced flush does not wait for that.
 */
static void watch_callbacks(struct session *session)
{
	uint64_t now_ns = session_now_ns(), silent_ms = (now_ns - session->alive_ns) / 1000000;
	uint64_t callbacks = atomic_load(&session->callbacks);
	int version;

	if (!(session->kinds & 1U << AGENT_ACTIVITY_DRIVER))
		return;
	if (callbacks != session->callbacks_seen) {
		if (session->forced && session->silence_ms < SILENCE_MAX_MS)
			session->silence_ms *= 2;
		session->forced = false;
		session->callbacks_seen = callbacks;
		session->alive_ns = now_ns;
	} else if (session->forced) {
		atomic_store(&session->delivering, false);
		atomic_store(&session->state, SESSION_TAKEN);
		session_say(session, AGENT_STATUS_TAKEN, AGENT_EFFECT_NOTHING, (int64_t)silent_ms,
			    NULL);
		return;
	} else if (silent_ms > session->silence_ms) {
		session->forced = true;
		session->cupti.flush_all(CUPTI_FLUSH_FORCED);
	}
	session->cuda.get_version(&version);
}

void session_tick(struct session *session)
{
	struct recorder *recorder;

	if (atomic_load(&session->state) != SESSION_ACTIVE)
		return;
	check_clock(session);
	watch_callbacks(session);
	if (atomic_load(&session->state) != SESSION_ACTIVE)
		return;
	session->cupti.flush_all(0);
	count_losses(session);
	recorder = session_lock(session);
	if (!recorder)
		return;
	batch_hand_over(&recorder->batch);
	session_unlock(session);
}

/* What still runs on the device gets a moment: a forced flush would take its times away. */
static void drain(struct session *session)
{
	uint64_t end_ns = session_now_ns() + DRAIN_MS * 1000000ULL;

	while (pool_taken(&session->pool) && session_now_ns() < end_ns && handover_listening()) {
		session->cupti.flush_all(0);
		if (!pool_taken(&session->pool) || atomic_load(&session->abandoned) ||
		    atomic_load(&session->hurried))
			return;
		pause_ms(DRAIN_POLL_MS);
	}
}

static enum agent_end_reason deactivate(struct session *session)
{
	uint32_t taken;

	switch (atomic_load(&session->state)) {
	case SESSION_ACTIVE:
		break;
	case SESSION_TAKEN:
		return AGENT_END_TAKEN;
	default:
		return AGENT_END_NOTHING;
	}
	kinds_disable(session);
	drain(session);
	undo(session);
	count_losses(session);
	atomic_store(&session->delivering, false);
	taken = pool_taken(&session->pool);
	if (taken)
		session_say(session, AGENT_STATUS_OUTSTANDING, AGENT_EFFECT_DEGRADED, taken, NULL);
	return AGENT_END_ASKED;
}

void session_close(struct session *session)
{
	enum agent_end_reason reason = deactivate(session);

	if (session_lock(session)) {
		end_locked(session, reason);
		session_unlock(session);
	}
	atomic_store(&session->delivering, false);
	pool_trim(&session->pool);
	atomic_store(&session->state, SESSION_CLOSED);
}

void session_abandon(struct session *session)
{
	atomic_store(&session->abandoned, true);
	atomic_store(&session->delivering, false);
	if (session_lock(session)) {
		end_locked(session, AGENT_END_HUNG);
		session_unlock(session);
	}
}

void session_recover(struct session *session)
{
	if (session->kinds)
		undo(session);
	restore_thread_ids(session);
	pool_trim(&session->pool);
	atomic_store(&session->abandoned, false);
	atomic_store(&session->state, SESSION_CLOSED);
}

void session_excuse(struct session *session, enum agent_status_code code, int64_t value,
		    const char *text)
{
	struct agent_session *record;
	struct recorder *recorder;
	uint64_t now_ns = session_now_ns();

	if (begin_recorder(session, now_ns))
		return;
	recorder = session_lock(session);
	if (!recorder)
		return;
	record = batch_reserve(&recorder->batch, AGENT_SESSION, sizeof(*record));
	record->begin_ns = now_ns;
	record->poll_ms = SESSION_POLL_MS;
	say_locked(recorder, code, AGENT_EFFECT_NOTHING, value, text);
	batch_hand_over(&recorder->batch);
	session_unlock(session);
}
