/* agent_batches.h - batches as the agent packs them. */
#ifndef SUPPORT_AGENT_BATCHES_H
#define SUPPORT_AGENT_BATCHES_H

#include "support/test.h"

#include "agent_wire.h"
#include "model/event.h"

struct packed {
	/* The head of the event stands before the batch, as in the stream. */
	_Alignas(8) unsigned char bytes[sizeof(struct wire_agent) + AGENT_BATCH_BYTES];
	size_t size_bytes; /* of the batch */
};

static inline struct agent_batch *packed_head(struct packed *packed)
{
	return (struct agent_batch *)(void *)(packed->bytes + sizeof(struct wire_agent));
}

static inline void packed_begin(struct packed *packed, uint64_t session, uint64_t sequence)
{
	memset(packed->bytes, 0, sizeof(struct wire_agent) + sizeof(struct agent_batch));
	packed->size_bytes = sizeof(struct agent_batch);
	*packed_head(packed) = (struct agent_batch){
		.magic = AGENT_MAGIC,
		.version = AGENT_VERSION,
		.header_size = sizeof(struct agent_batch),
		.size = sizeof(struct agent_batch),
		.session = session,
		.sequence = sequence,
	};
}

static inline void *packed_add(struct packed *packed, enum agent_kind kind, size_t size_bytes,
			       const char *text)
{
	size_t text_bytes = text ? strlen(text) : 0;
	size_t whole = (size_bytes + text_bytes + 7) / 8 * 8;
	unsigned char *record = packed->bytes + sizeof(struct wire_agent) + packed->size_bytes;
	struct agent_record head = { .kind = (uint16_t)kind, .size = (uint16_t)whole };

	assert_true(packed->size_bytes + whole <= AGENT_BATCH_BYTES);
	memset(record, 0, whole);
	memcpy(record, &head, sizeof(head));
	if (text)
		memcpy(record + size_bytes, text, text_bytes);
	packed->size_bytes += whole;
	packed_head(packed)->size = (uint32_t)packed->size_bytes;
	packed_head(packed)->record_count++;
	return record;
}

static inline void packed_name(struct packed *packed, uint32_t id, const char *text)
{
	struct agent_name *name = packed_add(packed, AGENT_NAME, sizeof(*name), text);

	name->id = id;
	name->name_size = (uint16_t)strlen(text);
}

static inline struct agent_kernel *packed_kernel(struct packed *packed, uint32_t name,
						 uint64_t start_ns, uint64_t end_ns)
{
	struct agent_kernel *kernel = packed_add(packed, AGENT_KERNEL, sizeof(*kernel), NULL);

	kernel->name = name;
	kernel->start_ns = start_ns;
	kernel->end_ns = end_ns;
	kernel->correlation = 77;
	kernel->stream = 7;
	return kernel;
}

/* The event that it comes in. */
static inline struct event packed_event(struct packed *packed)
{
	struct wire_agent *agent = (struct wire_agent *)(void *)packed->bytes;

	agent->header = (struct wire_header){
		.size = (uint32_t)(sizeof(*agent) + packed->size_bytes),
		.kind = WIRE_AGENT,
		.time_ns = 1,
	};
	return (struct event){ .kind = WIRE_AGENT, .header = &agent->header, .agent = agent };
}

#endif /* SUPPORT_AGENT_BATCHES_H */
