/*
 * any_record.h - room for one record of any kind, aligned for each. Not for the agent's batches,
 * which are as large as they are.
 */
#ifndef INGEST_ANY_RECORD_H
#define INGEST_ANY_RECORD_H

#include "wire.h"

union any_record {
	struct wire_header header;
	struct wire_attempt attempt;
	struct wire_range_begin range_begin;
	struct wire_range_end range_end;
	struct wire_op op;
	struct wire_node_begin node;
	struct wire_guard_end guard;
	struct wire_function_begin function;
	struct wire_symbol symbol;
	struct wire_sequence sequence;
	struct wire_module module;
	struct wire_memory memory;
	struct wire_shapes shapes;
	struct wire_operator operator_;
	struct wire_mode_record mode;
	struct wire_cost cost;
	struct wire_session session;
	struct wire_probe probe;
	struct wire_thread thread;
	struct wire_clock clock;
	struct wire_loss loss;
	struct wire_stop_record stop;
	struct wire_probes probes;
	struct wire_device device;
	struct wire_rings rings;
	struct wire_hole hole;
};

#endif /* INGEST_ANY_RECORD_H */
