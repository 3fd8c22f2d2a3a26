/* device_stage.c - see device_stage.h. */
#include "device_stage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/correlate.h"
#include "analyze/device_busy.h"
#include "ingest/agent_reader.h"
#include "model/sink.h"

struct device_stage {
	struct agent_sink sink;
	struct name_table *names;
	struct op_stats *stats;
	/* NULL: the agent has not reported anything. */
	struct agent_reader *agent;
	struct correlate *correlate;
	bool has_probed_calls; /* by probes: the agent, if there is one, was given up */
	char reason[WIRE_NAME_BYTES];
};

static int on_work(struct agent_sink *sink, const struct device_work *work)
{
	struct device_stage *stage = container_of(sink, struct device_stage, sink);

	return correlate_work(stage->correlate, work);
}

static int on_call(struct agent_sink *sink, const struct device_call *call)
{
	struct device_stage *stage = container_of(sink, struct device_stage, sink);

	return correlate_call(stage->correlate, call);
}

static int on_overhead(struct agent_sink *sink, const struct device_overhead *overhead)
{
	struct device_stage *stage = container_of(sink, struct device_stage, sink);

	return correlate_overhead(stage->correlate, overhead);
}

int device_stage_new(struct device_stage **out, struct name_table *names, struct op_stats *stats)
{
	struct device_stage *stage = calloc(1, sizeof(*stage));

	if (!stage)
		return -ENOMEM;
	stage->sink = (struct agent_sink){ on_work, on_call, on_overhead };
	stage->names = names;
	stage->stats = stats;
	*out = stage;
	return 0;
}

void device_stage_free(struct device_stage *stage, struct summary *summary)
{
	if (!stage)
		return;
	device_busy_free(summary);
	correlate_free(stage->correlate);
	agent_reader_free(stage->agent);
	free(stage);
}

static int need_correlate(struct device_stage *stage)
{
	return stage->correlate ? 0 : correlate_new(&stage->correlate, stage->stats);
}

int device_stage_expect_calls(struct device_stage *stage)
{
	stage->has_probed_calls = true;
	return need_correlate(stage);
}

static int on_agent(struct device_stage *stage, const struct event *event,
		    struct device_summary *device)
{
	int err = stage->agent ? 0 : agent_reader_new(&stage->agent, stage->names, &stage->sink);

	if (!err)
		err = need_correlate(stage);
	if (!err)
		err = agent_reader_batch(stage->agent, event);
	if (!err)
		device->properties = agent_reader_devices(stage->agent, &device->properties_count);
	return err;
}

int device_stage_event(struct device_stage *stage, const struct event *event,
		       struct summary *summary)
{
	struct device_summary *device = &summary->device;

	if (event->kind == WIRE_AGENT)
		return on_agent(stage, event, device);
	memcpy(stage->reason, event->device->reason, sizeof(stage->reason));
	device->watch = (enum wire_device_watch)event->device->watch;
	device->reason = stage->reason;
	return 0;
}

static int on_probed_call(struct device_stage *stage, const struct span *span)
{
	const struct device_call call = {
		.start_ns = span_shown_start_ns(span),
		.end_ns = span_shown_end_ns(span),
		.name = span->name,
		.tid = span->tid,
		.callback_id = span->callback_id,
		.is_driver = span->domain == CALL_DRIVER,
		.is_probed = true,
		.is_unfinished = !span->is_finished,
		.is_inferred = span->is_inferred,
		.is_unwound = span->is_unwound,
	};

	return correlate_call(stage->correlate, &call);
}

int device_stage_span(struct device_stage *stage, const struct span *span, size_t row)
{
	if (!stage->correlate)
		return 0;
	if (span->kind == SPAN_CUDA_CALL)
		return on_probed_call(stage, span);
	return correlate_span(stage->correlate, span, row);
}

int device_stage_finish(struct device_stage *stage, struct device_sink *next,
			struct summary *summary)
{
	const struct device_summary *device = &summary->device;
	int err = stage->agent ? agent_reader_finish(stage->agent) : 0;

	if (stage->agent && (stage->has_probed_calls || device->watch == DEVICE_UNAVAILABLE))
		agent_reader_give_up(stage->agent);
	if (!err && stage->agent && device->watch == DEVICE_WATCHED)
		agent_reader_remark(stage->agent, stage->reason);
	if (!err && stage->agent)
		err = agent_reader_summarize(stage->agent, summary);
	if (err || !stage->correlate)
		return err;
	return correlate_finish(stage->correlate, next, summary);
}
