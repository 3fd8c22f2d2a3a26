/* sink.h - how the stages hand on: push, one item at a time. Embedded in what implements it. */
#ifndef MODEL_SINK_H
#define MODEL_SINK_H

#include <stddef.h>

#include "model/event.h"
#include "model/span.h"

/* All return 0 or a negative errno, which stops the capture. */
struct event_sink {
	int (*event)(struct event_sink *sink, const struct event *event);
};

struct span_sink {
	int (*span)(struct span_sink *sink, const struct span *span);
};

/* What else the trace shows. */
struct mark_sink {
	int (*flow)(struct mark_sink *sink, const struct flow *flow);
	int (*memory)(struct mark_sink *sink, const struct memory_event *memory);
	int (*module)(struct mark_sink *sink, const struct module_call *call);
};

/* Raw records: bytes that have not been validated. */
struct record_sink {
	int (*record)(struct record_sink *sink, const void *bytes, size_t size_bytes);
};

#define container_of(pointer, type, member) \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#endif /* MODEL_SINK_H */
