/*
 * The command line. Arguments are ended by NUL; each lies in a block of just its size.
 */
#include "fuzz/fuzz.h"
#include "options.h"

#define ARGUMENTS_MAX 64

static int split(struct fuzz_input *input, char **argv)
{
	int argc = 0;

	argv[argc++] = strdup("tpbpf");
	while (input->left_bytes && argc < ARGUMENTS_MAX - 1) {
		size_t length = strnlen((const char *)input->at, input->left_bytes);
		struct fuzz_input part = fuzz_part(input, length);

		argv[argc++] = fuzz_text(&part);
		fuzz_u8(input); /* the NUL */
	}
	argv[argc] = NULL;
	return argc;
}

static void check_step(const struct step_spec *step)
{
	FUZZ_CHECK(memchr(step->pattern, 0, sizeof(step->pattern)));
	FUZZ_CHECK(memchr(step->library, 0, sizeof(step->library)));
	FUZZ_CHECK(memchr(step->symbol, 0, sizeof(step->symbol)));
	FUZZ_CHECK(step->text && step->mode <= STEP_ENTRY);
	FUZZ_CHECK(step->mode == STEP_ENTRY ? step->symbol[0] : step->pattern[0]);
}

/* What the rest of the program takes for given. */
static void check_options(const struct options *options)
{
	struct table_options table;

	FUZZ_CHECK(memchr(options->command_line, 0, sizeof(options->command_line)));
	if (options->command == COMMAND_HELP || options->command == COMMAND_VERSION)
		return;
	FUZZ_CHECK(options->active >= 1 && options->warmup >= 1 && options->skip_first_wait <= 1);
	FUZZ_CHECK(options->max_overhead_permille <= 1000000000);
	FUZZ_CHECK(options->activities & ACTIVITY_RANGES);
	FUZZ_CHECK(!options->output || options->output[0]);
	FUZZ_CHECK(options->command != COMMAND_CAPTURE || options->pid);
	FUZZ_CHECK(options->command != COMMAND_REPORT || (options->raw_path && options->output));
	check_step(&options->step);
	options_table(options, &table);
	FUZZ_CHECK((unsigned int)table.sort_by < SORT_KEY_CNT);
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	struct fuzz_input input = { bytes, size_bytes };
	char *argv[ARGUMENTS_MAX];
	struct options options;
	int argc = split(&input, argv);

	if (!options_parse(&options, argc, argv)) {
		check_options(&options);
		if (options.command == COMMAND_HELP)
			options_print_help(stderr);
	}
	while (argc)
		free(argv[--argc]);
}
