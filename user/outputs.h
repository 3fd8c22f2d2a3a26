/*
 * outputs.h - the files of a capture: the trace is made when the window opens and streamed; the
 * others are written at the end from the summary. The first error is kept and ends the writing.
 */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include <stdbool.h>

#include "base/byte_sink.h"
#include "model/device.h"
#include "model/span.h"
#include "model/summary.h"
#include "output/out_dir.h"

struct outputs;

/* directory and summary stay the caller's. keep_raw: outputs_record() writes capture.raw. */
int outputs_new(struct outputs **out, struct out_dir *directory, struct summary *summary,
		bool keep_raw);
void outputs_free(struct outputs *outputs); /* NULL is legal; what was not finished is abandoned */

/* 0, or the first error. */
int outputs_error(const struct outputs *outputs);

void outputs_record(struct outputs *outputs, const void *bytes, size_t size_bytes);

/* profile.json as it is before anything is known. */
void outputs_begin(struct outputs *outputs);

/* The window has opened. The second call does nothing. */
void outputs_open_trace(struct outputs *outputs);
void outputs_span(struct outputs *outputs, const struct span *span);
void outputs_flow(struct outputs *outputs, const struct flow *flow);
void outputs_memory(struct outputs *outputs, const struct memory_event *memory);

void outputs_module(struct outputs *outputs, const struct module_call *call);

/* Takes what devices did, after all spans. */
struct device_sink *outputs_devices(struct outputs *outputs);

/* Writes all files and says in the summary what they are; an error makes it partial. */
void outputs_finish(struct outputs *outputs);

/* The lines for the terminal. */
int outputs_print(struct outputs *outputs, struct byte_sink *terminal);

#endif /* OUTPUTS_H */
