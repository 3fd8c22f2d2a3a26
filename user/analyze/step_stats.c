/*
 * step_stats.c - see step_stats.h. The attempts are read through several times rather than sorted:
 * a sorted copy would take more memory than all else that is kept of them. A value is found from
 * its highest byte down, by how many have each value of the next byte; that is exact.
 */
#include "analyze/step_stats.h"

/* Which attempts a median is of. */
struct selection {
	const struct attempt_log *attempts;
	unsigned int phase;
	bool with_disturbed;
	/* Filled in: */
	size_t count;
	uint64_t max_ns;
};

/* Goes on to the next attempt of the selection; 0: there are no more, for none lasts 0 ns. */
static uint64_t next_duration(struct attempt_cursor *cursor, const struct selection *selection)
{
	const struct attempt *attempt;

	while ((attempt = attempt_cursor_next(cursor))) {
		if (attempt->phase != selection->phase || !attempt->start_ns ||
		    attempt->end_ns <= attempt->start_ns)
			continue;
		if (!attempt->is_disturbed || selection->with_disturbed)
			return attempt->end_ns - attempt->start_ns;
	}
	return 0;
}

static void survey(struct selection *selection)
{
	struct attempt_cursor cursor;
	uint64_t duration_ns;

	selection->count = 0;
	selection->max_ns = 0;
	attempt_cursor_init(&cursor, selection->attempts);
	while ((duration_ns = next_duration(&cursor, selection))) {
		selection->count++;
		if (duration_ns > selection->max_ns)
			selection->max_ns = duration_ns;
	}
}

#define BYTE_VALUES 256

/* The upper bits, from shift + 8 on, of the values that are still candidates. */
static bool is_candidate(uint64_t duration_ns, uint64_t found_ns, unsigned int shift)
{
	return !((duration_ns ^ found_ns) >> shift >> 8);
}

/* How many candidates have each value of the byte at shift. */
static void count_bytes(const struct selection *selection, uint64_t found_ns, unsigned int shift,
			size_t counts[BYTE_VALUES])
{
	struct attempt_cursor cursor;
	uint64_t duration_ns;
	unsigned int i;

	for (i = 0; i < BYTE_VALUES; i++)
		counts[i] = 0;
	attempt_cursor_init(&cursor, selection->attempts);
	while ((duration_ns = next_duration(&cursor, selection))) {
		if (is_candidate(duration_ns, found_ns, shift))
			counts[duration_ns >> shift & (BYTE_VALUES - 1)]++;
	}
}

/* The duration with rank others that stand before it, if all were sorted; rank < count. */
static uint64_t at_rank(const struct selection *selection, size_t rank)
{
	size_t counts[BYTE_VALUES];
	unsigned int shift = 0;
	uint64_t found_ns = 0;

	while (selection->max_ns >> shift >> 8)
		shift += 8;
	for (;; shift -= 8) {
		uint64_t byte = 0;

		count_bytes(selection, found_ns, shift, counts);
		while (rank >= counts[byte])
			rank -= counts[byte++];
		found_ns |= byte << shift;
		if (!shift)
			return found_ns;
	}
}

static uint64_t median(const struct selection *selection)
{
	size_t middle = selection->count / 2;
	uint64_t lower_ns, upper_ns;

	if (!selection->count)
		return 0;
	upper_ns = at_rank(selection, middle);
	if (selection->count % 2)
		return upper_ns;
	lower_ns = at_rank(selection, middle - 1);
	return lower_ns + (upper_ns - lower_ns) / 2;
}

void step_stats_summarize(struct summary *summary)
{
	unsigned int phase;

	for (phase = 0; phase < PHASE_CNT; phase++) {
		struct selection selection = { .attempts = summary->attempts, .phase = phase };

		survey(&selection);
		if (!selection.count) {
			selection.with_disturbed = true;
			survey(&selection);
		}
		summary->median_of[phase] = selection.count;
		summary->median_ns[phase] = median(&selection);
	}
}
