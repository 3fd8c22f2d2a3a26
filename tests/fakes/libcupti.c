/*
 * libcupti.c - CUPTI's stand-in: the activity API of version 1, on the device that libcuda's
 * stand-in simulates. How it behaves and misbehaves: fake_knobs.h. The first call counts for the
 * knobs until the process calls fake_cupti_reset().
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fake_buffers.h"
#include "fake_clock.h"
#include "fake_cuda.h"
#include "fake_layout.h"

#define KINETO_BUFFER_BYTES (4UL << 20)

enum {
	SUCCESS = 0,
	INVALID_PARAMETER = 1,
	INVALID_OPERATION = 7,
	MAX_LIMIT_REACHED = 12,
	INVALID_KIND = 21,
	PRIVILEGES = 35,
	BUSY = 39,
	UNKNOWN = 999,
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_knobs knobs;
static requested_t requested;
static completed_t completed;
static uint8_t enabled[FAKE_KIND_CNT];
static _Atomic uint32_t thread_id_type;
static size_t dropped;
static uint64_t record_number, device_record_number, enabled_ns;
static _Atomic uint32_t registered;
static _Atomic uint32_t calls; /* into CUPTI, of any kind but by its own records */
static bool hung;

static void pause_ms(uint32_t ms)
{
	struct timespec time = { ms / 1000, (long)(ms % 1000) * 1000000L };

	nanosleep(&time, NULL);
}

/* For tests: how often anybody called. */
FAKE_API uint32_t fake_cupti_calls(void)
{
	return atomic_load(&calls);
}

FAKE_API uint32_t fake_cupti_enabled(void)
{
	uint32_t i, count = 0;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FAKE_KIND_CNT; i++)
		count += enabled[i];
	pthread_mutex_unlock(&lock);
	return count;
}

FAKE_API uint32_t fake_cupti_thread_id_type(void)
{
	return thread_id_type;
}

FAKE_API void fake_cupti_reset(void)
{
	pthread_mutex_lock(&lock);
	fake_knobs_read(&knobs);
	memset(enabled, 0, sizeof(enabled));
	requested = NULL;
	completed = NULL;
	thread_id_type = 0;
	dropped = 0;
	record_number = device_record_number = enabled_ns = 0;
	hung = false;
	atomic_store(&calls, 0);
	atomic_store(&registered, 0);
	atomic_store(&fake_hooks, NULL);
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void start(void)
{
	fake_clock_start();
	fake_knobs_read(&knobs);
}

static void give_back(struct fake_buffer *buffer, completed_t to)
{
	while (buffer) {
		struct fake_buffer *next = buffer->next;

		if (to)
			to(NULL, 0, buffer->data, buffer->size, buffer->used);
		free(buffer);
		buffer = next;
	}
}

/* Every second one first. */
static struct fake_buffer *shuffled(struct fake_buffer *list)
{
	struct fake_buffer *first = NULL, *second = NULL, *last;
	int i = 0;

	while (list) {
		struct fake_buffer *next = list->next, **to = i++ & 1 ? &first : &second;

		list->next = *to;
		*to = list;
		list = next;
	}
	if (!first)
		return second;
	for (last = first; last->next; last = last->next)
		;
	last->next = second;
	return first;
}

/* ---- records ---- */

static bool is_dropped(void)
{
	if (!knobs.dropped_nth || ++record_number % knobs.dropped_nth)
		return false;
	dropped++;
	return true;
}

static uint8_t *reserve(uint32_t kind, uint32_t thread)
{
	uint8_t *record;

	if (kind >= FAKE_KIND_CNT || !enabled[kind] || !requested || is_dropped())
		return NULL;
	/* Since 13.0 every thread has its own. */
	record = fake_buffers_reserve(&knobs, requested, knobs.version >= 130000 ? thread : 0,
				      fake_record_size(knobs.version, kind));
	if (!record)
		dropped++;
	return record;
}

static void put(const void *whole, uint32_t kind, uint32_t thread)
{
	uint8_t *record = reserve(kind, thread);

	if (record)
		memcpy(record, whole, fake_record_size(knobs.version, kind));
}

static uint32_t thread_id(const struct fake_call *call)
{
	return thread_id_type ? call->thread : call->pthread;
}

static void on_call(const struct fake_call *call)
{
	struct fake_buffer *full;
	completed_t to;
	uint32_t kind = call->domain == FAKE_DRIVER ? FAKE_KIND_DRIVER : FAKE_KIND_RUNTIME;

	pthread_mutex_lock(&lock);
	if (knobs.tsc_ms && enabled_ns && fake_now_ns() - enabled_ns > knobs.tsc_ms * 1000000ULL)
		knobs.clock = CLOCK_TSC;
	{
		struct fake_api_record record = {
			.kind = kind,
			.cbid = call->cbid,
			.start = fake_clock_at(knobs.clock, call->start_ns),
			.end = fake_clock_at(knobs.clock, call->end_ns),
			.process = (uint32_t)getpid(),
			.thread = thread_id(call),
			.correlation = call->correlation,
			.result = call->result,
		};

		put(&record, kind, call->thread);
	}
	/* What is full comes back on the thread of the job that finds it so. */
	fake_buffers_finish(&knobs, fake_now_ns());
	full = fake_buffers_take(false, true);
	to = completed;
	pthread_mutex_unlock(&lock);
	give_back(full, to);
}

static void put_op(const void *whole, uint32_t kind, size_t times_offset, const struct fake_op *op)
{
	uint8_t *record = reserve(kind, (uint32_t)gettid());
	bool untimed;

	if (!record)
		return;
	memcpy(record, whole, fake_record_size(knobs.version, kind));
	untimed = knobs.untimed_nth && !(++device_record_number % knobs.untimed_nth);
	fake_buffers_defer(&knobs, record, times_offset, op->start_ns, op->end_ns, op->end_ns,
			   untimed);
}

static void put_kernel(const struct fake_op *op)
{
	struct fake_kernel_record record = {
		.kind = FAKE_KIND_CONCURRENT_KERNEL,
		.registers_per_thread = (uint16_t)op->registers,
		.device = op->device,
		.context = op->context,
		.stream = op->stream,
		.grid = { (int)op->grid[0], (int)op->grid[1], (int)op->grid[2] },
		.block = { (int)op->block[0], (int)op->block[1], (int)op->block[2] },
		.static_shared = (int)op->static_shared,
		.dynamic_shared = (int)op->dynamic_shared,
		.correlation = op->correlation,
		.name = op->name,
		.graph_node = op->graph_node,
		.graph = op->graph_id,
		.channel = 5,
		.channel_type = 1,
		.cluster = { 2, 1, 1 },
		.max_active_clusters = 77,
		.priority = op->priority,
		.execution_model = 88,
		.source_graph = 99,
	};

	put_op(&record, record.kind, offsetof(struct fake_kernel_record, start), op);
}

static void put_memcpy(const struct fake_op *op)
{
	struct fake_memcpy_record record = {
		.kind = FAKE_KIND_MEMCPY,
		.copy_kind = (uint8_t)op->copy_kind,
		.source_kind = (uint8_t)op->source_kind,
		.target_kind = (uint8_t)op->target_kind,
		.flags = 1,
		.bytes = op->bytes,
		.device = op->device,
		.context = op->context,
		.stream = op->stream,
		.correlation = op->correlation,
		.channel = 6,
		.channel_type = 2,
		.copy_count = 1,
	};

	put_op(&record, record.kind, offsetof(struct fake_memcpy_record, start), op);
}

static void put_peer(const struct fake_op *op)
{
	struct fake_peer_record record = {
		.kind = FAKE_KIND_PEER,
		.copy_kind = (uint8_t)op->copy_kind,
		.source_kind = (uint8_t)op->source_kind,
		.target_kind = (uint8_t)op->target_kind,
		.flags = 1,
		.bytes = op->bytes,
		.device = op->device,
		.context = op->context,
		.stream = op->stream,
		.source_device = op->source_device,
		.source_context = op->source_device + 1,
		.target_device = op->target_device,
		.target_context = op->target_device + 1,
		.correlation = op->correlation,
		.channel = 7,
		.channel_type = 2,
	};

	put_op(&record, record.kind, offsetof(struct fake_peer_record, start), op);
}

static void put_memset(const struct fake_op *op)
{
	struct fake_memset_record record = {
		.kind = FAKE_KIND_MEMSET,
		.value = op->value,
		.bytes = op->bytes,
		.device = op->device,
		.context = op->context,
		.stream = op->stream,
		.correlation = op->correlation,
		.flags = 1,
		.memory_kind = (uint16_t)op->target_kind,
		.channel = 8,
		.channel_type = 1,
	};

	put_op(&record, record.kind, offsetof(struct fake_memset_record, start), op);
}

static void on_op(const struct fake_op *op)
{
	pthread_mutex_lock(&lock);
	switch (op->kind) {
	case FAKE_KERNEL:
		put_kernel(op);
		break;
	case FAKE_MEMCPY:
		put_memcpy(op);
		break;
	case FAKE_PEER:
		put_peer(op);
		break;
	case FAKE_MEMSET:
		put_memset(op);
		break;
	}
	pthread_mutex_unlock(&lock);
}

static void on_sync(const struct fake_sync *sync)
{
	pthread_mutex_lock(&lock);
	{
		struct fake_sync_record record = {
			.kind = FAKE_KIND_SYNC,
			.type = sync->type,
			.start = fake_clock_at(knobs.clock, sync->start_ns),
			.end = fake_clock_at(knobs.clock, sync->end_ns),
			.correlation = sync->correlation,
			.context = sync->context,
			.stream = sync->stream,
			.event = sync->event,
			.event_sync = sync->event_sync,
		};

		put(&record, FAKE_KIND_SYNC, (uint32_t)gettid());
	}
	pthread_mutex_unlock(&lock);
}

static void on_event(const struct fake_event *event)
{
	struct fake_event_record record = {
		.kind = FAKE_KIND_EVENT,
		.correlation = event->correlation,
		.context = event->context,
		.stream = event->stream,
		.event = event->event,
		.device = event->device,
		.event_sync = event->event_sync,
	};

	pthread_mutex_lock(&lock);
	put(&record, FAKE_KIND_EVENT, (uint32_t)gettid());
	pthread_mutex_unlock(&lock);
}

static const struct fake_hooks hooks = { on_call, on_op, on_sync, on_event };

/* CUPTI's own work, once for each flush. */
static void put_overhead(uint64_t start_ns)
{
	struct fake_overhead_record record = {
		.kind = FAKE_KIND_OVERHEAD,
		.overhead = 1U << 16,
		.object = 2,
		.ids = { (uint32_t)getpid(), (uint32_t)gettid(), 0 },
		.start = fake_clock_at(knobs.clock, start_ns),
		.end = fake_clock_at(knobs.clock, fake_now_ns()),
	};

	put(&record, FAKE_KIND_OVERHEAD, (uint32_t)gettid());
}

/* ---- somebody else ---- */

static void kineto_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	*size = KINETO_BUFFER_BYTES;
	*buffer = aligned_alloc(8, *size);
	*max_records = 0;
}

static void kineto_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			     size_t valid_size)
{
	(void)context;
	(void)stream;
	(void)valid_size;
	/* One of somebody else's is not freed. */
	if (size == KINETO_BUFFER_BYTES)
		free(buffer);
}

static void *kineto(void *argument)
{
	pause_ms(knobs.steal_ms);
	(void)argument;
	pthread_mutex_lock(&lock);
	requested = kineto_requested;
	completed = kineto_completed;
	pthread_mutex_unlock(&lock);
	return NULL;
}

/* ---- the API ---- */

static int error_of(void)
{
	atomic_fetch_add(&calls, 1);
	if (knobs.err999 || knobs.err999all)
		return UNKNOWN;
	return SUCCESS;
}

FAKE_API int cuptiGetVersion(uint32_t *version)
{
	atomic_fetch_add(&calls, 1);
	if (knobs.err999all)
		return UNKNOWN;
	*version = knobs.version;
	return SUCCESS;
}

FAKE_API int cuptiGetTimestamp(uint64_t *timestamp)
{
	int err = error_of(), clock;

	pthread_mutex_lock(&lock);
	clock = knobs.clock;
	pthread_mutex_unlock(&lock);
	if (!err)
		*timestamp = fake_clock_now(clock);
	return err;
}

FAKE_API int cuptiGetThreadIdType(uint32_t *type)
{
	int err = error_of();

	*type = thread_id_type;
	return err;
}

FAKE_API int cuptiSetThreadIdType(uint32_t type)
{
	int err = error_of();

	if (err || knobs.no_thread_ids)
		return err ? err : UNKNOWN;
	thread_id_type = type;
	return SUCCESS;
}

FAKE_API int cuptiActivityRegisterCallbacks(requested_t want, completed_t done)
{
	int err = error_of();

	if (err || knobs.err39)
		return err ? err : BUSY;
	if (knobs.only_n && atomic_fetch_add(&registered, 1) >= knobs.only_n)
		return BUSY;
	pthread_mutex_lock(&lock);
	requested = want;
	completed = done;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

static void start_faults(void)
{
	pthread_t thread;

	if (knobs.hang_open_ms)
		pause_ms(knobs.hang_open_ms);
	if (!knobs.steal_ms)
		return;
	pthread_create(&thread, NULL, kineto, NULL);
	pthread_detach(thread);
}

FAKE_API int cuptiActivityEnable(uint32_t kind)
{
	int err = error_of();

	if (err || knobs.err39)
		return err ? err : BUSY;
	if (!fake_record_size(knobs.version, kind) || kind == knobs.refuse)
		return INVALID_KIND;
	if (kind == FAKE_KIND_CONCURRENT_KERNEL && knobs.privileges)
		return PRIVILEGES;
	if (kind == FAKE_KIND_CONCURRENT_KERNEL)
		start_faults();
	pthread_mutex_lock(&lock);
	enabled[kind] = 1;
	if (!enabled_ns)
		enabled_ns = fake_now_ns();
	atomic_store(&fake_hooks, &hooks);
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

FAKE_API int cuptiActivityDisable(uint32_t kind)
{
	int err = error_of();

	if (err || kind >= FAKE_KIND_CNT)
		return err ? err : INVALID_KIND;
	pthread_mutex_lock(&lock);
	enabled[kind] = 0;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

FAKE_API int cuptiActivityFlushAll(uint32_t flags)
{
	struct fake_buffer *buffer;
	int err = error_of();
	uint32_t hang_ms;
	uint64_t start_ns = fake_now_ns();
	completed_t to;

	if (err)
		return err;
	pthread_mutex_lock(&lock);
	if (!completed) {
		pthread_mutex_unlock(&lock);
		return INVALID_OPERATION;
	}
	hang_ms = hung ? 0 : knobs.hang_ms;
	hung = hung || hang_ms;
	pthread_mutex_unlock(&lock);
	if (hang_ms)
		pause_ms(hang_ms);
	pthread_mutex_lock(&lock);
	put_overhead(start_ns);
	fake_buffers_finish(&knobs, fake_now_ns());
	buffer = fake_buffers_take(flags & 1, false);
	if (knobs.shuffle)
		buffer = shuffled(buffer);
	to = completed;
	pthread_mutex_unlock(&lock);
	give_back(buffer, to);
	return SUCCESS;
}

FAKE_API int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_size, uint8_t **record)
{
	static _Atomic uint64_t buffers;
	size_t offset = 0;
	uint32_t kind;
	int err = error_of();

	if (err)
		return err;
	if (!valid_size)
		return MAX_LIMIT_REACHED;
	if (*record) {
		memcpy(&kind, *record, sizeof(kind));
		offset = (size_t)(*record - buffer) + fake_record_size(knobs.version, kind);
	} else if (knobs.broken_nth && !(atomic_fetch_add(&buffers, 1) % knobs.broken_nth)) {
		return INVALID_KIND;
	}
	if (offset >= valid_size)
		return MAX_LIMIT_REACHED;
	memcpy(&kind, buffer + offset, sizeof(kind));
	if (!fake_record_size(knobs.version, kind))
		return INVALID_KIND;
	*record = buffer + offset;
	return SUCCESS;
}

FAKE_API int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
	int err = error_of();

	(void)context;
	(void)stream;
	if (err)
		return err;
	pthread_mutex_lock(&lock);
	*count = dropped;
	dropped = 0;
	pthread_mutex_unlock(&lock);
	return SUCCESS;
}

FAKE_API int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
	static const struct {
		uint32_t domain, cbid;
		const char *name;
	} names[] = {
		{ 1, 2, "cuDriverGetVersion" },
		{ 1, 126, "cuStreamSynchronize" },
		{ 1, 307, "cuLaunchKernel" },
		{ 2, 10, "cudaGetLastError_v3020" },
		{ 2, 41, "cudaMemcpyAsync_v3020" },
		{ 2, 51, "cudaMemsetAsync_v3020" },
		{ 2, 131, "cudaStreamSynchronize_v3020" },
		{ 2, 135, "cudaEventRecord_v3020" },
		{ 2, 137, "cudaEventSynchronize_v3020" },
		{ 2, 147, "cudaStreamWaitEvent_v3020" },
		{ 2, 161, "cudaMemcpyPeerAsync_v4000" },
		{ 2, 165, "cudaDeviceSynchronize_v3020" },
		{ 2, 202, "cudaStreamCreateWithPriority_v5050" },
		{ 2, 211, "cudaLaunchKernel_v7000" },
		{ 2, 311, "cudaGraphLaunch_v10000" },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (names[i].domain == domain && names[i].cbid == cbid) {
			*name = names[i].name;
			return SUCCESS;
		}
	}
	return INVALID_PARAMETER;
}
