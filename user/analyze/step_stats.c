/* step_stats.c - see step_stats.h. */
#include "analyze/step_stats.h"

#include <errno.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static size_t durations(const struct summary *summary, unsigned int phase, bool with_disturbed,
			uint64_t *values)
{
	size_t count = 0, i;

	for (i = 0; i < summary->attempt_count; i++) {
		const struct attempt *attempt = &summary->attempts[i];

		if (attempt->phase != phase || !attempt->start_ns ||
		    attempt->end_ns <= attempt->start_ns)
			continue;
		if (!attempt->is_disturbed || with_disturbed)
			values[count++] = attempt->end_ns - attempt->start_ns;
	}
	return count;
}

static uint64_t median(uint64_t *values, size_t count)
{
	if (!count)
		return 0;
	qsort(values, count, sizeof(*values), compare);
	if (count % 2)
		return values[count / 2];
	return values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

int step_stats_summarize(struct summary *summary)
{
	uint64_t *values = calloc(summary->attempt_count + 1, sizeof(*values));
	unsigned int phase;

	if (!values)
		return -ENOMEM;
	for (phase = 0; phase < PHASE_CNT; phase++) {
		size_t count = durations(summary, phase, false, values);

		if (!count)
			count = durations(summary, phase, true, values);
		summary->median_of[phase] = count;
		summary->median_ns[phase] = median(values, count);
	}
	free(values);
	return 0;
}
