/*
 * decode.c - see decode.h. A record is copied into an aligned buffer as large as the largest kind,
 * its unused tail zeroed and its strings ended, so that an event can be used without further
 * checks. A record may be longer than this version knows: fields are only ever appended.
 */
#include "ingest/decode.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

union record {
	struct wire_header header;
	struct wire_attempt attempt;
	struct wire_range_begin range_begin;
	struct wire_range_end range_end;
	struct wire_session session;
	struct wire_probe probe;
	struct wire_thread thread;
	struct wire_clock clock;
	struct wire_loss loss;
	struct wire_stop_record stop;
	struct wire_probes probes;
};

struct decoder {
	struct record_sink sink;
	struct event_sink *next;
	union record record;
	uint64_t rejected, unknown_kinds;
};

#define END_STRING(array) ((array)[sizeof(array) - 1] = 0)

static bool check_attempt(union record *record)
{
	const struct wire_attempt *attempt = &record->attempt;

	return attempt->phase < PHASE_CNT && attempt->next_phase < PHASE_CNT &&
	       attempt->outcome < OUTCOME_CNT;
}

static bool check_range_begin(union record *record)
{
	struct wire_range_begin *begin = &record->range_begin;

	if (begin->name_size >= sizeof(begin->name) || begin->range > RANGE_REGION)
		return false;
	begin->name[begin->name_size] = 0;
	return true;
}

static bool check_session(union record *record)
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
	return session->abi == WIRE_ABI;
}

static bool check_probe(union record *record)
{
	END_STRING(record->probe.point);
	END_STRING(record->probe.library);
	END_STRING(record->probe.site);
	END_STRING(record->probe.cost);
	return true;
}

static bool check_thread(union record *record)
{
	END_STRING(record->thread.name);
	return true;
}

/* Times past this are damage; it keeps sums of them from overflowing. */
#define TIME_MAX_NS (1ULL << 62)

static bool check_clock(union record *record)
{
	int64_t offset_ns = record->clock.real_offset_ns;

	return offset_ns < (int64_t)TIME_MAX_NS && offset_ns > -(int64_t)TIME_MAX_NS;
}

static bool check_stop(union record *record)
{
	return record->stop.reason > STOP_NONE && record->stop.reason < STOP_CNT;
}

static const struct kind {
	size_t size_min_bytes;
	bool (*check)(union record *record); /* NULL: the size is all */
} kinds[] = {
	[WIRE_ATTEMPT] = { sizeof(struct wire_attempt), check_attempt },
	[WIRE_RANGE_BEGIN] = { offsetof(struct wire_range_begin, name), check_range_begin },
	[WIRE_RANGE_END] = { sizeof(struct wire_range_end), NULL },
	[WIRE_SESSION] = { sizeof(struct wire_session), check_session },
	[WIRE_PROBE] = { sizeof(struct wire_probe), check_probe },
	[WIRE_THREAD] = { sizeof(struct wire_thread), check_thread },
	[WIRE_CLOCK] = { sizeof(struct wire_clock), check_clock },
	[WIRE_LOSS] = { sizeof(struct wire_loss), NULL },
	[WIRE_PROBES] = { sizeof(struct wire_probes), NULL },
	[WIRE_STOP] = { sizeof(struct wire_stop_record), check_stop },
};

static const struct kind *kind_of(const struct wire_header *header)
{
	if (header->kind >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[header->kind].size_min_bytes)
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

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct decoder *decoder = container_of(sink, struct decoder, sink);
	union record *record = &decoder->record;
	const struct kind *kind;
	struct wire_header header;
	size_t copied;

	if (size_bytes < sizeof(header))
		return reject(decoder);
	memcpy(&header, bytes, sizeof(header));
	if (header.kind == WIRE_WAKE)
		return 0;
	kind = kind_of(&header);
	if (!kind) {
		decoder->unknown_kinds++;
		return 0;
	}
	if (header.size > size_bytes || header.size < kind->size_min_bytes ||
	    header.time_ns > TIME_MAX_NS)
		return reject(decoder);
	copied = header.size < sizeof(*record) ? header.size : sizeof(*record);
	memcpy(record, bytes, copied);
	memset((char *)record + copied, 0, sizeof(*record) - copied);
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
