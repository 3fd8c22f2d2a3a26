/*
 * spans.h - pairs the beginnings and ends of ranges by the address of their object, across threads,
 * and knows which range of a thread encloses which. Pushes each span on as it ends.
 */
#ifndef ANALYZE_SPANS_H
#define ANALYZE_SPANS_H

#include <stdint.h>

#include "base/name_table.h"
#include "model/event.h"
#include "model/sink.h"

struct spans;

/* names and next stay the caller's. open_max bounds the ranges that are open at once. */
int spans_new(struct spans **out, struct name_table *names, struct span_sink *next,
	      size_t open_max);
void spans_free(struct spans *spans); /* NULL is legal */

int spans_begin(struct spans *spans, const struct event *event);
int spans_end(struct spans *spans, const struct event *event);

/* Ends what is still open at end_ns, innermost first, as not finished. */
int spans_close_open(struct spans *spans, uint64_t end_ns);

size_t spans_open_count(const struct spans *spans);

/* The outermost open range of the thread that began at or after since_ns: its id, or 0. */
uint64_t spans_outermost_open(const struct spans *spans, uint32_t tid, uint64_t since_ns);

uint64_t spans_dropped(const struct spans *spans); /* over open_max */
uint64_t spans_cut_names(const struct spans *spans);
uint64_t spans_nameless(const struct spans *spans);

#endif /* ANALYZE_SPANS_H */
