/*
 * device_stage.h - the part of the pipeline that is about devices: from the agent's batches to the
 * trace and the tables. Without a batch it does nothing.
 */
#ifndef DEVICE_STAGE_H
#define DEVICE_STAGE_H

#include "analyze/op_stats.h"
#include "base/name_table.h"
#include "model/device.h"
#include "model/event.h"
#include "model/summary.h"

struct device_stage;

/* names and stats stay the caller's. */
int device_stage_new(struct device_stage **out, struct name_table *names, struct op_stats *stats);

/* NULL is legal. What the summary holds of the stage's is freed or forgotten too. */
void device_stage_free(struct device_stage *stage, struct summary *summary);

/* Calls of CUDA's are probed: spans of them will come. */
int device_stage_expect_calls(struct device_stage *stage);

/* WIRE_AGENT and WIRE_DEVICE. */
int device_stage_event(struct device_stage *stage, const struct event *event,
		       struct summary *summary);

/* A span of the window, after op_stats_add(). */
int device_stage_span(struct device_stage *stage, const struct span *span, size_t row);

/* See correlate_finish(). */
int device_stage_finish(struct device_stage *stage, struct device_sink *next,
			struct summary *summary);

#endif /* DEVICE_STAGE_H */
