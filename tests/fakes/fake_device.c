/* fake_device.c - the simulated device and the list of what it did; a part of libcuda.so.1. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fake_device.h"

#define DEVICES_MAX 8
#define DEFAULT_STREAM 7
#define FIRST_STREAM 14
#define LAUNCH_NS 2000

struct fake_stream {
	uint32_t id, device;
	int priority;
	uint64_t busy_until_ns;
	struct fake_stream *next;
};

struct fake_cuda_event {
	uint32_t id;
	uint64_t ready_ns, record_number;
};

_Atomic(const struct fake_hooks *) fake_hooks;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_stream defaults[DEVICES_MAX];
static struct fake_stream *streams;
static uint32_t next_stream = FIRST_STREAM, next_event = 1;
static uint64_t next_record = 1;
static _Atomic uint32_t next_correlation = 1;
static _Thread_local uint32_t current_device;

uint64_t fake_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
}

uint32_t fake_device_count(void)
{
	const char *text = getenv("FAKE_CUDA_DEVICES");
	int count = text ? atoi(text) : 2;

	return count < 0 ? 0 : count > DEVICES_MAX ? DEVICES_MAX : (uint32_t)count;
}

uint32_t fake_current_device(void)
{
	return current_device;
}

void fake_set_device(uint32_t device)
{
	current_device = device < DEVICES_MAX ? device : 0;
}

void fake_enter(struct fake_call *call, enum fake_domain domain, uint32_t cbid, const char *name)
{
	memset(call, 0, sizeof(*call));
	call->domain = domain;
	call->cbid = cbid;
	call->name = name;
	call->thread = (uint32_t)syscall(SYS_gettid);
	call->pthread = (uint32_t)(uintptr_t)pthread_self();
	call->correlation = atomic_fetch_add(&next_correlation, 1);
	call->start_ns = fake_now_ns();
}

int fake_leave(struct fake_call *call, int result)
{
	const struct fake_hooks *hooks = atomic_load(&fake_hooks);

	call->result = (uint32_t)result;
	call->end_ns = fake_now_ns();
	fake_log_call(call);
	if (hooks)
		hooks->call(call);
	return result;
}

static struct fake_stream *stream_or_default(struct fake_stream *stream)
{
	return stream ? stream : &defaults[current_device];
}

__attribute__((constructor)) static void start(void)
{
	uint32_t i;

	for (i = 0; i < DEVICES_MAX; i++) {
		defaults[i].id = DEFAULT_STREAM;
		defaults[i].device = i;
	}
}

struct fake_stream *fake_stream_new(int priority)
{
	struct fake_stream *stream = calloc(1, sizeof(*stream));

	stream->device = current_device;
	stream->priority = priority;
	pthread_mutex_lock(&lock);
	stream->id = next_stream++;
	stream->next = streams;
	streams = stream;
	pthread_mutex_unlock(&lock);
	return stream;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* 0.1 us for each block, 10 GB/s, 100 GB/s: anything, as long as it can be told beforehand. */
static uint64_t duration_of(const struct fake_op *op)
{
	switch (op->kind) {
	case FAKE_KERNEL:
		return 1000 + 100ULL * op->grid[0] * op->grid[1] * op->grid[2];
	case FAKE_MEMSET:
		return 500 + op->bytes / 100;
	default:
		return 1000 + op->bytes / 10;
	}
}

void fake_submit(struct fake_stream *stream, struct fake_op *op, const struct fake_call *call)
{
	const struct fake_hooks *hooks = atomic_load(&fake_hooks);

	stream = stream_or_default(stream);
	op->correlation = call->correlation;
	op->device = stream->device;
	op->context = stream->device + 1;
	op->stream = stream->id;
	op->priority = stream->priority;
	pthread_mutex_lock(&lock);
	op->start_ns = later(fake_now_ns() + LAUNCH_NS, stream->busy_until_ns);
	op->end_ns = op->start_ns + duration_of(op);
	stream->busy_until_ns = op->end_ns;
	pthread_mutex_unlock(&lock);
	fake_log_op(op);
	if (hooks)
		hooks->op(op);
}

static void wait_until(uint64_t ns)
{
	struct timespec time = { (time_t)(ns / 1000000000ULL), (long)(ns % 1000000000ULL) };

	while (fake_now_ns() < ns)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void tell_sync(struct fake_sync *sync, const struct fake_call *call)
{
	const struct fake_hooks *hooks = atomic_load(&fake_hooks);

	sync->correlation = call->correlation;
	sync->end_ns = fake_now_ns();
	fake_log_sync(sync);
	if (hooks)
		hooks->sync(sync);
}

void fake_sync_stream(struct fake_stream *stream, const struct fake_call *call)
{
	struct fake_sync sync = { .type = 3, .event = ~0U, .start_ns = fake_now_ns() };
	uint64_t until_ns;

	stream = stream_or_default(stream);
	sync.stream = stream->id;
	sync.context = stream->device + 1;
	pthread_mutex_lock(&lock);
	until_ns = stream->busy_until_ns;
	pthread_mutex_unlock(&lock);
	wait_until(until_ns);
	tell_sync(&sync, call);
}

void fake_sync_device(const struct fake_call *call)
{
	struct fake_sync sync = {
		.type = 4, .stream = ~0U, .event = ~0U, .start_ns = fake_now_ns()
	};
	struct fake_stream *stream;
	uint64_t until_ns;

	sync.context = current_device + 1;
	pthread_mutex_lock(&lock);
	until_ns = defaults[current_device].busy_until_ns;
	for (stream = streams; stream; stream = stream->next)
		if (stream->device == current_device)
			until_ns = later(until_ns, stream->busy_until_ns);
	pthread_mutex_unlock(&lock);
	wait_until(until_ns);
	tell_sync(&sync, call);
}

struct fake_cuda_event *fake_event_new(void)
{
	struct fake_cuda_event *event = calloc(1, sizeof(*event));

	pthread_mutex_lock(&lock);
	event->id = next_event++;
	pthread_mutex_unlock(&lock);
	return event;
}

void fake_event_free(struct fake_cuda_event *event)
{
	free(event);
}

void fake_event_record(struct fake_cuda_event *event, struct fake_stream *stream,
		       const struct fake_call *call)
{
	const struct fake_hooks *hooks = atomic_load(&fake_hooks);
	struct fake_event record = { .correlation = call->correlation };

	stream = stream_or_default(stream);
	pthread_mutex_lock(&lock);
	event->ready_ns = later(fake_now_ns(), stream->busy_until_ns);
	event->record_number = next_record++;
	record.event_sync = event->record_number;
	pthread_mutex_unlock(&lock);
	record.context = stream->device + 1;
	record.device = stream->device;
	record.stream = stream->id;
	record.event = event->id;
	fake_log_event(&record);
	if (hooks)
		hooks->event(&record);
}

void fake_event_wait(struct fake_cuda_event *event, struct fake_stream *stream,
		     const struct fake_call *call)
{
	struct fake_sync sync = { .type = 2, .event = event->id, .start_ns = fake_now_ns() };

	stream = stream_or_default(stream);
	sync.stream = stream->id;
	sync.context = stream->device + 1;
	sync.event_sync = event->record_number;
	pthread_mutex_lock(&lock);
	stream->busy_until_ns = later(stream->busy_until_ns, event->ready_ns);
	pthread_mutex_unlock(&lock);
	tell_sync(&sync, call);
}

void fake_event_sync(struct fake_cuda_event *event, const struct fake_call *call)
{
	struct fake_sync sync = { .type = 1, .stream = ~0U, .start_ns = fake_now_ns() };

	sync.event = event->id;
	sync.context = current_device + 1;
	sync.event_sync = event->record_number;
	wait_until(event->ready_ns);
	tell_sync(&sync, call);
}
