/* The command line: what is taken, and that every refusal names the option. */
#include "support/test.h"

#include "options.h"
#include "support/stderr_capture.h"

#define ARGUMENTS_MAX 14

/* arguments ends with NULL and leaves the program's name out. */
static int parse(struct options *options, const char *const *arguments)
{
	const char *argv[ARGUMENTS_MAX + 2] = { "tpbpf" };
	int argc = 1;

	while (*arguments)
		argv[argc++] = *arguments++;
	return options_parse(options, argc, (char **)(uintptr_t)argv);
}

#define PARSE(options, ...) parse(options, (const char *const[]){ __VA_ARGS__, NULL })

static void the_defaults_are_as_documented(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "--pid", "4242"), 0);
	assert_int_equal(options.command, COMMAND_CAPTURE);
	assert_int_equal(options.pid, 4242);
	assert_null(options.output);
	assert_int_equal(options.skip_first, 0);
	assert_int_equal(options.skip_first_wait, 0);
	assert_int_equal(options.wait, 2);
	assert_int_equal(options.warmup, 1);
	assert_int_equal(options.active, 3);
	assert_int_equal(options.repeat, 1);
	assert_int_equal(options.timeout_s, 0);
	assert_int_equal(options.step.mode, STEP_AUTO);
	assert_string_equal(options.step.pattern, "Optimizer.step#");
	assert_true(options.step.pattern_is_prefix);
	assert_string_equal(options.step.text, "auto");
	assert_int_equal(options.gpu, GPU_AUTO);
	assert_int_equal(options.probes.attach, ATTACH_AUTO);
	assert_int_equal(options.sort_by, SORT_SELF_CPU_TIME);
	assert_int_equal(options.row_limit, 0);
	assert_false(options.group_by_shape);
	assert_false(options.group_by_overload);
	assert_false(options.record_shapes);
	assert_false(options.with_flops);
	assert_false(options.exact);
	assert_int_equal(options.max_overhead_permille, 1000);
	assert_int_equal(options.activities, ACTIVITY_RANGES | ACTIVITY_OPERATORS |
						     ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY);
	assert_false(options.activities_named);
	assert_false(options.describe);
	assert_false(options.keep_raw);
	assert_false(options.verbose);
	assert_string_equal(options.command_line, "tpbpf --pid 4242");
}

static void every_number_goes_where_it_belongs(void **state)
{
	static const struct {
		const char *name;
		size_t offset;
		const char *smallest, *largest;
	} rows[] = {
		{ "--pid", offsetof(struct options, pid), "1", "2147483647" },
		{ "--skip-first", offsetof(struct options, skip_first), "0", "1000000" },
		{ "--skip-first-wait", offsetof(struct options, skip_first_wait), "0", "1" },
		{ "--wait", offsetof(struct options, wait), "0", "1000000" },
		{ "--warmup", offsetof(struct options, warmup), "1", "1000000" },
		{ "--active", offsetof(struct options, active), "1", "1000000" },
		{ "--repeat", offsetof(struct options, repeat), "0", "500" },
		{ "--timeout", offsetof(struct options, timeout_s), "1", "10000000" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct options options;
		const char *bytes = (const char *)&options + rows[i].offset;
		char equals[64];
		uint32_t value;

		assert_row(i, !PARSE(&options, "-p", "7", rows[i].name, rows[i].largest));
		memcpy(&value, bytes, sizeof(value));
		assert_row(i, value == strtoul(rows[i].largest, NULL, 10));
		snprintf(equals, sizeof(equals), "%s=%s", rows[i].name, rows[i].smallest);
		assert_row(i, !PARSE(&options, "-p", "7", equals));
		memcpy(&value, bytes, sizeof(value));
		assert_row(i, value == strtoul(rows[i].smallest, NULL, 10));
	}
}

static void the_other_options_go_where_they_belong(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7", "-o", "out", "--describe", "--keep-raw", "-v",
			       "--attach", "single"),
			 0);
	assert_int_equal(options.pid, 7);
	assert_string_equal(options.output, "out");
	assert_true(options.describe);
	assert_true(options.keep_raw);
	assert_true(options.verbose);
	assert_int_equal(options.probes.attach, ATTACH_SINGLE);
	assert_int_equal(PARSE(&options, "--output=a=b", "--verbose", "--attach=auto", "-p", "7"),
			 0);
	assert_string_equal(options.output, "a=b");
	assert_true(options.verbose);
	assert_int_equal(PARSE(&options, "-p", "7", "--gpu", "inject"), 0);
	assert_int_equal(options.gpu, GPU_INJECT);
	assert_int_equal(PARSE(&options, "-p", "7", "--gpu=off"), 0);
	assert_int_equal(options.gpu, GPU_OFF);
	assert_int_equal(options.probes.attach, ATTACH_AUTO);
}

static void the_last_of_two_counts(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7", "--wait", "3", "--wait", "4", "--step",
			       "range:x", "--step", "auto"),
			 0);
	assert_int_equal(options.wait, 4);
	assert_int_equal(options.step.mode, STEP_AUTO);
	assert_string_equal(options.step.pattern, "Optimizer.step#");
}

static void commands_are_told_apart(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "list"), 0);
	assert_int_equal(options.command, COMMAND_LIST);
	assert_int_equal(PARSE(&options, "report", "capture.raw", "-o", "out"), 0);
	assert_int_equal(options.command, COMMAND_REPORT);
	assert_string_equal(options.raw_path, "capture.raw");
	assert_string_equal(options.output, "out");
	assert_int_equal(PARSE(&options, "report", "-o", "out", "capture.raw"), 0);
	assert_string_equal(options.raw_path, "capture.raw");
	assert_int_equal(PARSE(&options, "doctor"), 0);
	assert_int_equal(options.command, COMMAND_DOCTOR);
	assert_int_equal(options.pid, 0);
	assert_int_equal(PARSE(&options, "doctor", "-p", "7", "-v", "--step", "op:mm"), 0);
	assert_int_equal(options.command, COMMAND_DOCTOR);
	assert_int_equal(options.pid, 7);
	assert_int_equal(options.step.mode, STEP_ENTRY);
	assert_int_equal(PARSE(&options, "--help"), 0);
	assert_int_equal(options.command, COMMAND_HELP);
	assert_int_equal(PARSE(&options, "-p", "7", "-h"), 0);
	assert_int_equal(options.command, COMMAND_HELP);
	assert_int_equal(PARSE(&options, "--version"), 0);
	assert_int_equal(options.command, COMMAND_VERSION);
}

struct refusal {
	const char *arguments[ARGUMENTS_MAX];
	const char *says; /* a part of the message */
};

static void assert_refused(const struct refusal *rows, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct stderr_capture capture;
		struct options options;
		const char *text;
		int err;

		stderr_capture_begin(&capture);
		err = parse(&options, rows[i].arguments);
		text = stderr_capture_end(&capture);
		assert_row(i, err == -EINVAL);
		if (!strstr(text, rows[i].says))
			fail_msg("row %zu: '%s' does not say %s", i, text, rows[i].says);
		assert_row(i, strchr(text, '\n') == text + strlen(text) - 1);
	}
}

static void wrong_numbers_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ { "--pid", "0" }, "--pid" },
		{ { "--pid", "-1" }, "--pid" },
		{ { "--pid", "2147483648" }, "--pid" },
		{ { "--pid", "self" }, "--pid" },
		{ { "-p", "1.5" }, "--pid" },
		{ { "-p", "7", "--skip-first", "-1" }, "--skip-first" },
		{ { "-p", "7", "--skip-first-wait", "2" }, "--skip-first-wait" },
		{ { "-p", "7", "--wait", "" }, "--wait" },
		{ { "-p", "7", "--wait", "true" }, "--wait" },
		{ { "-p", "7", "--wait=1000001" }, "--wait" },
		{ { "-p", "7", "--warmup", "0" }, "--warmup" },
		{ { "-p", "7", "--active", "0" }, "--active" },
		{ { "-p", "7", "--active", "1.0" }, "--active" },
		{ { "-p", "7", "--active", "99999999999999999999" }, "--active" },
		{ { "-p", "7", "--repeat", "501" }, "--repeat" },
		{ { "-p", "7", "--timeout", "0" }, "--timeout" },
		{ { "-p", "7", "--timeout", "\x1b[31m" }, "--timeout" },
		{ { "-p", "7", "--active", "1000000", "--repeat", "500" }, "--repeat" },
	};

	(void)state;
	assert_refused(rows, COUNT_OF(rows));
}

static void wrong_texts_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ { "-p", "7", "-o", "" }, "--output" },
		{ { "-p", "7", "--output=" }, "--output" },
		{ { "-p", "7", "--attach", "multi" }, "--attach" },
		{ { "-p", "7", "--attach", "" }, "--attach" },
		{ { "-p", "7", "--step", "" }, "--step" },
		{ { "-p", "7", "--step", "Optimizer" }, "--step" },
		{ { "-p", "7", "--step", "automatic" }, "--step" },
		{ { "-p", "7", "--step", "range:" }, "--step range:" },
		{ { "-p", "7", "--step", "range:*" }, "--step range:" },
		{ { "-p", "7", "--step", "range:a*b" }, "--step range:" },
		{ { "-p", "7", "--step", "range:**" }, "--step range:" },
		{ { "-p", "7", "--step",
		    "range:1234567890123456789012345678901234567890123456789012345678901234" },
		  "--step range:" },
		{ { "-p", "7", "--step", "op:" }, "--step op:" },
		{ { "-p", "7", "--step", "op:add tensor" }, "--step op:" },
		{ { "-p", "7", "--step", "symbol:" }, "--step symbol:" },
		{ { "-p", "7", "--step", "symbol:lib.so" }, "--step symbol:" },
		{ { "-p", "7", "--step", "symbol:lib.so:" }, "--step symbol:" },
		{ { "-p", "7", "--step", "symbol::name" }, "--step symbol:" },
		{ { "-p", "7", "--sort-by", "" }, "--sort-by" },
		{ { "-p", "7", "--sort-by", "name" }, "--sort-by" },
		{ { "-p", "7", "--sort-by", "self_cpu_time" }, "--sort-by" },
		{ { "-p", "7", "--sort-by", "cuda" }, "--sort-by" },
		{ { "-p", "7", "--sort-by", "hpu_time_total" }, "--sort-by" },
		{ { "-p", "7", "--sort-by",
		    "self_cuda_time_totalself_cuda_time_totalself_cuda_time_total_and_more" },
		  "--sort-by" },
		{ { "-p", "7", "--row-limit", "0" }, "--row-limit" },
		{ { "-p", "7", "--row-limit", "-2" }, "--row-limit" },
		{ { "-p", "7", "--row-limit", "" }, "--row-limit" },
		{ { "-p", "7", "--row-limit", "2147483648" }, "--row-limit" },
		{ { "-p", "7", "--group-by", "" }, "--group-by" },
		{ { "-p", "7", "--group-by", "name" }, "--group-by" },
		{ { "-p", "7", "--group-by", "shape," }, "--group-by" },
		{ { "-p", "7", "--group-by", "shape,,overload" }, "--group-by" },
		{ { "-p", "7", "--group-by", "shapes" }, "--group-by" },
		{ { "-p", "7", "--group-by", "stack" }, "not recorded in this version" },
		{ { "-p", "7", "--group-by", "shape,stack" }, "not recorded in this version" },
		{ { "-p", "7", "--max-overhead", "0" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "0%" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "%" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "10%%" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "2.5" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "10001" }, "--max-overhead" },
		{ { "-p", "7", "--max-overhead", "99999999999999999999%" }, "--max-overhead" },
		{ { "-p", "7", "--gpu", "" }, "--gpu" },
		{ { "-p", "7", "--gpu", "on" }, "--gpu" },
		{ { "-p", "7", "--gpu", "injected" }, "--gpu" },
		{ { "-p", "7", "--ring-size", "" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "M" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "64k" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "64K" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "131071" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "-1M" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "1.5M" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "2G" }, "--ring-size" },
		{ { "-p", "7", "--ring-size", "99999999999999999999G" }, "--ring-size" },
		{ { "-p", "7", "--activities", "" }, "--activities" },
		{ { "-p", "7", "--activities", "operators," }, "--activities" },
		{ { "-p", "7", "--activities", "gpu" }, "--activities" },
		{ { "-p", "7", "--activities", "operators memory" }, "--activities" },
		{ { "-p", "7", "--activities", "ranges", "--record-shapes" }, "--record-shapes" },
		{ { "-p", "7", "--activities", "memory", "--with-flops" }, "--record-shapes" },
		{ { "-p", "7", "--activities", "autograd", "--with-modules" }, "--with-modules" },
	};

	(void)state;
	assert_refused(rows, COUNT_OF(rows));
}

static void wrong_command_lines_are_refused(void **state)
{
	static const struct refusal rows[] = {
		{ { NULL }, "--pid" },
		{ { "--describe" }, "--pid" },
		{ { "--pid" }, "--pid" },
		{ { "-p" }, "--pid" },
		{ { "-p", "7", "--step" }, "--step" },
		{ { "-p", "7", "--unknown" }, "--unknown" },
		{ { "-p", "7", "--wai", "3" }, "--wai" },
		{ { "-p", "7", "--waits", "3" }, "--waits" },
		{ { "-p", "7", "-x" }, "-x" },
		{ { "-p7" }, "-p7" },
		{ { "-p", "7", "--" }, "--" },
		{ { "-p", "7", "--describe=yes" }, "--describe" },
		{ { "-p", "7", "word" }, "word" },
		{ { "-p", "7", "list" }, "list" },
		{ { "list", "more" }, "more" },
		{ { "report" }, "report" },
		{ { "report", "capture.raw" }, "report" },
		{ { "report", "-o", "out" }, "report" },
		{ { "report", "a.raw", "b.raw", "-o", "out" }, "b.raw" },
		{ { "report", "a.raw", "-o", "out", "--exact" }, "--exact" },
		{ { "doctor", "-o", "out" }, "--output" },
		{ { "doctor", "--active", "3" }, "--active" },
		{ { "doctor", "-p", "7", "a.raw" }, "a.raw" },
		{ { "-p", "7", "doctor" }, "doctor" },
		{ { "report", "a.raw", "-o", "out", "--record-shapes" }, "--record-shapes" },
		{ { "report", "a.raw", "-o", "out", "--wait", "3" }, "--wait" },
		{ { "report", "a.raw", "-o", "out", "--activities=memory" }, "--activities" },
		{ { "report", "a.raw", "-o", "out", "--max-overhead", "10%" }, "--max-overhead" },
		{ { "report", "a.raw", "-o", "out", "--ring-size", "1M" }, "--ring-size" },
		{ { "-p", "7", "--exact=yes" }, "--exact" },
		{ { "-p", "7", "--with-flops=1" }, "--with-flops" },
		{ { "-p", "7", "--with-modules=1" }, "--with-modules" },
		{ { "report", "a.raw", "-o", "out", "--with-modules" }, "--with-modules" },
	};

	(void)state;
	assert_refused(rows, COUNT_OF(rows));
}

/* Those of key_averages().table() of every release, whatever the device is called in them. */
static void every_key_of_torch_is_taken(void **state)
{
	static const struct {
		const char *name;
		enum sort_key key;
	} rows[] = {
		{ "cpu_time", SORT_CPU_TIME },
		{ "cpu_time_total", SORT_CPU_TIME_TOTAL },
		{ "self_cpu_time_total", SORT_SELF_CPU_TIME },
		{ "cuda_time", SORT_DEVICE_TIME },
		{ "xpu_time", SORT_DEVICE_TIME },
		{ "privateuse1_time", SORT_DEVICE_TIME },
		{ "device_time", SORT_DEVICE_TIME },
		{ "cuda_time_total", SORT_DEVICE_TIME_TOTAL },
		{ "device_time_total", SORT_DEVICE_TIME_TOTAL },
		{ "self_cuda_time_total", SORT_SELF_DEVICE_TIME },
		{ "self_xpu_time_total", SORT_SELF_DEVICE_TIME },
		{ "self_device_time_total", SORT_SELF_DEVICE_TIME },
		{ "cpu_memory_usage", SORT_CPU_MEMORY },
		{ "self_cpu_memory_usage", SORT_SELF_CPU_MEMORY },
		{ "cuda_memory_usage", SORT_DEVICE_MEMORY },
		{ "privateuse1_memory_usage", SORT_DEVICE_MEMORY },
		{ "self_cuda_memory_usage", SORT_SELF_DEVICE_MEMORY },
		{ "self_privateuse1_memory_usage", SORT_SELF_DEVICE_MEMORY },
		{ "count", SORT_COUNT },
		{ "flops", SORT_FLOPS },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct options options;

		assert_row(i, !PARSE(&options, "-p", "7", "--sort-by", rows[i].name));
		assert_row(i, options.sort_by == rows[i].key);
		assert_row(i, !PARSE(&options, "report", "a.raw", "-o", "out", "--sort-by",
				     rows[i].name));
		assert_row(i, options.sort_by == rows[i].key);
	}
}

static void tables_are_as_they_are_asked_for(void **state)
{
	struct table_options table;
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "report", "a.raw", "-o", "out", "--sort-by", "count",
			       "--row-limit", "10", "--group-by", "overload,shape", "--with-flops"),
			 0);
	options_table(&options, &table);
	assert_int_equal(table.sort_by, SORT_COUNT);
	assert_int_equal(table.row_limit, 10);
	assert_true(table.group_by_shape);
	assert_true(table.group_by_overload);
	assert_true(table.with_flops);
	assert_int_equal(PARSE(&options, "-p", "7", "--row-limit", "10", "--row-limit=-1",
			       "--group-by", "shape,overload", "--group-by", "overload"),
			 0);
	options_table(&options, &table);
	assert_int_equal(table.row_limit, 0);
	assert_false(table.group_by_shape);
	assert_true(table.group_by_overload);
	assert_false(table.with_flops);
	assert_false(options.record_shapes);
}

static void what_needs_shapes_records_them(void **state)
{
	static const char *const arguments[] = { "--record-shapes", "--with-flops",
						 "--group-by=shape" };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(arguments); i++) {
		struct options options;

		assert_row(i, !PARSE(&options, "-p", "7", arguments[i]));
		assert_row(i, options.record_shapes);
		assert_row(i, options.activities & ACTIVITY_SHAPES);
		assert_row(i, !options.activities_named);
		assert_row(i, options.with_flops == (i == 1));
		assert_row(i, options.group_by_shape == (i == 2));
	}
}

static void the_bound_is_a_percentage(void **state)
{
	static const struct {
		const char *text;
		uint32_t permille;
	} rows[] = {
		{ "1", 10 }, { "10%", 100 }, { "10", 100 }, { "250%", 2500 }, { "10000", 100000 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct options options;

		assert_row(i, !PARSE(&options, "-p", "7", "--max-overhead", rows[i].text));
		assert_row(i, options.max_overhead_permille == rows[i].permille);
	}
}

static void a_ring_is_a_power_of_two(void **state)
{
	static const struct {
		const char *text;
		size_t size_bytes;
	} rows[] = {
		{ "128K", 128 << 10 }, { "131072", 128 << 10 }, { "131073", 256 << 10 },
		{ "3M", 4 << 20 },     { "1G", 1 << 30 },	{ "1000M", 1 << 30 },
	};
	struct options options;
	size_t i;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7"), 0);
	assert_int_equal(options.probes.ring_bytes, 0);
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, !PARSE(&options, "-p", "7", "--ring-size", rows[i].text));
		assert_row(i, options.probes.ring_bytes == rows[i].size_bytes);
	}
}

static void activities_are_a_list(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(
		PARSE(&options, "-p", "7", "--activities", "memory,operators,memory", "--exact"),
		0);
	/* Ranges are never left out. */
	assert_int_equal(options.activities,
			 ACTIVITY_RANGES | ACTIVITY_OPERATORS | ACTIVITY_MEMORY);
	assert_true(options.activities_named);
	assert_true(options.exact);
	assert_int_equal(PARSE(&options, "-p", "7", "--activities",
			       "ranges,operators,autograd,memory", "--record-shapes"),
			 0);
	assert_int_equal(options.activities, ACTIVITY_RANGES | ACTIVITY_OPERATORS |
						     ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY |
						     ACTIVITY_SHAPES);
}

#define SIXTY_THREE "123456789012345678901234567890123456789012345678901234567890123"

static void a_range_is_a_name_or_the_beginning_of_one(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7", "--step", "range:train_step"), 0);
	assert_int_equal(options.step.mode, STEP_RANGE);
	assert_string_equal(options.step.pattern, "train_step");
	assert_false(options.step.pattern_is_prefix);
	assert_string_equal(options.step.text, "range:train_step");
	assert_int_equal(PARSE(&options, "-p", "7", "--step=range:train step: *"), 0);
	assert_string_equal(options.step.pattern, "train step: ");
	assert_true(options.step.pattern_is_prefix);
	assert_int_equal(PARSE(&options, "-p", "7", "--step", "range:" SIXTY_THREE), 0);
	assert_string_equal(options.step.pattern, SIXTY_THREE);
}

static void an_operator_is_the_beginning_of_a_symbol(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7", "--step", "op:aten::add_.Tensor"), 0);
	assert_int_equal(options.step.mode, STEP_ENTRY);
	assert_string_equal(options.step.symbol, "_ZN2at4_ops11add__Tensor4callE");
	assert_true(options.step.symbol_is_prefix);
	assert_string_equal(options.step.library, "");
}

static void a_symbol_is_a_library_and_a_name(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7", "--step", "symbol:libmine.so:_ZN2my4stepEv:x"),
			 0);
	assert_int_equal(options.step.mode, STEP_ENTRY);
	assert_string_equal(options.step.library, "libmine.so");
	assert_string_equal(options.step.symbol, "_ZN2my4stepEv:x");
	assert_false(options.step.symbol_is_prefix);
}

static void a_long_command_line_is_cut(void **state)
{
	struct options options;
	char output[3000];

	(void)state;
	memset(output, 'x', sizeof(output) - 1);
	output[sizeof(output) - 1] = 0;
	assert_int_equal(PARSE(&options, "-p", "7", "-o", output, "--wait", "3"), 0);
	assert_int_equal(strlen(options.command_line), sizeof(options.command_line) - 1);
	assert_int_equal(strncmp(options.command_line, "tpbpf -p 7 -o xxx", 17), 0);
}

static void modules_are_recorded_where_they_are_asked_for(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(PARSE(&options, "-p", "7"), 0);
	assert_false(options.activities & ACTIVITY_MODULES);
	assert_int_equal(PARSE(&options, "-p", "7", "--with-modules"), 0);
	assert_true(options.activities & ACTIVITY_MODULES);
	assert_false(options.activities & ACTIVITY_SHAPES);
	assert_false(options.activities_named);
}

static void help_tells_every_option(void **state)
{
	static const char *const names[] = {
		"--pid",	  "--output",	     "--skip-first", "--skip-first-wait",
		"--wait",	  "--warmup",	     "--active",     "--repeat",
		"--timeout",	  "--step",	     "--sort-by",    "--row-limit",
		"--group-by",	  "--record-shapes", "--with-flops", "--exact",
		"--max-overhead", "--activities",    "--attach",     "--describe",
		"--keep-raw",	  "--verbose",	     "exit codes",   "tpbpf list",
		"tpbpf report",	  "tpbpf doctor",    "--ring-size",  "--with-modules",
	};
	char *text = NULL;
	size_t size = 0, i;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	assert_non_null(file);
	options_print_help(file);
	fclose(file);
	for (i = 0; i < COUNT_OF(names); i++)
		assert_row(i, strstr(text, names[i]) != NULL);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_defaults_are_as_documented),
		cmocka_unit_test(every_number_goes_where_it_belongs),
		cmocka_unit_test(the_other_options_go_where_they_belong),
		cmocka_unit_test(the_last_of_two_counts),
		cmocka_unit_test(commands_are_told_apart),
		cmocka_unit_test(wrong_numbers_are_refused),
		cmocka_unit_test(wrong_texts_are_refused),
		cmocka_unit_test(wrong_command_lines_are_refused),
		cmocka_unit_test(every_key_of_torch_is_taken),
		cmocka_unit_test(tables_are_as_they_are_asked_for),
		cmocka_unit_test(what_needs_shapes_records_them),
		cmocka_unit_test(the_bound_is_a_percentage),
		cmocka_unit_test(a_ring_is_a_power_of_two),
		cmocka_unit_test(activities_are_a_list),
		cmocka_unit_test(a_range_is_a_name_or_the_beginning_of_one),
		cmocka_unit_test(an_operator_is_the_beginning_of_a_symbol),
		cmocka_unit_test(a_symbol_is_a_library_and_a_name),
		cmocka_unit_test(a_long_command_line_is_cut),
		cmocka_unit_test(modules_are_recorded_where_they_are_asked_for),
		cmocka_unit_test(help_tells_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
