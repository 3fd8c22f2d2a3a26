/*
 * agent_reader.h - what the agent's batches tell: calls, work, overhead, devices, and what went
 * wrong in the job. Batches of one session come in order; what is missing, damaged or has no time
 * is counted.
 */
#ifndef INGEST_AGENT_READER_H
#define INGEST_AGENT_READER_H

#include "base/name_table.h"
#include "model/event.h"
#include "model/device.h"
#include "model/summary.h"

struct agent_reader;

/* Takes what batches hold. All return 0 or a negative errno, which stops the capture. */
struct agent_sink {
	int (*work)(struct agent_sink *sink, const struct device_work *work);
	int (*call)(struct agent_sink *sink, const struct device_call *call);
	int (*overhead)(struct agent_sink *sink, const struct device_overhead *overhead);
};

/* names and sink stay the caller's. */
int agent_reader_new(struct agent_reader **out, struct name_table *names, struct agent_sink *sink);
void agent_reader_free(struct agent_reader *reader); /* NULL is legal */

/* A WIRE_AGENT event. A batch that cannot be read is counted; that is no error. */
int agent_reader_batch(struct agent_reader *reader, const struct event *event);

/* After the last one: what had to wait for others is handed on. */
int agent_reader_finish(struct agent_reader *reader);

/* The devices, for the trace's head; what is known so far. */
const struct device_properties *agent_reader_devices(const struct agent_reader *reader,
						     size_t *count);

/*
 * It reports nothing, and somebody else does its part: what it lost, and whether it came to an end,
 * is of no interest. What it said of itself is.
 */
void agent_reader_give_up(struct agent_reader *reader);

/* A sentence of somebody else about what is recorded, beside the agent's own. */
void agent_reader_remark(struct agent_reader *reader, const char *text);

/* Adds losses and remarks to the summary, which are valid while the reader lives. */
int agent_reader_summarize(struct agent_reader *reader, struct summary *summary);

#endif /* INGEST_AGENT_READER_H */
