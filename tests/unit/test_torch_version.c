/* Releases and torch/version.py, which belong to the job and may hold anything. */
#include "support/test.h"

#include "attach/torch_version.h"

static void releases_are_read(void **state)
{
	static const struct {
		const char *text;
		torch_release release;
	} rows[] = {
		{ "1.13.1", TORCH_RELEASE(1, 13) },
		{ "2.4.1+cu121", TORCH_RELEASE(2, 4) },
		{ "2.13.0+cpu", TORCH_RELEASE(2, 13) },
		{ "2.6", TORCH_RELEASE(2, 6) },
		{ "2.6.0a0+git1234", TORCH_RELEASE(2, 6) },
		{ "2.0.0.dev20230101", TORCH_RELEASE(2, 0) },
		{ "10.0", TORCH_RELEASE(10, 0) },
		{ "", 0 },
		{ "2", 0 },
		{ "2.", 0 },
		{ ".4", 0 },
		{ "two.four", 0 },
		{ "2.x", 0 },
		{ "v2.4", 0 },
		{ "-2.4", 0 },
		{ "2.-4", 0 },
		{ "99999999999999999999.1", 0 },
		{ "2.99999999999999999999", 0 },
		{ "2.1000", 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, torch_version_release(rows[i].text) == rows[i].release);
}

static void parse(const char *text, struct torch_version *version)
{
	FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");

	assert_non_null(file);
	memset(version, 0, sizeof(*version));
	torch_version_parse(file, version);
	fclose(file);
}

static void a_version_file_is_read(void **state)
{
	struct torch_version version;

	(void)state;
	parse("from typing import Optional\n\n"
	      "__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip']\n"
	      "__version__ = '2.4.1+cu121'\n"
	      "debug = False\n"
	      "cuda: Optional[str] = '12.1'\n"
	      "git_version = 'ee1b6804381c57161c477caa380a840a84167676'\n"
	      "hip: Optional[str] = None\n",
	      &version);
	assert_string_equal(version.torch, "2.4.1+cu121");
	assert_string_equal(version.cuda, "12.1");
	assert_string_equal(version.python, "");
}

static void a_build_without_cuda_has_none(void **state)
{
	struct torch_version version;

	(void)state;
	parse("__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\n", &version);
	assert_string_equal(version.torch, "2.13.0+cpu");
	assert_string_equal(version.cuda, "");
}

static void older_files_are_read(void **state)
{
	struct torch_version version;

	(void)state;
	parse("__version__ = \"1.13.1\"\r\ncuda = \"11.7\"\r\n", &version);
	assert_string_equal(version.torch, "1.13.1");
	assert_string_equal(version.cuda, "11.7");
}

static void junk_says_nothing(void **state)
{
	static const char *const rows[] = {
		"\n",
		"__version__\n",
		"__version__ = \n",
		"__version__ = '\n",
		"__version__ = ''\n",
		"__version__ = '2.4.1\"\n",
		"__version__ = 2.4\n",
		"version = '2.4'\n",
		"  __version__ = '2.4'\n",
		"cudart = '12'\n",
		"\x7f"
		"ELF\x02\x01\x01",
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct torch_version version;

		parse(rows[i], &version);
		assert_row(i, !version.torch[0] && !version.cuda[0]);
	}
}

static void what_is_not_there_stays_as_it_was(void **state)
{
	struct torch_version version = { .torch = "2.4.1", .cuda = "12.1", .python = "3.11" };
	FILE *file = fopen("/dev/null", "re");

	(void)state;
	assert_non_null(file);
	torch_version_parse(file, &version);
	fclose(file);
	assert_string_equal(version.torch, "2.4.1");
	assert_string_equal(version.cuda, "12.1");
	assert_string_equal(version.python, "3.11");
}

static void control_bytes_do_not_pass(void **state)
{
	struct torch_version version;

	(void)state;
	parse("__version__ = '2.4\x1b[31m\xff'\n", &version);
	assert_string_equal(version.torch, "2.4?[31m?");
}

static void long_values_are_bounded(void **state)
{
	char text[600];
	size_t length;

	(void)state;
	for (length = 50; length < 500; length++) {
		struct torch_version version;
		size_t at = (size_t)sprintf(text, "__version__ = '2.4");

		memset(text + at, 'x', length);
		strcpy(text + at + length, "'\n");
		parse(text, &version);
		assert_row(length, strlen(version.torch) < sizeof(version.torch));
		assert_row(length, !version.torch[0] || !strncmp(version.torch, "2.4x", 4));
	}
}

/* A key begins a line; where a buffer happens to end is no beginning. */
static void a_key_in_the_middle_of_a_long_line_is_no_key(void **state)
{
	char text[2048];
	size_t lead;

	(void)state;
	for (lead = 400; lead < 1200; lead++) {
		struct torch_version version;

		strcpy(text, "__version__ = 'yes'\n");
		memset(text + strlen(text), '#', lead);
		strcpy(text + strlen("__version__ = 'yes'\n") + lead, "__version__ = 'no'\n");
		parse(text, &version);
		assert_row(lead, !strcmp(version.torch, "yes"));
	}
}

static void endless_files_are_not_read_to_the_end(void **state)
{
	struct torch_version version;
	char *text = calloc(1, 200000 + 64);

	(void)state;
	assert_non_null(text);
	memset(text, '\n', 200000);
	strcpy(text + 200000, "__version__ = '2.4'\n");
	parse(text, &version);
	assert_string_equal(version.torch, "");
	free(text);
}

static void the_python_release_comes_from_an_extensions_name(void **state)
{
	static const struct {
		const char *name, *python;
	} rows[] = {
		{ "_C.cpython-311-x86_64-linux-gnu.so", "3.11" },
		{ "_C.cpython-39-x86_64-linux-gnu.so", "3.9" },
		{ "_C.cpython-313t-x86_64-linux-gnu.so", "3.13t" },
		{ "_C.cpython-38.so", "3.8" },
		{ "_C.so", "before" },
		{ "_C.cpython-.so", "before" },
		{ "_C.cpython-3.so", "before" },
		{ "_C.cpython-99999999999.so", "before" },
		{ "_C.cpython-x311.so", "before" },
		{ "", "before" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct torch_version version = { .python = "before" };

		torch_version_python_of(rows[i].name, &version);
		assert_string_equal(version.python, rows[i].python);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(releases_are_read),
		cmocka_unit_test(a_version_file_is_read),
		cmocka_unit_test(a_build_without_cuda_has_none),
		cmocka_unit_test(older_files_are_read),
		cmocka_unit_test(junk_says_nothing),
		cmocka_unit_test(what_is_not_there_stays_as_it_was),
		cmocka_unit_test(control_bytes_do_not_pass),
		cmocka_unit_test(long_values_are_bounded),
		cmocka_unit_test(a_key_in_the_middle_of_a_long_line_is_no_key),
		cmocka_unit_test(endless_files_are_not_read_to_the_end),
		cmocka_unit_test(the_python_release_comes_from_an_extensions_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
