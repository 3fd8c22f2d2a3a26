/*
 * writer.h - one output format. Each is one file that implements this table and recovers itself
 * with container_of; who drives it knows no format.
 */
#ifndef OUTPUT_WRITER_H
#define OUTPUT_WRITER_H

#include "base/byte_sink.h"
#include "model/span.h"
#include "model/summary.h"

struct writer;

struct writer_ops {
	/* A span as it ends, while the capture runs. NULL: the format needs none. */
	int (*span)(struct writer *writer, const struct span *span);
	/* Everything is known; writes what is left. */
	int (*finish)(struct writer *writer, const struct summary *summary);
	void (*free)(struct writer *writer);
};

struct writer {
	const struct writer_ops *ops;
};

/* The constructors; out stays the caller's and must outlive the writer. */

/* The Chrome trace, streamed. real_offset_ns is added to monotonic times. */
int chrome_trace_new(struct writer **writer, struct byte_sink *out,
		     const struct wire_session *session, int64_t real_offset_ns);

/* The key_averages() table. */
int op_table_new(struct writer **writer, struct byte_sink *out);

int steps_csv_new(struct writer **writer, struct byte_sink *out);

int profile_json_new(struct writer **writer, struct byte_sink *out);

/* The lines for the terminal. */
int terminal_new(struct writer **writer, struct byte_sink *out);

/* For writers that need no state but their sink. */
int writer_simple_new(struct writer **writer, struct byte_sink *out,
		      int (*finish)(struct byte_sink *out, const struct summary *summary));

#endif /* OUTPUT_WRITER_H */
