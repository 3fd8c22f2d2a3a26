/*
 * span_index.h - the spans of a window, by thread and time: which one was running at a moment.
 * Part of correlate.c.
 */
#ifndef ANALYZE_SPAN_INDEX_H
#define ANALYZE_SPAN_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/span.h"

#define SPAN_INDEX_NONE SIZE_MAX

struct kept_span {
	uint64_t start_ns, end_ns, id;
	const char *name;
	size_t row;    /* of op_stats */
	size_t parent; /* the span round it; SPAN_INDEX_NONE: none. After span_index_sort() */
	uint32_t tid;
	uint8_t kind; /* enum span_kind */
	bool is_merged, is_step;
};

struct span_index {
	struct kept_span *spans;
	size_t count, capacity, max;
	uint64_t dropped; /* there were more than max */
	size_t innermost; /* where the last look-up ended */
	size_t next;	  /* the first span that had not begun then */
};

void span_index_init(struct span_index *index, size_t max);
void span_index_fini(struct span_index *index);

/* Asynchronous spans are nobody's parent and are not kept. 0 or -ENOMEM. */
int span_index_add(struct span_index *index, const struct span *span, size_t row);

/* After the last one: orders them and finds the parents. */
void span_index_sort(struct span_index *index);

/*
 * The innermost span of the thread that holds the moment, or SPAN_INDEX_NONE. Look-ups come in
 * order of thread and time.
 */
size_t span_index_at(struct span_index *index, uint32_t tid, uint64_t time_ns);

#endif /* ANALYZE_SPAN_INDEX_H */
