/* records.h - builds the records of wire.h, and events that look at them. */
#ifndef SUPPORT_RECORDS_H
#define SUPPORT_RECORDS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "model/event.h"
#include "wire.h"

static inline struct wire_header record_header(enum wire_kind kind, size_t size_bytes, uint32_t tid,
					       uint64_t time_ns)
{
	return (struct wire_header){
		.size = (uint32_t)size_bytes,
		.kind = (uint16_t)kind,
		.tid = tid,
		.time_ns = time_ns,
	};
}

/* header.size ends behind the name, as BPF writes it. */
static inline struct wire_range_begin record_begin(uint64_t time_ns, uint32_t tid, uint64_t object,
						   const char *name)
{
	struct wire_range_begin record = { .object = object, .name_size = (uint16_t)strlen(name) };

	record.header = record_header(
		WIRE_RANGE_BEGIN, offsetof(struct wire_range_begin, name) + record.name_size + 1,
		tid, time_ns);
	memcpy(record.name, name, record.name_size);
	return record;
}

static inline struct wire_range_end record_end(uint64_t time_ns, uint32_t tid, uint64_t object)
{
	return (struct wire_range_end){
		.header =
			record_header(WIRE_RANGE_END, sizeof(struct wire_range_end), tid, time_ns),
		.object = object,
	};
}

static inline struct wire_attempt record_attempt(uint64_t time_ns, uint32_t tid, uint32_t index,
						 enum wire_phase phase, enum wire_phase next_phase)
{
	return (struct wire_attempt){
		.header = record_header(WIRE_ATTEMPT, sizeof(struct wire_attempt), tid, time_ns),
		.index = index,
		.phase = (uint8_t)phase,
		.next_phase = (uint8_t)next_phase,
		.outcome = OUTCOME_APPLIED,
	};
}

static inline struct wire_session record_session(uint64_t time_ns)
{
	struct wire_session record = {
		.header = record_header(WIRE_SESSION, sizeof(record), 0, time_ns),
		.abi = WIRE_ABI,
		.session_id = "00000000-0000-4000-8000-000000000001",
		.tool_version = "0.0.0",
		.tool_command_line = "tpbpf -p 42",
		.plan = { .wait = 2, .warmup = 1, .active = 3, .repeat = 1, .step_source = "auto" },
		.job = { .pid = 4242,
			 .namespace_pid = 42,
			 .rank = WIRE_RANK_UNKNOWN,
			 .local_rank = WIRE_RANK_UNKNOWN,
			 .world_size = WIRE_RANK_UNKNOWN,
			 .host = "node-1",
			 .process_name = "python3",
			 .torch_version = "2.4.1+cpu",
			 .python_version = "3.11",
			 .command_line = "python3 train.py" },
	};

	return record;
}

static inline struct wire_clock record_clock(uint64_t time_ns, int64_t real_offset_ns)
{
	return (struct wire_clock){
		.header = record_header(WIRE_CLOCK, sizeof(struct wire_clock), 0, time_ns),
		.real_offset_ns = real_offset_ns,
	};
}

static inline struct wire_thread record_thread(uint64_t time_ns, uint32_t tid, const char *name)
{
	struct wire_thread record = {
		.header = record_header(WIRE_THREAD, sizeof(record), tid, time_ns),
	};

	snprintf(record.name, sizeof(record.name), "%s", name);
	return record;
}

static inline struct wire_stop_record record_stop(uint64_t time_ns, enum wire_stop reason)
{
	return (struct wire_stop_record){
		.header = record_header(WIRE_STOP, sizeof(struct wire_stop_record), 0, time_ns),
		.reason = reason,
	};
}

/* An event as the decoder passes it on; the record must outlive it. */
static inline struct event event_of(const void *record)
{
	const struct wire_header *header = record;

	return (struct event){
		.kind = (enum wire_kind)header->kind,
		.header = header,
		.session = record,
	};
}

#endif /* SUPPORT_RECORDS_H */
