/* decode_fixture.h - a decoder, what it lets through, and a good record of each kind. */
#ifndef SUPPORT_DECODE_FIXTURE_H
#define SUPPORT_DECODE_FIXTURE_H

#include "support/test.h"

#include "agent_wire.h"
#include "ingest/any_record.h"
#include "ingest/decode.h"
#include "support/call_records.h"
#include "support/records.h"

struct fixture {
	struct event_sink sink;
	struct decoder *decoder;
	size_t count;
	enum wire_kind kind;	 /* of the last event */
	union any_record record; /* a copy of what the last event shows */
	int err;		 /* what the sink returns */
};

#define ALL_OF(kind, type)                                     \
	{                                                      \
		kind, sizeof(struct type), sizeof(struct type) \
	}
#define ENDS_INSIDE(kind, type, member)                                  \
	{                                                                \
		kind, sizeof(struct type), offsetof(struct type, member) \
	}

#define AGENT_BYTES (sizeof(struct wire_agent) + sizeof(struct agent_batch))

static const struct decode_kind {
	enum wire_kind kind;
	size_t size_bytes, smallest_bytes;
} kinds[] = {
	ALL_OF(WIRE_ATTEMPT, wire_attempt),
	ENDS_INSIDE(WIRE_RANGE_BEGIN, wire_range_begin, name),
	ALL_OF(WIRE_RANGE_END, wire_range_end),
	ALL_OF(WIRE_OP_BEGIN, wire_op),
	ALL_OF(WIRE_OP_END, wire_op),
	ALL_OF(WIRE_NODE_BEGIN, wire_node_begin),
	ALL_OF(WIRE_GUARD_END, wire_guard_end),
	ALL_OF(WIRE_FUNCTION_BEGIN, wire_function_begin),
	ENDS_INSIDE(WIRE_SYMBOL, wire_symbol, name),
	ALL_OF(WIRE_SEQUENCE, wire_sequence),
	ALL_OF(WIRE_MEMORY, wire_memory),
	ALL_OF(WIRE_MODULE, wire_module),
	ENDS_INSIDE(WIRE_SHAPES, wire_shapes, arguments),
	ALL_OF(WIRE_SESSION, wire_session),
	ALL_OF(WIRE_PROBE, wire_probe),
	ALL_OF(WIRE_THREAD, wire_thread),
	ALL_OF(WIRE_CLOCK, wire_clock),
	ENDS_INSIDE(WIRE_LOSS, wire_loss, count[LOSS_MODULE_DEPTH]),
	ALL_OF(WIRE_STOP, wire_stop_record),
	ALL_OF(WIRE_PROBES, wire_probes),
	ALL_OF(WIRE_OPERATOR, wire_operator),
	ALL_OF(WIRE_MODE, wire_mode_record),
	ALL_OF(WIRE_COST, wire_cost),
	{ WIRE_AGENT, AGENT_BYTES, AGENT_BYTES }, /* and any batch */
	ALL_OF(WIRE_DEVICE, wire_device),
	ALL_OF(WIRE_RINGS, wire_rings),
	ALL_OF(WIRE_HOLE, wire_hole),
};

static inline size_t size_of_kind(enum wire_kind kind)
{
	size_t i;

	for (i = 0; i < COUNT_OF(kinds); i++) {
		if (kinds[i].kind == kind)
			return kinds[i].size_bytes;
	}
	return 0;
}

static inline int on_event(struct event_sink *sink, const struct event *event)
{
	struct fixture *fixture = container_of(sink, struct fixture, sink);

	fixture->count++;
	fixture->kind = event->kind;
	memcpy(&fixture->record, event->header, size_of_kind(event->kind));
	return fixture->err;
}

static inline int decode_setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->sink.event = on_event;
	*state = fixture;
	return decoder_new(&fixture->decoder, &fixture->sink);
}

static inline int decode_teardown(void **state)
{
	struct fixture *fixture = *state;

	decoder_free(fixture->decoder);
	free(fixture);
	return 0;
}

/* Through a buffer of exactly that size, so that a checker sees a byte too many. */
static inline int feed(struct fixture *fixture, const void *bytes, size_t size_bytes)
{
	struct record_sink *sink = decoder_sink(fixture->decoder);
	void *copy = malloc(size_bytes ? size_bytes : 1);
	int err;

	assert_non_null(copy);
	memcpy(copy, bytes, size_bytes);
	err = sink->record(sink, copy, size_bytes);
	free(copy);
	return err;
}

#define assert_rejected(fixture, bytes, size)                                          \
	do {                                                                           \
		uint64_t rejected_ = decoder_rejected((fixture)->decoder);             \
		size_t count_ = (fixture)->count;                                      \
		assert_int_equal(feed(fixture, bytes, size), 0);                       \
		assert_int_equal(decoder_rejected((fixture)->decoder), rejected_ + 1); \
		assert_int_equal((fixture)->count, count_);                            \
	} while (0)

#define assert_accepted(fixture, bytes, size)                    \
	do {                                                     \
		size_t before_ = (fixture)->count;               \
		assert_int_equal(feed(fixture, bytes, size), 0); \
		assert_int_equal((fixture)->count, before_ + 1); \
	} while (0)

/* A good record of each kind. */
static inline union any_record good_record(enum wire_kind kind)
{
	union any_record record = { .header = { 0 } };

	memset(&record, 0, sizeof(record));
	if (kind == WIRE_ATTEMPT)
		record.attempt = record_attempt(100, 7, 3, PHASE_WAIT, PHASE_WARMUP);
	else if (kind == WIRE_RANGE_BEGIN)
		record.range_begin = record_begin(100, 7, 0x7f00, "forward");
	else if (kind == WIRE_SYMBOL)
		record.symbol = record_symbol(SYMBOL_PYTHON, 0x7f00, "FnBackward");
	else if (kind == WIRE_SHAPES)
		record.shapes = record_shapes(100, 7, 3, 2);
	else if (kind == WIRE_OPERATOR)
		record.operator_ = record_operator(3, "aten::add", "Tensor");
	else if (kind == WIRE_SESSION)
		record.session = record_session(100);
	else if (kind == WIRE_STOP)
		record.stop = record_stop(100, STOP_TIMEOUT);
	else if (kind == WIRE_HOLE)
		record.hole = (struct wire_hole){
			.header = record_header(kind, sizeof(record.hole), 7, 100), .last_ns = 120
		};
	else
		record.header = record_header(kind, size_of_kind(kind), 7, 100);
	return record;
}

#endif /* SUPPORT_DECODE_FIXTURE_H */
