/* The JSON writer: what it writes parses, whatever it is given. */
#include "support/test.h"

#include <cjson/cJSON.h>
#include <math.h>

#include "base/json.h"
#include "support/memory_sink.h"

struct fixture {
	struct memory_sink memory;
	struct json json;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	memory_sink_init(&fixture->memory);
	json_init(&fixture->json, &fixture->memory.sink, 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	memory_sink_fini(&fixture->memory);
	free(fixture);
	return 0;
}

#define assert_written(fixture, expected)                                            \
	do {                                                                         \
		assert_int_equal(json_finish(&(fixture)->json), 0);                  \
		assert_string_equal(memory_sink_text(&(fixture)->memory), expected); \
	} while (0)

static void members_are_separated_and_closed(void **state)
{
	struct fixture *fixture = *state;
	struct json *json = &fixture->json;

	json_object_begin(json, NULL);
	json_int(json, "int", -5);
	json_uint(json, "uint", UINT64_MAX);
	json_bool(json, "yes", true);
	json_bool(json, "no", false);
	json_null(json, "null");
	json_array_begin(json, "list");
	json_string(json, NULL, "a");
	json_int(json, NULL, INT64_MIN);
	json_object_begin(json, NULL);
	json_object_end(json);
	json_array_end(json);
	json_array_begin(json, "empty");
	json_array_end(json);
	json_object_end(json);
	assert_written(fixture, "{\"int\": -5, \"uint\": 18446744073709551615, \"yes\": true, "
				"\"no\": false, \"null\": null, \"list\": "
				"[\"a\", -9223372036854775808, {}], \"empty\": []}\n");
}

static void containers_below_inline_depth_have_lines_of_their_own(void **state)
{
	struct fixture *fixture = *state;
	struct json *json = &fixture->json;

	json_init(json, &fixture->memory.sink, 2);
	json_object_begin(json, NULL);
	json_array_begin(json, "none");
	json_array_end(json);
	json_array_begin(json, "events");
	json_object_begin(json, NULL);
	json_int(json, "a", 1);
	json_int(json, "b", 2);
	json_object_end(json);
	json_object_begin(json, NULL);
	json_object_end(json);
	json_array_end(json);
	json_int(json, "last", 3);
	json_object_end(json);
	assert_written(fixture, "{\n"
				"  \"none\": [],\n"
				"  \"events\": [\n"
				"    {\"a\": 1, \"b\": 2},\n"
				"    {}\n"
				"  ],\n"
				"  \"last\": 3\n"
				"}\n");
}

static void strings_are_escaped(void **state)
{
	static const struct {
		const char *text, *json;
	} rows[] = {
		{ "", "\"\"\n" },
		{ "plain", "\"plain\"\n" },
		{ "say \"hi\"", "\"say \\\"hi\\\"\"\n" },
		{ "C:\\x", "\"C:\\\\x\"\n" },
		{ "a\nb\tc\r", "\"a\\nb\\tc\\u000d\"\n" },
		{ "\x01\x1b\x1f", "\"\\u0001\\u001b\\u001f\"\n" },
		{ "\x7f", "\"\\u007f\"\n" },
		{ "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
		  "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80\"\n" },
		{ "\xff", "\"\\ufffd\"\n" },
		{ "a\xc3", "\"a\\ufffd\"\n" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"\n" },
		{ "\xed\xa0\x80z", "\"\\ufffd\\ufffd\\ufffdz\"\n" },
		{ "\xe2\x82(", "\"\\ufffd\\ufffd(\"\n" },
		{ "</script>", "\"</script>\"\n" },
		{ NULL, "null\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct memory_sink memory;
		struct json json;

		memory_sink_init(&memory);
		json_init(&json, &memory.sink, 0);
		json_string(&json, NULL, rows[i].text);
		assert_int_equal(json_finish(&json), 0);
		assert_string_equal(memory_sink_text(&memory), rows[i].json);
		memory_sink_fini(&memory);
	}
}

static void keys_are_escaped_as_well(void **state)
{
	struct fixture *fixture = *state;
	cJSON *parsed;

	json_object_begin(&fixture->json, NULL);
	json_int(&fixture->json, "a\"b\\\n\xff", 1);
	json_object_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), 0);
	parsed = cJSON_Parse(memory_sink_text(&fixture->memory));
	assert_non_null(parsed);
	assert_string_equal(parsed->child->string, "a\"b\\\n\xef\xbf\xbd");
	cJSON_Delete(parsed);
}

static void any_bytes_parse(void **state)
{
	uint64_t random = 1;
	int round;

	(void)state;
	for (round = 0; round < 2000; round++) {
		struct memory_sink memory;
		struct json json;
		char text[24];
		size_t i;
		cJSON *parsed;

		for (i = 0; i + 1 < sizeof(text); i++)
			text[i] = (char)(random_next(&random) >> 32);
		text[i] = 0;
		memory_sink_init(&memory);
		json_init(&json, &memory.sink, 0);
		json_string(&json, NULL, text);
		assert_int_equal(json_finish(&json), 0);
		parsed = cJSON_ParseWithOpts(memory_sink_text(&memory), NULL, true);
		assert_true(cJSON_IsString(parsed));
		cJSON_Delete(parsed);
		memory_sink_fini(&memory);
	}
}

static void microseconds_have_three_decimals(void **state)
{
	static const struct {
		int64_t value_ns;
		const char *text;
	} rows[] = {
		{ 0, "0.000\n" },
		{ 1, "0.001\n" },
		{ 999, "0.999\n" },
		{ 1000, "1.000\n" },
		{ 1234567, "1234.567\n" },
		{ -1, "-0.001\n" },
		{ -1000, "-1.000\n" },
		{ INT64_MAX, "9223372036854775.807\n" },
		{ INT64_MIN, "-9223372036854775.808\n" },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct memory_sink memory;
		struct json json;

		memory_sink_init(&memory);
		json_init(&json, &memory.sink, 0);
		json_us(&json, NULL, rows[i].value_ns);
		assert_int_equal(json_finish(&json), 0);
		assert_string_equal(memory_sink_text(&memory), rows[i].text);
		memory_sink_fini(&memory);
	}
}

static void decimals_that_are_no_numbers_are_null(void **state)
{
	struct fixture *fixture = *state;
	struct json *json = &fixture->json;

	json_array_begin(json, NULL);
	json_decimal(json, NULL, 1.04);
	json_decimal(json, NULL, -0.0005);
	json_decimal(json, NULL, NAN);
	json_decimal(json, NULL, INFINITY);
	json_decimal(json, NULL, -INFINITY);
	json_array_end(json);
	assert_int_equal(json_finish(json), 0);
	assert_non_null(strstr(memory_sink_text(&fixture->memory), "[1.040, "));
	assert_non_null(strstr(memory_sink_text(&fixture->memory), ", null, null, null]\n"));
}

static void the_largest_double_fits(void **state)
{
	struct fixture *fixture = *state;
	cJSON *parsed;

	json_decimal(&fixture->json, NULL, -1.7976931348623157e308);
	assert_int_equal(json_finish(&fixture->json), 0);
	parsed = cJSON_Parse(memory_sink_text(&fixture->memory));
	assert_true(cJSON_IsNumber(parsed));
	assert_true(parsed->valuedouble == -1.7976931348623157e308);
	cJSON_Delete(parsed);
}

static void a_key_in_an_array_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	json_array_begin(&fixture->json, NULL);
	json_int(&fixture->json, "key", 1);
	json_array_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), -EINVAL);
}

static void a_member_without_a_key_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	json_object_begin(&fixture->json, NULL);
	json_int(&fixture->json, NULL, 1);
	json_object_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), -EINVAL);
}

static void an_open_container_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	json_object_begin(&fixture->json, NULL);
	assert_int_equal(json_finish(&fixture->json), -EINVAL);
}

static void the_wrong_end_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	json_object_begin(&fixture->json, NULL);
	json_array_end(&fixture->json);
	json_object_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), -EINVAL);
}

static void an_end_without_a_beginning_is_an_error(void **state)
{
	struct fixture *fixture = *state;

	json_object_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), -EINVAL);
}

static void containers_nest_to_the_limit(void **state)
{
	struct fixture *fixture = *state;
	cJSON *parsed;
	int i;

	json_init(&fixture->json, &fixture->memory.sink, JSON_DEPTH_MAX);
	for (i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_begin(&fixture->json, NULL);
	json_int(&fixture->json, NULL, 1);
	for (i = 0; i < JSON_DEPTH_MAX; i++)
		json_array_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), 0);
	parsed = cJSON_Parse(memory_sink_text(&fixture->memory));
	assert_non_null(parsed);
	cJSON_Delete(parsed);
}

static void containers_past_the_limit_are_an_error(void **state)
{
	struct fixture *fixture = *state;
	int i;

	for (i = 0; i < JSON_DEPTH_MAX + 3; i++)
		json_array_begin(&fixture->json, NULL);
	for (i = 0; i < JSON_DEPTH_MAX + 3; i++)
		json_array_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), -EOVERFLOW);
}

/* Eight bytes are looked at together: one that needs an escape may stand anywhere among them. */
static void an_escape_is_found_wherever_it_stands(void **state)
{
	static const char *const unusual[] = { "\"", "\\", "\x01", "\x1f", "\x7f", "\x80", "\xff" };
	size_t length, at, i;

	(void)state;
	for (length = 1; length <= 20; length++) {
		for (at = 0; at < length; at++) {
			for (i = 0; i < COUNT_OF(unusual); i++) {
				char text[32];
				struct memory_sink memory;
				struct json json;

				memset(text, 'x', length);
				text[length] = 0;
				text[at] = unusual[i][0];
				memory_sink_init(&memory);
				json_init(&json, &memory.sink, 0);
				json_string(&json, NULL, text);
				assert_int_equal(json_finish(&json), 0);
				assert_row(i, memory.bytes[1 + at] == '\\');
				assert_row(i, memory.bytes[memory.size_bytes - 2] == '"');
				memory_sink_fini(&memory);
			}
		}
	}
}

static void numbers_are_those_of_printf(void **state)
{
	uint64_t random = 1;
	unsigned int i;

	(void)state;
	for (i = 0; i < 10000; i++) {
		uint64_t value = random_next(&random) >> (i % 64);
		char expected[96];
		struct memory_sink memory;
		struct json json;

		memory_sink_init(&memory);
		json_init(&json, &memory.sink, 0);
		json_array_begin(&json, NULL);
		json_uint(&json, NULL, value);
		json_int(&json, NULL, (int64_t)value);
		json_int(&json, NULL, -(int64_t)(value >> 1));
		json_array_end(&json);
		assert_int_equal(json_finish(&json), 0);
		snprintf(expected, sizeof(expected), "[%llu, %lld, %lld]\n",
			 (unsigned long long)value, (long long)value, -(long long)(value >> 1));
		assert_string_equal(memory_sink_text(&memory), expected);
		memory_sink_fini(&memory);
	}
}

/* Whatever the sizes of the parts, nothing is lost or changed between them. */
static void parts_larger_than_the_buffer_are_whole(void **state)
{
	static const size_t sizes[] = { 1, JSON_BUFFER_BYTES - 5, JSON_BUFFER_BYTES,
					3 * JSON_BUFFER_BYTES, 7 };
	struct fixture *fixture = *state;
	char *text = calloc(1, 3 * JSON_BUFFER_BYTES + 1);
	const cJSON *item;
	cJSON *parsed;
	size_t i;

	assert_non_null(text);
	json_array_begin(&fixture->json, NULL);
	for (i = 0; i < COUNT_OF(sizes); i++) {
		memset(text, (int)('a' + i), sizes[i]);
		text[sizes[i]] = 0;
		json_string(&fixture->json, NULL, text);
	}
	json_array_end(&fixture->json);
	assert_int_equal(json_finish(&fixture->json), 0);
	parsed = cJSON_ParseWithOpts(memory_sink_text(&fixture->memory), NULL, true);
	assert_non_null(parsed);
	i = 0;
	cJSON_ArrayForEach(item, parsed)
	{
		const char *string = cJSON_GetStringValue(item);

		assert_row(i, strlen(string) == sizes[i]);
		assert_row(i, strspn(string, (char[]){ (char)('a' + i), 0 }) == sizes[i]);
		i++;
	}
	assert_int_equal(i, COUNT_OF(sizes));
	cJSON_Delete(parsed);
	free(text);
}

/* So that a reader of a file that grows sees what there is. */
static void flushed_bytes_are_with_the_sink(void **state)
{
	struct fixture *fixture = *state;

	json_array_begin(&fixture->json, NULL);
	assert_int_equal(fixture->memory.size_bytes, 0);
	assert_int_equal(json_flush(&fixture->json), 0);
	assert_string_equal(memory_sink_text(&fixture->memory), "[");
	json_array_end(&fixture->json);
	assert_written(fixture, "[]\n");
}

static void the_error_of_the_sink_is_kept(void **state)
{
	struct memory_sink memory;
	struct json json;

	(void)state;
	memory_sink_init_limited(&memory, 4);
	json_init(&json, &memory.sink, 0);
	json_array_begin(&json, NULL);
	json_string(&json, NULL, "longer than four");
	assert_int_equal(json_flush(&json), -ENOSPC);
	memory.limit_bytes = 1000; /* there is room again, but a part is missing by now */
	json_int(&json, NULL, 1);
	json_array_end(&json);
	assert_int_equal(json_finish(&json), -ENOSPC);
	assert_int_equal(memory.failures, 1);
	assert_null(strchr(memory_sink_text(&memory), '1'));
	memory_sink_fini(&memory);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(members_are_separated_and_closed),
		TEST(containers_below_inline_depth_have_lines_of_their_own),
		TEST(strings_are_escaped),
		TEST(keys_are_escaped_as_well),
		TEST(any_bytes_parse),
		TEST(microseconds_have_three_decimals),
		TEST(decimals_that_are_no_numbers_are_null),
		TEST(the_largest_double_fits),
		TEST(a_key_in_an_array_is_an_error),
		TEST(a_member_without_a_key_is_an_error),
		TEST(an_open_container_is_an_error),
		TEST(the_wrong_end_is_an_error),
		TEST(an_end_without_a_beginning_is_an_error),
		TEST(containers_nest_to_the_limit),
		TEST(containers_past_the_limit_are_an_error),
		TEST(an_escape_is_found_wherever_it_stands),
		TEST(numbers_are_those_of_printf),
		TEST(parts_larger_than_the_buffer_are_whole),
		TEST(flushed_bytes_are_with_the_sink),
		TEST(the_error_of_the_sink_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
