/*
 * window.h - the attempts of a capture and the window that they make. Pure: fed with events, no
 * clock. The phases themselves were decided in BPF at the boundary; here they are only kept.
 */
#ifndef ANALYZE_WINDOW_H
#define ANALYZE_WINDOW_H

#include "model/attempt_log.h"
#include "model/event.h"
#include "model/summary.h"

struct window;

int window_new(struct window **out);
void window_free(struct window *window); /* NULL is legal */

/* A WIRE_ATTEMPT event. Missing indices are filled in as lost. -EPROTO: an index that cannot be. */
int window_attempt(struct window *window, const struct event *event);

/*
 * The window's probes have been put on, from started_ns on, or are gone: attempts outside of the
 * window that ran with them, or while they came off, are disturbed. What ended before may come
 * behind, for attempts are read from time to time.
 */
void window_attached(struct window *window, uint64_t started_ns);
void window_detached(struct window *window, uint64_t now_ns);

/* Recording is on: between a boundary into active and the one out of it. */
bool window_is_active(const struct window *window);

/* Where recording last began and ended; 0: not yet. */
uint64_t window_last_start_ns(const struct window *window);
uint64_t window_last_end_ns(const struct window *window);

/* Recording ended at stop_ns, which closes a window that is still open. */
void window_stop(struct window *window, uint64_t stop_ns);

/* Fills in attempts, counts, times and, from the reason, the state. Valid while the window lives.
 */
void window_summarize(const struct window *window, enum wire_stop reason, struct summary *summary);

/* The last attempt, or NULL; valid until the next one. */
const struct attempt *window_last(const struct window *window, size_t *index);

uint64_t window_lost_attempts(const struct window *window);

#endif /* ANALYZE_WINDOW_H */
