/* What became of each activity, and why. */
#include "support/test.h"

#include "output/activity_state.h"
#include "support/summaries.h"

static int setup(void **state)
{
	struct capture *capture = calloc(1, sizeof(*capture));

	if (!capture)
		return -1;
	capture_init(capture);
	capture_record_all(capture);
	*state = capture;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static void assert_state(const struct capture *capture, unsigned int activity, const char *name,
			 const char *reason)
{
	struct activity_state state;

	activity_state_of(&capture->summary, activity, &state);
	assert_string_equal(state.state, name);
	assert_string_equal(state.reason, reason);
}

#define MISSING "probe points are missing in this build: plan.probe_sites says which"

static void what_was_recorded_whole_is_on(void **state)
{
	static const unsigned int activities[] = { ACTIVITY_RANGES, ACTIVITY_OPERATORS,
						   ACTIVITY_AUTOGRAD, ACTIVITY_MEMORY,
						   ACTIVITY_SHAPES };
	size_t i;

	for (i = 0; i < COUNT_OF(activities); i++)
		assert_state(*state, activities[i], "on", "");
}

static void what_was_not_asked_for_is_off(void **state)
{
	struct capture *capture = *state;

	capture->session.plan.activities = ACTIVITY_OPERATORS;
	assert_state(capture, ACTIVITY_OPERATORS, "on", "");
	assert_state(capture, ACTIVITY_RANGES, "off", "not asked for");
	assert_state(capture, ACTIVITY_AUTOGRAD, "off", "not asked for");
	assert_state(capture, ACTIVITY_MEMORY, "off", "not asked for");
	assert_state(capture, ACTIVITY_SHAPES, "off", "not asked for");
	capture->session.plan.activities = 0;
	assert_state(capture, ACTIVITY_RANGES, "on", "");
	assert_state(capture, ACTIVITY_OPERATORS, "off", "not asked for");
	capture->session.plan.activities = ACTIVITY_RANGES | ACTIVITY_UNSUPPORTED;
	assert_state(capture, ACTIVITY_RANGES, "on", "");
	assert_state(
		capture, ACTIVITY_MEMORY, "off",
		"not possible on this kernel: uprobe_multi with a filter by process is missing");
}

static void what_was_too_dear_is_off_with_its_figure(void **state)
{
	struct capture *capture = *state;

	capture_add_mode(capture, MODE_SUBJECT_MEMORY, "memory", MODE_EXACT); /* an earlier cycle */
	capture_add_mode(capture, MODE_SUBJECT_MEMORY, "memory", MODE_OFF);
	capture_add_mode(capture, MODE_SUBJECT_NODES, "autograd nodes", MODE_OFF);
	capture->summary.cost.attempt_ns = 12000000;
	assert_state(capture, ACTIVITY_MEMORY, "off",
		     "left out for its cost, it would add 1.235ms to each attempt: name it in "
		     "--activities, and raise --max-overhead (10.0%)");
	assert_state(capture, ACTIVITY_AUTOGRAD, "off",
		     "left out for its cost, it would add 1.235ms to each attempt: raise "
		     "--max-overhead (10.0%)");
	capture->summary.cost.attempt_ns = 13000000;
	assert_state(capture, ACTIVITY_MEMORY, "off",
		     "left out for its cost, it would add 1.235ms to each attempt: name it in "
		     "--activities");
	assert_state(capture, ACTIVITY_RANGES, "on", "");
	capture_add_mode(capture, MODE_SUBJECT_MEMORY, "memory", MODE_EXACT); /* and a later one */
	assert_state(capture, ACTIVITY_MEMORY, "on", "");
}

static void a_part_that_was_too_dear_degrades(void **state)
{
	struct capture *capture = *state;

	capture_add_mode(capture, 7, "aten::t", MODE_OFF);
	capture_add_mode(capture, 8, "aten::mm", MODE_BEGIN_ONLY);
	capture_add_mode(capture, 9, "aten::add", MODE_OFF);
	capture_add_mode(capture, MODE_SUBJECT_SEQUENCES, "sequence numbers", MODE_OFF);
	assert_int_equal(activity_state_operators_off(&capture->summary), 2);
	assert_state(capture, ACTIVITY_OPERATORS, "degraded",
		     "2 operators are not recorded: timing.modes");
	assert_state(capture, ACTIVITY_AUTOGRAD, "degraded",
		     "no arrows from forward to backward: sequence numbers were left out for "
		     "--max-overhead");
}

static void a_missing_probe_degrades_what_it_is_for(void **state)
{
	struct capture *capture = *state;

	capture->probes[1].optional = 0;
	assert_state(capture, ACTIVITY_RANGES, "degraded", MISSING);
	assert_state(capture, ACTIVITY_MEMORY, "on", "");
	capture->probes[1].activity = ACTIVITY_MEMORY;
	assert_state(capture, ACTIVITY_RANGES, "on", "");
	assert_state(capture, ACTIVITY_MEMORY, "degraded", MISSING);
}

static void nothing_to_probe_is_off(void **state)
{
	struct capture *capture = *state;

	capture->summary.operators_found = 0;
	capture->summary.has_shapes = false;
	assert_state(capture, ACTIVITY_OPERATORS, "off", "no operator of this build can be probed");
	assert_state(capture, ACTIVITY_SHAPES, "off",
		     "no call of the window was recorded with its shapes");
	capture->summary.state = WINDOW_PENDING; /* it may come */
	assert_state(capture, ACTIVITY_OPERATORS, "on", "");
	assert_state(capture, ACTIVITY_SHAPES, "on", "");
}

static void modules_say_why_there_are_none(void **state)
{
	struct capture *capture = *state;

	assert_state(capture, ACTIVITY_MODULES, "off", "not asked for");
	capture->session.plan.activities |= ACTIVITY_MODULES;
	assert_state(capture, ACTIVITY_MODULES, "off", "no module was called in the window");
	capture->summary.module_calls = 1;
	assert_state(capture, ACTIVITY_MODULES, "on", "");
	capture->summary.module_calls = 0;
	capture->probes[1].activity = ACTIVITY_MODULES;
	capture->probes[1].optional = 0;
	assert_state(capture, ACTIVITY_MODULES, "off",
		     "this job's Python is not CPython 3.11 to 3.13, or has no symbol for it");
	capture->summary.cost.attempt_ns = 12000000;
	capture_add_mode(capture, MODE_SUBJECT_MODULES, "module calls", MODE_OFF);
	assert_state(capture, ACTIVITY_MODULES, "off",
		     "left out for its cost, it would add 1.235ms to each attempt: raise "
		     "--max-overhead (10.0%)");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_recorded_whole_is_on),
		TEST(what_was_not_asked_for_is_off),
		TEST(what_was_too_dear_is_off_with_its_figure),
		TEST(a_part_that_was_too_dear_degrades),
		TEST(a_missing_probe_degrades_what_it_is_for),
		TEST(nothing_to_probe_is_off),
		TEST(modules_say_why_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
