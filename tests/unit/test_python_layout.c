/* Which versions of CPython are known, and that others leave the configuration alone. */
#include "support/test.h"

#include "attach/python_layout.h"

static void known_versions_have_a_layout(void **state)
{
	static const struct {
		const char *version;
		__u32 frame_code, frame_previous, thread_frame, has_cframe, cframe_frame;
		__u32 text_characters;
	} rows[] = { { "3.11", 32, 48, 56, 1, 8, 48 },
		     { "3.12", 0, 8, 56, 1, 0, 40 },
		     { "3.13", 0, 8, 72, 0, 0, 40 } };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct probe_config config = { .frame_code = 99 };

		assert_row(i, python_layout_of(rows[i].version, &config));
		assert_row(i, config.frame_code == rows[i].frame_code);
		assert_row(i, config.frame_previous == rows[i].frame_previous);
		assert_row(i, config.thread_frame == rows[i].thread_frame);
		assert_row(i, config.has_cframe == rows[i].has_cframe);
		assert_row(i, config.cframe_frame == rows[i].cframe_frame);
		assert_row(i, config.text_characters == rows[i].text_characters);
		assert_row(i, config.frame_locals == 72 && config.code_file == 112);
		assert_row(i, !config.watches_modules);
	}
}

static void others_are_not_guessed(void **state)
{
	static const char *const versions[] = { "",	 "3",	"3.8",	 "3.10",  "3.14",
						"3.13t", "3.1", "3.111", "3.11 ", "2.7" };
	const struct probe_config before = { .frame_code = 99 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(versions); i++) {
		struct probe_config config = before;

		assert_row(i, !python_layout_of(versions[i], &config));
		assert_row(i, !memcmp(&config, &before, sizeof(config)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_versions_have_a_layout),
		cmocka_unit_test(others_are_not_guessed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
