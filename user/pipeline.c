/*
 * pipeline.c - see pipeline.h. Reads as the flow: record -> (capture.raw) -> decode -> window,
 * spans -> step marks -> table and trace. The trace's file is made when the window opens and
 * streamed; the other files are written at the end from the summary. profile.json comes last: it
 * says what the others are.
 */
#include "pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls.h"
#include "analyze/modules.h"
#include "analyze/op_stats.h"
#include "analyze/spans.h"
#include "analyze/step_marks.h"
#include "analyze/step_stats.h"
#include "analyze/window.h"
#include "base/bound.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/name_table.h"
#include "device_stage.h"
#include "hole_list.h"
#include "ingest/decode.h"
#include "ingest/spool.h"
#include "mode_list.h"
#include "outputs.h"
#include "probe_list.h"
#include "thread_list.h"

#define NAMES_MAX BOUND(20000, 16)
#define SPOOL_BYTES_MAX BOUND(32UL << 20, 4096UL)
#define CLOCK_INTERVAL 64 /* records between looks at the clock */
#define OPEN_RANGES_MAX BOUND(131072, 8)

struct pipeline {
	struct record_sink records;
	struct event_sink events;
	struct span_sink spans_out;
	struct mark_sink marks_out;
	struct outputs *outputs;
	struct spool *spool;
	bool is_deferring;
	struct decoder *decoder;
	struct name_table *names;
	struct thread_list *threads;
	struct window *window;
	struct spans *spans;
	struct step_marks *marks;
	struct symbols *symbols;
	struct forward_links *links;
	struct allocations *allocations;
	struct learned *learned;
	struct calls *calls;
	struct modules *modules;
	struct op_stats *stats;
	struct device_stage *devices;
	bool has_session, has_clock;
	struct wire_session session;
	struct probe_list probes;
	struct hole_list holes;
	enum wire_stop stop;
	uint64_t last_time_ns;
	struct mode_list modes;
	struct table_options table;
	struct summary summary;
};

static int process(struct pipeline *pipeline, const void *bytes, size_t size_bytes)
{
	struct record_sink *decoder = decoder_sink(pipeline->decoder);

	outputs_record(pipeline->outputs, bytes, size_bytes);
	return decoder->record(decoder, bytes, size_bytes);
}

static int process_oldest(struct pipeline *pipeline, bool *has_more)
{
	const void *bytes;
	size_t size_bytes;

	*has_more = spool_take(pipeline->spool, &bytes, &size_bytes);
	return *has_more ? process(pipeline, bytes, size_bytes) : 0;
}

/* In order: behind what waits, if anything does. */
static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, records);
	bool has_more = true;
	int err;

	if (!pipeline->is_deferring && !spool_bytes(pipeline->spool))
		return process(pipeline, bytes, size_bytes);
	for (;;) {
		err = spool_add(pipeline->spool, bytes, size_bytes);
		if (err != -ENOSPC || !has_more)
			return err;
		err = process_oldest(pipeline, &has_more);
		if (err)
			return err;
	}
}

static int on_span(struct span_sink *sink, const struct span *span)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, spans_out);
	size_t row = 0;
	int err;

	pipeline->summary.spans_of_kind[span->kind]++;
	pipeline->summary.inferred_ends += span->is_inferred;
	pipeline->summary.unwound_calls += span->is_unwound;
	if (span->kind != SPAN_CUDA_CALL) /* which learns at the end what operator it is of */
		outputs_span(pipeline->outputs, span);
	err = op_stats_add(pipeline->stats, span, &row);
	return err ? err : device_stage_span(pipeline->devices, span, row);
}

static int on_flow(struct mark_sink *sink, const struct flow *flow)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, marks_out);

	pipeline->summary.flows++;
	outputs_flow(pipeline->outputs, flow);
	return 0;
}

static int on_memory(struct mark_sink *sink, const struct memory_event *memory)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, marks_out);

	summary_add_memory(&pipeline->summary, memory);
	outputs_memory(pipeline->outputs, memory);
	return 0;
}

static int on_module(struct mark_sink *sink, const struct module_call *call)
{
	struct pipeline *pipeline = container_of(sink, struct pipeline, marks_out);

	pipeline->summary.module_calls++;
	outputs_module(pipeline->outputs, call);
	return 0;
}

static int on_session(struct pipeline *pipeline, const struct event *event)
{
	if (pipeline->has_session)
		return 0;
	pipeline->session = *event->session;
	pipeline->has_session = true;
	outputs_begin(pipeline->outputs);
	return 0;
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

static int close_open(struct pipeline *pipeline)
{
	uint64_t end_ns = window_last_end_ns(pipeline->window);
	int err = spans_close_open(pipeline->spans, end_ns);

	return err ? err : modules_close_open(pipeline->modules, end_ns);
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
		err = close_open(pipeline);
		outputs_open_trace(pipeline->outputs);
	}
	if (err)
		return err;
	attempt = window_last(pipeline->window, &index);
	return step_marks_attempt(pipeline->marks, pipeline->spans, event, attempt->start_ns);
}

static void keep_longest(uint64_t *longest_ns, uint64_t duration_ns)
{
	if (duration_ns > *longest_ns)
		*longest_ns = duration_ns;
}

static uint64_t started_ns(const struct wire_probes *probes)
{
	uint64_t time_ns = probes->header.time_ns;

	return time_ns > probes->duration_ns ? time_ns - probes->duration_ns : 0;
}

static int on_probes(struct pipeline *pipeline, const struct event *event)
{
	struct summary *summary = &pipeline->summary;

	keep_longest(event->probes->is_attached ? &summary->attach_ns : &summary->detach_ns,
		     event->probes->duration_ns);
	if (event->probes->is_part)
		return 0;
	if (event->probes->is_attached)
		window_attached(pipeline->window, started_ns(event->probes));
	else
		window_detached(pipeline->window, event->header->time_ns);
	return 0;
}

static int on_call(struct pipeline *pipeline, const struct event *event)
{
	bool is_active = window_is_active(pipeline->window);
	int err = event->kind == WIRE_MODE ? mode_list_add(&pipeline->modes, event) : 0;

	if (event->kind == WIRE_MODULE)
		return modules_event(pipeline->modules, event, is_active);
	if (event->kind == WIRE_COST)
		pipeline->summary.cost = *event->cost;
	return err ? err : calls_event(pipeline->calls, event, is_active);
}

/* What was lost, where, and how large the rings were. */
static int on_loss(struct pipeline *pipeline, const struct event *event)
{
	int err;

	if (event->kind == WIRE_LOSS)
		summary_add_losses(&pipeline->summary, event->loss);
	else if (event->kind == WIRE_RINGS)
		pipeline->summary.rings = *event->rings;
	if (event->kind != WIRE_HOLE)
		return 0;
	err = hole_list_add(&pipeline->holes, event);
	if (event->hole->kinds & (1U << WIRE_MEMORY))
		allocations_lost(pipeline->allocations, event->hole->last_ns);
	if (!err)
		err = modules_hole(pipeline->modules, event);
	return err ? err : spans_hole(pipeline->spans, event);
}

static int on_operator(struct pipeline *pipeline, const struct event *event)
{
	int err = 0;

	summary_add_operator(&pipeline->summary, event->operator_);
	if (event->operator_->domain != CALL_OPERATOR)
		err = device_stage_expect_calls(pipeline->devices);
	return err ? err : symbols_operator(pipeline->symbols, event);
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
		return probe_list_add(&pipeline->probes, event, &pipeline->summary);
	case WIRE_THREAD:
		return thread_list_add(pipeline->threads, event, &pipeline->summary);
	case WIRE_CLOCK:
		return on_clock(pipeline, event);
	case WIRE_ATTEMPT:
		return on_attempt(pipeline, event);
	case WIRE_RANGE_BEGIN:
		/* Another thread may see the window's end a moment late. */
		return window_is_active(pipeline->window) ? spans_begin(pipeline->spans, event) : 0;
	case WIRE_RANGE_END:
		return spans_end(pipeline->spans, event);
	case WIRE_OP_BEGIN:
	case WIRE_OP_END:
	case WIRE_NODE_BEGIN:
	case WIRE_GUARD_END:
	case WIRE_FUNCTION_BEGIN:
	case WIRE_SEQUENCE:
	case WIRE_MEMORY:
	case WIRE_SHAPES:
	case WIRE_MODE:
	case WIRE_COST:
	case WIRE_MODULE:
		return on_call(pipeline, event);
	case WIRE_SYMBOL:
		return symbols_symbol(pipeline->symbols, event);
	case WIRE_OPERATOR:
		return on_operator(pipeline, event);
	case WIRE_LOSS:
	case WIRE_RINGS:
	case WIRE_HOLE:
		return on_loss(pipeline, event);
	case WIRE_PROBES:
		return on_probes(pipeline, event);
	case WIRE_AGENT:
	case WIRE_DEVICE:
		return device_stage_event(pipeline->devices, event, &pipeline->summary);
	case WIRE_STOP:
		pipeline->stop = (enum wire_stop)event->stop->reason;
		keep_longest(&pipeline->summary.detach_ns, event->stop->detach_us * 1000ULL);
		window_stop(pipeline->window, event->header->time_ns);
		return 0;
	default:
		return 0;
	}
}

static int new_call_stages(struct pipeline *pipeline)
{
	int err = symbols_new(&pipeline->symbols, pipeline->names);

	if (!err)
		err = forward_links_new(&pipeline->links, &pipeline->marks_out);
	if (!err)
		err = allocations_new(&pipeline->allocations, ALLOCATIONS_MAX);
	if (!err)
		err = learned_new(&pipeline->learned);
	if (!err)
		err = modules_new(&pipeline->modules, pipeline->spans, pipeline->symbols,
				  pipeline->names, &pipeline->marks_out);
	if (err)
		return err;
	return calls_new(&pipeline->calls, &(struct calls_parts){
						   .spans = pipeline->spans,
						   .symbols = pipeline->symbols,
						   .forward_links = pipeline->links,
						   .allocations = pipeline->allocations,
						   .learned = pipeline->learned,
						   .marks = &pipeline->marks_out,
					   });
}

static int new_stages(struct pipeline *pipeline)
{
	int err = name_table_new(&pipeline->names, NAMES_MAX);

	if (!err)
		err = thread_list_new(&pipeline->threads);
	if (!err)
		err = window_new(&pipeline->window);
	if (!err)
		err = op_stats_new(&pipeline->stats, &pipeline->table);
	if (!err)
		err = device_stage_new(&pipeline->devices, pipeline->names, pipeline->stats);
	if (!err)
		err = step_marks_new(&pipeline->marks, &pipeline->spans_out);
	if (!err)
		err = spans_new(&pipeline->spans, pipeline->names, step_marks_sink(pipeline->marks),
				OPEN_RANGES_MAX);
	if (!err)
		err = new_call_stages(pipeline);
	return err ? err : decoder_new(&pipeline->decoder, &pipeline->events);
}

int pipeline_new(struct pipeline **out, struct out_dir *directory, bool keep_raw,
		 const struct table_options *table)
{
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	int err;

	if (!pipeline)
		return -ENOMEM;
	pipeline->records.record = on_record;
	pipeline->events.event = on_event;
	pipeline->spans_out.span = on_span;
	pipeline->marks_out =
		(struct mark_sink){ .flow = on_flow, .memory = on_memory, .module = on_module };
	if (table)
		pipeline->table = *table;
	pipeline->summary.table = &pipeline->table;
	pipeline->summary.session = &pipeline->session;
	pipeline->summary.directory = out_dir_path(directory);
	err = spool_new(&pipeline->spool, SPOOL_BYTES_MAX);
	if (!err)
		err = outputs_new(&pipeline->outputs, directory, &pipeline->summary, keep_raw);
	if (!err)
		err = new_stages(pipeline);
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
	outputs_free(pipeline->outputs);
	spool_free(pipeline->spool);
	decoder_free(pipeline->decoder);
	calls_free(pipeline->calls);
	modules_free(pipeline->modules);
	learned_free(pipeline->learned);
	allocations_free(pipeline->allocations);
	forward_links_free(pipeline->links);
	symbols_free(pipeline->symbols);
	spans_free(pipeline->spans);
	step_marks_free(pipeline->marks);
	device_stage_free(pipeline->devices, &pipeline->summary);
	op_stats_free(pipeline->stats);
	window_free(pipeline->window);
	thread_list_free(pipeline->threads);
	name_table_free(pipeline->names);
	mode_list_free(&pipeline->modes);
	hole_list_free(&pipeline->holes);
	probe_list_free(&pipeline->probes);
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
	return outputs_error(pipeline->outputs);
}

void pipeline_defer(struct pipeline *pipeline, bool is_deferring)
{
	pipeline->is_deferring = is_deferring;
}

bool pipeline_is_behind(const struct pipeline *pipeline)
{
	return spool_bytes(pipeline->spool);
}

int pipeline_work(struct pipeline *pipeline, uint64_t until_ns)
{
	bool has_more = true;
	unsigned int count = 0;
	int err = 0;

	while (has_more && !err) {
		if (++count % CLOCK_INTERVAL == 0 && clock_monotonic_ns() >= until_ns)
			return 0;
		err = process_oldest(pipeline, &has_more);
	}
	return err;
}

size_t pipeline_open_spans(const struct pipeline *pipeline)
{
	return spans_open_count(pipeline->spans) + spans_open_calls(pipeline->spans);
}

uint64_t pipeline_unwatched_ns(const struct pipeline *pipeline)
{
	struct summary summary = { 0 };

	window_summarize(pipeline->window, STOP_NONE, &summary);
	step_stats_summarize(&summary);
	return summary.median_ns[PHASE_WAIT];
}

uint64_t pipeline_last_end_ns(const struct pipeline *pipeline)
{
	size_t index;
	const struct attempt *last = window_last(pipeline->window, &index);

	return last ? last->end_ns : 0;
}

struct learned *pipeline_learned(struct pipeline *pipeline)
{
	return pipeline->learned;
}

void pipeline_learn_anew(struct pipeline *pipeline)
{
	learned_reset(pipeline->learned);
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
	loss[LOSS_NAME_TRUNCATED] += symbols_cut_names(pipeline->symbols);
	loss[LOSS_LINK_TABLE_FULL] += forward_links_forgotten(pipeline->links);
	loss[LOSS_BLOCK_TABLE_FULL] += allocations_untracked(pipeline->allocations);
	loss[LOSS_NAME_UNREADABLE] += symbols_nameless(pipeline->symbols);
	loss[LOSS_SYMBOL_TABLE_FULL] += symbols_refused(pipeline->symbols);
	loss[LOSS_MODULE_TABLE_FULL] += modules_refused(pipeline->modules);
}

static void summarize_calls(struct pipeline *pipeline)
{
	struct summary *summary = &pipeline->summary;

	mode_list_summarize(&pipeline->modes, pipeline->symbols, summary);
	summary->unlinked_nodes = forward_links_unlinked(pipeline->links);
	summary->old_frees = allocations_old_frees(pipeline->allocations);
	summary->out_of_memory = allocations_out_of_memory(pipeline->allocations);
	log_debug("calls: %" PRIu64 " ends without a beginning", calls_unpaired(pipeline->calls));
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
	err = close_open(pipeline);
	if (!err)
		err = step_marks_finish(pipeline->marks);
	if (err)
		return err;
	add_collector_losses(pipeline);
	summarize_calls(pipeline);
	window_summarize(pipeline->window, pipeline->stop, summary);
	hole_list_summarize(&pipeline->holes, summary);
	summary->steps_on_own_row = step_marks_on_own_row(pipeline->marks);
	step_stats_summarize(summary);
	err = device_stage_finish(pipeline->devices, outputs_devices(pipeline->outputs), summary);
	return err ? err : op_stats_summarize(pipeline->stats, summary);
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
	err = pipeline_work(pipeline, UINT64_MAX);
	if (!err)
		err = analyze_rest(pipeline);
	if (err)
		return err;
	outputs_finish(pipeline->outputs);
	if (outputs_error(pipeline->outputs) == -ECANCELED)
		return -ECANCELED;
	/* The files are there, whatever becomes of the terminal. */
	err = outputs_print(pipeline->outputs, terminal);
	if (err)
		log_warn("the summary cannot be printed: %s", strerror(-err));
	return 0;
}
