/* profile.json: every key is always there, and what it holds parses. */
#include "support/test.h"

#include <cjson/cJSON.h>

#include "support/summaries.h"

struct fixture {
	struct capture capture;
	struct memory_sink memory;
	cJSON *root;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	capture_init(&fixture->capture);
	memory_sink_init(&fixture->memory);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	cJSON_Delete(fixture->root);
	memory_sink_fini(&fixture->memory);
	free(fixture);
	return 0;
}

static void write_profile(struct fixture *fixture)
{
	assert_int_equal(capture_write(&fixture->capture, &fixture->memory, profile_json_new), 0);
	fixture->root = cJSON_ParseWithOpts(memory_sink_text(&fixture->memory), NULL, true);
	assert_non_null(fixture->root);
}

/* "window.state" */
static const cJSON *get(const struct fixture *fixture, const char *path)
{
	const cJSON *at = fixture->root;
	char part[64];

	while (at && *path) {
		size_t length = strcspn(path, ".");

		memcpy(part, path, length);
		part[length] = 0;
		at = cJSON_GetObjectItemCaseSensitive(at, part);
		path += length + (path[length] == '.');
	}
	return at;
}

#define assert_text(fixture, path, text) \
	assert_string_equal(cJSON_GetStringValue(get(fixture, path)), text)
#define assert_number(fixture, path, number)                                      \
	do {                                                                      \
		assert_true(cJSON_IsNumber(get(fixture, path)));                  \
		assert_true(get(fixture, path)->valuedouble == (double)(number)); \
	} while (0)

static const char *const keys[] = {
	"schema_version",
	"session_id",
	"tool.name",
	"tool.version",
	"tool.command_line",
	"job.pid",
	"job.namespace_pid",
	"job.host",
	"job.command_line",
	"job.rank",
	"job.local_rank",
	"job.world_size",
	"job.torch_version",
	"job.python_version",
	"job.cuda_version",
	"plan.skip_first",
	"plan.skip_first_wait",
	"plan.wait",
	"plan.warmup",
	"plan.active",
	"plan.repeat",
	"plan.step_source",
	"plan.activities",
	"plan.max_overhead",
	"plan.timeout_s",
	"plan.attached",
	"plan.probe_sites",
	"window.state",
	"window.stop_reason",
	"window.attempts_seen",
	"window.attempts_told_by_begin",
	"window.attempts_doubtful",
	"window.active_attempts",
	"window.applied_attempts",
	"window.skipped_attempts",
	"window.started_at",
	"window.ended_at",
	"timing.wait_median_ns",
	"timing.active_median_ns",
	"timing.after_median_ns",
	"timing.active_ratio",
	"timing.predicted_ratio",
	"timing.site_cost_ns",
	"timing.modes",
	"timing.predicted_exact_ratio",
	"loss",
	"activities.ranges.state",
	"activities.operators.state",
	"activities.autograd.state",
	"activities.memory.state",
	"activities.shapes.state",
	"activities.gpu.state",
	"gpu.timing",
	"gpu.timing_reason",
	"gpu.calls",
	"gpu.calls_by",
	"gpu.functions_probed",
	"operators.found",
	"operators.without_exit",
	"operators.inferred_ends",
	"operators.unwound_calls",
	"operators.rows",
	"autograd.flows",
	"autograd.unlinked_nodes",
	"memory.events",
	"memory.old_frees",
	"memory.out_of_memory",
	"memory.net_cpu_bytes",
	"memory.net_device_bytes",
	"regions",
	"files",
};

static void assert_all_keys(const struct fixture *fixture)
{
	unsigned int cause;
	size_t i;

	for (i = 0; i < COUNT_OF(keys); i++) {
		if (!get(fixture, keys[i]))
			fail_msg("%s is not there", keys[i]);
	}
	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++)
		assert_non_null(cJSON_GetObjectItem(
			get(fixture, "loss"), summary_loss_name((enum wire_loss_cause)cause)));
}

static void a_complete_capture_has_every_key(void **state)
{
	write_profile(*state);
	assert_all_keys(*state);
}

static void calls_that_were_probed_are_told_from_the_agents(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	summary->device.watch = DEVICE_UNAVAILABLE;
	summary->device.reason = "no agent in the job";
	summary->device.calls = 12;
	summary->cuda_calls_found = 415;
	fixture->capture.session.plan.activities |= ACTIVITY_CUDA_CALLS;
	write_profile(fixture);
	assert_text(fixture, "gpu.timing", "unavailable");
	assert_text(fixture, "gpu.timing_reason", "no agent in the job");
	assert_text(fixture, "gpu.calls_by", "probes");
	assert_text(fixture, "activities.gpu.state", "degraded");
	assert_text(fixture, "activities.gpu.reason", "no agent in the job");
	summary->device.watch = DEVICE_WATCHED;
	cJSON_Delete(fixture->root);
	memory_sink_fini(&fixture->memory);
	memory_sink_init(&fixture->memory);
	write_profile(fixture);
	assert_text(fixture, "gpu.timing", "available");
	assert_true(cJSON_IsNull(get(fixture, "gpu.timing_reason")));
	assert_text(fixture, "gpu.calls_by", "agent");
}

static void a_pending_one_has_every_key_as_well(void **state)
{
	struct fixture *fixture = *state;
	struct wire_session session = { .header = { 0 } };

	memset(&fixture->capture.summary, 0, sizeof(fixture->capture.summary));
	session.job.rank = session.job.local_rank = session.job.world_size = WIRE_RANK_UNKNOWN;
	fixture->capture.summary.session = &session;
	write_profile(fixture);
	assert_all_keys(fixture);
	assert_text(fixture, "window.state", "pending");
}

static void what_is_not_known_is_null(void **state)
{
	static const char *const unknown[] = {
		"job.host",
		"job.command_line",
		"job.rank",
		"job.local_rank",
		"job.world_size",
		"job.torch_version",
		"job.python_version",
		"job.cuda_version",
		"plan.max_overhead",
		"plan.timeout_s",
		"plan.attached",
		"window.stop_reason",
		"window.started_at",
		"window.ended_at",
		"timing.wait_median_ns",
		"timing.active_median_ns",
		"timing.after_median_ns",
		"timing.active_ratio",
		"timing.predicted_ratio",
		"timing.site_cost_ns",
		"timing.modes",
		"timing.predicted_exact_ratio",
	};
	struct fixture *fixture = *state;
	struct wire_session session = { .header = { 0 } };
	size_t i;

	session.job.rank = session.job.local_rank = session.job.world_size = WIRE_RANK_UNKNOWN;
	memset(&fixture->capture.summary, 0, sizeof(fixture->capture.summary));
	fixture->capture.summary.session = &session;
	write_profile(fixture);
	for (i = 0; i < COUNT_OF(unknown); i++) {
		if (!cJSON_IsNull(get(fixture, unknown[i])))
			fail_msg("%s is not null", unknown[i]);
	}
}

static void the_window_is_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.summary.outcome_count[OUTCOME_APPLIED] = 3;
	fixture->capture.summary.outcome_count[OUTCOME_SKIPPED] = 2;
	fixture->capture.summary.begin_count = 7;
	fixture->capture.summary.doubtful_count = 1;
	write_profile(fixture);
	assert_text(fixture, "window.state", "complete");
	assert_text(fixture, "window.stop_reason", "window_finished");
	assert_number(fixture, "window.attempts_seen", 5);
	assert_number(fixture, "window.active_attempts", 2);
	assert_number(fixture, "window.applied_attempts", 3);
	assert_number(fixture, "window.skipped_attempts", 2);
	assert_number(fixture, "window.attempts_told_by_begin", 7);
	assert_number(fixture, "window.attempts_doubtful", 1);
	assert_text(fixture, "window.started_at", "2001-09-09T01:46:40.022000Z");
	assert_text(fixture, "window.ended_at", "2001-09-09T01:46:40.047000Z");
	assert_number(fixture, "timing.wait_median_ns", 10000000);
	assert_number(fixture, "timing.active_median_ns", 12500000);
	assert_number(fixture, "timing.active_ratio", 1.25);
}

static void the_job_and_the_plan_are_told(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.session.job.rank = 0;
	fixture->capture.session.job.world_size = 4;
	fixture->capture.session.plan.timeout_s = 60;
	fixture->capture.session.attached = ATTACHED_ONE_BY_ONE;
	write_profile(fixture);
	assert_text(fixture, "tool.name", "tpbpf");
	assert_number(fixture, "job.pid", 4242);
	assert_number(fixture, "job.namespace_pid", 42);
	assert_text(fixture, "job.host", "node-1");
	assert_number(fixture, "job.rank", 0);
	assert_number(fixture, "job.world_size", 4);
	assert_true(cJSON_IsNull(get(fixture, "job.local_rank")));
	assert_text(fixture, "job.torch_version", "2.4.1+cpu");
	assert_true(cJSON_IsNull(get(fixture, "job.cuda_version")));
	assert_number(fixture, "plan.wait", 2);
	assert_number(fixture, "plan.warmup", 1);
	assert_number(fixture, "plan.active", 3);
	assert_number(fixture, "plan.repeat", 1);
	assert_number(fixture, "plan.timeout_s", 60);
	assert_text(fixture, "plan.attached", "one_by_one");
	assert_text(fixture, "plan.step_source", "auto");
}

static void probe_sites_have_every_key(void **state)
{
	static const char *const site_keys[] = { "point", "library",  "found", "file_offset",
						 "site",  "emulated", "lost" };
	struct fixture *fixture = *state;
	const cJSON *sites, *missing;
	size_t i;

	write_profile(fixture);
	sites = get(fixture, "plan.probe_sites");
	assert_int_equal(cJSON_GetArraySize(sites), 2);
	missing = cJSON_GetArrayItem(sites, 1);
	assert_true(cJSON_IsFalse(cJSON_GetObjectItem(missing, "found")));
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(missing, "lost")),
			    "the cheap end of an attempt");
	assert_text(fixture, "activities.ranges.state", "degraded");
	for (i = 0; i < COUNT_OF(site_keys); i++) {
		assert_row(i, cJSON_HasObjectItem(cJSON_GetArrayItem(sites, 0), site_keys[i]));
		assert_row(i, cJSON_HasObjectItem(missing, site_keys[i]));
	}
}

static void a_missing_site_that_is_optional_degrades_nothing(void **state)
{
	struct fixture *fixture = *state;

	fixture->capture.probes[1].optional = 1;
	write_profile(fixture);
	assert_text(fixture, "activities.ranges.state", "on");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(
		cJSON_GetArrayItem(get(fixture, "plan.probe_sites"), 1), "lost")));
}

static void regions_losses_and_files_are_told(void **state)
{
	struct fixture *fixture = *state;
	const cJSON *row;

	fixture->capture.rows[0].unfinished = 1;
	fixture->capture.rows[0].async = 2;
	fixture->capture.summary.loss[LOSS_RING_FULL] = UINT32_MAX;
	write_profile(fixture);
	assert_int_equal(cJSON_GetArraySize(get(fixture, "regions")), 3);
	row = cJSON_GetArrayItem(get(fixture, "regions"), 0);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), "forward");
	assert_true(cJSON_GetObjectItem(row, "count")->valuedouble == 3);
	assert_true(cJSON_GetObjectItem(row, "total_ns")->valuedouble == 30000000);
	assert_true(cJSON_GetObjectItem(row, "self_ns")->valuedouble == 20000000);
	assert_true(cJSON_GetObjectItem(row, "unfinished")->valuedouble == 1);
	assert_true(cJSON_GetObjectItem(row, "asynchronous")->valuedouble == 2);
	assert_number(fixture, "loss.ring_full", UINT32_MAX);
	assert_number(fixture, "loss.bad_record", 0);
	row = cJSON_GetArrayItem(get(fixture, "files"), 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), "steps.csv");
	assert_true(cJSON_GetObjectItem(row, "size_bytes")->valuedouble == 300);
}

static void the_rings_and_their_holes_are_told(void **state)
{
	static const struct hole holes[] = {
		{ 23000000, 24000000, 4, 1U << WIRE_OP_END | 1U << WIRE_MEMORY, 0 },
		{ 30000000, 30500000, 8, 1U << WIRE_RANGE_BEGIN, 42 },
	};
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;
	const cJSON *row, *kinds;

	summary->rings.count = 4;
	summary->rings.ring_bytes = 1 << 20;
	summary->rings.lost[WIRE_OP_END] = 7;
	summary->rings.lost_in_warmup[WIRE_OP_END] = 5;
	summary->rings.lost_in_warmup[WIRE_MEMORY] = 6;
	summary->holes = holes;
	summary->hole_count = 2;
	write_profile(fixture);
	assert_number(fixture, "rings.count", 4);
	assert_number(fixture, "rings.ring_bytes", 1 << 20);
	assert_number(fixture, "rings.lost.operator_ends", 7);
	assert_number(fixture, "rings.lost.memory_events", 0);
	assert_number(fixture, "rings.lost_in_warmup", 11);
	assert_int_equal(cJSON_GetArraySize(get(fixture, "rings.holes")), 2);
	row = cJSON_GetArrayItem(get(fixture, "rings.holes"), 0);
	assert_true(cJSON_GetObjectItem(row, "first_ns")->valuedouble == 23000000);
	assert_true(cJSON_GetObjectItem(row, "last_ns")->valuedouble == 24000000);
	assert_true(cJSON_GetObjectItem(row, "records")->valuedouble == 4);
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "tid")));
	kinds = cJSON_GetObjectItem(row, "kinds");
	assert_int_equal(cJSON_GetArraySize(kinds), 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(kinds, 0)), "operator_ends");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(kinds, 1)), "memory_events");
	row = cJSON_GetArrayItem(get(fixture, "rings.holes"), 1);
	assert_true(cJSON_GetObjectItem(row, "tid")->valuedouble == 42);
}

static void activities_are_told_as_they_were_asked_for(void **state)
{
	static const char *const names[] = { "ranges", "operators", "autograd", "memory",
					     "shapes" };
	struct fixture *fixture = *state;
	char path[64];
	size_t i;

	capture_record_all(&fixture->capture);
	write_profile(fixture);
	assert_int_equal(cJSON_GetArraySize(get(fixture, "plan.activities")), COUNT_OF(names));
	for (i = 0; i < COUNT_OF(names); i++) {
		assert_string_equal(cJSON_GetStringValue(cJSON_GetArrayItem(
					    get(fixture, "plan.activities"), (int)i)),
				    names[i]);
		snprintf(path, sizeof(path), "activities.%s.state", names[i]);
		assert_text(fixture, path, "on");
		snprintf(path, sizeof(path), "activities.%s.reason", names[i]);
		assert_true(cJSON_IsNull(get(fixture, path)));
	}
	assert_text(fixture, "activities.gpu.state", "off");
}

static void modes_and_predictions_are_told(void **state)
{
	static const char *const mode_keys[] = {
		"name",	       "overload",    "inner_row",	   "mode",
		"warmup_hits", "duration_ns", "predicted_cost_ns", "exact_cost_ns",
	};
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;
	const cJSON *modes, *row;
	size_t i;

	capture_record_all(&fixture->capture);
	summary->cost.hit_ns[0] = 1200; /* PROBE_SITE_PUSH */
	summary->cost.hit_ns[6] = 9800; /* PROBE_SITE_STEPPED */
	capture_add_mode(&fixture->capture, 7, "aten::t", MODE_BEGIN_ONLY);
	capture_add_mode(&fixture->capture, MODE_SUBJECT_NODES, "autograd nodes", MODE_EXACT);
	capture_add_mode(&fixture->capture, 8, "aten::detach", MODE_OFF);
	write_profile(fixture);
	assert_number(fixture, "plan.max_overhead", 0.1);
	assert_number(fixture, "timing.predicted_ratio", 1.08);
	assert_number(fixture, "timing.predicted_exact_ratio", 1.64);
	assert_number(fixture, "timing.site_cost_ns.push", 1200);
	assert_number(fixture, "timing.site_cost_ns.stepped", 9800);
	assert_true(cJSON_IsNull(get(fixture, "timing.site_cost_ns.jcc")));
	modes = get(fixture, "timing.modes");
	assert_int_equal(cJSON_GetArraySize(modes), 3);
	row = cJSON_GetArrayItem(modes, 0);
	for (i = 0; i < COUNT_OF(mode_keys); i++)
		assert_row(i, cJSON_HasObjectItem(row, mode_keys[i]));
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "mode")), "begin_only");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "overload")), "Tensor");
	assert_true(cJSON_GetObjectItem(row, "warmup_hits")->valuedouble == 40);
	assert_true(cJSON_GetObjectItem(row, "predicted_cost_ns")->valuedouble == 7000);
	row = cJSON_GetArrayItem(modes, 1);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "mode")), "exact");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "overload")));
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "inner_row")));
	row = cJSON_GetArrayItem(modes, 2);
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "inner_row")), "detach");
}

/* Before the modes are decided the costs of the sites may be known. */
static void no_decision_is_no_mode(void **state)
{
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;

	capture_record_all(&fixture->capture);
	summary->cost.is_final = 0;
	summary->cost.hit_ns[0] = 1200;
	write_profile(fixture);
	assert_true(cJSON_IsNull(get(fixture, "timing.modes")));
	assert_true(cJSON_IsNull(get(fixture, "timing.predicted_ratio")));
	assert_number(fixture, "timing.site_cost_ns.push", 1200);
}

static void operators_are_apart_from_regions(void **state)
{
	static const char *const row_keys[] = {
		"name",
		"overload",
		"shapes",
		"kind",
		"count",
		"total_ns",
		"self_ns",
		"raw_total_ns",
		"raw_self_ns",
		"cpu_bytes",
		"self_cpu_bytes",
		"device_bytes",
		"self_device_bytes",
		"flops",
		"inferred",
		"unwound",
		"unfinished",
	};
	struct fixture *fixture = *state;
	struct summary *summary = &fixture->capture.summary;
	struct op_row *op = &fixture->capture.rows[2];
	const cJSON *row;
	size_t i;

	capture_record_all(&fixture->capture);
	op->kind = SPAN_OPERATOR;
	op->name = "aten::mm";
	op->raw_self_ns = 10000500;
	op->self_bytes[SPAN_CPU] = -4096;
	op->inferred = 2;
	summary->inferred_ends = 2;
	summary->unwound_calls = 1;
	summary->flows = 5;
	summary->unlinked_nodes = 4;
	summary->memory_events = 9;
	summary->net_bytes[SPAN_CPU] = -512;
	summary->old_frees = 3;
	write_profile(fixture);
	assert_int_equal(cJSON_GetArraySize(get(fixture, "regions")), 2);
	assert_int_equal(cJSON_GetArraySize(get(fixture, "operators.rows")), 1);
	row = cJSON_GetArrayItem(get(fixture, "operators.rows"), 0);
	for (i = 0; i < COUNT_OF(row_keys); i++)
		assert_row(i, cJSON_HasObjectItem(row, row_keys[i]));
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), "aten::mm");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(row, "kind")), "operator");
	assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "overload")));
	assert_true(cJSON_GetObjectItem(row, "raw_self_ns")->valuedouble == 10000500);
	assert_true(cJSON_GetObjectItem(row, "self_cpu_bytes")->valuedouble == -4096);
	assert_number(fixture, "operators.found", 3000);
	assert_number(fixture, "operators.inferred_ends", 2);
	assert_number(fixture, "operators.unwound_calls", 1);
	assert_number(fixture, "autograd.flows", 5);
	assert_number(fixture, "autograd.unlinked_nodes", 4);
	assert_number(fixture, "memory.events", 9);
	assert_number(fixture, "memory.old_frees", 3);
	assert_number(fixture, "memory.net_cpu_bytes", -512);
}

static void hostile_strings_stay_strings(void **state)
{
	struct fixture *fixture = *state;
	struct wire_session *session = &fixture->capture.session;

	strcpy(session->job.host, HOSTILE_NAME);
	strcpy(session->job.command_line, HOSTILE_NAME);
	strcpy(session->plan.step_source, HOSTILE_NAME);
	strcpy(session->session_id, "\"\\\x01\xff");
	strcpy(fixture->capture.probes[1].point, HOSTILE_NAME);
	strcpy(fixture->capture.probes[1].cost, HOSTILE_NAME);
	fixture->capture.rows[0].name = HOSTILE_NAME;
	write_profile(fixture);
	assert_all_keys(fixture);
	assert_text(fixture, "session_id", "\"\\\x01\xef\xbf\xbd");
	assert_non_null(strstr(cJSON_GetStringValue(get(fixture, "job.host")), "\"},{\\ "));
	assert_int_equal(cJSON_GetArraySize(get(fixture, "regions")), 3);
	assert_null(strpbrk(memory_sink_text(&fixture->memory), "\x1b\x07\r\x7f"));
}

/* A clock that was never set, or a capture file that says so. */
static void a_time_before_1970_is_a_time_or_null(void **state)
{
	struct fixture *fixture = *state;
	const cJSON *started;

	fixture->capture.summary.real_offset_ns = -5522000000LL;
	write_profile(fixture);
	started = get(fixture, "window.started_at");
	if (!cJSON_IsNull(started))
		assert_string_equal(cJSON_GetStringValue(started), "1969-12-31T23:59:54.500000Z");
}

static void the_error_of_the_sink_comes_back(void **state)
{
	struct fixture *fixture = *state;
	size_t limit;

	for (limit = 0; limit < 2000; limit += 97) {
		struct memory_sink small;

		memory_sink_init_limited(&small, limit);
		assert_row(limit,
			   capture_write(&fixture->capture, &small, profile_json_new) == -ENOSPC);
		memory_sink_fini(&small);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_complete_capture_has_every_key),
		TEST(a_pending_one_has_every_key_as_well),
		TEST(calls_that_were_probed_are_told_from_the_agents),
		TEST(what_is_not_known_is_null),
		TEST(the_window_is_told),
		TEST(the_job_and_the_plan_are_told),
		TEST(probe_sites_have_every_key),
		TEST(a_missing_site_that_is_optional_degrades_nothing),
		TEST(regions_losses_and_files_are_told),
		TEST(the_rings_and_their_holes_are_told),
		TEST(activities_are_told_as_they_were_asked_for),
		TEST(modes_and_predictions_are_told),
		TEST(no_decision_is_no_mode),
		TEST(operators_are_apart_from_regions),
		TEST(hostile_strings_stay_strings),
		TEST(a_time_before_1970_is_a_time_or_null),
		TEST(the_error_of_the_sink_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
