/*
 * device_ranges.c - see device_ranges.h. Steps have no such row: readers of a trace take each for a
 * step of its own.
 */
#include "analyze/device_ranges.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hashmap.h"
#include "base/text.h"

struct device_range {
	struct device_annotation annotation;
	struct device_range *next_same; /* other streams of the same range */
};

struct device_ranges {
	struct hashmap *by_span;
	struct device_range **ranges;
	size_t count, capacity;
	uint64_t dropped; /* past the bounds */
};

int device_ranges_new(struct device_ranges **out)
{
	struct device_ranges *ranges = calloc(1, sizeof(*ranges));
	int err;

	if (!ranges)
		return -ENOMEM;
	err = hashmap_new(&ranges->by_span);
	if (err)
		free(ranges);
	else
		*out = ranges;
	return err;
}

void device_ranges_free(struct device_ranges *ranges)
{
	size_t i;

	if (!ranges)
		return;
	for (i = 0; i < ranges->count; i++)
		free(ranges->ranges[i]);
	free(ranges->ranges);
	hashmap_free(ranges->by_span);
	free(ranges);
}

static int keep(struct device_ranges *ranges, struct device_range *range)
{
	int err = array_reserve(&ranges->ranges, &ranges->capacity, ranges->count + 1,
				sizeof(struct device_range *));

	if (err)
		return err;
	ranges->ranges[ranges->count++] = range;
	return 0;
}

static int new_range(struct device_ranges *ranges, const struct kept_span *span,
		     const struct device_work *work)
{
	struct device_range *range = calloc(1, sizeof(*range));
	int err;

	if (!range)
		return -ENOMEM;
	range->annotation = (struct device_annotation){
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
		.external_id = span->id,
		.name = span->name,
		.device = work->device,
		.stream = work->stream,
	};
	range->next_same = hashmap_get(ranges->by_span, span->id);
	err = keep(ranges, range);
	if (err) {
		free(range);
		return err;
	}
	return hashmap_put(ranges->by_span, span->id, range, NULL);
}

static int add_to(struct device_ranges *ranges, const struct kept_span *span,
		  const struct device_work *work)
{
	struct device_range *range = hashmap_get(ranges->by_span, span->id);
	struct device_annotation *annotation;
	unsigned int streams = 0;

	for (; range && (range->annotation.device != work->device ||
			 range->annotation.stream != work->stream);
	     range = range->next_same)
		streams++;
	if (!range && (streams >= DEVICE_RANGE_STREAMS_MAX || ranges->count >= DEVICE_RANGES_MAX)) {
		ranges->dropped++;
		return 0;
	}
	if (!range)
		return new_range(ranges, span, work);
	annotation = &range->annotation;
	if (work->start_ns < annotation->start_ns)
		annotation->start_ns = work->start_ns;
	if (work->end_ns > annotation->end_ns)
		annotation->end_ns = work->end_ns;
	return 0;
}

int device_ranges_add(struct device_ranges *ranges, const struct span_index *index, size_t span,
		      const struct device_work *work)
{
	int err = 0;

	while (span != SPAN_INDEX_NONE && !err) {
		const struct kept_span *kept = &index->spans[span];

		if (kept->kind == SPAN_RANGE && !kept->is_step &&
		    !text_has_prefix(kept->name, "ProfilerStep#"))
			err = add_to(ranges, kept, work);
		span = kept->parent;
	}
	return err;
}

uint64_t device_ranges_dropped(const struct device_ranges *ranges)
{
	return ranges->dropped;
}

static int by_time(const void *a, const void *b)
{
	const struct device_annotation *left = &(*(struct device_range *const *)a)->annotation;
	const struct device_annotation *right = &(*(struct device_range *const *)b)->annotation;

	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	return left->external_id < right->external_id ? -1 : left->external_id > right->external_id;
}

int device_ranges_push(struct device_ranges *ranges, struct op_stats *stats,
		       struct device_sink *next)
{
	size_t i;
	int err = 0;

	if (ranges->count)
		qsort(ranges->ranges, ranges->count, sizeof(struct device_range *), by_time);
	for (i = 0; i < ranges->count && !err; i++) {
		const struct device_annotation *annotation = &ranges->ranges[i]->annotation;

		err = op_stats_add_device_annotation(stats, annotation);
		if (!err)
			err = next->annotation(next, annotation);
	}
	return err;
}
