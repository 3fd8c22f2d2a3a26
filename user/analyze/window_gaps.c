/* window_gaps.c - see window_gaps.h. */
#include "analyze/window_gaps.h"

#include <stdlib.h>

#include "base/array.h"

static int add(struct window_gaps *gaps, size_t *capacity, struct window_gap gap)
{
	struct window_gap *last = gaps->count ? &gaps->gaps[gaps->count - 1] : NULL;
	int err;

	if (last && last->end_ns == gap.begin_ns) {
		last->end_ns = gap.end_ns;
		return 0;
	}
	err = array_reserve(&gaps->gaps, capacity, gaps->count + 1, sizeof(*gaps->gaps));
	if (err)
		return err;
	gaps->gaps[gaps->count++] = gap;
	return 0;
}

int window_gaps_find(struct window_gaps *gaps, const struct summary *summary)
{
	const struct attempt *attempt;
	struct attempt_cursor cursor;
	uint64_t before_ns = 0; /* where the attempt before ended; 0: not known */
	size_t capacity = 0;
	int err = 0;

	*gaps = (struct window_gaps){ .started_ns = summary->started_ns,
				      .ended_ns = summary->ended_ns };
	if (!summary->attempts)
		return 0;
	attempt_cursor_init(&cursor, summary->attempts);
	while (!err && (attempt = attempt_cursor_next(&cursor))) {
		/* In a long wait some have no start, as their edges are not of one kind. */
		const struct window_gap gap = {
			.begin_ns = attempt->start_ns ? attempt->start_ns : before_ns,
			.end_ns = attempt->end_ns,
		};

		if (attempt->phase != PHASE_ACTIVE && gap.begin_ns && gap.end_ns > gap.begin_ns)
			err = add(gaps, &capacity, gap);
		before_ns = attempt->end_ns;
	}
	return err;
}

void window_gaps_free(struct window_gaps *gaps)
{
	free(gaps->gaps);
	*gaps = (struct window_gaps){ 0 };
}

bool window_gaps_is_in_window(const struct window_gaps *gaps, uint64_t time_ns)
{
	size_t low = 0, high = gaps->count;

	if (time_ns < gaps->started_ns || time_ns >= gaps->ended_ns)
		return false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (gaps->gaps[middle].end_ns <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low == gaps->count || time_ns < gaps->gaps[low].begin_ns;
}
