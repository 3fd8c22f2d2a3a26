/* The lines of the doctor, and what they come to. */
#include "support/test.h"

#include "checkup.h"

struct output {
	char *text;
	size_t size;
	FILE *file;
	struct checkup checkup;
};

static int setup(void **state)
{
	struct output *output = calloc(1, sizeof(*output));

	if (!output)
		return -1;
	output->file = open_memstream(&output->text, &output->size);
	if (!output->file)
		return -1;
	checkup_init(&output->checkup, output->file);
	*state = output;
	return 0;
}

static int teardown(void **state)
{
	struct output *output = *state;

	fclose(output->file);
	free(output->text);
	free(output);
	return 0;
}

static const char *text_of(struct output *output)
{
	fflush(output->file);
	return output->text;
}

static void a_line_says_what_is_and_what_helps(void **state)
{
	struct output *output = *state;

	checkup_line(&output->checkup, VERDICT_OK, "kernel", NULL, "Linux %d.%d", 6, 1);
	checkup_line(&output->checkup, VERDICT_MISSING, "bpf()", "run as root", "not permitted");
	assert_string_equal(text_of(output),
			    "ok       kernel                     Linux 6.1\n"
			    "missing  bpf()                      not permitted; run as root\n");
}

static void what_the_job_says_is_made_harmless(void **state)
{
	struct output *output = *state;

	checkup_line(&output->checkup, VERDICT_OK, "job", NULL, "%s", "a\033[31mb\nok  forged");
	assert_string_equal(text_of(output),
			    "ok       job                        a?[31mb?ok  forged\n");
}

static void a_long_line_is_cut(void **state)
{
	struct output *output = *state;
	char *name = malloc(5000);

	assert_non_null(name);
	memset(name, 'x', 4999);
	name[4999] = 0;
	checkup_line(&output->checkup, VERDICT_NOTE, "job", NULL, "%s", name);
	free(name);
	assert_true(strlen(text_of(output)) < 1100);
}

static void all_works_where_nothing_is_missing(void **state)
{
	struct output *output = *state;

	checkup_line(&output->checkup, VERDICT_OK, "a", NULL, "x");
	checkup_line(&output->checkup, VERDICT_NOTE, "b", NULL, "x");
	checkup_line(&output->checkup, VERDICT_UNKNOWN, "c", NULL, "x");
	assert_true(checkup_end(&output->checkup, NULL));
	assert_non_null(strstr(text_of(output), "\n\neverything that a capture needs works here; "
						"1 note says what is less; 1 could not be looked "
						"at\n"));
}

static void what_is_missing_is_named_at_the_end(void **state)
{
	struct output *output = *state;

	checkup_line(&output->checkup, VERDICT_MISSING, "bpf()", NULL, "x");
	checkup_line(&output->checkup, VERDICT_OK, "b", NULL, "x");
	checkup_line(&output->checkup, VERDICT_MISSING, "trial", NULL, "x");
	assert_false(checkup_end(&output->checkup, "sudo helps"));
	assert_non_null(strstr(text_of(output), "\n\na capture cannot work here without: bpf(), "
						"trial\nsudo helps\n"));
}

static void many_missing_names_do_not_overflow(void **state)
{
	struct output *output = *state;
	int i;

	for (i = 0; i < 200; i++)
		checkup_line(&output->checkup, VERDICT_MISSING, "a name of some length", NULL, "x");
	assert_false(checkup_end(&output->checkup, NULL));
	assert_int_equal(output->checkup.count[VERDICT_MISSING], 200);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_line_says_what_is_and_what_helps),
		TEST(what_the_job_says_is_made_harmless),
		TEST(a_long_line_is_cut),
		TEST(all_works_where_nothing_is_missing),
		TEST(what_is_missing_is_named_at_the_end),
		TEST(many_missing_names_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
