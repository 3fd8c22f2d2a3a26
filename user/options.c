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
#include "option_values.h"

enum value_kind {
	VALUE_NONE,
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_SPECIAL, /* a setter of option_values.h knows */
};

struct option_row {
	const char *name;
	char letter; /* 0: none */
	enum value_kind kind;
	bool for_report; /* means something for a capture that is made */
	bool for_doctor;
	size_t offset; /* of the member of struct options */
	uint32_t min, max;
	const char *why_min; /* said when a number is below min */
	const char *value_name;
	const char *help;
	int (*set)(struct options *options, const char *text); /* of VALUE_SPECIAL */
};

#define MEMBER(name) offsetof(struct options, name)
#define FLAG(member) .kind = VALUE_NONE, .offset = MEMBER(member)
#define TEXT(member) .kind = VALUE_TEXT, .offset = MEMBER(member)
#define SPECIAL(setter) .kind = VALUE_SPECIAL, .set = (setter)
#define NUMBER(member, smallest, largest) \
	.kind = VALUE_NUMBER, .offset = MEMBER(member), .min = (smallest), .max = (largest)
#define NEXT_LINE "\n                          "

static const struct option_row rows[] = {
	{ "pid", 'p', NUMBER(pid, 1, INT32_MAX), .for_doctor = true, .value_name = "PID",
	  .help = "the job to capture" },
	{ "output", 'o', TEXT(output), .for_report = true, .value_name = "DIR",
	  .help = "output directory, new or empty (default tpbpf-PID-TIME)" },
	{ "skip-first", 0, NUMBER(skip_first, 0, PLAN_ATTEMPTS_MAX), .value_name = "N",
	  .help = "attempts to ignore at the start (0)" },
	{ "skip-first-wait", 0, NUMBER(skip_first_wait, 0, 1), .value_name = "0|1",
	  .help = "1: no wait in the first cycle (0)" },
	{ "wait", 0, NUMBER(wait, 0, PLAN_ATTEMPTS_MAX), .value_name = "N",
	  .help = "attempts to time unwatched (2)" },
	{ "warmup", 0, NUMBER(warmup, 1, PLAN_ATTEMPTS_MAX), .value_name = "N",
	  .why_min = "the probes are attached during warmup",
	  .help = "attempts with all probes, discarded (1)" },
	{ "active", 0, NUMBER(active, 1, PLAN_ATTEMPTS_MAX), .value_name = "N",
	  .why_min = "nothing would be recorded", .help = "attempts to record (3)" },
	{ "repeat", 0, NUMBER(repeat, 0, PLAN_REPEAT_MAX), .value_name = "N",
	  .help = "cycles of wait, warmup and active; 0: until stopped (1)" },
	{ "timeout", 0, NUMBER(timeout_s, 1, 10000000), .value_name = "SECONDS",
	  .why_min = "leave the option out for no timeout",
	  .help = "stop after this time with what there is" },
	{ "step", 0, SPECIAL(option_step), .for_doctor = true, .value_name = "SPEC",
	  .help = "what an attempt is: auto, range:NAME (NAME* for a prefix)," NEXT_LINE
		  "op:NAME, symbol:LIBRARY:SYMBOL (auto)" },
	{ "activities", 0, SPECIAL(option_activities), .value_name = "LIST",
	  .help = "of ranges, operators, autograd, memory (all; memory only" NEXT_LINE
		  "where --max-overhead leaves room, unless it is named)" },
	{ "gpu", 0, SPECIAL(option_gpu), .value_name = "MODE",
	  .help = "auto: GPU activity where the job has the agent, else the calls" NEXT_LINE
		  "that ask for it; inject: loads it into the job; off (auto)" },
	{ "max-overhead", 0, SPECIAL(option_max_overhead), .value_name = "PERCENT",
	  .help = "what a recorded attempt may take longer, as predicted (100%)" },
	{ "exact", 0, FLAG(exact), .help = "probe the end of every operator, of short ones too" },
	{ "record-shapes", 0, FLAG(record_shapes),
	  .help = "record the shapes of tensors that operators are given" },
	{ "with-flops", 0, FLAG(with_flops), .for_report = true,
	  .help = "count floating point operations; records shapes" },
	{ "with-modules", 0, FLAG(with_modules),
	  .help = "record the calls of nn.Module (CPython 3.11 to 3.13)" },
	{ "sort-by", 0, SPECIAL(option_sort_by), .for_report = true, .value_name = "KEY",
	  .help = "order of cpu_ops.txt: count, cpu_time_total, any key of" NEXT_LINE
		  "key_averages().table() (self_cpu_time_total)" },
	{ "row-limit", 0, SPECIAL(option_row_limit), .for_report = true, .value_name = "N",
	  .help = "rows of a table, -1 for all (-1)" },
	{ "group-by", 0, SPECIAL(option_group_by), .for_report = true, .value_name = "WHAT",
	  .help = "rows apart by shape, overload, or shape,overload" },
	{ "ring-size", 0, SPECIAL(option_ring_size), .value_name = "SIZE",
	  .help = "memory of each CPU for records on their way, as 64M; a power" NEXT_LINE
		  "of two of 128K to 1G (8M, 16M or 64M by what is recorded," NEXT_LINE
		  "less where there are more CPUs: 256M in all)" },
	{ "attach", 0, SPECIAL(option_attach), .value_name = "MODE",
	  .help = "auto, or single: one by one, as on kernels before 6.6" },
	{ "describe", 0, FLAG(describe), .help = "print the plan and attach nothing" },
	{ "keep-raw", 0, FLAG(keep_raw), .for_report = true,
	  .help = "also write capture.raw, for `tpbpf report`" },
	{ "verbose", 'v', FLAG(verbose), .for_report = true, .for_doctor = true,
	  .help = "say more on stderr" },
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
	case VALUE_SPECIAL:
		return row->set(options, value);
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
	if (options->command == COMMAND_REPORT && !row->for_report) {
		log_err("--%s: says how to capture; report makes outputs of a capture that is "
			"there",
			row->name);
		return -EINVAL;
	}
	if (options->command == COMMAND_DOCTOR && !row->for_doctor) {
		log_err("--%s: says how to capture; doctor takes --pid and --step", row->name);
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
	else if (is_first && !strcmp(word, "doctor"))
		options->command = COMMAND_DOCTOR;
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

/* What one option means for another. */
static int complete(struct options *options)
{
	/* Attempts are told by ranges, so ranges are always seen. */
	options->activities |= ACTIVITY_RANGES;
	if (options->with_flops || options->group_by_shape)
		options->record_shapes = true;
	if ((options->record_shapes || options->with_modules) &&
	    !(options->activities & ACTIVITY_OPERATORS)) {
		log_err("%s; --activities leaves operators out",
			options->record_shapes
				? "--record-shapes: shapes are those of operators"
				: "--with-modules: calls of modules end with the operators inside");
		return -EINVAL;
	}
	if (options->record_shapes)
		options->activities |= ACTIVITY_SHAPES;
	if (options->with_modules)
		options->activities |= ACTIVITY_MODULES;
	return 0;
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

	*options = (struct options){
		.wait = 2,
		.warmup = 1,
		.active = 3,
		.repeat = 1,
		.max_overhead_permille = 1000,
		.activities =
			ACTIVITY_RANGES | ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY,
	};
	option_step_auto(&options->step);
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
	if (!err)
		err = complete(options);
	return err ? err : check(options);
}

void options_table(const struct options *options, struct table_options *table)
{
	*table = (struct table_options){
		.sort_by = options->sort_by,
		.row_limit = options->row_limit,
		.group_by_shape = options->group_by_shape,
		.group_by_overload = options->group_by_overload,
		.with_flops = options->with_flops,
	};
}

void options_print_help(FILE *file)
{
	size_t i;

	fputs("tpbpf: what torch.profiler would have written, of a job that is already running\n\n"
	      "  tpbpf -p PID [options]      capture a window of optimizer attempts (as root)\n"
	      "  tpbpf list                  the PyTorch processes of this host\n"
	      "  tpbpf report RAW -o DIR     the outputs again, from capture.raw\n"
	      "  tpbpf doctor [-p PID]       what works here, what does not, and the mend\n\n",
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
	      "  PyTorch, 5 not permitted, not supported here, or captured by another tpbpf\n"
	      "  without root: CAP_BPF and CAP_PERFMON capture your own jobs, CAP_SYS_PTRACE and\n"
	      "  CAP_DAC_READ_SEARCH those of other users too; tpbpf doctor says what is there\n",
	      file);
}
