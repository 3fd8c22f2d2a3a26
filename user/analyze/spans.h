/*
 * spans.h - pairs the beginnings and ends of ranges by the address of their object, across threads,
 * and knows which span of a thread encloses which: calls.h adds those of operators. Pushes each
 * span on as it ends, children before their parents.
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

/*
 * Something that is no span happens on the thread, in Python: short calls are over, and so are
 * those that began since so many had (spans_begun()); UINT64_MAX: of others nothing is known.
 * *seen_ns: the last time that anything was seen of the thread before, at most now. -ENOMEM or of
 * the sink.
 */
int spans_pause(struct spans *spans, const struct wire_header *header, uint64_t since,
		uint64_t *seen_ns);

/* Records of this time were lost: a WIRE_HOLE event; see losses.h. -ENOMEM. */
int spans_hole(struct spans *spans, const struct event *event);

/*
 * Ends what is still open of the window at end_ns, innermost first, as not finished; calls whose
 * ends are not probed as what they took in warmup.
 */
int spans_close_open(struct spans *spans, uint64_t end_ns);

size_t spans_open_count(const struct spans *spans); /* ranges */
size_t spans_open_calls(const struct spans *spans); /* of the window, whose ends may still come */

/* How many have begun so far, on all threads, hidden ones too. */
uint64_t spans_begun(const struct spans *spans);

/* The outermost open span of the thread that began after since others had: its id, or 0. */
uint64_t spans_outermost_open(const struct spans *spans, uint32_t tid, uint64_t since);

uint64_t spans_dropped(const struct spans *spans); /* ranges over open_max, calls nested too deep */
uint64_t spans_cut_names(const struct spans *spans);
uint64_t spans_nameless(const struct spans *spans);

#endif /* ANALYZE_SPANS_H */
