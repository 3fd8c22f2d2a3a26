/*
 * device_ranges.h - the gpu_user_annotation rows: what the calls inside a range asked for, from the
 * first to the last on each stream. Part of correlate.c.
 */
#ifndef ANALYZE_DEVICE_RANGES_H
#define ANALYZE_DEVICE_RANGES_H

#include "analyze/op_stats.h"
#include "analyze/span_index.h"
#include "model/device.h"

#define DEVICE_RANGES_MAX 2000000     /* rows; 80 bytes each */
#define DEVICE_RANGE_STREAMS_MAX 1024 /* rows of one range */

struct device_ranges;

int device_ranges_new(struct device_ranges **out);
void device_ranges_free(struct device_ranges *ranges); /* NULL is legal */

/*
 * span: of the call that asked for the work; SPAN_INDEX_NONE: none. 0 or -ENOMEM; where a row would
 * be past the bounds it is dropped and counted.
 */
int device_ranges_add(struct device_ranges *ranges, const struct span_index *index, size_t span,
		      const struct device_work *work);

uint64_t device_ranges_dropped(const struct device_ranges *ranges);

/* In order of time, to stats as well. */
int device_ranges_push(struct device_ranges *ranges, struct op_stats *stats,
		       struct device_sink *next);

#endif /* ANALYZE_DEVICE_RANGES_H */
