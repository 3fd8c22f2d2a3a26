/* span_recorder.h - a span sink that keeps what it gets. */
#ifndef SUPPORT_SPAN_RECORDER_H
#define SUPPORT_SPAN_RECORDER_H

#include <stdio.h>
#include <string.h>

#include "model/sink.h"

#define SPAN_RECORDER_MAX 64

struct span_recorder {
	struct span_sink sink;
	struct span spans[SPAN_RECORDER_MAX];	/* the first ones */
	char step_names[SPAN_RECORDER_MAX][32]; /* those of spans do not last */
	size_t count;				/* of all */
	int err;				/* what the sink returns */
};

static inline int span_recorder_span(struct span_sink *sink, const struct span *span)
{
	struct span_recorder *recorder = container_of(sink, struct span_recorder, sink);

	size_t at = recorder->count++;

	if (at < SPAN_RECORDER_MAX) {
		recorder->spans[at] = *span;
		if (span->is_step) {
			snprintf(recorder->step_names[at], sizeof(recorder->step_names[at]), "%s",
				 span->name);
			recorder->spans[at].name = recorder->step_names[at];
		}
	}
	return recorder->err;
}

static inline void span_recorder_init(struct span_recorder *recorder)
{
	memset(recorder, 0, sizeof(*recorder));
	recorder->sink.span = span_recorder_span;
}

/* The span of that name that came last, or NULL. */
static inline const struct span *span_recorder_find(const struct span_recorder *recorder,
						    const char *name)
{
	size_t i = recorder->count < SPAN_RECORDER_MAX ? recorder->count : SPAN_RECORDER_MAX;

	while (i-- > 0) {
		if (!strcmp(recorder->spans[i].name, name))
			return &recorder->spans[i];
	}
	return NULL;
}

#endif /* SUPPORT_SPAN_RECORDER_H */
