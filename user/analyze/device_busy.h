/*
 * device_busy.h - how long the devices were at work in each active attempt: the union of the
 * kernels, copies and sets of all streams. Part of correlate.c.
 */
#ifndef ANALYZE_DEVICE_BUSY_H
#define ANALYZE_DEVICE_BUSY_H

#include "model/device.h"
#include "model/summary.h"

/*
 * work: in order of start. Adds to summary->device a row for each active attempt and device, in the
 * order of the attempts; summary->device.busy is the summary's own and freed by device_busy_free().
 */
int device_busy(const struct device_work *work, size_t count, struct summary *summary);
void device_busy_free(struct summary *summary);

#endif /* ANALYZE_DEVICE_BUSY_H */
