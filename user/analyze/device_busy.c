/*
 * device_busy.c - see device_busy.h. Attempts follow each other, so one walk over the times when a
 * device worked will do.
 */
#include "analyze/device_busy.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

#define DEVICES_MAX 64 /* of one process; TensorBoard's plugin reads no more either */

struct interval {
	uint64_t start_ns, end_ns;
};

/* When a device worked: intervals in order, none touching the next. */
struct busy_times {
	struct interval *intervals;
	size_t count;
	size_t first; /* those before it end before the attempt begins */
};

struct walk {
	struct summary *summary;
	size_t capacity;
	struct busy_times devices[DEVICES_MAX];
};

static bool is_work_of(const struct device_work *work, uint32_t device)
{
	return work->kind != DEVICE_SYNC && work->device == device && work->end_ns > work->start_ns;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Work is in order of start. */
static int find_busy_times(struct busy_times *times, const struct device_work *work, size_t count,
			   uint32_t device)
{
	struct interval *last = NULL;
	size_t i, wanted = 0;

	for (i = 0; i < count; i++)
		wanted += is_work_of(&work[i], device);
	if (!wanted)
		return 0;
	times->intervals = calloc(wanted, sizeof(*times->intervals));
	if (!times->intervals)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		if (!is_work_of(&work[i], device))
			continue;
		if (last && work[i].start_ns <= last->end_ns) {
			last->end_ns = later(last->end_ns, work[i].end_ns);
			continue;
		}
		last = &times->intervals[times->count++];
		*last = (struct interval){ work[i].start_ns, work[i].end_ns };
	}
	return 0;
}

static uint64_t busy_ns(struct busy_times *times, const struct attempt *attempt)
{
	uint64_t sum_ns = 0;
	size_t i;

	while (times->first < times->count &&
	       times->intervals[times->first].end_ns <= attempt->start_ns)
		times->first++;
	for (i = times->first; i < times->count; i++) {
		const struct interval *interval = &times->intervals[i];

		if (interval->start_ns >= attempt->end_ns)
			break;
		sum_ns += earlier(interval->end_ns, attempt->end_ns) -
			  later(interval->start_ns, attempt->start_ns);
	}
	return sum_ns;
}

static int add_row(struct walk *walk, const struct device_busy *row)
{
	struct device_summary *device = &walk->summary->device;
	int err = ARRAY_RESERVE(device->busy, walk->capacity, device->busy_count + 1);

	if (err)
		return err;
	device->busy[device->busy_count++] = *row;
	return 0;
}

static int add_attempt(struct walk *walk, const struct attempt *attempt, uint32_t index)
{
	uint32_t device;
	int err = 0;

	for (device = 0; device < DEVICES_MAX && !err; device++) {
		struct device_busy row = { .attempt = index, .device = device };

		if (!walk->devices[device].count)
			continue;
		row.busy_ns = busy_ns(&walk->devices[device], attempt);
		row.idle_ns = attempt->end_ns - attempt->start_ns - row.busy_ns;
		err = add_row(walk, &row);
	}
	return err;
}

static int add_attempts(struct walk *walk)
{
	const struct attempt *attempt;
	struct attempt_cursor cursor;
	uint32_t index;
	int err = 0;

	attempt_cursor_init(&cursor, walk->summary->attempts);
	for (index = 0; !err && (attempt = attempt_cursor_next(&cursor)); index++) {
		if (attempt->phase == PHASE_ACTIVE && attempt->start_ns &&
		    attempt->end_ns >= attempt->start_ns)
			err = add_attempt(walk, attempt, index);
	}
	return err;
}

int device_busy(const struct device_work *work, size_t count, struct summary *summary)
{
	struct walk walk = { .summary = summary };
	uint32_t device;
	int err = 0;

	if (!summary->attempts)
		return 0;
	for (device = 0; device < DEVICES_MAX && !err; device++)
		err = find_busy_times(&walk.devices[device], work, count, device);
	if (!err)
		err = add_attempts(&walk);
	for (device = 0; device < DEVICES_MAX; device++)
		free(walk.devices[device].intervals);
	return err;
}

void device_busy_free(struct summary *summary)
{
	free(summary->device.busy);
	summary->device.busy = NULL;
}
