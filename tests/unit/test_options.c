/* The command line: what is taken, and that every refusal names the option. */
#include "support/test.h"

#include "options.h"
#include "support/stderr_capture.h"

#define ARGUMENTS_MAX 12

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
	assert_int_equal(options.attach, ATTACH_AUTO);
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
	assert_int_equal(options.attach, ATTACH_SINGLE);
	assert_int_equal(PARSE(&options, "--output=a=b", "--verbose", "--attach=auto", "-p", "7"),
			 0);
	assert_string_equal(options.output, "a=b");
	assert_true(options.verbose);
	assert_int_equal(options.attach, ATTACH_AUTO);
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
	};

	(void)state;
	assert_refused(rows, COUNT_OF(rows));
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

static void help_tells_every_option(void **state)
{
	static const char *const names[] = {
		"--pid",      "--output",     "--skip-first", "--skip-first-wait", "--wait",
		"--warmup",   "--active",     "--repeat",     "--timeout",	   "--step",
		"--attach",   "--describe",   "--keep-raw",   "--verbose",	   "exit codes",
		"tpbpf list", "tpbpf report",
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
		cmocka_unit_test(a_range_is_a_name_or_the_beginning_of_one),
		cmocka_unit_test(an_operator_is_the_beginning_of_a_symbol),
		cmocka_unit_test(a_symbol_is_a_library_and_a_name),
		cmocka_unit_test(a_long_command_line_is_cut),
		cmocka_unit_test(help_tells_every_option),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
