/* call_records.h - builds the records of operators, nodes, memory and what describes them. */
#ifndef SUPPORT_CALL_RECORDS_H
#define SUPPORT_CALL_RECORDS_H

#include "support/records.h"

static inline struct wire_header call_header(enum wire_kind kind, size_t size_bytes, uint32_t tid,
					     uint64_t time_ns, uint32_t subject)
{
	struct wire_header header = record_header(kind, size_bytes, tid, time_ns);

	header.subject = subject;
	return header;
}

/* kind: WIRE_OP_BEGIN or WIRE_OP_END. */
static inline struct wire_op record_op(enum wire_kind kind, uint64_t time_ns, uint32_t tid,
				       uint32_t index, uint64_t sp)
{
	return (struct wire_op){
		.header = call_header(kind, sizeof(struct wire_op), tid, time_ns, index),
		.sp = sp,
	};
}

static inline struct wire_node_begin record_node(uint64_t time_ns, uint32_t tid, uint64_t sp,
						 uint64_t type, uint64_t sequence,
						 uint64_t thread_number)
{
	return (struct wire_node_begin){
		.header = record_header(WIRE_NODE_BEGIN, sizeof(struct wire_node_begin), tid,
					time_ns),
		.sp = sp,
		.type = type,
		.sequence = sequence,
		.thread_number = thread_number,
	};
}

static inline struct wire_guard_end record_guard(uint64_t time_ns, uint32_t tid, uint64_t sp,
						 uint64_t object)
{
	return (struct wire_guard_end){
		.header =
			record_header(WIRE_GUARD_END, sizeof(struct wire_guard_end), tid, time_ns),
		.sp = sp,
		.object = object,
	};
}

static inline struct wire_function_begin record_function(uint64_t time_ns, uint32_t tid,
							 enum wire_function function, uint64_t sp,
							 uint64_t type)
{
	return (struct wire_function_begin){
		.header = call_header(WIRE_FUNCTION_BEGIN, sizeof(struct wire_function_begin), tid,
				      time_ns, function),
		.sp = sp,
		.type = type,
	};
}

/* header.size ends behind the name, as BPF writes it. */
static inline struct wire_symbol record_symbol(enum wire_symbol_kind kind, uint64_t type,
					       const char *name)
{
	struct wire_symbol record = { .type = type, .name_size = (uint16_t)strlen(name) };

	record.header = call_header(
		WIRE_SYMBOL, offsetof(struct wire_symbol, name) + record.name_size + 1, 0, 1, kind);
	memcpy(record.name, name, record.name_size);
	return record;
}

static inline struct wire_sequence record_sequence(uint64_t time_ns, uint32_t tid,
						   uint64_t thread_number, uint64_t sequence,
						   uint64_t sp)
{
	return (struct wire_sequence){
		.header = call_header(WIRE_SEQUENCE, sizeof(struct wire_sequence), tid, time_ns,
				      SEQUENCE_TAKEN),
		.thread_number = thread_number,
		.sequence = sequence,
		.sp = sp,
	};
}

/* object and type: of a beginning alone. */
static inline struct wire_module record_module(uint64_t time_ns, uint32_t tid,
					       enum wire_module_kind kind, uint32_t depth,
					       uint64_t object, uint64_t type)
{
	return (struct wire_module){
		.header = call_header(WIRE_MODULE, sizeof(struct wire_module), tid, time_ns, kind),
		.object = object,
		.type = type,
		.depth = depth,
	};
}

/* Of the CPU. */
static inline struct wire_memory record_memory(uint64_t time_ns, uint32_t tid,
					       enum wire_memory_action action, uint64_t sp,
					       uint64_t address, int64_t size_bytes)
{
	return (struct wire_memory){
		.header =
			call_header(WIRE_MEMORY, sizeof(struct wire_memory), tid, time_ns, action),
		.sp = sp,
		.address = address,
		.size_bytes = size_bytes,
	};
}

static inline struct wire_operator record_operator(uint32_t index, const char *name,
						   const char *overload)
{
	struct wire_operator record = {
		.header = call_header(WIRE_OPERATOR, sizeof(record), 0, 1, index),
		.entry_site = 1,
		.exit_site = 1,
	};

	snprintf(record.name, sizeof(record.name), "%s", name);
	snprintf(record.overload, sizeof(record.overload), "%s", overload);
	return record;
}

static inline struct wire_mode_record record_mode(uint32_t subject, enum wire_mode mode,
						  uint64_t duration_ns, uint32_t inner_events)
{
	return (struct wire_mode_record){
		.header = call_header(WIRE_MODE, sizeof(struct wire_mode_record), 0, 1, subject),
		.mode = (uint8_t)mode,
		.inner_events = inner_events,
		.duration_ns = duration_ns,
		.numbered_duration_ns = duration_ns,
	};
}

/* count arguments without a tensor. header.size ends behind the last one, as BPF writes it. */
static inline struct wire_shapes record_shapes(uint64_t time_ns, uint32_t tid, uint32_t index,
					       uint8_t count)
{
	return (struct wire_shapes){
		.header = call_header(WIRE_SHAPES,
				      offsetof(struct wire_shapes, arguments) +
					      count * sizeof(struct wire_argument),
				      tid, time_ns, index),
		.count = count,
	};
}

#endif /* SUPPORT_CALL_RECORDS_H */
