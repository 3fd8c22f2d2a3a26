/*
 * event.h - a decoded record: sizes checked, strings ended, enums in range. It is a view, valid
 * only during the call that passes it on.
 */
#ifndef MODEL_EVENT_H
#define MODEL_EVENT_H

#include "wire.h"

struct event {
	enum wire_kind kind;
	const struct wire_header *header;
	union {
		const struct wire_attempt *attempt;
		const struct wire_range_begin *range_begin;
		const struct wire_range_end *range_end;
		const struct wire_op *op;
		const struct wire_node_begin *node;
		const struct wire_guard_end *guard;
		const struct wire_function_begin *function;
		const struct wire_symbol *symbol;
		const struct wire_sequence *sequence;
		const struct wire_module *module;
		const struct wire_memory *memory;
		const struct wire_shapes *shapes;
		const struct wire_operator *operator_;
		const struct wire_mode_record *mode;
		const struct wire_cost *cost;
		const struct wire_session *session;
		const struct wire_probe *probe;
		const struct wire_thread *thread;
		const struct wire_clock *clock;
		const struct wire_loss *loss;
		const struct wire_stop_record *stop;
		const struct wire_probes *probes;
		const struct wire_agent *agent;
		const struct wire_device *device;
		const struct wire_rings *rings;
		const struct wire_hole *hole;
	};
};

#endif /* MODEL_EVENT_H */
