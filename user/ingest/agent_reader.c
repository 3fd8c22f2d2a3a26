/*
 * agent_reader.c - see agent_reader.h. Names are the session's: another session, of an agent that
 * was loaded anew, begins with none. Work without a time that means anything is counted and
 * dropped.
 */
#include "ingest/agent_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/demangle.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "ingest/agent_batch.h"
#include "ingest/agent_status.h"
#include "model/device_names.h"

#define NAME_IDS_MAX 65536
#define DEVICES_MAX 64
#define REMARKS_MAX 32
#define REMARK_BYTES 256
#define TIME_MAX_NS (1ULL << 62)
#define WAITS_MAX 1000000
#define EVENTS_MAX 4000000
#define CONTEXTS_MAX 64
#define NAME_ROOM 32 /* behind a name of the agent's: none is longer */

/* Both may be asked for: what a name is of is not said. NULL: not told yet. */
struct known_name {
	const char *kernel, *call;
};

/* A context's device is known when something ran in it. */
struct context {
	uint32_t context, device;
};

struct remark {
	char text[REMARK_BYTES];
};

struct agent_reader {
	struct agent_sink *sink;
	struct name_table *names;
	struct known_name *known; /* by id */
	uint64_t session, next_sequence;
	uint64_t counts[AGENT_COUNT_CNT]; /* of this session so far */
	uint64_t lost_records;		  /* in earlier ones */
	uint64_t lost_batches, untimed, guessed, nameless;
	bool has_session, has_ended, has_thread_ids, was_taken, has_hung, is_given_up;
	struct device_properties devices[DEVICES_MAX];
	size_t device_count;
	/* Waits are handed on at the end: what they waited for is told in no order. */
	struct agent_sync *waits;
	size_t wait_count, wait_capacity;
	struct hashmap *events; /* recorded ones: stream and correlation id, see event_value() */
	struct context contexts[CONTEXTS_MAX];
	size_t context_count;
	uint64_t dropped_waits;
	struct remark remarks[REMARKS_MAX];
	const char *remark_texts[REMARKS_MAX];
	size_t remark_count;
};

int agent_reader_new(struct agent_reader **out, struct name_table *names, struct agent_sink *sink)
{
	struct agent_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->known = calloc(NAME_IDS_MAX, sizeof(*reader->known));
	if (!reader->known || hashmap_new(&reader->events)) {
		agent_reader_free(reader);
		return -ENOMEM;
	}
	reader->names = names;
	reader->sink = sink;
	*out = reader;
	return 0;
}

void agent_reader_free(struct agent_reader *reader)
{
	if (!reader)
		return;
	hashmap_free(reader->events);
	free(reader->waits);
	free(reader->known);
	free(reader);
}

/* A remark is made once. */
static void remark(struct agent_reader *reader, const char *text)
{
	size_t i;

	for (i = 0; i < reader->remark_count; i++) {
		if (!strncmp(reader->remarks[i].text, text, REMARK_BYTES - 1))
			return;
	}
	if (!text[0] || reader->remark_count == REMARKS_MAX)
		return;
	snprintf(reader->remarks[reader->remark_count++].text, REMARK_BYTES, "%s", text);
	log_debug("agent: %s", text);
}

static uint64_t lost_in(const struct agent_reader *reader)
{
	uint64_t lost = 0;
	unsigned int cause;

	for (cause = AGENT_COUNT_FIRST_LOSS; cause < AGENT_COUNT_NO_NAME; cause++)
		lost += reader->counts[cause];
	return lost;
}

static void begin_session(struct agent_reader *reader, const struct agent_batch *head)
{
	if (reader->has_session) {
		reader->lost_records += lost_in(reader);
		if (!reader->has_ended) /* each cycle has a session of its own */
			remark(reader, "the agent began anew");
	}
	memset(reader->known, 0, NAME_IDS_MAX * sizeof(*reader->known));
	memset(reader->counts, 0, sizeof(reader->counts));
	reader->session = head->session;
	reader->next_sequence = 0;
	reader->has_session = true;
	reader->has_ended = false;
	reader->has_thread_ids = true;
}

static const char *add_name(struct agent_reader *reader, const char *name, size_t size_bytes)
{
	return name_table_add(reader->names, name, size_bytes);
}

static int on_name(struct agent_reader *reader, const struct agent_item *item)
{
	const struct agent_name *name = &item->any.name;
	char text[AGENT_NAME_BYTES + NAME_ROOM], *plain;
	const char *call;
	size_t size_bytes = item->text_bytes;
	struct known_name *known;

	if (!name->id || name->id >= NAME_IDS_MAX) {
		reader->nameless++;
		return 0;
	}
	if (size_bytes >= sizeof(text))
		size_bytes = sizeof(text) - 1;
	memcpy(text, item->text, size_bytes);
	text[size_bytes] = 0;
	known = &reader->known[name->id];
	call = device_call_name(text);
	known->call = add_name(reader, call, device_call_name_bytes(call, strlen(call)));
	plain = demangle(text);
	known->kernel = add_name(reader, plain ? plain : text, SIZE_MAX);
	free(plain);
	return known->call && known->kernel ? 0 : -ENOMEM;
}

static const struct known_name *name_of(struct agent_reader *reader, uint32_t id)
{
	static const struct known_name none;

	if (id < NAME_IDS_MAX && reader->known[id].kernel)
		return &reader->known[id];
	reader->nameless++;
	return &none;
}

/* Times that can be shown. */
static bool has_times(struct agent_reader *reader, const struct agent_record *record,
		      uint64_t start_ns, uint64_t end_ns)
{
	if (record->flags & AGENT_TIME_GUESSED)
		reader->guessed++;
	if (!(record->flags & (AGENT_TIME_NONE | AGENT_TIME_RAW)) && start_ns &&
	    start_ns <= end_ns && end_ns <= TIME_MAX_NS)
		return true;
	reader->untimed++;
	return false;
}

static int push_work(struct agent_reader *reader, struct device_work *work)
{
	char name[96];

	if (!work->name) {
		device_work_name(name, sizeof(name), work);
		work->name = add_name(reader, name, sizeof(name));
	}
	return work->name ? reader->sink->work(reader->sink, work) : -ENOMEM;
}

static void learn_context(struct agent_reader *reader, uint32_t context, uint32_t device)
{
	size_t i;

	for (i = 0; i < reader->context_count; i++) {
		if (reader->contexts[i].context == context)
			return;
	}
	if (reader->context_count < CONTEXTS_MAX)
		reader->contexts[reader->context_count++] = (struct context){ context, device };
}

static int on_kernel(struct agent_reader *reader, const struct agent_kernel *kernel)
{
	struct device_work work = {
		.kind = DEVICE_KERNEL,
		.start_ns = kernel->start_ns,
		.end_ns = kernel->end_ns,
		.correlation_id = kernel->correlation,
		.device = kernel->device,
		.context = kernel->context,
		.stream = kernel->stream,
		.to_device = kernel->device,
		.to_context = kernel->context,
		.grid = { kernel->grid[0], kernel->grid[1], kernel->grid[2] },
		.block = { kernel->block[0], kernel->block[1], kernel->block[2] },
		.registers = kernel->registers_per_thread,
		.static_shared_bytes = kernel->static_shared_bytes,
		.dynamic_shared_bytes = kernel->dynamic_shared_bytes,
	};

	if (!has_times(reader, &kernel->record, work.start_ns, work.end_ns))
		return 0;
	if (kernel->record.flags & AGENT_HAS_GRAPH) {
		work.graph_id = kernel->graph_id;
		work.graph_node_id = kernel->graph_node_id;
	}
	work.name = name_of(reader, kernel->name)->kernel;
	learn_context(reader, work.context, work.device);
	return push_work(reader, &work);
}

static int on_memcpy(struct agent_reader *reader, const struct agent_memcpy *copy)
{
	bool has_peer = copy->record.flags & AGENT_HAS_PEER;
	struct device_work work = {
		.kind = DEVICE_MEMCPY,
		.start_ns = copy->start_ns,
		.end_ns = copy->end_ns,
		.correlation_id = copy->correlation,
		.device = has_peer ? copy->source_device : copy->device,
		.context = has_peer ? copy->source_context : copy->context,
		.stream = copy->stream,
		.to_device = has_peer ? copy->target_device : copy->device,
		.to_context = has_peer ? copy->target_context : copy->context,
		.size_bytes = copy->size_bytes,
		.copy_kind = copy->copy_kind,
		.from_kind = copy->source_kind,
		.to_kind = copy->target_kind,
		.is_between_devices = has_peer,
	};

	if (!has_times(reader, &copy->record, work.start_ns, work.end_ns))
		return 0;
	learn_context(reader, copy->context, copy->device);
	return push_work(reader, &work);
}

static int on_memset(struct agent_reader *reader, const struct agent_memset *set)
{
	struct device_work work = {
		.kind = DEVICE_MEMSET,
		.start_ns = set->start_ns,
		.end_ns = set->end_ns,
		.correlation_id = set->correlation,
		.device = set->device,
		.context = set->context,
		.stream = set->stream,
		.to_device = set->device,
		.to_context = set->context,
		.size_bytes = set->size_bytes,
		.to_kind = (uint8_t)set->memory_kind,
	};

	if (!has_times(reader, &set->record, work.start_ns, work.end_ns))
		return 0;
	return push_work(reader, &work);
}

/* Kept until the end. */
static int on_sync(struct agent_reader *reader, const struct agent_sync *sync)
{
	int err;

	if (!has_times(reader, &sync->record, sync->start_ns, sync->end_ns))
		return 0;
	if (reader->wait_count == WAITS_MAX) {
		reader->dropped_waits++;
		return 0;
	}
	err = ARRAY_RESERVE(reader->waits, reader->wait_capacity, reader->wait_count + 1);
	if (err)
		return err;
	reader->waits[reader->wait_count++] = *sync;
	return 0;
}

/* CUPTI of 12.8 and later numbers each recording of an event; before, the last one is meant. */
static uint64_t event_key(bool has_sync, uint64_t event_sync, uint32_t context, uint32_t event)
{
	return has_sync ? event_sync | 1ULL << 63 : (uint64_t)context << 32 | event;
}

static void *event_value(uint32_t stream, uint32_t correlation_id)
{
	return (void *)(uintptr_t)((uint64_t)stream << 32 | correlation_id);
}

static int on_event(struct agent_reader *reader, const struct agent_event *event)
{
	bool has_sync = event->record.flags & AGENT_HAS_EVENT_SYNC;

	if (!event->correlation || hashmap_count(reader->events) >= EVENTS_MAX)
		return 0;
	return hashmap_put(reader->events,
			   event_key(has_sync, event->event_sync, event->context, event->event),
			   event_value(event->stream, event->correlation), NULL);
}

static uint32_t device_of(const struct agent_reader *reader, uint32_t context)
{
	size_t i;

	for (i = 0; i < reader->context_count; i++) {
		if (reader->contexts[i].context == context)
			return reader->contexts[i].device;
	}
	return 0;
}

static int push_wait(struct agent_reader *reader, const struct agent_sync *sync)
{
	bool has_sync = sync->record.flags & AGENT_HAS_EVENT_SYNC;
	uint64_t key = event_key(has_sync, sync->event_sync, sync->context, sync->event);
	uint64_t event = (uint64_t)(uintptr_t)hashmap_get(reader->events, key);
	uint32_t device = device_of(reader, sync->context);
	struct device_work work = {
		.kind = DEVICE_SYNC,
		.sync = (uint8_t)sync->type,
		.start_ns = sync->start_ns,
		.end_ns = sync->end_ns,
		.correlation_id = sync->correlation,
		.device = device,
		.to_device = device,
		.context = sync->context,
		.to_context = sync->context,
		.stream = sync->stream,
		.event_id = sync->event,
		.event_stream = (uint32_t)(event >> 32),
		.event_correlation_id = (uint32_t)event,
	};

	return push_work(reader, &work);
}

int agent_reader_finish(struct agent_reader *reader)
{
	size_t i;
	int err = 0;

	for (i = 0; i < reader->wait_count && !err; i++)
		err = push_wait(reader, &reader->waits[i]);
	reader->wait_count = 0;
	return err;
}

static int on_api(struct agent_reader *reader, const struct agent_api *api)
{
	struct device_call call = {
		.start_ns = api->start_ns,
		.end_ns = api->end_ns,
		.tid = reader->has_thread_ids ? api->thread : 0,
		.correlation_id = api->correlation,
		.callback_id = api->callback,
		.result = (int32_t)api->result,
		.is_driver = api->domain == AGENT_API_DRIVER,
	};

	if (!has_times(reader, &api->record, call.start_ns, call.end_ns))
		return 0;
	call.name = name_of(reader, api->name)->call;
	if (!call.name)
		call.name = add_name(reader, call.is_driver ? "(driver call)" : "(runtime call)",
				     SIZE_MAX);
	if (!call.name)
		return -ENOMEM;
	call.is_launch = device_call_is_launch(call.name);
	return reader->sink->call(reader->sink, &call);
}

static int on_overhead(struct agent_reader *reader, const struct agent_overhead *record)
{
	struct device_overhead overhead = {
		.start_ns = record->start_ns,
		.end_ns = record->end_ns,
		.kind = record->overhead,
		.tid = record->object == 2 ? record->ids[1] : 0,
	};

	if (!has_times(reader, &record->record, overhead.start_ns, overhead.end_ns))
		return 0;
	return reader->sink->overhead(reader->sink, &overhead);
}

/* Readers of a trace take the list for complete up to the highest number, so it is kept in order.
 */
static void on_device(struct agent_reader *reader, const struct agent_item *item)
{
	const struct agent_device *from = &item->any.device;
	struct device_properties *to;

	if (from->id >= DEVICES_MAX)
		return;
	while (reader->device_count <= from->id) {
		reader->devices[reader->device_count].id = (uint32_t)reader->device_count;
		reader->device_count++;
	}
	to = &reader->devices[from->id];
	*to = (struct device_properties){
		.memory_bytes = from->memory_bytes,
		.id = from->id,
		.compute_major = from->compute_major,
		.compute_minor = from->compute_minor,
		.threads_per_block_max = from->threads_per_block,
		.threads_per_multiprocessor_max = from->threads_per_multiprocessor,
		.registers_per_block = from->registers_per_block,
		.registers_per_multiprocessor = from->registers_per_multiprocessor,
		.warp_size = from->warp_size,
		.multiprocessors = from->multiprocessors,
		.shared_per_block_bytes = from->shared_per_block,
		.shared_per_multiprocessor_bytes = from->shared_per_multiprocessor,
		.shared_per_block_optin_bytes = from->shared_per_block_optin,
	};
	snprintf(to->name, sizeof(to->name), "%.*s", (int)item->text_bytes, item->text);
}

static void on_status(struct agent_reader *reader, const struct agent_item *item)
{
	char text[AGENT_TEXT_BYTES + 1], sentence[REMARK_BYTES];

	snprintf(text, sizeof(text), "%.*s", (int)item->text_bytes, item->text);
	reader->was_taken |= item->any.status.code == AGENT_STATUS_TAKEN;
	remark(reader, agent_status_text(sentence, sizeof(sentence), &item->any.status, text));
}

static int on_item(struct agent_reader *reader, const struct agent_item *item)
{
	switch (item->any.record.kind) {
	case AGENT_SESSION:
		reader->has_thread_ids = item->any.session.thread_ids == AGENT_THREAD_IDS_SYSTEM;
		return 0;
	case AGENT_DEVICE:
		on_device(reader, item);
		return 0;
	case AGENT_NAME:
		return on_name(reader, item);
	case AGENT_KERNEL:
		return on_kernel(reader, &item->any.kernel);
	case AGENT_MEMCPY:
		return on_memcpy(reader, &item->any.memcpy_);
	case AGENT_MEMSET:
		return on_memset(reader, &item->any.memset_);
	case AGENT_API:
		return on_api(reader, &item->any.api);
	case AGENT_SYNC:
		return on_sync(reader, &item->any.sync);
	case AGENT_EVENT:
		return on_event(reader, &item->any.event);
	case AGENT_OVERHEAD:
		return on_overhead(reader, &item->any.overhead);
	case AGENT_STATUS:
		on_status(reader, item);
		return 0;
	case AGENT_END:
		reader->has_ended = true;
		reader->has_hung |= item->any.end.reason == AGENT_END_HUNG;
		return 0;
	default:
		return 0;
	}
}

/* What was counted in the job only grows; a batch that says otherwise is not believed. */
static void take_counts(struct agent_reader *reader, const struct agent_batch *head)
{
	unsigned int cause;

	for (cause = 0; cause < AGENT_COUNT_CNT; cause++) {
		if (head->counts[cause] > reader->counts[cause])
			reader->counts[cause] = head->counts[cause];
	}
}

static void take_sequence(struct agent_reader *reader, const struct agent_batch *head)
{
	if (head->sequence > reader->next_sequence)
		reader->lost_batches += head->sequence - reader->next_sequence;
	if (head->sequence >= reader->next_sequence)
		reader->next_sequence = head->sequence + 1;
}

int agent_reader_batch(struct agent_reader *reader, const struct event *event)
{
	struct agent_batch_walk walk;
	struct agent_item item;
	int err = agent_batch_begin(&walk, event->agent->batch,
				    event->header->size - sizeof(struct wire_agent));

	if (err) {
		reader->lost_batches++;
		return 0;
	}
	if (!reader->has_session || walk.head.session != reader->session)
		begin_session(reader, &walk.head);
	take_sequence(reader, &walk.head);
	take_counts(reader, &walk.head);
	while (!err && agent_batch_next(&walk, &item))
		err = on_item(reader, &item);
	reader->lost_batches += walk.is_damaged;
	return err;
}

const struct device_properties *agent_reader_devices(const struct agent_reader *reader,
						     size_t *count)
{
	*count = reader->device_count;
	return reader->devices;
}

void agent_reader_give_up(struct agent_reader *reader)
{
	reader->is_given_up = true;
}

static void add_losses(const struct agent_reader *reader, struct summary *summary)
{
	summary->loss[LOSS_DEVICE_ENDED_EARLY] += reader->was_taken || reader->has_hung ||
						  (reader->has_session && !reader->has_ended);
	summary->loss[LOSS_DEVICE_TIME] += reader->untimed;
	summary->loss[LOSS_DEVICE_TABLE_FULL] += reader->dropped_waits;
	summary->loss[LOSS_DEVICE_DROPPED] += reader->lost_records + lost_in(reader);
	summary->loss[LOSS_DEVICE_BATCH] += reader->lost_batches;
}

static void remark_on_losses(struct agent_reader *reader)
{
	char text[REMARK_BYTES];

	if (reader->has_session && !reader->has_ended)
		remark(reader,
		       "the agent did not say that it was done: its last records are missing");
	if (reader->guessed) {
		snprintf(text, sizeof(text), "%" PRIu64 " times are less exact: a clock was set",
			 reader->guessed);
		remark(reader, text);
	}
	if (reader->nameless) {
		snprintf(text, sizeof(text), "%" PRIu64 " kernels or calls came without a name",
			 reader->nameless);
		remark(reader, text);
	}
}

void agent_reader_remark(struct agent_reader *reader, const char *text)
{
	remark(reader, text);
}

int agent_reader_summarize(struct agent_reader *reader, struct summary *summary)
{
	size_t i;

	if (!reader->is_given_up) {
		remark_on_losses(reader);
		add_losses(reader, summary);
	}
	for (i = 0; i < reader->remark_count; i++)
		reader->remark_texts[i] = reader->remarks[i].text;
	summary->device.remarks = reader->remark_texts;
	summary->device.remark_count = reader->remark_count;
	return 0;
}
