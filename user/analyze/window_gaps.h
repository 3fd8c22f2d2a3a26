/*
 * window_gaps.h - the times between the first and the last active attempt that are of no window:
 * what was waited for between the cycles, and warmed up.
 */
#ifndef ANALYZE_WINDOW_GAPS_H
#define ANALYZE_WINDOW_GAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/summary.h"

struct window_gap {
	uint64_t begin_ns, end_ns;
};

/* Of zeroes it has none. */
struct window_gaps {
	uint64_t started_ns, ended_ns;
	struct window_gap *gaps; /* in order */
	size_t count;
};

/* -ENOMEM. What attempts were lost is in no gap: it may have been of a window. */
int window_gaps_find(struct window_gaps *gaps, const struct summary *summary);
void window_gaps_free(struct window_gaps *gaps);

/* Is this moment of a window? */
bool window_gaps_is_in_window(const struct window_gaps *gaps, uint64_t time_ns);

#endif /* ANALYZE_WINDOW_GAPS_H */
