/* json.c - see json.h. Pretty down to inline_depth, one line below it: an event is a line. */
#include "base/json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

void json_init(struct json *json, struct byte_sink *sink, unsigned int inline_depth)
{
	memset(json, 0, sizeof(*json));
	json->sink = sink;
	json->inline_depth = inline_depth;
}

static void put_bytes(struct json *json, const char *bytes, size_t size_bytes)
{
	if (!json->err && size_bytes)
		json->err = json->sink->write(json->sink, bytes, size_bytes);
}

static void put(struct json *json, const char *text)
{
	put_bytes(json, text, strlen(text));
}

static void put_line_break(struct json *json)
{
	static const char blanks[] = "                                ";

	put(json, "\n");
	put_bytes(json, blanks, json->depth * 2);
}

/* Is the container that is open now on one line? */
static bool is_inline(const struct json *json)
{
	return json->depth > json->inline_depth;
}

static void put_escaped_byte(struct json *json, unsigned char c)
{
	char escape[8];

	switch (c) {
	case '"':
		put(json, "\\\"");
		return;
	case '\\':
		put(json, "\\\\");
		return;
	case '\n':
		put(json, "\\n");
		return;
	case '\t':
		put(json, "\\t");
		return;
	default:
		snprintf(escape, sizeof(escape), "\\u%04x", c);
		put(json, escape);
	}
}

static void put_quoted(struct json *json, const char *text)
{
	size_t left = strlen(text), plain = 0;

	put(json, "\"");
	while (left) {
		size_t length = text_utf8_length(text + plain, left);
		unsigned char c = (unsigned char)text[plain];

		if (length && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
			plain += length;
			left -= length;
			continue;
		}
		put_bytes(json, text, plain);
		if (length)
			put_escaped_byte(json, c);
		else
			put(json, "\\ufffd");
		text += plain + 1;
		left--;
		plain = 0;
	}
	put_bytes(json, text, plain);
	put(json, "\"");
}

/* What stands in front of a value: comma, line break, key. */
static void put_lead(struct json *json, const char *key)
{
	if (json->depth) {
		bool *has_members = &json->has_members[json->depth - 1];

		if (*has_members)
			put(json, is_inline(json) ? ", " : ",");
		*has_members = true;
		if (!is_inline(json))
			put_line_break(json);
		/* A key in an array or none in an object would not parse. */
		if (json->is_array[json->depth - 1] != !key && !json->err)
			json->err = -EINVAL;
	}
	if (key) {
		put_quoted(json, key);
		put(json, ": ");
	}
}

static void container_begin(struct json *json, const char *key, bool is_array)
{
	put_lead(json, key);
	if (json->depth == JSON_DEPTH_MAX) {
		json->err = json->err ? json->err : -EOVERFLOW;
		return;
	}
	put(json, is_array ? "[" : "{");
	json->is_array[json->depth] = is_array;
	json->has_members[json->depth] = false;
	json->depth++;
}

static void container_end(struct json *json, bool is_array)
{
	bool was_inline = is_inline(json);

	if (!json->depth || json->is_array[json->depth - 1] != is_array) {
		json->err = json->err ? json->err : -EINVAL;
		return;
	}
	json->depth--;
	if (json->has_members[json->depth] && !was_inline)
		put_line_break(json);
	put(json, is_array ? "]" : "}");
}

int json_finish(struct json *json)
{
	put(json, "\n");
	if (json->depth && !json->err)
		json->err = -EINVAL;
	return json->err;
}

void json_object_begin(struct json *json, const char *key)
{
	container_begin(json, key, false);
}

void json_object_end(struct json *json)
{
	container_end(json, false);
}

void json_array_begin(struct json *json, const char *key)
{
	container_begin(json, key, true);
}

void json_array_end(struct json *json)
{
	container_end(json, true);
}

static void put_member(struct json *json, const char *key, const char *literal)
{
	put_lead(json, key);
	put(json, literal);
}

void json_string(struct json *json, const char *key, const char *text)
{
	if (!text) {
		json_null(json, key);
		return;
	}
	put_lead(json, key);
	put_quoted(json, text);
}

void json_int(struct json *json, const char *key, int64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRId64, value);
	put_member(json, key, number);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRIu64, value);
	put_member(json, key, number);
}

void json_bool(struct json *json, const char *key, bool value)
{
	put_member(json, key, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
	put_member(json, key, "null");
}

void json_decimal(struct json *json, const char *key, double value)
{
	char number[352]; /* the longest double with three decimals has 309 digits before the point
			   */

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	snprintf(number, sizeof(number), "%.3f", value);
	put_member(json, key, number);
}

void json_us(struct json *json, const char *key, int64_t value_ns)
{
	uint64_t magnitude = value_ns < 0 ? -(uint64_t)value_ns : (uint64_t)value_ns;
	char number[32];

	snprintf(number, sizeof(number), "%s%" PRIu64 ".%03u", value_ns < 0 ? "-" : "",
		 magnitude / 1000, (unsigned int)(magnitude % 1000));
	put_member(json, key, number);
}
