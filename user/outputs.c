/*
 * outputs.c - see outputs.h. profile.json comes last: it says what the others are.
 */
#include "outputs.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ingest/capture_file.h"
#include "model/sink.h"
#include "output/gzip_sink.h"
#include "output/writer.h"

#define TRACE_NAME "trace.json.gz"

/* A file that is written while the capture runs. */
struct stream {
	struct out_file *file;
	struct gzip_sink *gzip;
	struct writer *writer;
};

struct outputs {
	struct device_sink devices;
	struct out_dir *directory;
	struct summary *summary;
	struct out_file *raw;
	struct stream trace;
	int err;
};

static void keep_error(struct outputs *outputs, int err)
{
	if (err && !outputs->err)
		outputs->err = err;
}

/* What devices did goes to the trace alone; an error is kept as for spans. */
static int on_device_work(struct device_sink *sink, const struct device_work *work)
{
	struct outputs *outputs = container_of(sink, struct outputs, devices);
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->device_work(writer, work));
	return 0;
}

static int on_device_call(struct device_sink *sink, const struct device_call *call)
{
	struct outputs *outputs = container_of(sink, struct outputs, devices);
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->device_call(writer, call));
	return 0;
}

static int on_device_annotation(struct device_sink *sink,
				const struct device_annotation *annotation)
{
	struct outputs *outputs = container_of(sink, struct outputs, devices);
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->device_annotation(writer, annotation));
	return 0;
}

static int on_device_overhead(struct device_sink *sink, const struct device_overhead *overhead)
{
	struct outputs *outputs = container_of(sink, struct outputs, devices);
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->device_overhead(writer, overhead));
	return 0;
}

struct device_sink *outputs_devices(struct outputs *outputs)
{
	return &outputs->devices;
}

static int open_raw(struct outputs *outputs)
{
	int err = out_file_new(&outputs->raw, outputs->directory, "capture.raw");

	return err ? err : capture_file_begin(out_file_sink(outputs->raw));
}

int outputs_new(struct outputs **out, struct out_dir *directory, struct summary *summary,
		bool keep_raw)
{
	struct outputs *outputs = calloc(1, sizeof(*outputs));
	int err;

	if (!outputs)
		return -ENOMEM;
	outputs->devices = (struct device_sink){
		.work = on_device_work,
		.call = on_device_call,
		.annotation = on_device_annotation,
		.overhead = on_device_overhead,
	};
	outputs->directory = directory;
	outputs->summary = summary;
	err = keep_raw ? open_raw(outputs) : 0;
	if (err) {
		outputs_free(outputs);
		return err;
	}
	*out = outputs;
	return 0;
}

static void stream_abandon(struct stream *stream)
{
	if (stream->writer)
		stream->writer->ops->free(stream->writer);
	gzip_sink_free(stream->gzip);
	out_file_abandon(stream->file);
	memset(stream, 0, sizeof(*stream));
}

void outputs_free(struct outputs *outputs)
{
	if (!outputs)
		return;
	stream_abandon(&outputs->trace);
	out_file_abandon(outputs->raw);
	free(outputs);
}

int outputs_error(const struct outputs *outputs)
{
	return outputs->err;
}

void outputs_record(struct outputs *outputs, const void *bytes, size_t size_bytes)
{
	if (outputs->raw)
		keep_error(outputs,
			   capture_file_record(out_file_sink(outputs->raw), bytes, size_bytes));
}

void outputs_open_trace(struct outputs *outputs)
{
	struct stream *trace = &outputs->trace;
	int err;

	if (trace->file || outputs->err)
		return;
	err = out_file_new(&trace->file, outputs->directory, TRACE_NAME);
	if (!err)
		err = gzip_sink_new(&trace->gzip, out_file_sink(trace->file));
	if (!err)
		err = chrome_trace_new(&trace->writer, gzip_sink_bytes(trace->gzip),
				       outputs->summary);
	keep_error(outputs, err);
}

void outputs_span(struct outputs *outputs, const struct span *span)
{
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->span(writer, span));
}

void outputs_flow(struct outputs *outputs, const struct flow *flow)
{
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->flow(writer, flow));
}

void outputs_memory(struct outputs *outputs, const struct memory_event *memory)
{
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->memory(writer, memory));
}

void outputs_module(struct outputs *outputs, const struct module_call *call)
{
	struct writer *writer = outputs->trace.writer;

	if (writer && !outputs->err)
		keep_error(outputs, writer->ops->module(writer, call));
}

static int add_file(struct outputs *outputs, const char *name, uint64_t size_bytes)
{
	struct summary *summary = outputs->summary;
	struct output_file *file;

	if (summary->file_count == OUTPUT_FILES_MAX)
		return -ENOSPC;
	file = &summary->files[summary->file_count++];
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->size_bytes = size_bytes;
	return 0;
}

/* Writes one file from the summary. */
static int write_file(struct outputs *outputs, const char *name, bool is_listed,
		      int (*writer_new)(struct writer **, struct byte_sink *))
{
	struct out_file *file = NULL;
	struct writer *writer = NULL;
	uint64_t size_bytes = 0;
	int err = out_file_new(&file, outputs->directory, name);

	if (!err)
		err = writer_new(&writer, out_file_sink(file));
	if (!err)
		err = writer->ops->finish(writer, outputs->summary);
	if (writer)
		writer->ops->free(writer);
	if (err) {
		out_file_abandon(file);
		return err;
	}
	size_bytes = out_file_size_bytes(file);
	err = out_file_commit(file);
	return err || !is_listed ? err : add_file(outputs, name, size_bytes);
}

/* HOST_PID.NS.pt.trace.json.gz: the only form of name that TensorBoard's plugin takes for a trace.
 */
static void trace_link_name(const struct outputs *outputs, char *to, size_t size_bytes)
{
	const struct wire_session *session = outputs->summary->session;
	int64_t real_ns = (int64_t)session->header.time_ns + outputs->summary->real_offset_ns;
	char host[sizeof(session->job.host)];
	char *c;

	snprintf(host, sizeof(host), "%s", session->job.host[0] ? session->job.host : "host");
	for (c = host; *c; c++) {
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.')
			*c = '-';
	}
	snprintf(to, size_bytes, "%s_%u.%" PRId64 ".pt." TRACE_NAME, host,
		 session->job.namespace_pid, real_ns);
}

static void link_trace(struct outputs *outputs, uint64_t size_bytes)
{
	char name[128], path[160];
	int err;

	trace_link_name(outputs, name, sizeof(name));
	err = out_dir_link(outputs->directory, TRACE_NAME, "trace", name);
	if (err) {
		/* Not every file system has hard links; the trace itself is there. */
		log_warn("trace/%s: cannot be linked: %s", name, strerror(-err));
		return;
	}
	snprintf(path, sizeof(path), "trace/%s", name);
	keep_error(outputs, add_file(outputs, path, size_bytes));
}

static int finish_trace(struct outputs *outputs)
{
	struct stream *trace = &outputs->trace;
	uint64_t size_bytes;
	int err;

	if (!trace->writer || outputs->err) {
		stream_abandon(trace);
		return outputs->err;
	}
	err = trace->writer->ops->finish(trace->writer, outputs->summary);
	if (!err)
		err = gzip_sink_finish(trace->gzip);
	if (!err) {
		size_bytes = out_file_size_bytes(trace->file);
		err = out_file_commit(trace->file);
		trace->file = NULL;
	}
	stream_abandon(trace);
	if (err)
		return err;
	err = add_file(outputs, TRACE_NAME, size_bytes);
	link_trace(outputs, size_bytes);
	return err;
}

static int finish_raw(struct outputs *outputs)
{
	uint64_t size_bytes;
	int err;

	if (!outputs->raw)
		return 0;
	size_bytes = out_file_size_bytes(outputs->raw);
	err = out_file_commit(outputs->raw);
	outputs->raw = NULL;
	return err ? err : add_file(outputs, "capture.raw", size_bytes);
}

void outputs_begin(struct outputs *outputs)
{
	keep_error(outputs, write_file(outputs, "profile.json", false, profile_json_new));
}

/* The tables of what was recorded. */
static void write_tables(struct outputs *outputs)
{
	const struct summary *summary = outputs->summary;

	keep_error(outputs, write_file(outputs, "cpu_ops.txt", true, op_table_new));
	if (summary->device.watch == DEVICE_WATCHED || summary->device.watch == DEVICE_UNAVAILABLE)
		keep_error(outputs, write_file(outputs, "cuda_ops.txt", true, device_table_new));
	if (summary_has_memory(summary))
		keep_error(outputs,
			   write_file(outputs, "cpu_memory.txt", true, cpu_memory_table_new));
	if (summary_has_device_memory(summary))
		keep_error(outputs,
			   write_file(outputs, "cuda_memory.txt", true, device_memory_table_new));
}

void outputs_finish(struct outputs *outputs)
{
	struct summary *summary = outputs->summary;

	if (summary->state != WINDOW_NO_CAPTURE) {
		keep_error(outputs, finish_trace(outputs));
		write_tables(outputs);
	}
	keep_error(outputs, write_file(outputs, "steps.csv", true, steps_csv_new));
	keep_error(outputs, finish_raw(outputs));
	if (outputs->err) {
		summary->stop = STOP_OUTPUT_ERROR;
		if (summary->state == WINDOW_COMPLETE)
			summary->state = WINDOW_PARTIAL;
	}
	out_dir_use_reserve(outputs->directory);
	keep_error(outputs, write_file(outputs, "profile.json", false, profile_json_new));
}

int outputs_print(struct outputs *outputs, struct byte_sink *terminal)
{
	struct writer *writer = NULL;
	int err = terminal_new(&writer, terminal);

	if (err)
		return err;
	err = writer->ops->finish(writer, outputs->summary);
	writer->ops->free(writer);
	return err;
}
