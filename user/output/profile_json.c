/*
 * profile_json.c - profile.json: what was asked, what was seen, what was lost. Every key is always
 * there; null where it does not apply or was not measured.
 */
#include "output/writer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json.h"

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
	json_array_begin(json, "activities");
	json_string(json, NULL, "ranges");
	json_array_end(json);
	json_null(json, "max_overhead");
	put_known(json, "timeout_s", plan->timeout_s);
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
	put_real_time(json, "started_at", summary->started_ns, summary->real_offset_ns);
	put_real_time(json, "ended_at", summary->ended_ns, summary->real_offset_ns);
	put_known(json, "duration_ns", summary->window_ns);
	json_bool(json, "steps_on_own_row", summary->steps_on_own_row);
	json_object_end(json);
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
	json_null(json, "predicted_ratio");
	json_null(json, "site_cost_ns");
	json_null(json, "modes");
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

static void put_activity(struct json *json, const char *key, const char *state, const char *reason)
{
	json_object_begin(json, key);
	json_string(json, "state", state);
	json_string(json, "reason", reason);
	json_object_end(json);
}

static bool is_missing(const struct summary *summary)
{
	size_t i;

	for (i = 0; i < summary->probe_count; i++) {
		if (!summary->probes[i].found && !summary->probes[i].optional)
			return true;
	}
	return false;
}

static void put_activities(struct json *json, const struct summary *summary)
{
	bool degraded = is_missing(summary);

	json_object_begin(json, "activities");
	put_activity(json, "ranges", degraded ? "degraded" : "on",
		     degraded
			     ? "probe points are missing in this build: plan.probe_sites says which"
			     : NULL);
	put_activity(json, "operators", "off", "not implemented in this version");
	put_activity(json, "memory", "off", "not implemented in this version");
	put_activity(json, "gpu", "off", "not implemented in this version");
	json_object_end(json);
}

static void put_regions(struct json *json, const struct summary *summary)
{
	size_t i;

	json_array_begin(json, "regions");
	for (i = 0; i < summary->row_count; i++) {
		const struct op_row *row = &summary->rows[i];

		json_object_begin(json, NULL);
		json_string(json, "name", row->name);
		json_string(json, "kind",
			    row->range == RANGE_REGION ? "compiled_region" : "user_annotation");
		json_uint(json, "count", row->count);
		json_uint(json, "total_ns", row->total_ns);
		json_uint(json, "self_ns", row->self_ns);
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
	put_activities(&json, summary);
	put_regions(&json, summary);
	put_files(&json, summary);
	json_object_end(&json);
	return json_finish(&json);
}

int profile_json_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, profile_json_finish);
}
