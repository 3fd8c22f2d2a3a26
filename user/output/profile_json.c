/*
 * profile_json.c - profile.json: what was asked, what was seen, what was lost. Every key is always
 * there; null where it does not apply or was not measured.
 */
#include "output/writer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "model/inner_row.h"
#include "output/activity_state.h"
#include "output/device_state.h"
#include "output/lost_kinds.h"

#define SCHEMA_VERSION 1

static void put_text(struct json *json, const char *key, const char *text)
{
	json_string(json, key, text[0] ? text : NULL);
}

/* -1 stands for unknown. */
static void put_rank(struct json *json, const char *key, int32_t value)
{
	if (value == WIRE_RANK_UNKNOWN)
		json_null(json, key);
	else
		json_int(json, key, value);
}

/* 0 stands for unknown. */
static void put_known(struct json *json, const char *key, uint64_t value)
{
	if (value)
		json_uint(json, key, value);
	else
		json_null(json, key);
}

static void put_real_time(struct json *json, const char *key, uint64_t time_ns,
			  int64_t real_offset_ns)
{
	int64_t real_ns = (int64_t)time_ns + real_offset_ns;
	time_t seconds = (time_t)(real_ns / 1000000000LL);
	char day[32], text[64];
	struct tm utc;

	if (!time_ns || real_ns < 0 || !gmtime_r(&seconds, &utc)) {
		json_null(json, key);
		return;
	}
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(text, sizeof(text), "%s.%06uZ", day,
		 (unsigned int)(real_ns % 1000000000LL / 1000));
	json_string(json, key, text);
}

static void put_tool_and_job(struct json *json, const struct wire_session *session)
{
	const struct wire_job *job = &session->job;

	json_object_begin(json, "tool");
	json_string(json, "name", "tpbpf");
	put_text(json, "version", session->tool_version);
	put_text(json, "command_line", session->tool_command_line);
	json_object_end(json);

	json_object_begin(json, "job");
	json_uint(json, "pid", job->pid);
	json_uint(json, "namespace_pid", job->namespace_pid);
	put_text(json, "host", job->host);
	put_text(json, "command_line", job->command_line);
	put_rank(json, "rank", job->rank);
	put_rank(json, "local_rank", job->local_rank);
	put_rank(json, "world_size", job->world_size);
	put_text(json, "torch_version", job->torch_version);
	put_text(json, "python_version", job->python_version);
	put_text(json, "cuda_version", job->cuda_version);
	json_object_end(json);
}

static void put_probe(struct json *json, const struct wire_probe *probe)
{
	json_object_begin(json, NULL);
	json_string(json, "point", probe->point);
	put_text(json, "library", probe->library);
	json_bool(json, "found", probe->found);
	put_known(json, "file_offset", probe->found ? probe->file_offset : 0);
	put_text(json, "site", probe->found ? probe->site : "");
	if (probe->found)
		json_bool(json, "emulated", probe->emulated);
	else
		json_null(json, "emulated");
	put_text(json, "lost", probe->found || probe->optional ? "" : probe->cost);
	json_object_end(json);
}

static const struct {
	unsigned int activity;
	const char *name;
} activities[] = {
	{ ACTIVITY_RANGES, "ranges" },	   { ACTIVITY_OPERATORS, "operators" },
	{ ACTIVITY_AUTOGRAD, "autograd" }, { ACTIVITY_MEMORY, "memory" },
	{ ACTIVITY_SHAPES, "shapes" },	   { ACTIVITY_MODULES, "modules" },
};

#define ACTIVITY_CNT (sizeof(activities) / sizeof(activities[0]))

static void put_plan_activities(struct json *json, unsigned int asked_for)
{
	size_t i;

	if (!asked_for) /* a capture without a list is of ranges */
		asked_for = ACTIVITY_RANGES;
	json_array_begin(json, "activities");
	for (i = 0; i < ACTIVITY_CNT; i++) {
		if (asked_for & activities[i].activity)
			json_string(json, NULL, activities[i].name);
	}
	json_array_end(json);
}

static void put_attached(struct json *json, uint32_t attached)
{
	static const char *const names[ATTACHED_CNT] = {
		[ATTACHED_IN_BULK] = "in_bulk",
		[ATTACHED_BY_THREAD] = "by_thread",
		[ATTACHED_ONE_BY_ONE] = "one_by_one",
	};

	json_string(json, "attached", attached < ATTACHED_CNT ? names[attached] : NULL);
}

static void put_plan(struct json *json, const struct summary *summary)
{
	const struct wire_plan *plan = &summary->session->plan;
	size_t i;

	json_object_begin(json, "plan");
	json_uint(json, "skip_first", plan->skip_first);
	json_uint(json, "skip_first_wait", plan->skip_first_wait);
	json_uint(json, "wait", plan->wait);
	json_uint(json, "warmup", plan->warmup);
	json_uint(json, "active", plan->active);
	json_uint(json, "repeat", plan->repeat);
	put_text(json, "step_source", plan->step_source);
	put_plan_activities(json, plan->activities);
	if (summary->cost.bound_permille)
		json_decimal(json, "max_overhead", (double)summary->cost.bound_permille / 1000);
	else
		json_null(json, "max_overhead");
	put_known(json, "timeout_s", plan->timeout_s);
	put_attached(json, summary->session->attached);
	json_array_begin(json, "probe_sites");
	for (i = 0; i < summary->probe_count; i++)
		put_probe(json, &summary->probes[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_window(struct json *json, const struct summary *summary)
{
	json_object_begin(json, "window");
	json_string(json, "state", summary_state_name(summary->state));
	json_string(json, "stop_reason", attempt_stop_name(summary->stop));
	json_uint(json, "attempts_seen", summary->attempt_count);
	json_uint(json, "active_attempts", summary->active_count);
	json_uint(json, "applied_attempts", summary->outcome_count[OUTCOME_APPLIED]);
	json_uint(json, "skipped_attempts", summary->outcome_count[OUTCOME_SKIPPED]);
	json_uint(json, "unknown_attempts", summary->outcome_count[OUTCOME_UNKNOWN]);
	json_uint(json, "attempts_told_by_begin", summary->begin_count);
	json_uint(json, "attempts_doubtful", summary->doubtful_count);
	put_real_time(json, "started_at", summary->started_ns, summary->real_offset_ns);
	put_real_time(json, "ended_at", summary->ended_ns, summary->real_offset_ns);
	put_known(json, "duration_ns", summary->window_ns);
	json_bool(json, "steps_on_own_row", summary->steps_on_own_row);
	json_object_end(json);
}

/* Of an attempt with the probes to one without. */
static void put_prediction(struct json *json, const char *key, const struct wire_cost *cost,
			   uint64_t added_ns)
{
	if (cost->is_final && cost->attempt_ns)
		json_decimal(json, key, 1 + (double)added_ns / (double)cost->attempt_ns);
	else
		json_null(json, key);
}

static void put_site_costs(struct json *json, const struct wire_cost *cost)
{
	/* As enum probe_site_kind numbers them. */
	static const char *const sites[COST_KINDS] = { "push", "nop", "call",	"jmp",
						       "jcc",  "ret", "stepped" };
	bool is_measured = false;
	size_t i;

	for (i = 0; i < COST_KINDS; i++)
		is_measured |= cost->hit_ns[i] != 0;
	if (!is_measured) {
		json_null(json, "site_cost_ns");
		return;
	}
	json_object_begin(json, "site_cost_ns");
	for (i = 0; i < COST_KINDS; i++)
		put_known(json, sites[i], cost->hit_ns[i]);
	json_object_end(json);
}

static void put_modes(struct json *json, const struct summary *summary)
{
	static const char *const modes[MODE_CNT] = {
		[MODE_EXACT] = "exact",
		[MODE_BEGIN_ONLY] = "begin_only",
		[MODE_OFF] = "off",
	};
	size_t i;

	if (!summary->cost.is_final) {
		json_null(json, "modes");
		return;
	}
	json_array_begin(json, "modes");
	for (i = 0; i < summary->mode_count; i++) {
		const struct mode_row *row = &summary->modes[i];

		json_object_begin(json, NULL);
		json_string(json, "name", row->name);
		json_string(json, "overload", row->overload);
		json_string(json, "inner_row", row->name ? inner_row_of(row->name) : NULL);
		json_string(json, "mode", row->mode < MODE_CNT ? modes[row->mode] : NULL);
		json_uint(json, "warmup_hits", row->hits);
		json_uint(json, "duration_ns", row->duration_ns);
		json_uint(json, "predicted_cost_ns", row->cost_ns);
		json_uint(json, "exact_cost_ns", row->cost_exact_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_timing(struct json *json, const struct summary *summary)
{
	const uint64_t *median_ns = summary->median_ns;

	json_object_begin(json, "timing");
	put_known(json, "wait_median_ns", median_ns[PHASE_WAIT]);
	put_known(json, "active_median_ns", median_ns[PHASE_ACTIVE]);
	put_known(json, "after_median_ns", median_ns[PHASE_AFTER]);
	if (median_ns[PHASE_WAIT] && median_ns[PHASE_ACTIVE])
		json_decimal(json, "active_ratio",
			     (double)median_ns[PHASE_ACTIVE] / (double)median_ns[PHASE_WAIT]);
	else
		json_null(json, "active_ratio");
	put_known(json, "attach_ns", summary->attach_ns);
	put_known(json, "detach_ns", summary->detach_ns);
	put_prediction(json, "predicted_ratio", &summary->cost, summary->cost.predicted_added_ns);
	put_prediction(json, "predicted_exact_ratio", &summary->cost, summary->cost.exact_added_ns);
	put_site_costs(json, &summary->cost);
	put_modes(json, summary);
	json_int(json, "real_time_offset_ns", summary->real_offset_ns);
	json_int(json, "real_time_drift_ns", summary->real_offset_drift_ns);
	json_object_end(json);
}

static void put_loss(struct json *json, const struct summary *summary)
{
	unsigned int cause;

	json_object_begin(json, "loss");
	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++)
		json_uint(json, summary_loss_name((enum wire_loss_cause)cause),
			  summary->loss[cause]);
	json_object_end(json);
}

static void put_lost_kinds(struct json *json, const __u64 lost[LOST_KINDS])
{
	unsigned int kind;

	json_object_begin(json, "lost");
	for (kind = 0; kind < LOST_KINDS; kind++) {
		const char *name = summary_lost_name((enum wire_kind)kind);

		if (name)
			json_uint(json, name, lost[kind]);
	}
	json_object_end(json);
}

static void put_hole(struct json *json, const struct hole *hole)
{
	json_object_begin(json, NULL);
	json_uint(json, "first_ns", hole->first_ns);
	json_uint(json, "last_ns", hole->last_ns);
	json_uint(json, "records", hole->count);
	if (hole->tid)
		json_uint(json, "tid", hole->tid);
	else
		json_null(json, "tid");
	lost_kinds_put(json, hole->kinds);
	json_object_end(json);
}

/* The rings, and what found them full: in the window by kind. */
static void put_rings(struct json *json, const struct summary *summary)
{
	const struct wire_rings *rings = &summary->rings;
	uint64_t after = 0, in_warmup = 0;
	size_t i;

	for (i = 0; i < LOST_KINDS; i++) {
		after += rings->lost_after[i];
		in_warmup += rings->lost_in_warmup[i];
	}
	json_object_begin(json, "rings");
	put_known(json, "count", rings->count);
	put_known(json, "ring_bytes", rings->ring_bytes);
	put_lost_kinds(json, rings->lost);
	json_uint(json, "lost_after", after);
	json_uint(json, "lost_in_warmup", in_warmup);
	json_array_begin(json, "holes");
	for (i = 0; i < summary->hole_count; i++)
		put_hole(json, &summary->holes[i]);
	json_array_end(json);
	json_object_end(json);
}

static void put_activity(struct json *json, const char *key, const char *state, const char *reason)
{
	json_object_begin(json, key);
	json_string(json, "state", state);
	json_string(json, "reason", reason);
	json_object_end(json);
}

static void put_activities(struct json *json, const struct summary *summary)
{
	char reason[DEVICE_REASON_BYTES];
	size_t i;

	json_object_begin(json, "activities");
	for (i = 0; i < ACTIVITY_CNT; i++) {
		struct activity_state state;

		activity_state_of(summary, activities[i].activity, &state);
		put_activity(json, activities[i].name, state.state,
			     state.reason[0] ? state.reason : NULL);
	}
	put_activity(json, "gpu", device_state_name(summary), device_state_reason(summary, reason));
	json_object_end(json);
}

static void put_busy(struct json *json, const struct device_summary *device)
{
	size_t i;

	json_array_begin(json, "steps");
	for (i = 0; i < device->busy_count; i++) {
		json_object_begin(json, NULL);
		json_uint(json, "attempt", device->busy[i].attempt);
		json_uint(json, "device", device->busy[i].device);
		json_uint(json, "busy_ns", device->busy[i].busy_ns);
		json_uint(json, "idle_ns", device->busy[i].idle_ns);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_devices(struct json *json, const struct summary *summary)
{
	const struct device_summary *device = &summary->device;
	bool is_watched = device->watch == DEVICE_WATCHED;
	char reason[DEVICE_REASON_BYTES];
	size_t i;

	json_object_begin(json, "gpu");
	json_string(json, "timing", is_watched ? "available" : "unavailable");
	json_string(json, "timing_reason",
		    is_watched ? NULL : device_state_reason(summary, reason));
	json_array_begin(json, "devices");
	for (i = 0; i < device->properties_count; i++)
		json_string(json, NULL, device->properties[i].name);
	json_array_end(json);
	json_uint(json, "calls", device->calls);
	json_string(json, "calls_by", device_state_calls_by(summary));
	json_uint(json, "functions_probed", summary->cuda_calls_found);
	json_uint(json, "kernels", device->work_of_kind[DEVICE_KERNEL]);
	json_uint(json, "copies", device->work_of_kind[DEVICE_MEMCPY]);
	json_uint(json, "sets", device->work_of_kind[DEVICE_MEMSET]);
	json_uint(json, "waits", device->work_of_kind[DEVICE_SYNC]);
	json_uint(json, "launches_without_work", device->launches_without_work);
	json_uint(json, "work_outside_window", device->work_outside);
	json_uint(json, "self_total_ns", device->self_total_ns);
	put_busy(json, device);
	json_array_begin(json, "remarks");
	for (i = 0; i < device->remark_count; i++)
		json_string(json, NULL, device->remarks[i]);
	json_array_end(json);
	json_object_end(json);
}

static const char *kind_name(uint8_t kind)
{
	static const char *const names[SPAN_KIND_CNT] = {
		[SPAN_RANGE] = "user_annotation",
		[SPAN_REGION] = "compiled_region",
		[SPAN_OPERATOR] = "operator",
		[SPAN_NODE_OUTER] = "node",
		[SPAN_NODE] = "node",
		[SPAN_FUNCTION] = "function",
		[SPAN_CUDA_CALL] = "function",
	};

	return kind < SPAN_KIND_CNT ? names[kind] : NULL;
}

static void put_row_times(struct json *json, const struct op_row *row)
{
	json_uint(json, "count", row->count);
	json_uint(json, "total_ns", row->total_ns);
	json_uint(json, "self_ns", row->self_ns);
	json_uint(json, "raw_total_ns", row->raw_total_ns);
	json_uint(json, "raw_self_ns", row->raw_self_ns);
	json_int(json, "cpu_bytes", row->total_bytes[SPAN_CPU]);
	json_int(json, "self_cpu_bytes", row->self_bytes[SPAN_CPU]);
}

static const char *row_kind_name(const struct op_row *row)
{
	if (row->is_device)
		return row->is_annotation ? "device_annotation" : "device";
	return kind_name(row->kind);
}

static void put_operator(struct json *json, const struct op_row *row)
{
	json_object_begin(json, NULL);
	json_string(json, "name", row->name);
	json_string(json, "overload", row->overload);
	json_string(json, "shapes", row->shapes);
	json_string(json, "kind", row_kind_name(row));
	put_row_times(json, row);
	json_uint(json, "device_self_ns", row->device_self_ns);
	json_uint(json, "device_total_ns", row->device_total_ns);
	json_int(json, "device_bytes", row->total_bytes[SPAN_GPU]);
	json_int(json, "self_device_bytes", row->self_bytes[SPAN_GPU]);
	json_uint(json, "flops", row->flops);
	json_uint(json, "inferred", row->inferred);
	json_uint(json, "unwound", row->unwound);
	json_uint(json, "unfinished", row->unfinished);
	json_object_end(json);
}

static bool is_region(const struct op_row *row)
{
	return row->kind == SPAN_RANGE || row->kind == SPAN_REGION;
}

static void put_operators(struct json *json, const struct summary *summary)
{
	size_t i;

	json_object_begin(json, "operators");
	json_uint(json, "found", summary->operators_found);
	json_uint(json, "without_exit", summary->operators_without_exit);
	json_uint(json, "inferred_ends", summary->inferred_ends);
	json_uint(json, "unwound_calls", summary->unwound_calls);
	json_array_begin(json, "rows");
	for (i = 0; i < summary->row_count; i++) {
		if (!is_region(&summary->rows[i]))
			put_operator(json, &summary->rows[i]);
	}
	json_array_end(json);
	json_object_end(json);
}

static void put_autograd_and_memory(struct json *json, const struct summary *summary)
{
	json_object_begin(json, "autograd");
	json_uint(json, "flows", summary->flows);
	json_uint(json, "unlinked_nodes", summary->unlinked_nodes);
	json_object_end(json);
	json_object_begin(json, "memory");
	json_uint(json, "events", summary->memory_events);
	json_uint(json, "old_frees", summary->old_frees);
	json_uint(json, "out_of_memory", summary->out_of_memory);
	json_int(json, "net_cpu_bytes", summary->net_bytes[SPAN_CPU]);
	json_int(json, "net_device_bytes", summary->net_bytes[SPAN_GPU]);
	json_object_end(json);
}

static void put_regions(struct json *json, const struct summary *summary)
{
	size_t i;

	json_array_begin(json, "regions");
	for (i = 0; i < summary->row_count; i++) {
		const struct op_row *row = &summary->rows[i];

		if (!is_region(row))
			continue;
		json_object_begin(json, NULL);
		json_string(json, "name", row->name);
		json_string(json, "kind", kind_name(row->kind));
		put_row_times(json, row);
		json_uint(json, "unfinished", row->unfinished);
		json_uint(json, "asynchronous", row->async);
		json_object_end(json);
	}
	json_array_end(json);
}

static void put_files(struct json *json, const struct summary *summary)
{
	size_t i;

	json_array_begin(json, "files");
	for (i = 0; i < summary->file_count; i++) {
		json_object_begin(json, NULL);
		json_string(json, "name", summary->files[i].name);
		json_uint(json, "size_bytes", summary->files[i].size_bytes);
		json_object_end(json);
	}
	json_array_end(json);
}

static int profile_json_finish(struct byte_sink *out, const struct summary *summary)
{
	struct json json;

	json_init(&json, out, 3);
	json_object_begin(&json, NULL);
	json_uint(&json, "schema_version", SCHEMA_VERSION);
	put_text(&json, "session_id", summary->session->session_id);
	put_tool_and_job(&json, summary->session);
	put_plan(&json, summary);
	put_window(&json, summary);
	put_timing(&json, summary);
	put_loss(&json, summary);
	put_rings(&json, summary);
	put_activities(&json, summary);
	put_operators(&json, summary);
	put_autograd_and_memory(&json, summary);
	put_devices(&json, summary);
	put_regions(&json, summary);
	put_files(&json, summary);
	json_object_end(&json);
	return json_finish(&json);
}

int profile_json_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, profile_json_finish);
}
