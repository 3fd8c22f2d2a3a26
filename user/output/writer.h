/*
 * writer.h - one output format. Each is one file that implements this table and recovers itself
 * with container_of; who drives it knows no format.
 */
#ifndef OUTPUT_WRITER_H
#define OUTPUT_WRITER_H

#include "base/byte_sink.h"
#include "model/device.h"
#include "model/span.h"
#include "model/summary.h"

struct writer;

struct writer_ops {
	/* A span as it ends, while the capture runs. NULL: the format needs none. */
	int (*span)(struct writer *writer, const struct span *span);
	/* The same of an arrow and of a memory event; NULL likewise. */
	int (*flow)(struct writer *writer, const struct flow *flow);
	int (*memory)(struct writer *writer, const struct memory_event *memory);
	int (*module)(struct writer *writer, const struct module_call *call);
	/* What devices did, after all spans; NULL likewise. */
	int (*device_work)(struct writer *writer, const struct device_work *work);
	int (*device_call)(struct writer *writer, const struct device_call *call);
	int (*device_annotation)(struct writer *writer, const struct device_annotation *annotation);
	int (*device_overhead)(struct writer *writer, const struct device_overhead *overhead);
	/* Everything is known; writes what is left. */
	int (*finish)(struct writer *writer, const struct summary *summary);
	void (*free)(struct writer *writer);
};

struct writer {
	const struct writer_ops *ops;
};

/* The constructors; out stays the caller's and must outlive the writer. */

/* The Chrome trace, streamed: of summary it needs session, clock and device properties by now. */
int chrome_trace_new(struct writer **writer, struct byte_sink *out, const struct summary *summary);

/* The key_averages() table: in the order asked for, by self device time, by self memory. */
int op_table_new(struct writer **writer, struct byte_sink *out);
int device_table_new(struct writer **writer, struct byte_sink *out);
int cpu_memory_table_new(struct writer **writer, struct byte_sink *out);
int device_memory_table_new(struct writer **writer, struct byte_sink *out);

int steps_csv_new(struct writer **writer, struct byte_sink *out);

int profile_json_new(struct writer **writer, struct byte_sink *out);

/* The lines for the terminal. */
int terminal_new(struct writer **writer, struct byte_sink *out);

/* For writers that need no state but their sink. */
int writer_simple_new(struct writer **writer, struct byte_sink *out,
		      int (*finish)(struct byte_sink *out, const struct summary *summary));

#endif /* OUTPUT_WRITER_H */
