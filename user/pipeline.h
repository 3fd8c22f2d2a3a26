/*
 * pipeline.h - everything behind the records: decode, analyze, write. It needs no privileges and no
 * job, so that a live capture and the replay of a capture file are the same code.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include <stdbool.h>

#include "base/byte_sink.h"
#include "model/sink.h"
#include "analyze/learned.h"
#include "model/summary.h"
#include "output/out_dir.h"

struct pipeline;

/* directory stays the caller's. keep_raw: also write capture.raw. table: copied; NULL: default. */
int pipeline_new(struct pipeline **out, struct out_dir *directory, bool keep_raw,
		 const struct table_options *table);
void pipeline_free(
	struct pipeline *pipeline); /* NULL is legal; what was not finished is abandoned */

/* Takes records in order; the first is the session's. An output error does not come back here. */
struct record_sink *pipeline_sink(struct pipeline *pipeline);

/*
 * Records that come while this is set wait, as far as there is room: what is read from the pipeline
 * is then of an earlier moment. pipeline_work() goes through what waits, until then at most.
 */
void pipeline_defer(struct pipeline *pipeline, bool is_deferring);
int pipeline_work(struct pipeline *pipeline, uint64_t until_ns);
bool pipeline_is_behind(const struct pipeline *pipeline);

/* The records came from a file that ends in the middle, or goes on behind its end. */
void pipeline_set_truncated(struct pipeline *pipeline);

/* 0, or what went wrong with the outputs: the capture should end. */
int pipeline_output_error(const struct pipeline *pipeline);

/* Ranges and calls of the window whose end is still awaited. */
size_t pipeline_open_spans(const struct pipeline *pipeline);

/* The median of the unwatched attempts so far, and when the last attempt ended; 0: not known. */
uint64_t pipeline_unwatched_ns(const struct pipeline *pipeline);
uint64_t pipeline_last_end_ns(const struct pipeline *pipeline);

/* What warmup tells of the calls since pipeline_learn_anew(). */
struct learned *pipeline_learned(struct pipeline *pipeline);
void pipeline_learn_anew(struct pipeline *pipeline);

/* The attempts so far and the duration of the last one (0: not known), for the progress line. */
size_t pipeline_attempts(const struct pipeline *pipeline, uint64_t *last_ns);

/*
 * After the last record. Closes what is open, writes all files and the terminal's lines. *summary
 * is valid while the pipeline lives. An error of the files is in the summary as well.
 */
int pipeline_finish(struct pipeline *pipeline, struct byte_sink *terminal,
		    const struct summary **summary);

#endif /* PIPELINE_H */
