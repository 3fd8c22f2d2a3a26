/*
 * pipeline.c - see pipeline.h. Reads as the flow: record -> (capture.raw) -> decode -> window,
 * spans -> step marks -> table and trace. The trace's file is made when the window opens and
 * streamed; the other files are written at the end from the summary. profile.json comes last: it
 * says what the others are.
 */
#include "pipeline.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/op_stats.h"
#include "analyze/spans.h"
#include "analyze/step_marks.h"
#include "analyze/step_stats.h"
#include "analyze/window.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "base/name_table.h"
#include "ingest/capture_file.h"
#include "ingest/decode.h"
#include "output/gzip_sink.h"
#include "output/writer.h"

#define NAMES_MAX 20000
#define THREADS_MAX 20000
#define PROBES_MAX 20000
#define OPEN_RANGES_MAX 131072
#define TRACE_NAME "trace.json.gz"

/* A file that is written while the capture runs. */
struct stream {
	struct out_file *file;
	struct gzip_sink *gzip;
	struct writer *writer;
};

struct pipeline {
	struct record_sink records;
	struct event_sink events;
	struct span_sink spans_out;

	struct out_dir *directory;
	int output_err;
	struct out_file *raw;
	struct stream trace;

	struct decoder *decoder;
	struct name_table *names, *step_names, *thread_labels;
	struct window *window;
	struct spans *spans;
	struct step_marks *marks;
	struct op_stats *stats;

	bool has_session, has_clock;
	struct wire_session session;
	struct wire_probe *probes;
	struct thread_name *threads;
	struct hashmap *thread_seen;
	enum wire_stop stop;
	uint64_t last_time_ns;
	struct summary summary;
};

static void output_failed(struct pipeline *pipeline, int err)
{
	if (err && !pipeline->output_err)
		pipeline->output_err = err;
}

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, records);
	struct record_sink *decoder = decoder_sink(pipeline->decoder);

	if (pipeline->raw)
		output_failed(pipeline,
			      capture_file_record(out_file_sink(pipeline->raw), bytes, size_bytes));
	return decoder->record(decoder, bytes, size_bytes);
}

static int on_span(struct span_sink *sink, const struct span *span)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, spans_out);
	struct writer *writer = pipeline->trace.writer;

	if (writer)
		output_failed(pipeline, writer->ops->span(writer, span));
	return op_stats_add(pipeline->stats, span);
}

static void stream_abandon(struct stream *stream)
{
	if (stream->writer)
		stream->writer->ops->free(stream->writer);
	gzip_sink_free(stream->gzip);
	out_file_abandon(stream->file);
	memset(stream, 0, sizeof(*stream));
}

static void open_trace(struct pipeline *pipeline)
{
	struct stream *trace = &pipeline->trace;
	int err;

	if (trace->file || pipeline->output_err)
		return;
	err = out_file_new(&trace->file, pipeline->directory, TRACE_NAME);
	if (!err)
		err = gzip_sink_new(&trace->gzip, out_file_sink(trace->file));
	if (!err)
		err = chrome_trace_new(&trace->writer, gzip_sink_bytes(trace->gzip),
				       &pipeline->session, pipeline->summary.real_offset_ns);
	output_failed(pipeline, err);
}

static int add_file(struct pipeline *pipeline, const char *name, uint64_t size_bytes)
{
	struct summary *summary = &pipeline->summary;
	struct output_file *file;

	if (summary->file_count == OUTPUT_FILES_MAX)
		return -ENOSPC;
	file = &summary->files[summary->file_count++];
	snprintf(file->name, sizeof(file->name), "%s", name);
	file->size_bytes = size_bytes;
	return 0;
}

/* Writes one file from the summary. */
static int write_file(struct pipeline *pipeline, const char *name, bool is_listed,
		      int (*writer_new)(struct writer **, struct byte_sink *))
{
	struct out_file *file = NULL;
	struct writer *writer = NULL;
	uint64_t size_bytes = 0;
	int err = out_file_new(&file, pipeline->directory, name);

	if (!err)
		err = writer_new(&writer, out_file_sink(file));
	if (!err)
		err = writer->ops->finish(writer, &pipeline->summary);
	if (writer)
		writer->ops->free(writer);
	if (err) {
		out_file_abandon(file);
		return err;
	}
	size_bytes = out_file_size_bytes(file);
	err = out_file_commit(file);
	return err || !is_listed ? err : add_file(pipeline, name, size_bytes);
}

static int on_session(struct pipeline *pipeline, const struct event *event)
{
	if (pipeline->has_session)
		return 0;
	pipeline->session = *event->session;
	pipeline->has_session = true;
	output_failed(pipeline, write_file(pipeline, "profile.json", false, profile_json_new));
	return 0;
}

static int on_probe(struct pipeline *pipeline, const struct event *event)
{
	struct summary *summary = &pipeline->summary;
	struct wire_probe *grown;

	if (summary->probe_count >= PROBES_MAX)
		return 0;
	grown = realloc(pipeline->probes, (summary->probe_count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	grown[summary->probe_count++] = *event->probe;
	pipeline->probes = grown;
	summary->probes = grown;
	return 0;
}

static int on_thread(struct pipeline *pipeline, const struct event *event)
{
	struct summary *summary = &pipeline->summary;
	struct thread_name *grown;
	const char *name;

	if (summary->thread_count >= THREADS_MAX ||
	    hashmap_get(pipeline->thread_seen, event->header->tid))
		return 0;
	name = name_table_add(pipeline->thread_labels, event->thread->name,
			      sizeof(event->thread->name));
	grown = realloc(pipeline->threads, (summary->thread_count + 1) * sizeof(*grown));
	if (grown)
		pipeline->threads = grown;
	if (!name || !grown)
		return -ENOMEM;
	grown[summary->thread_count++] = (struct thread_name){ event->header->tid, name };
	summary->threads = grown;
	return hashmap_put(pipeline->thread_seen, event->header->tid, pipeline, NULL);
}

static int on_clock(struct pipeline *pipeline, const struct event *event)
{
	struct summary *summary = &pipeline->summary;

	if (pipeline->has_clock)
		summary->real_offset_drift_ns =
			event->clock->real_offset_ns - summary->real_offset_ns;
	else
		summary->real_offset_ns = event->clock->real_offset_ns;
	pipeline->has_clock = true;
	return 0;
}

static int on_attempt(struct pipeline *pipeline, const struct event *event)
{
	uint64_t start_before_ns = window_last_start_ns(pipeline->window);
	const struct attempt *attempt;
	size_t index;
	int err = window_attempt(pipeline->window, event);

	if (err == -EPROTO) {
		pipeline->summary.loss[LOSS_BAD_RECORD]++;
		return 0;
	}
	/* It may have opened and closed at once: its first boundary was lost. */
	if (!err && window_last_start_ns(pipeline->window) != start_before_ns) {
		err = spans_close_open(pipeline->spans, window_last_end_ns(pipeline->window));
		open_trace(pipeline);
	}
	if (err)
		return err;
	attempt = window_last(pipeline->window, &index);
	return step_marks_attempt(pipeline->marks, pipeline->spans, event, attempt->start_ns);
}

static void add_saturated(uint64_t *sum, uint64_t value)
{
	*sum = value > UINT64_MAX - *sum ? UINT64_MAX : *sum + value;
}

static int on_loss(struct pipeline *pipeline, const struct event *event)
{
	unsigned int cause;

	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++)
		add_saturated(&pipeline->summary.loss[cause], event->loss->count[cause]);
	return 0;
}

static void on_probes(struct pipeline *pipeline, const struct event *event)
{
	struct summary *summary = &pipeline->summary;
	uint64_t *longest_ns =
		event->probes->is_attached ? &summary->attach_ns : &summary->detach_ns;

	if (event->probes->duration_ns > *longest_ns)
		*longest_ns = event->probes->duration_ns;
	if (event->probes->is_attached)
		window_attached(pipeline->window);
	else
		window_detached(pipeline->window, event->header->time_ns);
}

static int on_event(struct event_sink *sink, const struct event *event)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, events);

	/* Nothing can be made of records before the first one, nor of any behind the last one. */
	if ((!pipeline->has_session && event->kind != WIRE_SESSION) ||
	    pipeline->stop != STOP_NONE) {
		pipeline->summary.loss[LOSS_BAD_RECORD]++;
		return 0;
	}
	if (event->header->time_ns > pipeline->last_time_ns)
		pipeline->last_time_ns = event->header->time_ns;
	switch (event->kind) {
	case WIRE_SESSION:
		return on_session(pipeline, event);
	case WIRE_PROBE:
		return on_probe(pipeline, event);
	case WIRE_THREAD:
		return on_thread(pipeline, event);
	case WIRE_CLOCK:
		return on_clock(pipeline, event);
	case WIRE_ATTEMPT:
		return on_attempt(pipeline, event);
	case WIRE_RANGE_BEGIN:
		/* Another thread may see the window's end a moment late. */
		return window_is_active(pipeline->window) ? spans_begin(pipeline->spans, event) : 0;
	case WIRE_RANGE_END:
		return spans_end(pipeline->spans, event);
	case WIRE_LOSS:
		return on_loss(pipeline, event);
	case WIRE_PROBES:
		on_probes(pipeline, event);
		return 0;
	case WIRE_STOP:
		pipeline->stop = (enum wire_stop)event->stop->reason;
		window_stop(pipeline->window, event->header->time_ns);
		return 0;
	default:
		return 0;
	}
}

static int open_raw(struct pipeline *pipeline)
{
	int err = out_file_new(&pipeline->raw, pipeline->directory, "capture.raw");

	return err ? err : capture_file_begin(out_file_sink(pipeline->raw));
}

static int new_stages(struct pipeline *pipeline)
{
	int err = name_table_new(&pipeline->names, NAMES_MAX);

	if (!err)
		err = name_table_new(&pipeline->step_names, SIZE_MAX);
	if (!err)
		err = name_table_new(&pipeline->thread_labels, THREADS_MAX);
	if (!err)
		err = hashmap_new(&pipeline->thread_seen);
	if (!err)
		err = window_new(&pipeline->window);
	if (!err)
		err = op_stats_new(&pipeline->stats);
	if (!err)
		err = step_marks_new(&pipeline->marks, pipeline->step_names, &pipeline->spans_out);
	if (!err)
		err = spans_new(&pipeline->spans, pipeline->names, step_marks_sink(pipeline->marks),
				OPEN_RANGES_MAX);
	return err ? err : decoder_new(&pipeline->decoder, &pipeline->events);
}

int pipeline_new(struct pipeline **out, struct out_dir *directory, bool keep_raw)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int err;

	if (!pipeline)
		return -ENOMEM;
	pipeline->records.record = on_record;
	pipeline->events.event = on_event;
	pipeline->spans_out.span = on_span;
	pipeline->directory = directory;
	pipeline->summary.session = &pipeline->session;
	pipeline->summary.directory = out_dir_path(directory);
	err = new_stages(pipeline);
	if (!err && keep_raw)
		err = open_raw(pipeline);
	if (err) {
		pipeline_free(pipeline);
		return err;
	}
	*out = pipeline;
	return 0;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	stream_abandon(&pipeline->trace);
	out_file_abandon(pipeline->raw);
	decoder_free(pipeline->decoder);
	spans_free(pipeline->spans);
	step_marks_free(pipeline->marks);
	op_stats_free(pipeline->stats);
	window_free(pipeline->window);
	hashmap_free(pipeline->thread_seen);
	name_table_free(pipeline->thread_labels);
	name_table_free(pipeline->step_names);
	name_table_free(pipeline->names);
	free(pipeline->threads);
	free(pipeline->probes);
	free(pipeline);
}

struct record_sink *pipeline_sink(struct pipeline *pipeline)
{
	return &pipeline->records;
}

void pipeline_set_truncated(struct pipeline *pipeline)
{
	pipeline->summary.loss[LOSS_CAPTURE_TRUNCATED] = 1;
}

int pipeline_output_error(const struct pipeline *pipeline)
{
	return pipeline->output_err;
}

size_t pipeline_open_ranges(const struct pipeline *pipeline)
{
	return spans_open_count(pipeline->spans);
}

size_t pipeline_attempts(const struct pipeline *pipeline, uint64_t *last_ns)
{
	size_t index;
	const struct attempt *last = window_last(pipeline->window, &index);

	*last_ns = last && last->start_ns && last->end_ns > last->start_ns
			   ? last->end_ns - last->start_ns
			   : 0;
	return last ? index + 1 : 0;
}

static void add_collector_losses(struct pipeline *pipeline)
{
	uint64_t *loss = pipeline->summary.loss;

	loss[LOSS_ATTEMPT_LOG] += window_lost_attempts(pipeline->window);
	loss[LOSS_BAD_RECORD] +=
		decoder_rejected(pipeline->decoder) + decoder_unknown_kinds(pipeline->decoder);
	loss[LOSS_NAME_TABLE_FULL] += name_table_refused(pipeline->names);
	loss[LOSS_OPEN_TABLE_FULL] += spans_dropped(pipeline->spans);
	loss[LOSS_NAME_TRUNCATED] += spans_cut_names(pipeline->spans);
	loss[LOSS_NAME_UNREADABLE] += spans_nameless(pipeline->spans);
}

static int analyze_rest(struct pipeline *pipeline)
{
	struct summary *summary = &pipeline->summary;
	int err;

	if (pipeline->stop == STOP_NONE) {
		pipeline->stop = STOP_CAPTURE_TRUNCATED;
		summary->loss[LOSS_CAPTURE_TRUNCATED] = 1;
		window_stop(pipeline->window, pipeline->last_time_ns);
	}
	err = spans_close_open(pipeline->spans, window_last_end_ns(pipeline->window));
	if (!err)
		err = step_marks_finish(pipeline->marks);
	if (err)
		return err;
	add_collector_losses(pipeline);
	window_summarize(pipeline->window, pipeline->stop, summary);
	summary->steps_on_own_row = step_marks_on_own_row(pipeline->marks);
	err = step_stats_summarize(summary);
	return err ? err : op_stats_summarize(pipeline->stats, summary);
}

/* HOST_PID.NS.pt.trace.json.gz: the only form of name that TensorBoard's plugin takes for a trace.
 */
static void trace_link_name(const struct pipeline *pipeline, char *to, size_t size_bytes)
{
	const struct wire_session *session = &pipeline->session;
	int64_t real_ns = (int64_t)session->header.time_ns + pipeline->summary.real_offset_ns;
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

static void link_trace(struct pipeline *pipeline, uint64_t size_bytes)
{
	char name[128], path[160];
	int err;

	trace_link_name(pipeline, name, sizeof(name));
	err = out_dir_link(pipeline->directory, TRACE_NAME, "trace", name);
	if (err) {
		/* Not every file system has hard links; the trace itself is there. */
		log_warn("trace/%s: cannot be linked: %s", name, strerror(-err));
		return;
	}
	snprintf(path, sizeof(path), "trace/%s", name);
	output_failed(pipeline, add_file(pipeline, path, size_bytes));
}

static int finish_trace(struct pipeline *pipeline)
{
	struct stream *trace = &pipeline->trace;
	uint64_t size_bytes;
	int err;

	if (!trace->writer || pipeline->output_err) {
		stream_abandon(trace);
		return pipeline->output_err;
	}
	err = trace->writer->ops->finish(trace->writer, &pipeline->summary);
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
	err = add_file(pipeline, TRACE_NAME, size_bytes);
	link_trace(pipeline, size_bytes);
	return err;
}

static int finish_raw(struct pipeline *pipeline)
{
	uint64_t size_bytes;
	int err;

	if (!pipeline->raw)
		return 0;
	size_bytes = out_file_size_bytes(pipeline->raw);
	err = out_file_commit(pipeline->raw);
	pipeline->raw = NULL;
	return err ? err : add_file(pipeline, "capture.raw", size_bytes);
}

static void write_files(struct pipeline *pipeline)
{
	struct summary *summary = &pipeline->summary;

	if (summary->state != WINDOW_NO_CAPTURE) {
		output_failed(pipeline, finish_trace(pipeline));
		output_failed(pipeline, write_file(pipeline, "cpu_ops.txt", true, op_table_new));
	}
	output_failed(pipeline, write_file(pipeline, "steps.csv", true, steps_csv_new));
	output_failed(pipeline, finish_raw(pipeline));
	if (pipeline->output_err) {
		summary->stop = STOP_OUTPUT_ERROR;
		if (summary->state == WINDOW_COMPLETE)
			summary->state = WINDOW_PARTIAL;
	}
	out_dir_use_reserve(pipeline->directory);
	output_failed(pipeline, write_file(pipeline, "profile.json", false, profile_json_new));
}

static int print_terminal(const struct pipeline *pipeline, struct byte_sink *terminal)
{
	struct writer *writer = NULL;
	int err = terminal_new(&writer, terminal);

	if (err)
		return err;
	err = writer->ops->finish(writer, &pipeline->summary);
	writer->ops->free(writer);
	return err;
}

int pipeline_finish(struct pipeline *pipeline, struct byte_sink *terminal,
		    const struct summary **summary)
{
	int err;

	*summary = &pipeline->summary;
	if (!pipeline->has_session) {
		log_err("the capture does not say whose it is: its first record is missing or "
			"damaged");
		return -ENOEXEC;
	}
	err = analyze_rest(pipeline);
	if (err)
		return err;
	write_files(pipeline);
	if (pipeline->output_err == -ECANCELED)
		return -ECANCELED;
	return print_terminal(pipeline, terminal);
}
