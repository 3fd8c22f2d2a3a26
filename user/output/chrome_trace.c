/*
 * chrome_trace.c - trace.json: the Chrome trace in Kineto's form (pytorch/kineto, libkineto/src/
 * output_json.cpp), one event a line, streamed. Where Kineto's form breaks a reader it is left: no
 * Trace span, which speedscope refuses. `"rank": 0` keeps its blank and stands before the events,
 * where HolisticTraceAnalysis and TensorBoard's plugin look for it.
 */
#include "output/writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "model/sink.h"

/* Kineto counts ts from the last multiple of three "months" since 1970. */
#define BASE_PERIOD_S 7889238LL

#define STEP_ROW_TID 0 /* for annotations that do not nest with the ranges of their thread */

/*
 * Readers add ts and dur as doubles, which keep about 1 ns at Kineto's base: rows whose edges are
 * the same moment may then overlap. Steps touch each other and the ranges inside them, so they are
 * written this much apart.
 */
#define EDGE_NS 10

struct chrome_trace {
	struct writer writer;
	struct json json;
	int64_t real_offset_ns;
	int64_t base_ns;
	int64_t pid;
	uint64_t first_ns; /* monotonic; of the first span written */
	char process_name[64];
	uint64_t written;
};

static int64_t trace_ns(const struct chrome_trace *trace, uint64_t time_ns)
{
	int64_t since_base_ns = (int64_t)time_ns + trace->real_offset_ns - trace->base_ns;

	return since_base_ns > 0 ? since_base_ns : 0;
}

static void put_args(struct chrome_trace *trace, const struct span *span)
{
	json_object_begin(&trace->json, "args");
	json_uint(&trace->json, "External id", span->id);
	json_uint(&trace->json, "Record function id", 0);
	if (!span->is_finished)
		json_bool(&trace->json, "finished", false);
	json_uint(&trace->json, "Ev Idx", span->id - 1);
	json_object_end(&trace->json);
}

static void put_span(struct chrome_trace *trace, const struct span *span, uint32_t tid)
{
	struct json *json = &trace->json;
	uint64_t start_ns = span->start_ns, end_ns = span->end_ns;

	if (span->is_step && end_ns > start_ns + EDGE_NS) {
		start_ns += 2 * EDGE_NS;
		end_ns += EDGE_NS;
	}
	json_object_begin(json, NULL);
	json_string(json, "ph", "X");
	json_string(json, "cat", span->range == RANGE_REGION ? "cpu_op" : "user_annotation");
	json_string(json, "name", span->name);
	json_int(json, "pid", trace->pid);
	json_uint(json, "tid", tid);
	json_us(json, "ts", trace_ns(trace, start_ns));
	json_us(json, "dur", (int64_t)(end_ns - start_ns));
	put_args(trace, span);
	json_object_end(json);
}

static int chrome_trace_span(struct writer *writer, const struct span *span)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	if (!trace->written || span->start_ns < trace->first_ns)
		trace->first_ns = span->start_ns;
	trace->written++;
	/* Annotations come last and know by then whether they nest: they carry their row in tid. */
	put_span(trace, span, span->tid);
	return trace->json.err;
}

struct metadata {
	const char *name;
	uint32_t tid;
	const char *key;
	const char *text; /* NULL: the number */
	int64_t number;
};

static void put_metadata(struct chrome_trace *trace, const struct metadata *metadata)
{
	struct json *json = &trace->json;

	json_object_begin(json, NULL);
	json_string(json, "ph", "M");
	json_string(json, "name", metadata->name);
	json_us(json, "ts", trace_ns(trace, trace->first_ns));
	json_int(json, "pid", trace->pid);
	json_uint(json, "tid", metadata->tid);
	json_object_begin(json, "args");
	if (metadata->text)
		json_string(json, metadata->key, metadata->text);
	else
		json_int(json, metadata->key, metadata->number);
	json_object_end(json);
	json_object_end(json);
}

static void put_process(struct chrome_trace *trace)
{
	const struct metadata rows[] = {
		{ "process_name", 0, "name", trace->process_name, 0 },
		{ "process_labels", 0, "labels", "CPU", 0 },
		{ "process_sort_index", 0, "sort_index", NULL, trace->pid },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_metadata(trace, &rows[i]);
}

static void put_thread(struct chrome_trace *trace, uint32_t tid, const char *name)
{
	const struct metadata name_row = { "thread_name", tid, "name", name, 0 };
	const struct metadata sort_row = { "thread_sort_index", tid, "sort_index", NULL, tid };

	put_metadata(trace, &name_row);
	put_metadata(trace, &sort_row);
}

static void put_threads(struct chrome_trace *trace, const struct summary *summary)
{
	size_t i;

	for (i = 0; i < summary->thread_count; i++) {
		char name[96];

		snprintf(name, sizeof(name), "thread %u (%s)", summary->threads[i].tid,
			 summary->threads[i].name);
		put_thread(trace, summary->threads[i].tid, name);
	}
	if (summary->steps_on_own_row)
		put_thread(trace, STEP_ROW_TID, "steps");
}

/* An instant that spans the whole view; its pid and tid are strings, as Kineto writes them. */
static void put_marker(struct chrome_trace *trace, const char *name, const char *pid,
		       const char *tid, uint64_t time_ns)
{
	struct json *json = &trace->json;

	json_object_begin(json, NULL);
	json_string(json, "ph", "i");
	json_string(json, "s", "g");
	json_string(json, "name", name);
	json_string(json, "pid", pid);
	json_string(json, "tid", tid);
	json_us(json, "ts", trace_ns(trace, time_ns));
	json_object_end(json);
}

static int chrome_trace_finish(struct writer *writer, const struct summary *summary)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);
	struct json *json = &trace->json;

	if (!trace->written)
		trace->first_ns = summary->started_ns;
	put_process(trace);
	put_threads(trace, summary);
	put_marker(trace, "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler",
		   summary->started_ns);
	put_marker(trace, "Record Window End", "", "", summary->ended_ns);
	json_array_end(json);
	json_object_end(json);
	return json_finish(json);
}

static void chrome_trace_free(struct writer *writer)
{
	free(container_of(writer, struct chrome_trace, writer));
}

static const struct writer_ops chrome_trace_ops = {
	.span = chrome_trace_span,
	.finish = chrome_trace_finish,
	.free = chrome_trace_free,
};

static void put_head(struct chrome_trace *trace, const struct wire_session *session)
{
	const struct wire_job *job = &session->job;
	struct json *json = &trace->json;

	json_object_begin(json, NULL);
	json_uint(json, "schemaVersion", 1);
	json_array_begin(json, "deviceProperties");
	json_array_end(json);
	/* A job that is not distributed is rank 0 of 1 to every reader of traces. */
	json_object_begin(json, "distributedInfo");
	json_int(json, "rank", job->rank == WIRE_RANK_UNKNOWN ? 0 : job->rank);
	json_int(json, "world_size", job->world_size == WIRE_RANK_UNKNOWN ? 1 : job->world_size);
	json_object_end(json);
	json_string(json, "host_name", job->host);
	json_string(json, "trace_id", session->session_id);
	json_string(json, "displayTimeUnit", "ms");
	json_int(json, "baseTimeNanoseconds", trace->base_ns);
	json_array_begin(json, "traceEvents");
}

int chrome_trace_new(struct writer **writer, struct byte_sink *out,
		     const struct wire_session *session, int64_t real_offset_ns)
{
	struct chrome_trace *trace = calloc(1, sizeof(*trace));
	int64_t start_s;

	if (!trace)
		return -ENOMEM;
	trace->writer.ops = &chrome_trace_ops;
	trace->real_offset_ns = real_offset_ns;
	trace->pid = session->job.namespace_pid;
	snprintf(trace->process_name, sizeof(trace->process_name), "%s", session->job.process_name);
	start_s = ((int64_t)session->header.time_ns + real_offset_ns) / 1000000000LL;
	trace->base_ns = start_s / BASE_PERIOD_S * BASE_PERIOD_S * 1000000000LL;
	json_init(&trace->json, out, 2);
	put_head(trace, session);
	if (trace->json.err) {
		int err = trace->json.err;

		free(trace);
		return err;
	}
	*writer = &trace->writer;
	return 0;
}
