/*
 * options.c - a table of options: name, what kind of value, where it goes, what help says. Numbers
 * are taken as torch.profiler.schedule takes them: whole and in range, or refused.
 */
#include "options.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "attach/torch_catalog.h"

enum value_kind {
	VALUE_NONE,
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_STEP,
	VALUE_ATTACH,
};

struct option_row {
	const char *name;
	char letter; /* 0: none */
	enum value_kind kind;
	size_t offset; /* of the member of struct options */
	uint32_t min, max;
	const char *why_min; /* said when a number is below min */
	const char *value_name;
	const char *help;
};

#define MEMBER(name) offsetof(struct options, name)

static const struct option_row rows[] = {
	{ "pid", 'p', VALUE_NUMBER, MEMBER(pid), 1, INT32_MAX, NULL, "PID", "the job to capture" },
	{ "output", 'o', VALUE_TEXT, MEMBER(output), 0, 0, NULL, "DIR",
	  "output directory, new or empty (default tpbpf-PID-TIME)" },
	{ "skip-first", 0, VALUE_NUMBER, MEMBER(skip_first), 0, PLAN_ATTEMPTS_MAX, NULL, "N",
	  "attempts to ignore at the start (0)" },
	{ "skip-first-wait", 0, VALUE_NUMBER, MEMBER(skip_first_wait), 0, 1, NULL, "0|1",
	  "1: no wait in the first cycle (0)" },
	{ "wait", 0, VALUE_NUMBER, MEMBER(wait), 0, PLAN_ATTEMPTS_MAX, NULL, "N",
	  "attempts to time unwatched (2)" },
	{ "warmup", 0, VALUE_NUMBER, MEMBER(warmup), 1, PLAN_ATTEMPTS_MAX,
	  "the probes are attached during warmup", "N", "attempts with all probes, discarded (1)" },
	{ "active", 0, VALUE_NUMBER, MEMBER(active), 1, PLAN_ATTEMPTS_MAX,
	  "nothing would be recorded", "N", "attempts to record (3)" },
	{ "repeat", 0, VALUE_NUMBER, MEMBER(repeat), 0, PLAN_REPEAT_MAX, NULL, "N",
	  "cycles of wait, warmup and active; 0: until stopped (1)" },
	{ "timeout", 0, VALUE_NUMBER, MEMBER(timeout_s), 1, 10000000,
	  "leave the option out for no timeout", "SECONDS",
	  "stop after this time with what there is" },
	{ "step", 0, VALUE_STEP, 0, 0, 0, NULL, "SPEC",
	  "what an attempt is: auto, range:NAME (NAME* for a prefix),\n"
	  "                          op:NAME, symbol:LIBRARY:SYMBOL (auto)" },
	{ "attach", 0, VALUE_ATTACH, 0, 0, 0, NULL, "MODE",
	  "auto, or single: one by one, as on kernels before 6.6" },
	{ "describe", 0, VALUE_NONE, MEMBER(describe), 0, 0, NULL, NULL,
	  "print the plan and attach nothing" },
	{ "keep-raw", 0, VALUE_NONE, MEMBER(keep_raw), 0, 0, NULL, NULL,
	  "also write capture.raw, for `tpbpf report`" },
	{ "verbose", 'v', VALUE_NONE, MEMBER(verbose), 0, 0, NULL, NULL, "say more on stderr" },
};

#define ROW_CNT (sizeof(rows) / sizeof(rows[0]))

static int set_number(struct options *options, const struct option_row *row, const char *value)
{
	uint32_t *member = (uint32_t *)(void *)((char *)options + row->offset);
	uint32_t number;
	int err = text_parse_u32(value, row->max, &number);

	if (err == -ERANGE) {
		log_err("--%s: %.40s is too large, the largest value is %u", row->name, value,
			row->max);
		return -EINVAL;
	}
	if (err) {
		log_err("--%s: '%.40s' is not a %s whole number", row->name, value,
			row->min ? "positive" : "non-negative");
		return -EINVAL;
	}
	if (number < row->min) {
		log_err("--%s: must be at least %u%s%s", row->name, row->min,
			row->why_min ? ": " : "", row->why_min ? row->why_min : "");
		return -EINVAL;
	}
	*member = number;
	return 0;
}

static int set_range(struct step_spec *step, const char *pattern)
{
	size_t length = strlen(pattern);

	step->mode = STEP_RANGE;
	step->pattern_is_prefix = length && pattern[length - 1] == '*';
	if (step->pattern_is_prefix)
		length--;
	if (!length || length >= sizeof(step->pattern) || memchr(pattern, '*', length)) {
		log_err("--step range:NAME: 1 to %zu characters, a * only as the last one",
			sizeof(step->pattern) - 1);
		return -EINVAL;
	}
	memcpy(step->pattern, pattern, length);
	step->pattern[length] = 0;
	return 0;
}

static int set_symbol(struct step_spec *step, const char *text)
{
	const char *colon = strchr(text, ':');
	size_t library_length = colon ? (size_t)(colon - text) : 0;

	step->mode = STEP_ENTRY;
	if (!library_length || library_length >= sizeof(step->library) || !colon[1] ||
	    text_copy(step->symbol, sizeof(step->symbol), colon + 1)) {
		log_err("--step symbol:LIBRARY:SYMBOL: a library's file name and a mangled "
			"function name");
		return -EINVAL;
	}
	memcpy(step->library, text, library_length);
	step->library[library_length] = 0;
	return 0;
}

static int set_operator(struct step_spec *step, const char *name)
{
	step->mode = STEP_ENTRY;
	step->symbol_is_prefix = true;
	if (!torch_catalog_operator(name, step->symbol, sizeof(step->symbol)))
		return 0;
	log_err("--step op:NAME: '%.60s' is no operator name; they look like add_ or "
		"aten::add.Tensor",
		name);
	return -EINVAL;
}

static void set_step_auto(struct step_spec *step)
{
	*step = (struct step_spec){ .mode = STEP_AUTO, .pattern_is_prefix = true, .text = "auto" };
	text_copy(step->pattern, sizeof(step->pattern), "Optimizer.step#");
}

static int set_step(struct options *options, const char *text)
{
	struct step_spec *step = &options->step;

	if (!strcmp(text, "auto")) {
		set_step_auto(step);
		return 0;
	}
	*step = (struct step_spec){ .text = text };
	if (text_has_prefix(text, "range:"))
		return set_range(step, text + strlen("range:"));
	if (text_has_prefix(text, "op:"))
		return set_operator(step, text + strlen("op:"));
	if (text_has_prefix(text, "symbol:"))
		return set_symbol(step, text + strlen("symbol:"));
	log_err("--step: '%.60s' is not auto, range:NAME, op:NAME or symbol:LIBRARY:SYMBOL", text);
	return -EINVAL;
}

static int set_attach(struct options *options, const char *text)
{
	if (!strcmp(text, "auto"))
		options->attach = ATTACH_AUTO;
	else if (!strcmp(text, "single"))
		options->attach = ATTACH_SINGLE;
	else {
		log_err("--attach: '%.40s' is not auto or single", text);
		return -EINVAL;
	}
	return 0;
}

static int set_option(struct options *options, const struct option_row *row, const char *value)
{
	switch (row->kind) {
	case VALUE_NONE:
		*(bool *)((char *)options + row->offset) = true;
		return 0;
	case VALUE_NUMBER:
		return set_number(options, row, value);
	case VALUE_TEXT:
		if (!*value) {
			log_err("--%s: the value is empty", row->name);
			return -EINVAL;
		}
		*(const char **)(void *)((char *)options + row->offset) = value;
		return 0;
	case VALUE_STEP:
		return set_step(options, value);
	case VALUE_ATTACH:
		return set_attach(options, value);
	}
	return -EINVAL;
}

/* "--name", "--name=value" or "-n"; *value is set for the second form. */
static const struct option_row *find_row(const char *argument, const char **value)
{
	const char *name = argument + 2, *equals;
	size_t length, i;

	*value = NULL;
	if (argument[1] != '-') {
		for (i = 0; i < ROW_CNT; i++) {
			if (rows[i].letter && rows[i].letter == argument[1] && !argument[2])
				return &rows[i];
		}
		return NULL;
	}
	equals = strchr(name, '=');
	length = equals ? (size_t)(equals - name) : strlen(name);
	for (i = 0; i < ROW_CNT; i++) {
		if (strlen(rows[i].name) == length && !memcmp(rows[i].name, name, length)) {
			*value = equals ? equals + 1 : NULL;
			return &rows[i];
		}
	}
	return NULL;
}

static int take_option(struct options *options, char **argv, int *at)
{
	const char *value;
	const struct option_row *row = find_row(argv[*at], &value);

	if (!row) {
		log_err("%.60s: no such option; tpbpf --help lists them", argv[*at]);
		return -EINVAL;
	}
	if (row->kind == VALUE_NONE && value) {
		log_err("--%s takes no value", row->name);
		return -EINVAL;
	}
	if (row->kind != VALUE_NONE && !value) {
		if (!argv[*at + 1]) {
			log_err("--%s: the value is missing", row->name);
			return -EINVAL;
		}
		value = argv[++*at];
	}
	return set_option(options, row, value);
}

static int take_word(struct options *options, const char *word, bool is_first)
{
	if (is_first && !strcmp(word, "list"))
		options->command = COMMAND_LIST;
	else if (is_first && !strcmp(word, "report"))
		options->command = COMMAND_REPORT;
	else if (options->command == COMMAND_REPORT && !options->raw_path)
		options->raw_path = word;
	else {
		log_err("'%.60s' is not understood; tpbpf --help shows how it is called", word);
		return -EINVAL;
	}
	return 0;
}

static int check_plan(const struct options *options)
{
	uint64_t cycle = (uint64_t)options->wait + options->warmup + options->active;
	uint64_t cycles = options->repeat ? options->repeat : PLAN_REPEAT_MAX;

	/* The position in the plan is one word of bits (probe_config.h). */
	if (options->skip_first + cycle * cycles < 1ULL << (STATE_TOTAL_BITS - 1))
		return 0;
	log_err("--repeat: the plan has more than %llu attempts; make --wait, --active or --repeat "
		"smaller",
		1ULL << (STATE_TOTAL_BITS - 1));
	return -EINVAL;
}

static int check(const struct options *options)
{
	if (options->command == COMMAND_CAPTURE && !options->pid) {
		log_err("--pid: name the job: tpbpf -p PID; `tpbpf list` shows the PyTorch "
			"processes of this host");
		return -EINVAL;
	}
	if (options->command == COMMAND_REPORT && (!options->raw_path || !options->output)) {
		log_err("report: needs a capture file and a directory: tpbpf report capture.raw -o "
			"DIR");
		return -EINVAL;
	}
	return options->command == COMMAND_CAPTURE ? check_plan(options) : 0;
}

static void keep_command_line(struct options *options, int argc, char **argv)
{
	size_t used = 0;
	int i;

	for (i = 0; i < argc && used < sizeof(options->command_line) - 1; i++) {
		int length =
			snprintf(options->command_line + used, sizeof(options->command_line) - used,
				 "%s%s", i ? " " : "", argv[i]);

		used += length > 0 ? (size_t)length : 0;
	}
}

int options_parse(struct options *options, int argc, char **argv)
{
	int i, err = 0;

	*options = (struct options){ .wait = 2, .warmup = 1, .active = 3, .repeat = 1 };
	set_step_auto(&options->step);
	keep_command_line(options, argc, argv);
	for (i = 1; i < argc && !err; i++) {
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			options->command = COMMAND_HELP;
			return 0;
		}
		if (!strcmp(argv[i], "--version")) {
			options->command = COMMAND_VERSION;
			return 0;
		}
		if (argv[i][0] == '-' && argv[i][1])
			err = take_option(options, argv, &i);
		else
			err = take_word(options, argv[i], i == 1);
	}
	return err ? err : check(options);
}

void options_print_help(FILE *file)
{
	size_t i;

	fputs("tpbpf: what torch.profiler would have written, of a job that is already running\n\n"
	      "  tpbpf -p PID [options]      capture a window of optimizer attempts (as root)\n"
	      "  tpbpf list                  the PyTorch processes of this host\n"
	      "  tpbpf report RAW -o DIR     the outputs again, from capture.raw\n\n",
	      file);
	for (i = 0; i < ROW_CNT; i++) {
		char left[64], letter[8] = "    ";

		if (rows[i].letter)
			snprintf(letter, sizeof(letter), "-%c, ", rows[i].letter);
		snprintf(left, sizeof(left), "%s--%s %s", letter, rows[i].name,
			 rows[i].value_name ? rows[i].value_name : "");
		fprintf(file, "  %-23s %s\n", left, rows[i].help);
	}
	fputs("\n  exit codes: 0 complete, 1 failed, 2 usage, 3 partial or data lost, 4 no such "
	      "job or not\n"
	      "  PyTorch, 5 not permitted, not supported here, or captured by another tpbpf\n",
	      file);
}
