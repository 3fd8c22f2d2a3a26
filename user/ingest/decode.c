/*
 * decode.c - see decode.h. A record is copied into an aligned buffer, what it has less than its
 * kind can have is zeroed and its strings are ended, so that an event can be used without further
 * checks. A record may be longer than this version knows: fields are only ever appended. Nearly all
 * records are small ones of operators: no more bytes are touched than the kind has.
 */
#include "ingest/decode.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "agent_wire.h"
#include "ingest/any_record.h"

/* A batch is as large as it is, and most captures have none: it gets its own room. */
#define BATCH_BYTES (sizeof(struct wire_agent) + AGENT_BATCH_BYTES)

struct decoder {
	struct record_sink sink;
	struct event_sink *next;
	union any_record record;
	struct wire_agent *agent; /* NULL: none came yet */
	uint64_t rejected, unknown_kinds;
};

#define END_STRING(array) ((array)[sizeof(array) - 1] = 0)

static bool check_attempt(union any_record *record)
{
	const struct wire_attempt *attempt = &record->attempt;

	/* At no time is no boundary: 0 stands for what is not known. */
	return attempt->header.time_ns && attempt->phase < PHASE_CNT &&
	       attempt->next_phase < PHASE_CNT && attempt->outcome < OUTCOME_CNT &&
	       attempt->boundary < BOUNDARY_CNT;
}

static bool check_range_begin(union any_record *record)
{
	struct wire_range_begin *begin = &record->range_begin;

	if (begin->name_size >= sizeof(begin->name) || begin->range > RANGE_REGION)
		return false;
	begin->name[begin->name_size] = 0;
	return true;
}

static bool check_session(union any_record *record)
{
	struct wire_session *session = &record->session;

	END_STRING(session->session_id);
	END_STRING(session->tool_version);
	END_STRING(session->tool_command_line);
	END_STRING(session->plan.step_source);
	END_STRING(session->job.host);
	END_STRING(session->job.process_name);
	END_STRING(session->job.torch_version);
	END_STRING(session->job.python_version);
	END_STRING(session->job.cuda_version);
	END_STRING(session->job.command_line);
	return session->abi == WIRE_ABI && session->attached < ATTACHED_CNT;
}

static bool check_probe(union any_record *record)
{
	END_STRING(record->probe.point);
	END_STRING(record->probe.library);
	END_STRING(record->probe.site);
	END_STRING(record->probe.cost);
	return true;
}

static bool check_thread(union any_record *record)
{
	END_STRING(record->thread.name);
	return true;
}

/* Times past this are damage; it keeps sums of them from overflowing. */
#define TIME_MAX_NS (1ULL << 62)

static bool check_clock(union any_record *record)
{
	int64_t offset_ns = record->clock.real_offset_ns;

	return offset_ns < (int64_t)TIME_MAX_NS && offset_ns > -(int64_t)TIME_MAX_NS;
}

static bool check_stop(union any_record *record)
{
	return record->stop.reason > STOP_NONE && record->stop.reason < STOP_CNT;
}

static bool check_function(union any_record *record)
{
	return record->header.subject < FUNCTION_CNT;
}

static bool check_symbol(union any_record *record)
{
	struct wire_symbol *symbol = &record->symbol;

	if (symbol->header.subject >= SYMBOL_CNT || symbol->name_size >= sizeof(symbol->name))
		return false;
	symbol->name[symbol->name_size] = 0;
	return true;
}

static bool check_sequence(union any_record *record)
{
	return record->header.subject < SEQUENCE_CNT;
}

static bool check_module(union any_record *record)
{
	return record->header.subject < MODULE_CNT;
}

/* More than an address space holds is damage, except where it was asked for in vain. */
#define BLOCK_MAX_BYTES (1LL << 48)

static bool check_memory(union any_record *record)
{
	int64_t size_bytes = record->memory.size_bytes;

	return record->header.subject < MEMORY_CNT &&
	       (record->header.subject == MEMORY_OUT ||
		(size_bytes <= BLOCK_MAX_BYTES && size_bytes >= -BLOCK_MAX_BYTES));
}

static bool check_shapes(union any_record *record)
{
	const struct wire_shapes *shapes = &record->shapes;
	size_t i;

	if (shapes->count > SHAPES_ARGUMENTS_MAX ||
	    shapes->header.size < offsetof(struct wire_shapes, arguments) +
					  shapes->count * sizeof(shapes->arguments[0]))
		return false;
	for (i = 0; i < shapes->count; i++) {
		if (shapes->arguments[i].kind >= ARGUMENT_CNT)
			return false;
	}
	return true;
}

static bool check_operator(union any_record *record)
{
	struct wire_operator *operator_ = &record->operator_;

	END_STRING(operator_->name);
	END_STRING(operator_->overload);
	return operator_->name[0] && operator_->entry_site <= COST_KINDS &&
	       operator_->exit_site <= COST_KINDS && operator_->domain < CALL_DOMAIN_CNT;
}

static bool check_mode(union any_record *record)
{
	const struct wire_mode_record *mode = &record->mode;

	return mode->mode < MODE_CNT && mode->duration_ns <= TIME_MAX_NS &&
	       mode->numbered_duration_ns <= TIME_MAX_NS && mode->learned_ns <= TIME_MAX_NS &&
	       mode->cost_ns <= TIME_MAX_NS && mode->cost_exact_ns <= TIME_MAX_NS;
}

/* Of one hit; so bounded, the sum of more hits than a capture can hold does not overflow. */
#define HIT_MAX_NS 1000000000ULL

static bool check_cost(union any_record *record)
{
	const struct wire_cost *cost = &record->cost;
	size_t i;

	for (i = 0; i < COST_KINDS; i++) {
		if (cost->hit_ns[i] > HIT_MAX_NS)
			return false;
	}
	return cost->predicted_added_ns <= TIME_MAX_NS && cost->exact_added_ns <= TIME_MAX_NS &&
	       cost->attempt_ns <= TIME_MAX_NS;
}

static bool check_device(union any_record *record)
{
	END_STRING(record->device.reason);
	return record->device.watch < DEVICE_WATCH_CNT;
}

static bool check_hole(union any_record *record)
{
	const struct wire_hole *hole = &record->hole;

	return hole->last_ns >= hole->header.time_ns && hole->last_ns <= TIME_MAX_NS;
}

#define ALL_OF(type) sizeof(struct type), sizeof(struct type)
#define ENDS_INSIDE(type, member) offsetof(struct type, member), sizeof(struct type)

static const struct kind {
	uint32_t size_min_bytes, size_bytes;	 /* as this version knows it */
	bool (*check)(union any_record *record); /* NULL: the size is all */
} kinds[] = {
	[WIRE_ATTEMPT] = { ALL_OF(wire_attempt), check_attempt },
	[WIRE_RANGE_BEGIN] = { ENDS_INSIDE(wire_range_begin, name), check_range_begin },
	[WIRE_RANGE_END] = { ALL_OF(wire_range_end), NULL },
	[WIRE_OP_BEGIN] = { ALL_OF(wire_op), NULL },
	[WIRE_OP_END] = { ALL_OF(wire_op), NULL },
	[WIRE_NODE_BEGIN] = { ALL_OF(wire_node_begin), NULL },
	[WIRE_GUARD_END] = { ALL_OF(wire_guard_end), NULL },
	[WIRE_FUNCTION_BEGIN] = { ALL_OF(wire_function_begin), check_function },
	[WIRE_SYMBOL] = { ENDS_INSIDE(wire_symbol, name), check_symbol },
	[WIRE_SEQUENCE] = { ALL_OF(wire_sequence), check_sequence },
	[WIRE_MEMORY] = { ALL_OF(wire_memory), check_memory },
	[WIRE_MODULE] = { ALL_OF(wire_module), check_module },
	[WIRE_SHAPES] = { ENDS_INSIDE(wire_shapes, arguments), check_shapes },
	[WIRE_SESSION] = { ALL_OF(wire_session), check_session },
	[WIRE_PROBE] = { ALL_OF(wire_probe), check_probe },
	[WIRE_THREAD] = { ALL_OF(wire_thread), check_thread },
	[WIRE_CLOCK] = { ALL_OF(wire_clock), check_clock },
	[WIRE_LOSS] = { ENDS_INSIDE(wire_loss, count[LOSS_MODULE_DEPTH]), NULL },
	[WIRE_STOP] = { ALL_OF(wire_stop_record), check_stop },
	[WIRE_PROBES] = { ALL_OF(wire_probes), NULL },
	[WIRE_OPERATOR] = { ALL_OF(wire_operator), check_operator },
	[WIRE_MODE] = { ALL_OF(wire_mode_record), check_mode },
	[WIRE_COST] = { ALL_OF(wire_cost), check_cost },
	[WIRE_DEVICE] = { ALL_OF(wire_device), check_device },
	[WIRE_RINGS] = { ALL_OF(wire_rings), NULL },
	[WIRE_HOLE] = { ALL_OF(wire_hole), check_hole },
};

static const struct kind *kind_of(const struct wire_header *header)
{
	if (header->kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[header->kind].size_bytes)
		return NULL;
	return &kinds[header->kind];
}

static int pass_on(struct decoder *decoder)
{
	struct event event = {
		.kind = (enum wire_kind)decoder->record.header.kind,
		.header = &decoder->record.header,
		.session = &decoder->record.session, /* any member: all stand at the same place */
	};

	return decoder->next->event(decoder->next, &event);
}

static int reject(struct decoder *decoder)
{
	decoder->rejected++;
	return 0;
}

/* What is in it is checked by who reads it: agent_batch.h. */
static int on_agent(struct decoder *decoder, const struct wire_header *header, const void *bytes,
		    size_t size_bytes)
{
	struct event event = { .kind = WIRE_AGENT };

	if (header->size > size_bytes || header->size > BATCH_BYTES ||
	    header->size < sizeof(struct wire_agent) + sizeof(struct agent_batch) ||
	    header->time_ns > TIME_MAX_NS)
		return reject(decoder);
	if (!decoder->agent)
		decoder->agent = malloc(BATCH_BYTES);
	if (!decoder->agent)
		return -ENOMEM;
	memcpy(decoder->agent, bytes, header->size);
	event.header = &decoder->agent->header;
	event.agent = decoder->agent;
	return decoder->next->event(decoder->next, &event);
}

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct decoder *decoder = container_of(sink, struct decoder, sink);
	union any_record *record = &decoder->record;
	const struct kind *kind;
	struct wire_header header;
	size_t copied;

	if (size_bytes < sizeof(header))
		return reject(decoder);
	memcpy(&header, bytes, sizeof(header));
	if (header.kind == WIRE_WAKE)
		return 0;
	if (header.kind == WIRE_AGENT)
		return on_agent(decoder, &header, bytes, size_bytes);
	kind = kind_of(&header);
	if (!kind) {
		decoder->unknown_kinds++;
		return 0;
	}
	if (header.size > size_bytes || header.size < kind->size_min_bytes ||
	    header.time_ns > TIME_MAX_NS)
		return reject(decoder);
	copied = header.size < kind->size_bytes ? header.size : kind->size_bytes;
	memcpy(record, bytes, copied);
	if (copied < kind->size_bytes)
		memset((char *)record + copied, 0, kind->size_bytes - copied);
	if (kind->check && !kind->check(record))
		return reject(decoder);
	return pass_on(decoder);
}

int decoder_new(struct decoder **out, struct event_sink *next)
{
	struct decoder *decoder = calloc(1, sizeof(*decoder));

	if (!decoder)
		return -ENOMEM;
	decoder->sink.record = on_record;
	decoder->next = next;
	*out = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (decoder)
		free(decoder->agent);
	free(decoder);
}

struct record_sink *decoder_sink(struct decoder *decoder)
{
	return &decoder->sink;
}

uint64_t decoder_rejected(const struct decoder *decoder)
{
	return decoder->rejected;
}

uint64_t decoder_unknown_kinds(const struct decoder *decoder)
{
	return decoder->unknown_kinds;
}
