/* call_fixture.h - calls.c among its real neighbours, and what comes out of it. */
#ifndef SUPPORT_CALL_FIXTURE_H
#define SUPPORT_CALL_FIXTURE_H

#include "analyze/calls.h"
#include "support/call_records.h"
#include "support/span_recorder.h"
#include "support/test.h"

#define CALL_FIXTURE_MARKS_MAX 16
#define CALL_FIXTURE_RANGES_MAX 64

struct call_fixture {
	struct name_table *names;
	struct span_recorder out;
	struct mark_sink marks;
	struct flow flows[CALL_FIXTURE_MARKS_MAX]; /* the first ones; the same below */
	size_t flow_count;
	struct memory_event memory[CALL_FIXTURE_MARKS_MAX];
	size_t memory_count;
	struct spans *spans;
	struct symbols *symbols;
	struct forward_links *links;
	struct allocations *allocations;
	struct learned *learned;
	struct calls *calls;
	bool is_active; /* of what is fed */
	uint32_t tid;	/* the same */
};

static inline int call_fixture_flow(struct mark_sink *sink, const struct flow *flow)
{
	struct call_fixture *fixture = container_of(sink, struct call_fixture, marks);

	if (fixture->flow_count < CALL_FIXTURE_MARKS_MAX)
		fixture->flows[fixture->flow_count] = *flow;
	fixture->flow_count++;
	return 0;
}

static inline int call_fixture_memory(struct mark_sink *sink, const struct memory_event *memory)
{
	struct call_fixture *fixture = container_of(sink, struct call_fixture, marks);

	if (fixture->memory_count < CALL_FIXTURE_MARKS_MAX)
		fixture->memory[fixture->memory_count] = *memory;
	fixture->memory_count++;
	return 0;
}

/* next NULL: fixture->out. */
static inline int call_fixture_init(struct call_fixture *fixture, struct span_sink *next)
{
	struct calls_parts parts = { .marks = &fixture->marks };

	memset(fixture, 0, sizeof(*fixture));
	span_recorder_init(&fixture->out);
	fixture->marks.flow = call_fixture_flow;
	fixture->marks.memory = call_fixture_memory;
	fixture->is_active = true;
	fixture->tid = 7;
	if (name_table_new(&fixture->names, 1000) ||
	    spans_new(&fixture->spans, fixture->names, next ? next : &fixture->out.sink,
		      CALL_FIXTURE_RANGES_MAX) ||
	    symbols_new(&fixture->symbols, fixture->names) ||
	    forward_links_new(&fixture->links, &fixture->marks) ||
	    allocations_new(&fixture->allocations, 10000) || learned_new(&fixture->learned))
		return -1;
	parts.spans = fixture->spans;
	parts.symbols = fixture->symbols;
	parts.forward_links = fixture->links;
	parts.allocations = fixture->allocations;
	parts.learned = fixture->learned;
	return calls_new(&fixture->calls, &parts);
}

static inline void call_fixture_fini(struct call_fixture *fixture)
{
	calls_free(fixture->calls);
	learned_free(fixture->learned);
	allocations_free(fixture->allocations);
	forward_links_free(fixture->links);
	symbols_free(fixture->symbols);
	spans_free(fixture->spans);
	name_table_free(fixture->names);
}

/* A record to whom the pipeline would give it; what that returns. */
static inline int call_fixture_try(struct call_fixture *fixture, const void *record)
{
	struct event event = event_of(record);

	switch (event.kind) {
	case WIRE_RANGE_BEGIN:
		return spans_begin(fixture->spans, &event);
	case WIRE_RANGE_END:
		return spans_end(fixture->spans, &event);
	case WIRE_OPERATOR:
		return symbols_operator(fixture->symbols, &event);
	case WIRE_SYMBOL:
		return symbols_symbol(fixture->symbols, &event);
	default:
		return calls_event(fixture->calls, &event, fixture->is_active);
	}
}

static inline void call_fixture_feed(struct call_fixture *fixture, const void *record)
{
	assert_int_equal(call_fixture_try(fixture, record), 0);
}

static inline void range_begin(struct call_fixture *fixture, uint64_t time_ns, uint64_t object,
			       const char *name)
{
	struct wire_range_begin record = record_begin(time_ns, fixture->tid, object, name);

	call_fixture_feed(fixture, &record);
}

static inline void range_end(struct call_fixture *fixture, uint64_t time_ns, uint64_t object)
{
	struct wire_range_end record = record_end(time_ns, fixture->tid, object);

	call_fixture_feed(fixture, &record);
}

static inline void op_begin(struct call_fixture *fixture, uint64_t time_ns, uint32_t index,
			    uint64_t sp)
{
	struct wire_op record = record_op(WIRE_OP_BEGIN, time_ns, fixture->tid, index, sp);

	call_fixture_feed(fixture, &record);
}

static inline void op_end(struct call_fixture *fixture, uint64_t time_ns, uint32_t index,
			  uint64_t sp)
{
	struct wire_op record = record_op(WIRE_OP_END, time_ns, fixture->tid, index, sp);

	call_fixture_feed(fixture, &record);
}

static inline void node_begin(struct call_fixture *fixture, uint64_t time_ns, uint64_t sp,
			      uint64_t type, uint64_t sequence)
{
	struct wire_node_begin record = record_node(time_ns, fixture->tid, sp, type, sequence, 1);

	call_fixture_feed(fixture, &record);
}

static inline void guard_end(struct call_fixture *fixture, uint64_t time_ns, uint64_t sp,
			     uint64_t object)
{
	struct wire_guard_end record = record_guard(time_ns, fixture->tid, sp, object);

	call_fixture_feed(fixture, &record);
}

static inline void function_begin(struct call_fixture *fixture, uint64_t time_ns,
				  enum wire_function function, uint64_t sp, uint64_t type)
{
	struct wire_function_begin record =
		record_function(time_ns, fixture->tid, function, sp, type);

	call_fixture_feed(fixture, &record);
}

/* The thread's number is 1, as that of node_begin(). */
static inline void sequence_event(struct call_fixture *fixture, uint64_t time_ns, uint64_t sequence,
				  uint64_t sp)
{
	struct wire_sequence record = record_sequence(time_ns, fixture->tid, 1, sequence, sp);

	call_fixture_feed(fixture, &record);
}

static inline void memory_event(struct call_fixture *fixture, uint64_t time_ns,
				enum wire_memory_action action, uint64_t sp, uint64_t address,
				int64_t size_bytes)
{
	struct wire_memory record =
		record_memory(time_ns, fixture->tid, action, sp, address, size_bytes);

	call_fixture_feed(fixture, &record);
}

static inline void set_mode(struct call_fixture *fixture, uint32_t subject, enum wire_mode mode,
			    uint64_t duration_ns, uint32_t inner_events)
{
	struct wire_mode_record record = record_mode(subject, mode, duration_ns, inner_events);

	call_fixture_feed(fixture, &record);
}

/* Every kind of site costs hit_ns, a ret ten times as much. */
static inline void set_cost(struct call_fixture *fixture, uint64_t hit_ns)
{
	struct wire_cost record = {
		.header = record_header(WIRE_COST, sizeof(record), 0, 1),
		.hit_ns = { hit_ns, hit_ns, hit_ns, hit_ns, hit_ns, hit_ns * 10, hit_ns },
	};

	call_fixture_feed(fixture, &record);
}

/* Of a fixture that the test has allocated. */
static inline int call_fixture_teardown(void **state)
{
	call_fixture_fini(*state);
	free(*state);
	return 0;
}

/* The span of this name, which must be there. */
static inline const struct span *found(const struct call_fixture *fixture, const char *name)
{
	const struct span *span = span_recorder_find(&fixture->out, name);

	if (!span)
		fail_msg("%s did not come out", name);
	return span;
}

#endif /* SUPPORT_CALL_FIXTURE_H */
