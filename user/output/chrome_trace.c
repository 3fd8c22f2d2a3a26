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
#include "output/lost_kinds.h"
#include "output/trace_device.h"
#include "output/trace_shapes.h"

/* Kineto counts ts from the last multiple of three "months" since 1970. */
#define BASE_PERIOD_S 7889238LL

#define OVERHEAD_PID (-1)
#define OVERHEAD_SORT_INDEX 16777226 /* as Kineto sorts them */
#define DEVICE_SORT_INDEX 5000000

#define STEP_ROW_TID 0 /* for annotations that do not nest with the ranges of their thread */

/* Steps touch each other and the ranges inside them (see edges.h): they are written this much
 * apart. */
#define EDGE_NS 10

/* Rows of devices that have been written; on streams past the bound they stay without a label. */
#define STREAMS_MAX 1024

struct stream_list {
	struct trace_stream streams[STREAMS_MAX];
	size_t count;
	bool has_overhead;
};

struct chrome_trace {
	struct writer writer;
	struct json json;
	struct trace_frame frame;
	struct stream_list streams;
	uint64_t first_ns; /* monotonic; of the earliest event written; UINT64_MAX: none */
	char process_name[64];
	uint64_t memory_events;
};

static int64_t trace_ns(const struct chrome_trace *trace, uint64_t time_ns)
{
	return trace_frame_ns(&trace->frame, time_ns);
}

/* Ranges take no number, whatever stands there. */
static bool has_sequence(const struct span *span)
{
	return span->sequence != WIRE_SEQUENCE_NONE && span->kind != SPAN_RANGE &&
	       span->kind != SPAN_REGION;
}

/* In Kineto's order; behind them what only we have to say. */
static void put_args(struct json *json, const struct span *span)
{
	json_object_begin(json, "args");
	json_uint(json, "External id", span->id);
	json_uint(json, "Record function id", 0);
	if (has_sequence(span)) {
		json_uint(json, "Sequence number", span->sequence);
		json_uint(json, "Fwd thread id", span->forward_thread);
	}
	if (!span->is_finished)
		json_bool(json, "finished", false);
	if (span->shapes)
		trace_shapes_put(json, span->shapes);
	json_uint(json, "Ev Idx", span->id - 1);
	if (span->overload && span->overload[0])
		json_string(json, "overload", span->overload);
	if (span->is_inferred)
		json_bool(json, "inferred end", true);
	if (span->is_unwound)
		json_bool(json, "unwound", true);
	json_object_end(json);
}

static void saw(struct chrome_trace *trace, uint64_t time_ns)
{
	if (time_ns < trace->first_ns)
		trace->first_ns = time_ns;
}

/* What a thread of the job did; its args and the object's end are the caller's. */
static void begin_row(struct chrome_trace *trace, const char *category, const char *name,
		      uint32_t tid, uint64_t start_ns, uint64_t end_ns)
{
	struct json *json = &trace->json;

	saw(trace, start_ns);
	json_object_begin(json, NULL);
	json_string(json, "ph", "X");
	json_string(json, "cat", category);
	json_string(json, "name", name);
	json_int(json, "pid", trace->frame.pid);
	json_uint(json, "tid", tid);
	json_us(json, "ts", trace_ns(trace, start_ns));
	json_us(json, "dur", (int64_t)(end_ns - start_ns));
}

static int chrome_trace_span(struct writer *writer, const struct span *span)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);
	uint64_t start_ns = span_shown_start_ns(span), end_ns = span_shown_end_ns(span);

	/* Steps come last and know by then whether they nest: they carry their row in tid. */
	if (span->is_step && end_ns > start_ns + EDGE_NS) {
		start_ns += 2 * EDGE_NS;
		end_ns += EDGE_NS;
	}
	begin_row(trace, span->kind == SPAN_RANGE ? "user_annotation" : "cpu_op", span->name,
		  span->tid, start_ns, end_ns);
	put_args(&trace->json, span);
	json_object_end(&trace->json);
	return trace->json.err;
}

/* A viewer ties it to the slice that has just these ts, pid and tid. */
static void put_flow_end(struct chrome_trace *trace, const struct flow *flow, const char *phase,
			 uint32_t tid, uint64_t time_ns)
{
	struct json *json = &trace->json;

	json_object_begin(json, NULL);
	json_string(json, "ph", phase);
	json_uint(json, "id", flow->id);
	json_int(json, "pid", trace->frame.pid);
	json_uint(json, "tid", tid);
	json_us(json, "ts", trace_ns(trace, time_ns));
	json_string(json, "cat", "fwdbwd");
	json_string(json, "name", "fwdbwd");
	if (phase[0] == 'f')
		json_string(json, "bp", "e");
	json_object_end(json);
}

static int chrome_trace_flow(struct writer *writer, const struct flow *flow)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	put_flow_end(trace, flow, "s", flow->from_tid, flow->from_ns);
	put_flow_end(trace, flow, "f", flow->to_tid, flow->to_ns);
	return trace->json.err;
}

static void put_memory_args(struct chrome_trace *trace, const struct memory_event *memory)
{
	struct json *json = &trace->json;
	bool is_cpu = memory->device_type == WIRE_DEVICE_CPU;

	json_object_begin(json, "args");
	json_uint(json, "Total Reserved", memory->total_reserved_bytes);
	json_uint(json, "Total Allocated", memory->total_allocated_bytes);
	json_int(json, "Bytes", memory->size_bytes);
	json_int(json, "Device Id", is_cpu ? -1 : memory->device_index);
	json_uint(json, "Device Type", memory->device_type);
	if (!memory->is_out_of_memory)
		json_uint(json, "Addr", memory->address);
	json_uint(json, "Ev Idx", trace->memory_events++);
	json_object_end(json);
}

static int chrome_trace_memory(struct writer *writer, const struct memory_event *memory)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);
	struct json *json = &trace->json;

	saw(trace, memory->time_ns);
	json_object_begin(json, NULL);
	json_string(json, "ph", "i");
	json_string(json, "cat", "cpu_instant_event");
	json_string(json, "s", "t");
	json_string(json, "name", memory->is_out_of_memory ? "[OutOfMemory]" : "[memory]");
	json_int(json, "pid", trace->frame.pid);
	json_uint(json, "tid", memory->tid);
	json_us(json, "ts", trace_ns(trace, memory->time_ns));
	put_memory_args(trace, memory);
	json_object_end(json);
	return json->err;
}

/* Kineto's rows of Python functions, of which modules are some. */
static int chrome_trace_module(struct writer *writer, const struct module_call *call)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);
	struct json *json = &trace->json;

	begin_row(trace, "python_function", call->name, call->tid, call->start_ns, call->end_ns);
	json_object_begin(json, "args");
	if (call->parent_id)
		json_uint(json, "Python parent id", call->parent_id);
	else
		json_null(json, "Python parent id");
	json_uint(json, "Python id", call->id);
	json_uint(json, "Python module id", call->module_id);
	if (!call->is_finished)
		json_bool(json, "finished", false);
	json_object_end(json);
	json_object_end(json);
	return json->err;
}

static void add_stream(struct stream_list *list, uint32_t device, uint32_t stream)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (list->streams[i].device == device && list->streams[i].stream == stream)
			return;
	}
	if (list->count < STREAMS_MAX)
		list->streams[list->count++] = (struct trace_stream){ device, stream };
}

static int chrome_trace_work(struct writer *writer, const struct device_work *work)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	saw(trace, work->start_ns);
	add_stream(&trace->streams, work->device, work->stream);
	trace_device_work(&trace->json, &trace->frame, work);
	return trace->json.err;
}

static int chrome_trace_call(struct writer *writer, const struct device_call *call)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	saw(trace, call->start_ns);
	trace_device_call(&trace->json, &trace->frame, call);
	return trace->json.err;
}

static int chrome_trace_annotation(struct writer *writer,
				   const struct device_annotation *annotation)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	trace_device_annotation(&trace->json, &trace->frame, annotation);
	return trace->json.err;
}

static int chrome_trace_overhead(struct writer *writer, const struct device_overhead *overhead)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	trace->streams.has_overhead = true;
	trace_device_overhead(&trace->json, &trace->frame, overhead);
	return trace->json.err;
}

struct metadata {
	const char *name;
	int64_t pid;
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
	json_int(json, "pid", metadata->pid);
	json_uint(json, "tid", metadata->tid);
	json_object_begin(json, "args");
	if (metadata->text)
		json_string(json, metadata->key, metadata->text);
	else
		json_int(json, metadata->key, metadata->number);
	json_object_end(json);
	json_object_end(json);
}

/* A group of rows: the process, or a device. */
static void put_process(struct chrome_trace *trace, int64_t pid, const char *label,
			int64_t sort_index)
{
	const struct metadata rows[] = {
		{ "process_name", pid, 0, "name", trace->process_name, 0 },
		{ "process_labels", pid, 0, "labels", label, 0 },
		{ "process_sort_index", pid, 0, "sort_index", NULL, sort_index },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		put_metadata(trace, &rows[i]);
}

static void put_row_name(struct chrome_trace *trace, int64_t pid, uint32_t tid, const char *name)
{
	const struct metadata name_row = { "thread_name", pid, tid, "name", name, 0 };
	const struct metadata sort_row = { "thread_sort_index", pid, tid, "sort_index", NULL, tid };

	put_metadata(trace, &name_row);
	put_metadata(trace, &sort_row);
}

static void put_thread(struct chrome_trace *trace, uint32_t tid, const char *name)
{
	put_row_name(trace, trace->frame.pid, tid, name);
}

static bool is_device_named(const struct stream_list *list, size_t before)
{
	size_t i;

	for (i = 0; i < before; i++) {
		if (list->streams[i].device == list->streams[before].device)
			return true;
	}
	return false;
}

static void put_streams(struct chrome_trace *trace)
{
	const struct stream_list *list = &trace->streams;
	const struct metadata overhead[] = {
		{ "process_name", OVERHEAD_PID, 0, "name", "CUPTI Overhead", 0 },
		{ "process_sort_index", OVERHEAD_PID, 0, "sort_index", NULL, OVERHEAD_SORT_INDEX },
	};
	char text[48];
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct trace_stream *stream = &list->streams[i];

		if (!is_device_named(list, i)) {
			snprintf(text, sizeof(text), "GPU %u", stream->device);
			put_process(trace, stream->device, text,
				    DEVICE_SORT_INDEX + stream->device);
		}
		snprintf(text, sizeof(text), "stream %u ", stream->stream);
		put_row_name(trace, stream->device, stream->stream, text);
	}
	for (i = 0; list->has_overhead && i < sizeof(overhead) / sizeof(overhead[0]); i++)
		put_metadata(trace, &overhead[i]);
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
static void begin_marker(struct chrome_trace *trace, const char *name, const char *pid,
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
}

static void put_marker(struct chrome_trace *trace, const char *name, const char *pid,
		       const char *tid, uint64_t time_ns)
{
	begin_marker(trace, name, pid, tid, time_ns);
	json_object_end(&trace->json);
}

static void put_lost_args(struct json *json, const struct hole *hole)
{
	json_object_begin(json, "args");
	json_uint(json, "records", hole->count);
	if (hole->tid)
		json_uint(json, "thread", hole->tid);
	lost_kinds_put(json, hole->kinds);
	json_object_end(json);
}

/* Two lines across all rows: between them something is missing. */
static void put_holes(struct chrome_trace *trace, const struct summary *summary)
{
	size_t i;

	for (i = 0; i < summary->hole_count; i++) {
		const struct hole *hole = &summary->holes[i];

		begin_marker(trace, "Records lost from here", "", "", hole->first_ns);
		put_lost_args(&trace->json, hole);
		json_object_end(&trace->json);
		put_marker(trace, "Records lost up to here", "", "", hole->last_ns);
	}
}

static int chrome_trace_finish(struct writer *writer, const struct summary *summary)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);
	struct json *json = &trace->json;

	if (trace->first_ns == UINT64_MAX)
		trace->first_ns = summary->started_ns;
	put_process(trace, trace->frame.pid, "CPU", trace->frame.pid);
	put_threads(trace, summary);
	put_streams(trace);
	put_marker(trace, "Iteration Start: PyTorch Profiler", "Traces", "Trace PyTorch Profiler",
		   summary->started_ns);
	put_holes(trace, summary);
	put_marker(trace, "Record Window End", "", "", summary->ended_ns);
	json_array_end(json);
	json_object_end(json);
	return json_finish(json);
}

static void chrome_trace_free(struct writer *writer)
{
	struct chrome_trace *trace = container_of(writer, struct chrome_trace, writer);

	free(trace);
}

static const struct writer_ops chrome_trace_ops = {
	.span = chrome_trace_span,
	.flow = chrome_trace_flow,
	.memory = chrome_trace_memory,
	.module = chrome_trace_module,
	.device_work = chrome_trace_work,
	.device_call = chrome_trace_call,
	.device_annotation = chrome_trace_annotation,
	.device_overhead = chrome_trace_overhead,
	.finish = chrome_trace_finish,
	.free = chrome_trace_free,
};

static void put_head(struct chrome_trace *trace, const struct wire_session *session,
		     int64_t base_ns)
{
	const struct wire_job *job = &session->job;
	struct json *json = &trace->json;

	json_object_begin(json, NULL);
	json_uint(json, "schemaVersion", 1);
	trace_device_properties(json, trace->frame.device);
	/* A job that is not distributed is rank 0 of 1 to every reader of traces. */
	json_object_begin(json, "distributedInfo");
	json_int(json, "rank", job->rank == WIRE_RANK_UNKNOWN ? 0 : job->rank);
	json_int(json, "world_size", job->world_size == WIRE_RANK_UNKNOWN ? 1 : job->world_size);
	json_object_end(json);
	json_string(json, "host_name", job->host);
	json_string(json, "trace_id", session->session_id);
	json_string(json, "displayTimeUnit", "ms");
	json_int(json, "baseTimeNanoseconds", base_ns);
	json_array_begin(json, "traceEvents");
}

int chrome_trace_new(struct writer **writer, struct byte_sink *out, const struct summary *summary)
{
	struct chrome_trace *trace = calloc(1, sizeof(*trace));
	const struct wire_session *session = summary->session;
	int64_t start_s, base_ns;
	int err;

	if (!trace)
		return -ENOMEM;
	trace->writer.ops = &chrome_trace_ops;
	trace->first_ns = UINT64_MAX;
	snprintf(trace->process_name, sizeof(trace->process_name), "%s", session->job.process_name);
	start_s = ((int64_t)session->header.time_ns + summary->real_offset_ns) / 1000000000LL;
	base_ns = start_s / BASE_PERIOD_S * BASE_PERIOD_S * 1000000000LL;
	trace->frame = (struct trace_frame){
		.offset_ns = summary->real_offset_ns - base_ns,
		.pid = session->job.namespace_pid,
		.device = &summary->device,
	};
	json_init(&trace->json, out, 2);
	put_head(trace, session, base_ns);
	err = json_flush(&trace->json); /* a file that cannot be written is known at once */
	if (err)
		chrome_trace_free(&trace->writer);
	else
		*writer = &trace->writer;
	return err;
}
