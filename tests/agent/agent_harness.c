/* agent_harness.c - see agent_harness.h. */
#include "agent/agent_harness.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "agent/handover.h"
#include "agent/session.h"
#include "agent/watcher.h"
#include "e2e/targets/cuda/work.h"
#include "fakes/fake_cuda.h"

#define BATCHES_MAX 8192
#define RECORDS_MAX 200000
#define KINDS_MAX 16

_Atomic int harness_listening, harness_collecting, harness_sync;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *batches[BATCHES_MAX];
static size_t batch_count;
static char problem[200]; /* found on a thread where cmocka cannot fail */
static atomic_bool ended;

/* By kind, in the order in which they came. */
static struct {
	const void *records[RECORDS_MAX];
	size_t count;
} kinds[KINDS_MAX];

static struct watcher watcher;
static void (*cupti_reset)(void);
static uint32_t (*cupti_enabled)(void), (*cupti_calls)(void), (*cupti_thread_id_type)(void);

int cuInit(unsigned int flags);

/* ---- the way out ---- */

static bool bad(const char *what)
{
	if (!*problem)
		snprintf(problem, sizeof(problem), "%s", what);
	return false;
}

static bool check_batch(const struct agent_batch *batch, size_t size)
{
	const struct agent_batch *last = batch_count ? batches[batch_count - 1] : NULL;
	size_t offset = sizeof(*batch);
	uint32_t i;

	if (size > AGENT_BATCH_BYTES || batch->size != size || size % 8)
		return bad("size of a batch");
	if (batch->magic != AGENT_MAGIC || batch->version != AGENT_VERSION ||
	    batch->header_size != sizeof(*batch) || !batch->session)
		return bad("head of a batch");
	if (batch->namespace_pid != (uint32_t)getpid())
		return bad("pid of a batch");
	if (batch->sequence &&
	    (!last || last->session != batch->session || last->sequence + 1 != batch->sequence))
		return bad("sequence of a batch");
	for (i = 0; i < batch->record_count; i++) {
		const struct agent_record *record = (const void *)((const char *)batch + offset);

		if (size - offset < sizeof(*record) || record->size < sizeof(*record) ||
		    record->size % 8 || record->size > size - offset)
			return bad("size of a record");
		if (!batch->sequence && !i && record->kind != AGENT_SESSION)
			return bad("a session does not begin with AGENT_SESSION");
		if (record->kind == AGENT_END)
			atomic_store(&ended, true);
		if (record->kind >= KINDS_MAX || kinds[record->kind].count == RECORDS_MAX)
			return bad("kind of a record");
		kinds[record->kind].records[kinds[record->kind].count++] = record;
		offset += record->size;
	}
	return offset == size ? true : bad("records do not fill the batch");
}

void tpbpf_agent_batch(const void *batch, size_t size)
{
	void *copy = malloc(size);

	memcpy(copy, batch, size);
	pthread_mutex_lock(&lock);
	check_batch(copy, size);
	if (batch_count == BATCHES_MAX)
		bad("too many batches for the test");
	else
		batches[batch_count++] = copy;
	pthread_mutex_unlock(&lock);
}

bool handover_listening(void)
{
	return harness_listening;
}

bool handover_collecting(void)
{
	return harness_collecting;
}

bool handover_wants_sync(void)
{
	return harness_sync;
}

/* ---- what a test does ---- */

static void load(void)
{
	void *cupti = dlopen(FAKE_CUPTI_PATH, RTLD_NOW | RTLD_LOCAL);

	if (!cupti) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	cupti_reset = (void (*)(void))dlsym(cupti, "fake_cupti_reset");
	cupti_enabled = (uint32_t(*)(void))dlsym(cupti, "fake_cupti_enabled");
	cupti_calls = (uint32_t(*)(void))dlsym(cupti, "fake_cupti_calls");
	cupti_thread_id_type = (uint32_t(*)(void))dlsym(cupti, "fake_cupti_thread_id_type");
	session_init(&agent_session);
	caller_init(&watcher.caller);
	cuInit(0);
}

uint32_t fake_cupti_enabled(void)
{
	return cupti_enabled();
}

uint32_t fake_cupti_thread_id_type(void)
{
	return cupti_thread_id_type();
}

uint32_t fake_cupti_calls(void)
{
	return cupti_calls();
}

void harness_begin(const char *version, const char *clock, const char *faults)
{
	static bool loaded;
	size_t i;

	if (!loaded)
		load();
	loaded = true;
	setenv("FAKE_CUPTI_VERSION", version, 1);
	setenv("FAKE_CUPTI_CLOCK", clock, 1);
	setenv("FAKE_CUPTI_FAULTS", faults, 1);
	cupti_reset();
	fake_truth_forget();
	for (i = 0; i < batch_count; i++)
		free(batches[i]);
	batch_count = 0;
	for (i = 0; i < KINDS_MAX; i++)
		kinds[i].count = 0;
	atomic_store(&ended, false);
	*problem = '\0';
	harness_listening = harness_collecting = harness_sync = 0;
}

bool harness_pump(bool (*done)(void), double seconds)
{
	uint64_t end_ns = session_now_ns() + (uint64_t)(seconds * 1e9), next_ns = 0;

	for (;;) {
		struct timespec pause = { 0, 5000000 };
		uint64_t now_ns = session_now_ns();

		if (done && done())
			return true;
		if (now_ns >= end_ns)
			return false;
		if (now_ns >= next_ns) {
			unsigned int ms = watcher_look(&watcher);

			next_ns = now_ns + (ms > 50 ? 50 : ms) * 1000000ULL;
		}
		nanosleep(&pause, NULL);
	}
}

static bool is_open(void)
{
	const struct agent_session *session = harness_session();

	return session && session->kinds;
}

void harness_open(bool with_sync)
{
	harness_sync = with_sync;
	harness_listening = harness_collecting = 1;
	assert_true(harness_pump(is_open, 20));
}

struct hand {
	pthread_t id;
	struct worker *worker;
	unsigned int steps;
};

static atomic_uint working;

static void *work(void *argument)
{
	struct hand *hand = argument;
	unsigned int i;

	for (i = 0; i < hand->steps; i++)
		worker_step(hand->worker, i);
	atomic_fetch_sub(&working, 1);
	return NULL;
}

static bool work_is_done(void)
{
	return !atomic_load(&working);
}

void harness_work(unsigned int threads, unsigned int steps)
{
	struct hand hands[16];
	unsigned int i;

	assert_true(threads <= COUNT_OF(hands));
	atomic_store(&working, threads);
	for (i = 0; i < threads; i++) {
		hands[i] = (struct hand){ .worker = worker_new(i), .steps = steps };
		pthread_create(&hands[i].id, NULL, work, &hands[i]);
	}
	assert_true(harness_pump(work_is_done, 60));
	for (i = 0; i < threads; i++) {
		pthread_join(hands[i].id, NULL);
		worker_free(hands[i].worker);
	}
}

static bool has_flushed(void)
{
	return harness_count(AGENT_OVERHEAD) > 0;
}

void harness_settle(void)
{
	assert_true(harness_pump(has_flushed, 20));
}

bool harness_ended(void)
{
	return atomic_load(&ended);
}

static bool is_closed(void)
{
	uint64_t ms;

	return harness_ended() && !caller_busy(&watcher.caller, &ms) && !watcher.abandoned &&
	       !watcher.excused && atomic_load(&agent_session.state) == SESSION_CLOSED;
}

enum agent_end_reason harness_close(void)
{
	const struct agent_end *end;

	harness_collecting = 0;
	assert_true(harness_pump(is_closed, 30));
	harness_listening = 0;
	if (*problem)
		fail_msg("%s", problem);
	end = harness_record(AGENT_END, 0);
	assert_non_null(end);
	assert_null(harness_record(AGENT_END, 1));
	return (enum agent_end_reason)end->reason;
}

/* ---- what came ---- */

const void *harness_record(enum agent_kind kind, size_t n)
{
	const void *record;

	pthread_mutex_lock(&lock);
	record = n < kinds[kind].count ? kinds[kind].records[n] : NULL;
	pthread_mutex_unlock(&lock);
	return record;
}

size_t harness_count(enum agent_kind kind)
{
	size_t count;

	pthread_mutex_lock(&lock);
	count = kinds[kind].count;
	pthread_mutex_unlock(&lock);
	return count;
}

const struct agent_batch *harness_last_batch(void)
{
	return batch_count ? batches[batch_count - 1] : NULL;
}

size_t harness_batches(void)
{
	return batch_count;
}

const struct agent_status *harness_status(enum agent_status_code code)
{
	const struct agent_status *status;
	size_t n = 0;

	while ((status = harness_record(AGENT_STATUS, n++)))
		if (status->code == code)
			return status;
	return NULL;
}

const struct agent_session *harness_session(void)
{
	const struct agent_session *session = NULL, *next;
	size_t n = 0;

	while ((next = harness_record(AGENT_SESSION, n++)))
		session = next;
	return session;
}

const char *harness_text(const char *text, uint16_t size)
{
	static char copy[AGENT_NAME_BYTES + 1];

	memcpy(copy, text, size);
	copy[size] = '\0';
	return copy;
}

const char *harness_name(uint32_t id)
{
	const struct agent_name *name;
	size_t n = 0;

	if (!id)
		return "";
	while ((name = harness_record(AGENT_NAME, n++)))
		if (name->id == id)
			return harness_text(name->name, name->name_size);
	return NULL;
}
