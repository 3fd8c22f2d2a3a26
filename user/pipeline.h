/*
 * pipeline.h - everything behind the records: decode, analyze, write. It needs no privileges and no
 * job, so that a live capture and the replay of a capture file are the same code.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>

#include "base/byte_sink.h"
#include "model/sink.h"
#include "model/summary.h"
#include "output/out_dir.h"

struct pipeline;

/* directory stays the caller's. keep_raw: also write capture.raw. */
int pipeline_new(struct pipeline **out, struct out_dir *directory, bool keep_raw);
void pipeline_free(
	struct pipeline *pipeline); /* NULL is legal; what was not finished is abandoned */

/* Takes records in order; the first is the session's. An output error does not come back here. */
struct record_sink *pipeline_sink(struct pipeline *pipeline);

/* The records came from a file that ends in the middle, or goes on behind its end. */
void pipeline_set_truncated(struct pipeline *pipeline);

/* 0, or what went wrong with the outputs: the capture should end. */
int pipeline_output_error(const struct pipeline *pipeline);

/* Ranges whose end is still awaited. */
size_t pipeline_open_ranges(const struct pipeline *pipeline);

/* The attempts so far and the duration of the last one (0: not known), for the progress line. */
size_t pipeline_attempts(const struct pipeline *pipeline, uint64_t *last_ns);

/*
 * After the last record. Closes what is open, writes all files and the terminal's lines. *summary
 * is valid while the pipeline lives. An error of the files is in the summary as well.
 */
int pipeline_finish(struct pipeline *pipeline, struct byte_sink *terminal,
		    const struct summary **summary);

#endif /* PIPELINE_H */
