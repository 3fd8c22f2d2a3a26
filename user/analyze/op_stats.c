/* op_stats.c - see op_stats.h. Names are unique pointers, so pointer and kind are the key. */
#include "analyze/op_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/text.h"

/* One pointer for all of them, whether or not the job has names of its own left. */
static const char STEP_ROW_NAME[] = "ProfilerStep*";

struct op_stats {
	struct hashmap *by_name;
	struct op_row **rows; /* pointers, so that the map's values stay where they are */
	size_t count, capacity;
	struct op_row *sorted;
};

int op_stats_new(struct op_stats **out)
{
	struct op_stats *stats = calloc(1, sizeof(*stats));
	int err;

	if (!stats)
		return -ENOMEM;
	err = hashmap_new(&stats->by_name);
	if (err) {
		free(stats);
		return err;
	}
	*out = stats;
	return 0;
}

void op_stats_free(struct op_stats *stats)
{
	size_t i;

	if (!stats)
		return;
	for (i = 0; i < stats->count; i++)
		free(stats->rows[i]);
	free(stats->rows);
	free(stats->sorted);
	hashmap_free(stats->by_name);
	free(stats);
}

static struct op_row *row_new(struct op_stats *stats, const char *name, uint8_t range)
{
	struct op_row *row;

	if (stats->count == stats->capacity) {
		size_t capacity = stats->capacity ? stats->capacity * 2 : 64;
		struct op_row **grown = realloc(stats->rows, capacity * sizeof(struct op_row *));

		if (!grown)
			return NULL;
		stats->rows = grown;
		stats->capacity = capacity;
	}
	row = calloc(1, sizeof(*row));
	if (!row)
		return NULL;
	row->name = name;
	row->range = range;
	stats->rows[stats->count++] = row;
	return row;
}

static struct op_row *row_get(struct op_stats *stats, const char *name, uint8_t range)
{
	uint64_t key = (uint64_t)(uintptr_t)name << 2 | range;
	struct op_row *row = hashmap_get(stats->by_name, key);

	if (row)
		return row;
	row = row_new(stats, name, range);
	if (!row || hashmap_put(stats->by_name, key, row, NULL))
		return NULL;
	return row;
}

int op_stats_add(struct op_stats *stats, const struct span *span)
{
	const char *name = span->name;
	struct op_row *row;

	if (text_has_prefix(name, "ProfilerStep#") || !strcmp(name, STEP_ROW_NAME))
		name = STEP_ROW_NAME;
	row = row_get(stats, name, span->range);
	if (!row)
		return -ENOMEM;
	row->count++;
	row->total_ns += span->end_ns - span->start_ns;
	row->self_ns += span->self_ns;
	row->unfinished += !span->is_finished;
	row->async += span->is_async;
	return 0;
}

/* Largest self time first; the name breaks ties, so that a replay gives the same table. */
static int compare(const void *a, const void *b)
{
	const struct op_row *left = a, *right = b;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	return strcmp(left->name, right->name);
}

int op_stats_summarize(struct op_stats *stats, struct summary *summary)
{
	size_t i;

	free(stats->sorted);
	stats->sorted = calloc(stats->count + 1, sizeof(*stats->sorted));
	if (!stats->sorted)
		return -ENOMEM;
	summary->self_total_ns = 0;
	for (i = 0; i < stats->count; i++) {
		stats->sorted[i] = *stats->rows[i];
		summary->self_total_ns += stats->rows[i]->self_ns;
	}
	qsort(stats->sorted, stats->count, sizeof(*stats->sorted), compare);
	summary->rows = stats->sorted;
	summary->row_count = stats->count;
	return 0;
}
