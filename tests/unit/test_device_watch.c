/*
 * What is made of the agent's answer, and of none: when it is asked, when it has failed, who then
 * reports the calls. The agent's probes and the window's are the test's own.
 */
#include "support/test.h"

#include "attach/agent_probe.h"
#include "device_fallback.h"
#include "support/agent_batches.h"

#define S 1000000000ULL
#define ANSWER_NS (5 * S)

/* What stands in for the job, the kernel and the window. */
static struct {
	int image_err, probe_err, attach_err;
	bool is_attached[AGENT_POINT_CNT];
	unsigned int attached, replanned, window_attached;
	bool is_staying, is_held;
} world;

static int probe_of_the_test;

int agent_image_open(struct agent_image *image, pid_t pid)
{
	(void)pid;
	image->fd = -1;
	return world.image_err;
}

void agent_image_close(struct agent_image *image)
{
	(void)image;
}

bool agent_note_has_library(pid_t pid, const char *name)
{
	(void)pid;
	return !strcmp(name, "libcuda.so");
}

int agent_probe_open(struct agent_probe **out, const struct agent_image *image, pid_t pid)
{
	(void)image;
	(void)pid;
	*out = world.probe_err ? NULL : (struct agent_probe *)(void *)&probe_of_the_test;
	return world.probe_err;
}

void agent_probe_close(struct agent_probe *probe)
{
	(void)probe;
}

int agent_probe_attach(struct agent_probe *probe, enum agent_point point)
{
	assert_non_null(probe);
	if (world.attach_err)
		return world.attach_err;
	world.is_attached[point] = true;
	world.attached++;
	return 0;
}

void agent_probe_detach(struct agent_probe *probe, enum agent_point point)
{
	assert_non_null(probe);
	world.is_attached[point] = false;
}

int agent_probe_ring_fd(const struct agent_probe *probe)
{
	(void)probe;
	return 5;
}

int window_probes_attach(struct window_probes *window)
{
	(void)window;
	world.window_attached++;
	return 0;
}

int window_probes_replan(struct window_probes *window)
{
	(void)window;
	world.replanned++;
	return 0;
}

bool window_probes_stay(const struct window_probes *window)
{
	(void)window;
	return world.is_staying;
}

void window_probes_hold(struct window_probes *window, bool is_held)
{
	(void)window;
	world.is_held = is_held;
}

struct fixture {
	struct record_sink next;
	struct target target;
	struct probe_plan plan;
	struct device_watch *watch;
	struct device_fallback fallback;
	struct packed packed;
	struct wire_device said;
	unsigned int said_count;
	uint64_t sequence;
};

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct fixture *fixture = container_of(sink, struct fixture, next);
	const struct wire_header *header = bytes;

	if (header->kind != WIRE_DEVICE)
		return 0;
	assert_int_equal(size_bytes, sizeof(fixture->said));
	memcpy(&fixture->said, bytes, sizeof(fixture->said));
	fixture->said_count++;
	return 0;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	memset(&world, 0, sizeof(world));
	fixture->next.record = on_record;
	fixture->plan.target = &fixture->target;
	fixture->plan.activities = ACTIVITY_RANGES | ACTIVITY_CUDA_CALLS;
	fixture->plan.calls_in_reserve = true;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	device_watch_free(fixture->watch);
	free(fixture);
	return 0;
}

static void open_watch(struct fixture *fixture, enum gpu_mode gpu)
{
	struct options options = { .gpu = gpu };

	assert_int_equal(
		device_watch_new(&fixture->watch, &options, &fixture->plan, "", &fixture->next), 0);
	fixture->fallback =
		(struct device_fallback){ &fixture->plan, fixture->watch, NULL, &fixture->next };
}

/* As a session does in each of its rounds. */
static void round_at(struct fixture *fixture, uint32_t phase, uint64_t now_ns)
{
	assert_int_equal(device_fallback_attach(&fixture->fallback), 0);
	assert_int_equal(device_fallback_follow(&fixture->fallback, phase, now_ns), 0);
	assert_int_equal(device_watch_report(fixture->watch, now_ns), 0);
}

static void begin(struct fixture *fixture)
{
	open_watch(fixture, GPU_AUTO);
	round_at(fixture, PHASE_WAIT, S);
	assert_int_equal(world.attached, 0);
	round_at(fixture, PHASE_WARMUP, 2 * S);
	assert_true(world.is_attached[AGENT_POINT_BATCH] && world.is_attached[AGENT_POINT_COLLECT]);
}

static void hand_over(struct fixture *fixture)
{
	struct record_sink *sink = device_watch_sink(fixture->watch);
	struct event event = packed_event(&fixture->packed);

	assert_int_equal(sink->record(sink, event.agent, event.header->size), 0);
}

static void say_session(struct fixture *fixture, uint32_t kinds)
{
	struct agent_session *session;

	packed_begin(&fixture->packed, 5, fixture->sequence++);
	session = packed_add(&fixture->packed, AGENT_SESSION, sizeof(*session), NULL);
	session->kinds = kinds;
	hand_over(fixture);
}

static void say_status(struct fixture *fixture, enum agent_status_code code,
		       enum agent_effect effect)
{
	struct agent_status *status;

	packed_begin(&fixture->packed, 5, fixture->sequence++);
	status = packed_add(&fixture->packed, AGENT_STATUS, sizeof(*status), NULL);
	status->code = code;
	status->effect = effect;
	hand_over(fixture);
}

static void say_end(struct fixture *fixture)
{
	packed_begin(&fixture->packed, 5, fixture->sequence++);
	packed_add(&fixture->packed, AGENT_END, sizeof(struct agent_end), NULL);
	hand_over(fixture);
}

static bool anything_attached(void)
{
	unsigned int point;

	for (point = 0; point < AGENT_POINT_CNT; point++) {
		if (world.is_attached[point])
			return true;
	}
	return false;
}

static void assert_said(const struct fixture *fixture, enum wire_device_watch watch,
			const char *part)
{
	assert_int_equal(fixture->said.watch, watch);
	if (!strstr(fixture->said.reason, part))
		fail_msg("'%s' is not in '%s'", part, fixture->said.reason);
}

/* The window's probes are attached, the calls' among them, and the agent is left alone. */
static void assert_given_up(struct fixture *fixture, uint64_t now_ns)
{
	unsigned int attached = world.attached, window_attached = world.window_attached;

	assert_false(fixture->plan.calls_in_reserve);
	assert_int_equal(world.replanned, 1);
	assert_false(anything_attached());
	assert_false(world.is_held);
	round_at(fixture, PHASE_WARMUP, now_ns);
	assert_int_equal(world.window_attached, window_attached + 1);
	round_at(fixture, PHASE_ACTIVE, now_ns);
	round_at(fixture, PHASE_WAIT, now_ns);
	round_at(fixture, PHASE_WARMUP, now_ns + 60 * S);
	assert_int_equal(world.attached, attached);
	assert_int_equal(world.replanned, 1);
	assert_false(device_watch_is_ending(fixture->watch, now_ns));
	assert_int_equal(fixture->said.watch, DEVICE_UNAVAILABLE);
}

static void an_agent_that_records_is_waited_for_and_kept(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_session(fixture, 0);
	round_at(fixture, PHASE_WARMUP, 2 * S + 1);
	assert_int_equal(world.window_attached, 0);
	assert_true(world.is_held);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_WARMUP, 2 * S + 2);
	assert_int_equal(world.window_attached, 1);
	assert_false(world.is_held);
	assert_true(fixture->plan.calls_in_reserve);
	assert_int_equal(world.replanned, 0);
	assert_said(fixture, DEVICE_WATCHED, "");
}

static void one_that_says_that_it_cannot_is_given_up(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_session(fixture, 0);
	say_status(fixture, AGENT_STATUS_NO_CUPTI, AGENT_EFFECT_NOTHING);
	assert_int_equal(world.window_attached, 0);
	round_at(fixture, PHASE_WARMUP, 2 * S + 1);
	assert_said(fixture, DEVICE_UNAVAILABLE, "the job has no libcupti mapped");
	assert_given_up(fixture, 2 * S + 2);
	assert_said(fixture, DEVICE_UNAVAILABLE, "the job has no libcupti mapped");
}

/* It may find what it lacked a moment later: then the calls are by probes already. */
static void what_it_says_when_it_was_given_up_changes_nothing(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_status(fixture, AGENT_STATUS_NO_CUPTI, AGENT_EFFECT_NOTHING);
	round_at(fixture, PHASE_WARMUP, 2 * S + 1);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	say_status(fixture, AGENT_STATUS_BUSY, AGENT_EFFECT_NOTHING);
	say_end(fixture);
	assert_given_up(fixture, 2 * S + 2);
	assert_said(fixture, DEVICE_UNAVAILABLE, "the job has no libcupti mapped");
}

static void a_degradation_is_no_failure(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_status(fixture, AGENT_STATUS_THREAD_IDS, AGENT_EFFECT_DEGRADED);
	round_at(fixture, PHASE_WARMUP, 2 * S + 1);
	assert_true(fixture->plan.calls_in_reserve);
	assert_said(fixture, DEVICE_UNAVAILABLE, "did not answer");
}

static void one_that_does_not_answer_is_given_up_when_its_time_is_up(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS - 1);
	assert_true(fixture->plan.calls_in_reserve);
	assert_int_equal(world.window_attached, 0);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS);
	assert_said(fixture, DEVICE_UNAVAILABLE, "the agent in the job did not answer");
	assert_given_up(fixture, 2 * S + ANSWER_NS + 1);
}

static void why_it_does_not_answer_is_said_where_it_is_known(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_status(fixture, AGENT_STATUS_HUNG, AGENT_EFFECT_DEGRADED);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS - 1);
	assert_true(fixture->plan.calls_in_reserve);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS);
	assert_said(fixture, DEVICE_UNAVAILABLE, "CUPTI does not return from");
	assert_given_up(fixture, 2 * S + ANSWER_NS + 1);
}

static void what_hangs_and_returns_in_time_is_kept(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_status(fixture, AGENT_STATUS_HUNG, AGENT_EFFECT_DEGRADED);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS);
	assert_true(fixture->plan.calls_in_reserve);
	assert_said(fixture, DEVICE_WATCHED, "");
}

/* What it does not report any more is lost, and said: half of the calls by probes would be worse.
 */
static void one_that_fails_later_is_not_replaced(void **state)
{
	struct fixture *fixture = *state;

	begin(fixture);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_ACTIVE, 3 * S);
	say_status(fixture, AGENT_STATUS_TAKEN, AGENT_EFFECT_NOTHING);
	round_at(fixture, PHASE_ACTIVE, 4 * S);
	assert_said(fixture, DEVICE_WATCHED, "");
	round_at(fixture, PHASE_WAIT, 5 * S);
	say_end(fixture);
	/* The next cycle: its probes do not wait for the agent. */
	round_at(fixture, PHASE_WARMUP, 8 * S);
	say_status(fixture, AGENT_STATUS_BUSY, AGENT_EFFECT_NOTHING);
	world.window_attached = 0;
	round_at(fixture, PHASE_WARMUP, 9 * S);
	assert_int_equal(world.window_attached, 1);
	assert_true(fixture->plan.calls_in_reserve);
	assert_int_equal(world.replanned, 0);
}

static void record_a_cycle(struct fixture *fixture)
{
	begin(fixture);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_ACTIVE, 3 * S);
	assert_false(world.is_held);
}

/* Or the first attempts of the next window would have no work. */
static void each_warmup_waits_for_it(void **state)
{
	struct fixture *fixture = *state;

	record_a_cycle(fixture);
	round_at(fixture, PHASE_WAIT, 4 * S);
	assert_false(world.is_attached[AGENT_POINT_COLLECT]);
	/* It has not ended yet, and must have before it is asked again. */
	round_at(fixture, PHASE_WARMUP, 5 * S);
	assert_true(world.is_held);
	assert_false(world.is_attached[AGENT_POINT_COLLECT]);
	say_end(fixture);
	assert_false(device_watch_is_ready(fixture->watch, 5 * S + 1));
	round_at(fixture, PHASE_WARMUP, 5 * S + 1);
	assert_true(world.is_attached[AGENT_POINT_COLLECT]);
	assert_true(world.is_held);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_WARMUP, 5 * S + 2);
	assert_false(world.is_held);
	assert_said(fixture, DEVICE_WATCHED, "");
}

static void one_that_does_not_end_is_not_waited_for_without_end(void **state)
{
	struct fixture *fixture = *state;

	record_a_cycle(fixture);
	round_at(fixture, PHASE_WAIT, 4 * S);
	round_at(fixture, PHASE_WARMUP, 9 * S - 1);
	assert_true(world.is_held);
	round_at(fixture, PHASE_WARMUP, 9 * S);
	assert_false(world.is_held);
	assert_int_equal(world.replanned, 0);
}

static void where_the_probes_stay_it_goes_on(void **state)
{
	struct fixture *fixture = *state;
	unsigned int attached;

	record_a_cycle(fixture);
	attached = world.attached;
	world.is_staying = true;
	round_at(fixture, PHASE_WAIT, 4 * S);
	assert_true(world.is_attached[AGENT_POINT_COLLECT]);
	world.is_staying = false;
	round_at(fixture, PHASE_WARMUP, 5 * S);
	assert_false(world.is_held);
	round_at(fixture, PHASE_AFTER, 6 * S);
	assert_false(world.is_attached[AGENT_POINT_COLLECT]);
	assert_int_equal(world.attached, attached);
}

/* What there is of the first window is none the less there. */
static void one_that_fails_in_a_later_cycle_has_recorded(void **state)
{
	struct fixture *fixture = *state;

	record_a_cycle(fixture);
	round_at(fixture, PHASE_WAIT, 4 * S);
	say_end(fixture);
	round_at(fixture, PHASE_WARMUP, 5 * S);
	say_status(fixture, AGENT_STATUS_NO_CUPTI, AGENT_EFFECT_NOTHING);
	round_at(fixture, PHASE_WARMUP, 5 * S + 1);
	assert_said(fixture, DEVICE_WATCHED,
		    "a later window has nothing of the GPU: the job has no libcupti mapped");
	assert_false(device_watch_has_failed(fixture->watch, 5 * S + 2));
	assert_true(fixture->plan.calls_in_reserve);
	/* It has found it: nothing is amiss with what comes now. */
	round_at(fixture, PHASE_WAIT, 6 * S);
	say_end(fixture);
	round_at(fixture, PHASE_WARMUP, 7 * S);
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_WARMUP, 7 * S + 1);
	assert_said(fixture, DEVICE_WATCHED, "");
}

static void one_that_cannot_be_asked_is_given_up(void **state)
{
	struct fixture *fixture = *state;

	open_watch(fixture, GPU_AUTO);
	round_at(fixture, PHASE_WAIT, S);
	assert_true(fixture->plan.calls_in_reserve);
	world.attach_err = -EPERM;
	round_at(fixture, PHASE_WARMUP, 2 * S);
	assert_said(fixture, DEVICE_UNAVAILABLE, "cannot be asked");
	assert_given_up(fixture, 2 * S + 1);
}

static void one_that_cannot_be_used_is_given_up_at_once(void **state)
{
	struct fixture *fixture = *state;

	world.probe_err = -EINVAL;
	open_watch(fixture, GPU_AUTO);
	assert_int_equal(device_fallback_follow(&fixture->fallback, PHASE_WARMUP, 1), 0);
	assert_int_equal(device_watch_report(fixture->watch, 1), 0);
	assert_said(fixture, DEVICE_UNAVAILABLE, "cannot be used");
	assert_given_up(fixture, 2 * S);
}

/* One by one, as on old kernels. */
static void where_calls_cannot_be_probed_there_is_nothing_to_fall_back_on(void **state)
{
	struct fixture *fixture = *state;

	fixture->plan.activities = ACTIVITY_RANGES | ACTIVITY_CUDA_CALLS_UNSUPPORTED;
	begin(fixture);
	/* Nor to wait for. */
	assert_int_equal(world.window_attached, 2);
	say_status(fixture, AGENT_STATUS_NO_CUPTI, AGENT_EFFECT_NOTHING);
	round_at(fixture, PHASE_WARMUP, 2 * S + 1);
	assert_said(fixture, DEVICE_UNAVAILABLE, "no libcupti");
	assert_int_equal(world.replanned, 0);
	assert_true(anything_attached());
	/* It may still find it. */
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_WARMUP, 2 * S + 2);
	assert_said(fixture, DEVICE_WATCHED, "");
	round_at(fixture, PHASE_ACTIVE, 2 * S + 3);
	assert_true(anything_attached());
}

/* A part of the window would be shown as if it were all. */
static void in_the_window_it_is_too_late_for_it(void **state)
{
	struct fixture *fixture = *state;

	fixture->plan.activities = ACTIVITY_RANGES | ACTIVITY_CUDA_CALLS_UNSUPPORTED;
	begin(fixture);
	round_at(fixture, PHASE_WARMUP, 2 * S + ANSWER_NS);
	assert_true(anything_attached());
	assert_false(world.is_held);
	round_at(fixture, PHASE_ACTIVE, 3 * S + ANSWER_NS);
	assert_false(anything_attached());
	say_session(fixture, 1U << AGENT_ACTIVITY_KERNEL);
	round_at(fixture, PHASE_ACTIVE, 4 * S + ANSWER_NS);
	assert_int_equal(world.replanned, 0);
	assert_said(fixture, DEVICE_UNAVAILABLE, "did not answer");
}

static void without_an_agent_nothing_is_waited_for(void **state)
{
	struct fixture *fixture = *state;

	world.image_err = -ENOENT;
	fixture->plan.calls_in_reserve = false;
	open_watch(fixture, GPU_AUTO);
	round_at(fixture, PHASE_WARMUP, S);
	assert_int_equal(world.window_attached, 1);
	assert_int_equal(world.replanned, 0);
	assert_said(fixture, DEVICE_UNAVAILABLE, "no agent in the job");
}

static void switched_off_nothing_is_asked_or_waited_for(void **state)
{
	struct fixture *fixture = *state;

	fixture->plan.activities = ACTIVITY_RANGES;
	fixture->plan.calls_in_reserve = false;
	open_watch(fixture, GPU_OFF);
	round_at(fixture, PHASE_WARMUP, S);
	assert_int_equal(world.window_attached, 1);
	assert_int_equal(world.attached, 0);
	assert_said(fixture, DEVICE_NOT_ASKED, "--gpu off");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_agent_that_records_is_waited_for_and_kept),
		TEST(one_that_says_that_it_cannot_is_given_up),
		TEST(what_it_says_when_it_was_given_up_changes_nothing),
		TEST(a_degradation_is_no_failure),
		TEST(one_that_does_not_answer_is_given_up_when_its_time_is_up),
		TEST(why_it_does_not_answer_is_said_where_it_is_known),
		TEST(what_hangs_and_returns_in_time_is_kept),
		TEST(one_that_fails_later_is_not_replaced),
		TEST(each_warmup_waits_for_it),
		TEST(one_that_does_not_end_is_not_waited_for_without_end),
		TEST(where_the_probes_stay_it_goes_on),
		TEST(one_that_fails_in_a_later_cycle_has_recorded),
		TEST(one_that_cannot_be_asked_is_given_up),
		TEST(one_that_cannot_be_used_is_given_up_at_once),
		TEST(where_calls_cannot_be_probed_there_is_nothing_to_fall_back_on),
		TEST(in_the_window_it_is_too_late_for_it),
		TEST(without_an_agent_nothing_is_waited_for),
		TEST(switched_off_nothing_is_asked_or_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
