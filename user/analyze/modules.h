/*
 * modules.h - calls of nn.Module: which of a thread is inside of which, and what each instance is
 * called. Where a call begins is seen; that it is over is found when something else happens on its
 * thread, so it ends with the last thing that was seen inside of it.
 */
#ifndef ANALYZE_MODULES_H
#define ANALYZE_MODULES_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/spans.h"
#include "analyze/symbols.h"
#include "base/bound.h"
#include "model/event.h"
#include "model/sink.h"

struct modules;

#define MODULES_MAX BOUND(65536, 6)   /* instances that have a name of their own */
#define MODULES_OPEN_MAX BOUND(32, 4) /* of a thread: as many as the programs tell */
#define MODULES_THREADS_MAX BOUND(16384, 4)

/* All stay the caller's. */
int modules_new(struct modules **out, struct spans *spans, struct symbols *symbols,
		struct name_table *names, struct mark_sink *marks);
void modules_free(struct modules *modules); /* NULL is legal; before spans_free() or after */

/* A WIRE_MODULE event. is_active: what begins now is shown. -ENOMEM, or what a sink returned. */
int modules_event(struct modules *modules, const struct event *event, bool is_active);

/* A WIRE_HOLE: a call that was open when records of modules were lost is not finished. -ENOMEM. */
int modules_hole(struct modules *modules, const struct event *event);

/* The window is over at end_ns: what is open of it is not finished. After spans_close_open(). */
int modules_close_open(struct modules *modules, uint64_t end_ns);

uint64_t modules_refused(const struct modules *modules); /* calls over the bounds above */

#endif /* ANALYZE_MODULES_H */
