/* recorder.c - see recorder.h. */
#include "agent/recorder.h"

#include <stdbool.h>
#include <string.h>

#include "agent/cupti_layout.h"

static uint16_t get16(const uint8_t *record, size_t offset)
{
	uint16_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static uint32_t get32(const uint8_t *record, size_t offset)
{
	uint32_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

static uint64_t get64(const uint8_t *record, size_t offset)
{
	uint64_t value;

	memcpy(&value, record + offset, sizeof(value));
	return value;
}

size_t recorder_size(const struct recorder *recorder, uint32_t kind)
{
	bool since_12_8 = recorder->version >= CUPTI_12_8;

	switch (kind) {
	case KIND_KERNEL:
	case KIND_CONCURRENT_KERNEL:
		return recorder->version >= CUPTI_13_1 ? KERNEL_PRIORITY + 4 : KERNEL_SIZE;
	case KIND_MEMCPY:
		return since_12_8 ? MEMCPY_COPY_COUNT + 8 : MEMCPY_SIZE;
	case KIND_MEMCPY2:
		return PEER_SIZE;
	case KIND_MEMSET:
		return MEMSET_SIZE;
	case KIND_DRIVER:
	case KIND_RUNTIME:
		return API_SIZE;
	case KIND_SYNCHRONIZATION:
		return since_12_8 ? SYNC_RESULT + 4 : SYNC_SIZE;
	case KIND_CUDA_EVENT:
		return since_12_8 ? EVENT_EVENT_SYNC + 8 : EVENT_SIZE;
	case KIND_OVERHEAD:
		return recorder->version >= CUPTI_12_4 ? OVERHEAD_CORRELATION + 4 : OVERHEAD_SIZE;
	default:
		return 0;
	}
}

/* start and end lie next to each other in every record. */
static void take_times(struct recorder *recorder, const uint8_t *record, size_t offset,
		       struct agent_record *out, __u64 *start_ns, __u64 *end_ns)
{
	uint64_t times[2] = { get64(record, offset), get64(record, offset + 8) };
	enum clock_result first = CLOCK_SENSELESS, second = CLOCK_SENSELESS;

	if (times[0] && times[1]) {
		first = cupti_clock_convert(&recorder->clock, times[0], &times[0]);
		second = cupti_clock_convert(&recorder->clock, times[1], &times[1]);
	}
	if (first == CLOCK_SENSELESS || second == CLOCK_SENSELESS || times[1] < times[0]) {
		out->flags |= AGENT_TIME_NONE;
		recorder->batch.counts[AGENT_COUNT_UNTIMED]++;
		return;
	}
	*start_ns = times[0];
	*end_ns = times[1];
	if (first == CLOCK_RAW) {
		out->flags |= AGENT_TIME_RAW;
	} else if (first == CLOCK_GUESSED || second == CLOCK_GUESSED) {
		out->flags |= AGENT_TIME_GUESSED;
		recorder->batch.counts[AGENT_COUNT_GUESSED]++;
	}
}

static void take_kernel(struct recorder *recorder, const uint8_t *record)
{
	const char *text = (const char *)(uintptr_t)get64(record, KERNEL_NAME);
	uint32_t name = batch_name(&recorder->batch, text);
	struct agent_kernel *out = batch_reserve(&recorder->batch, AGENT_KERNEL, sizeof(*out));
	int i;

	take_times(recorder, record, KERNEL_START, &out->record, &out->start_ns, &out->end_ns);
	out->name = name;
	out->correlation = get32(record, KERNEL_CORRELATION);
	out->device = get32(record, KERNEL_DEVICE);
	out->context = get32(record, KERNEL_CONTEXT);
	out->stream = get32(record, KERNEL_STREAM);
	for (i = 0; i < 3; i++) {
		out->grid[i] = get32(record, KERNEL_GRID + 4 * (size_t)i);
		out->block[i] = get32(record, KERNEL_BLOCK + 4 * (size_t)i);
		out->cluster[i] = get32(record, KERNEL_CLUSTER + 4 * (size_t)i);
	}
	out->registers_per_thread = get16(record, KERNEL_REGISTERS);
	out->static_shared_bytes = get32(record, KERNEL_STATIC_SHARED);
	out->dynamic_shared_bytes = get32(record, KERNEL_DYNAMIC_SHARED);
	out->local_per_thread_bytes = get32(record, KERNEL_LOCAL_PER_THREAD);
	out->channel = get32(record, KERNEL_CHANNEL);
	out->channel_type = get32(record, KERNEL_CHANNEL_TYPE);
	out->graph_id = get32(record, KERNEL_GRAPH);
	out->graph_node_id = get64(record, KERNEL_GRAPH_NODE);
	out->record.flags |= AGENT_HAS_GRAPH | AGENT_HAS_CHANNEL | AGENT_HAS_CLUSTER;
	if (recorder->version >= CUPTI_13_1) {
		out->priority = (int32_t)get32(record, KERNEL_PRIORITY);
		out->record.flags |= AGENT_HAS_PRIORITY;
	}
}

static struct agent_memcpy *take_copy(struct recorder *recorder, const uint8_t *record)
{
	struct agent_memcpy *out = batch_reserve(&recorder->batch, AGENT_MEMCPY, sizeof(*out));

	take_times(recorder, record, MEMCPY_START, &out->record, &out->start_ns, &out->end_ns);
	out->size_bytes = get64(record, MEMCPY_BYTES);
	out->copy_kind = record[MEMCPY_KIND];
	out->source_kind = record[MEMCPY_SOURCE_KIND];
	out->target_kind = record[MEMCPY_TARGET_KIND];
	out->copy_flags = record[MEMCPY_FLAGS];
	out->device = get32(record, MEMCPY_DEVICE);
	out->context = get32(record, MEMCPY_CONTEXT);
	out->stream = get32(record, MEMCPY_STREAM);
	out->record.flags |= AGENT_HAS_GRAPH | AGENT_HAS_CHANNEL;
	return out;
}

static void take_memcpy(struct recorder *recorder, const uint8_t *record)
{
	struct agent_memcpy *out = take_copy(recorder, record);

	out->correlation = get32(record, MEMCPY_CORRELATION);
	out->graph_id = get32(record, MEMCPY_GRAPH);
	out->graph_node_id = get64(record, MEMCPY_GRAPH_NODE);
	out->channel = get32(record, MEMCPY_CHANNEL);
	out->channel_type = get32(record, MEMCPY_CHANNEL_TYPE);
	if (recorder->version >= CUPTI_12_8) {
		out->copy_count = get64(record, MEMCPY_COPY_COUNT);
		out->record.flags |= AGENT_HAS_COPY_COUNT;
	}
}

static void take_peer(struct recorder *recorder, const uint8_t *record)
{
	struct agent_memcpy *out = take_copy(recorder, record);

	out->correlation = get32(record, PEER_CORRELATION);
	out->source_device = get32(record, PEER_SOURCE_DEVICE);
	out->source_context = get32(record, PEER_SOURCE_CONTEXT);
	out->target_device = get32(record, PEER_TARGET_DEVICE);
	out->target_context = get32(record, PEER_TARGET_CONTEXT);
	out->graph_id = get32(record, PEER_GRAPH);
	out->graph_node_id = get64(record, PEER_GRAPH_NODE);
	out->channel = get32(record, PEER_CHANNEL);
	out->channel_type = get32(record, PEER_CHANNEL_TYPE);
	out->record.flags |= AGENT_HAS_PEER;
}

static void take_memset(struct recorder *recorder, const uint8_t *record)
{
	struct agent_memset *out = batch_reserve(&recorder->batch, AGENT_MEMSET, sizeof(*out));

	take_times(recorder, record, MEMSET_START, &out->record, &out->start_ns, &out->end_ns);
	out->size_bytes = get64(record, MEMSET_BYTES);
	out->correlation = get32(record, MEMSET_CORRELATION);
	out->device = get32(record, MEMSET_DEVICE);
	out->context = get32(record, MEMSET_CONTEXT);
	out->stream = get32(record, MEMSET_STREAM);
	out->value = get32(record, MEMSET_VALUE);
	out->memory_kind = get16(record, MEMSET_MEMORY_KIND);
	out->memset_flags = get16(record, MEMSET_FLAGS);
	out->graph_id = get32(record, MEMSET_GRAPH);
	out->graph_node_id = get64(record, MEMSET_GRAPH_NODE);
	out->channel = get32(record, MEMSET_CHANNEL);
	out->channel_type = get32(record, MEMSET_CHANNEL_TYPE);
	out->record.flags |= AGENT_HAS_GRAPH | AGENT_HAS_CHANNEL;
}

/* Kineto's lists: CuptiActivityProfiler.cpp, CuptiCbidRegistry.cpp. */
static bool is_muted(uint32_t kind, uint32_t callback)
{
	if (kind == KIND_RUNTIME)
		return callback == RUNTIME_GET_DEVICE || callback == RUNTIME_SET_DEVICE ||
		       callback == RUNTIME_GET_LAST_ERROR || callback == RUNTIME_EVENT_CREATE ||
		       callback == RUNTIME_EVENT_CREATE_WITH_FLAGS ||
		       callback == RUNTIME_EVENT_DESTROY;
	switch (callback) {
	case DRIVER_LAUNCH_KERNEL:
	case DRIVER_LAUNCH_KERNEL_EX:
	case DRIVER_MEM_CREATE:
	case DRIVER_MEM_MAP:
	case DRIVER_MEM_UNMAP:
	case DRIVER_MEM_RELEASE:
	case DRIVER_MEM_EXPORT:
	case DRIVER_MEM_IMPORT:
		return false;
	default:
		return true;
	}
}

static void take_api(struct recorder *recorder, const uint8_t *record, uint32_t kind,
		     const char *callback_name)
{
	uint32_t callback = get32(record, API_CALLBACK), thread = get32(record, API_THREAD);
	struct agent_api *out;
	uint32_t name;

	if (thread == recorder->own_thread || thread == recorder->own_pthread) {
		recorder->own_calls++;
		return;
	}
	if (is_muted(kind, callback)) {
		recorder->batch.counts[AGENT_COUNT_MUTED]++;
		return;
	}
	name = batch_name(&recorder->batch, callback_name);
	out = batch_reserve(&recorder->batch, AGENT_API, sizeof(*out));
	take_times(recorder, record, API_START, &out->record, &out->start_ns, &out->end_ns);
	out->correlation = get32(record, API_CORRELATION);
	out->thread = thread;
	out->domain = kind == KIND_DRIVER ? AGENT_API_DRIVER : AGENT_API_RUNTIME;
	out->callback = callback;
	out->name = name;
	out->result = get32(record, API_RESULT);
}

static void take_sync(struct recorder *recorder, const uint8_t *record)
{
	struct agent_sync *out = batch_reserve(&recorder->batch, AGENT_SYNC, sizeof(*out));

	take_times(recorder, record, SYNC_START, &out->record, &out->start_ns, &out->end_ns);
	out->correlation = get32(record, SYNC_CORRELATION);
	out->type = get32(record, SYNC_TYPE);
	out->context = get32(record, SYNC_CONTEXT);
	out->stream = get32(record, SYNC_STREAM);
	out->event = get32(record, SYNC_EVENT);
	if (recorder->version >= CUPTI_12_8) {
		out->event_sync = get64(record, SYNC_EVENT_SYNC);
		out->result = get32(record, SYNC_RESULT);
		out->record.flags |= AGENT_HAS_EVENT_SYNC | AGENT_HAS_RESULT;
	}
}

static void take_event(struct recorder *recorder, const uint8_t *record)
{
	struct agent_event *out = batch_reserve(&recorder->batch, AGENT_EVENT, sizeof(*out));

	out->correlation = get32(record, EVENT_CORRELATION);
	out->context = get32(record, EVENT_CONTEXT);
	out->stream = get32(record, EVENT_STREAM);
	out->event = get32(record, EVENT_ID);
	if (recorder->version >= CUPTI_12_8) {
		out->device = get32(record, EVENT_DEVICE);
		out->event_sync = get64(record, EVENT_EVENT_SYNC);
		out->record.flags |= AGENT_HAS_DEVICE | AGENT_HAS_EVENT_SYNC;
	}
}

static void take_overhead(struct recorder *recorder, const uint8_t *record)
{
	struct agent_overhead *out = batch_reserve(&recorder->batch, AGENT_OVERHEAD, sizeof(*out));
	int i;

	take_times(recorder, record, OVERHEAD_START, &out->record, &out->start_ns, &out->end_ns);
	out->overhead = get32(record, OVERHEAD_KIND);
	out->object = get32(record, OVERHEAD_OBJECT);
	for (i = 0; i < (out->object <= OBJECT_THREAD ? 2 : 3); i++)
		out->ids[i] = get32(record, OVERHEAD_IDS + 4 * (size_t)i);
	if (recorder->version >= CUPTI_12_4) {
		out->correlation = get32(record, OVERHEAD_CORRELATION);
		out->record.flags |= AGENT_HAS_CORRELATION;
	}
}

void recorder_take(struct recorder *recorder, const uint8_t *record, const char *callback_name)
{
	uint32_t kind = get32(record, 0);

	switch (kind) {
	case KIND_KERNEL:
	case KIND_CONCURRENT_KERNEL:
		take_kernel(recorder, record);
		break;
	case KIND_MEMCPY:
		take_memcpy(recorder, record);
		break;
	case KIND_MEMCPY2:
		take_peer(recorder, record);
		break;
	case KIND_MEMSET:
		take_memset(recorder, record);
		break;
	case KIND_DRIVER:
	case KIND_RUNTIME:
		take_api(recorder, record, kind, callback_name);
		break;
	case KIND_SYNCHRONIZATION:
		take_sync(recorder, record);
		break;
	case KIND_CUDA_EVENT:
		take_event(recorder, record);
		break;
	case KIND_OVERHEAD:
		take_overhead(recorder, record);
		break;
	default:
		recorder->batch.counts[AGENT_COUNT_UNKNOWN_KIND]++;
		break;
	}
}
