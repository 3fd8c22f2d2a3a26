/* Numbers, UTF-8, printable copies and sizes for people. */
#include "support/test.h"

#include "base/text.h"

static void whole_numbers_in_range_are_taken(void **state)
{
	static const struct {
		const char *text;
		uint32_t max, value;
	} rows[] = {
		{ "0", UINT32_MAX, 0 },
		{ "7", 7, 7 },
		{ "007", 100, 7 },
		{ "00000000000000000000000000000000000000000009", 9, 9 },
		{ "4294967295", UINT32_MAX, UINT32_MAX },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		uint32_t value = 42;

		assert_row(i, !text_parse_u32(rows[i].text, rows[i].max, &value));
		assert_row(i, value == rows[i].value);
	}
}

static void sizes_are_taken_with_their_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t max, value;
		int err;
	} rows[] = {
		{ "0", 10, 0, 0 },
		{ "1000", UINT64_MAX, 1000, 0 },
		{ "64K", UINT64_MAX, 65536, 0 },
		{ "3M", UINT64_MAX, 3 << 20, 0 },
		{ "1G", 1 << 30, 1 << 30, 0 },
		{ "17179869183G", UINT64_MAX, 17179869183ULL << 30, 0 },
		{ "18446744073709551615", UINT64_MAX, UINT64_MAX, 0 },
		{ "2G", 1 << 30, 42, -ERANGE },
		{ "17179869184G", UINT64_MAX, 42, -ERANGE },
		{ "18446744073709551616", UINT64_MAX, 42, -ERANGE },
		{ "99999999999999999999K", UINT64_MAX, 42, -ERANGE },
		{ "", 10, 42, -EINVAL },
		{ "K", 10, 42, -EINVAL },
		{ "1k", 10, 42, -EINVAL },
		{ "1KB", 10, 42, -EINVAL },
		{ "1K1", 10, 42, -EINVAL },
		{ "-1", 10, 42, -EINVAL },
		{ "+1", 10, 42, -EINVAL },
		{ " 1", 10, 42, -EINVAL },
		{ "1.5M", 10, 42, -EINVAL },
		{ "0x10", 100, 42, -EINVAL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		uint64_t value = 42;

		assert_row(i, text_parse_bytes(rows[i].text, rows[i].max, &value) == rows[i].err);
		assert_row(i, value == rows[i].value);
	}
}

static void what_is_no_number_or_too_large_is_refused(void **state)
{
	static const struct {
		const char *text;
		uint32_t max;
		int err;
	} rows[] = {
		{ "", 10, -EINVAL },
		{ "-1", 10, -EINVAL },
		{ "+1", 10, -EINVAL },
		{ "1.5", 10, -EINVAL },
		{ "true", 10, -EINVAL },
		{ " 1", 10, -EINVAL },
		{ "1 ", 10, -EINVAL },
		{ "0x1", 10, -EINVAL },
		{ "1e1", 10, -EINVAL },
		{ "\xd9\xa1", 10, -EINVAL }, /* an Arabic one */
		{ "11", 10, -ERANGE },
		{ "4294967296", UINT32_MAX, -ERANGE },
		{ "99999999999999999999", UINT32_MAX, -ERANGE },
		{ "18446744073709551617", UINT32_MAX, -ERANGE }, /* 2^64 + 1 */
		{ "99999999999999999999999999999999999999999999x", UINT32_MAX, -EINVAL },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		uint32_t value = 42;

		assert_row(i, text_parse_u32(rows[i].text, rows[i].max, &value) == rows[i].err);
		assert_row(i, value == 42);
	}
}

static void utf8_sequences_are_measured(void **state)
{
	static const struct {
		const char *bytes;
		size_t limit_bytes, length;
	} rows[] = {
		{ "a", 1, 1 },
		{ "\x7f", 1, 1 },
		{ "\xc2\x80", 2, 2 },
		{ "\xdf\xbf", 2, 2 },
		{ "\xe0\xa0\x80", 3, 3 },
		{ "\xed\x9f\xbf", 3, 3 }, /* the last before the surrogates */
		{ "\xee\x80\x80", 3, 3 }, /* the first behind them */
		{ "\xef\xbf\xbf", 3, 3 },
		{ "\xf0\x90\x80\x80", 4, 4 },
		{ "\xf4\x8f\xbf\xbf", 4, 4 }, /* U+10FFFF */
		{ "\xf4\x90\x80\x80", 4, 0 }, /* above it */
		{ "\xf8\x88\x80\x80\x80", 5, 0 },
		{ "\xff", 1, 0 },
		{ "\x80", 1, 0 },	      /* a follower alone */
		{ "\xc0\x80", 2, 0 },	      /* overlong NUL */
		{ "\xc1\xbf", 2, 0 },	      /* overlong DEL */
		{ "\xe0\x9f\xbf", 3, 0 },     /* overlong U+07FF */
		{ "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong U+FFFF */
		{ "\xed\xa0\x80", 3, 0 },     /* surrogates */
		{ "\xed\xbf\xbf", 3, 0 },
		{ "\xc3\xa9", 1, 0 }, /* truncated by the limit */
		{ "\xe2\x82\xac", 2, 0 },
		{ "\xf0\x9f\x98\x80", 3, 0 },
		{ "\xe2\x82", 3, 0 }, /* by the end of the string */
		{ "\xc3(", 2, 0 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i,
			   text_utf8_length(rows[i].bytes, rows[i].limit_bytes) == rows[i].length);
}

static void printable_text_holds_no_controls(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "", "" },
		{ "linear 1", "linear 1" },
		{ "a\x1b[31mb", "a?[31mb" },
		{ "\x01\n\t\r\x7f", "?????" },
		{ "\xc2\x9b"
		  "2J",
		  "?2J" }, /* C1: CSI as one character */
		{ "\xc2\x80\xc2\x9f", "??" },
		{ "\xc2\xa0", "\xc2\xa0" }, /* the first behind C1 */
		/* Overrides of the writing direction, line separators, a byte order mark. */
		{ "a\xe2\x80\xae"
		  "b\xe2\x81\xa6"
		  "c\xe2\x80\x8f"
		  "d\xd8\x9c",
		  "a?b?c?d?" },
		{ "a\xe2\x80\xa8"
		  "b\xe2\x80\xa9"
		  "c\xef\xbb\xbf",
		  "a?b?c?" },
		{ "\xe2\x80\x90\xe2\x80\xa6\xe2\x80\xaf", "\xe2\x80\x90\xe2\x80\xa6\xe2\x80\xaf" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xff\xfe", "??" },
		{ "\xc3", "?" },
		{ "\xe2\x82 ", "?? " },
		{ "\xc0\x9b", "??" },
	};
	char to[64];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_ptr_equal(text_printable(to, sizeof(to), rows[i].from), to);
		assert_string_equal(to, rows[i].to);
	}
}

static void printable_text_is_cut_between_characters(void **state)
{
	char to[8];

	(void)state;
	assert_string_equal(text_printable(to, 5, "abcdefgh"), "abcd");
	assert_string_equal(text_printable(to, 5, "abcd"), "abcd");
	assert_string_equal(text_printable(to, 5, "abc\xc3\xa9"), "abc");
	assert_string_equal(text_printable(to, 6, "abc\xc3\xa9"), "abc\xc3\xa9");
	assert_string_equal(text_printable(to, 4, "\xf0\x9f\x98\x80"), "");
	assert_string_equal(text_printable(to, 1, "abc"), "");
}

static void a_copy_says_whether_it_was_cut(void **state)
{
	char to[5];

	(void)state;
	assert_false(text_copy(to, sizeof(to), ""));
	assert_string_equal(to, "");
	assert_false(text_copy(to, sizeof(to), "abcd"));
	assert_string_equal(to, "abcd");
	assert_true(text_copy(to, sizeof(to), "abcde"));
	assert_string_equal(to, "abcd");
	assert_true(text_copy(to, 1, "a"));
	assert_string_equal(to, "");
}

static void prefixes_and_suffixes_are_found(void **state)
{
	(void)state;
	assert_true(text_has_prefix("ProfilerStep#1", "ProfilerStep#"));
	assert_true(text_has_prefix("a", ""));
	assert_false(text_has_prefix("Pro", "ProfilerStep#"));
	assert_true(text_has_suffix("libtorch.so (deleted)", " (deleted)"));
	assert_true(text_has_suffix("a", ""));
	assert_true(text_has_suffix("so", "so"));
	assert_false(text_has_suffix("o", "so"));
}

static void durations_read_as_torch_prints_them(void **state)
{
	static const struct {
		int64_t duration_ns;
		const char *text;
	} rows[] = {
		{ 0, "0.000us" },	    { 1, "0.001us" },	      { 12345, "12.345us" },
		{ 999999, "999.999us" },    { 1000000, "1.000ms" },   { 1234567, "1.235ms" },
		{ 999999000, "999.999ms" }, { 1000000000, "1.000s" }, { 61234000000, "61.234s" },
		{ -1500, "-1.500us" },
	};
	char to[32];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(text_duration(to, sizeof(to), rows[i].duration_ns),
				    rows[i].text);
}

static void sizes_read_as_people_write_them(void **state)
{
	static const struct {
		uint64_t size_bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 512, "512 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KB" },
		{ 1229, "1.2 KB" },
		{ 3565158, "3.4 MB" },
		{ 1ULL << 30, "1.0 GB" },
		{ 1ULL << 40, "1.0 TB" },
		{ 1ULL << 50, "1024.0 TB" },
	};
	char to[32];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_string_equal(text_size(to, sizeof(to), rows[i].size_bytes), rows[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_in_range_are_taken),
		cmocka_unit_test(what_is_no_number_or_too_large_is_refused),
		cmocka_unit_test(sizes_are_taken_with_their_unit),
		cmocka_unit_test(utf8_sequences_are_measured),
		cmocka_unit_test(printable_text_holds_no_controls),
		cmocka_unit_test(printable_text_is_cut_between_characters),
		cmocka_unit_test(a_copy_says_whether_it_was_cut),
		cmocka_unit_test(prefixes_and_suffixes_are_found),
		cmocka_unit_test(durations_read_as_torch_prints_them),
		cmocka_unit_test(sizes_read_as_people_write_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
