/*
 * json.c - see json.h. Pretty down to inline_depth, one line below it: an event is a line. A trace
 * is millions of events, so what every event passes through is kept short: numbers are written
 * without printf, and of a string only what needs escapes is looked at byte by byte.
 */
#include "base/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define NUMBER_BYTES 24 /* 20 digits, a sign, a point */

void json_init(struct json *json, struct byte_sink *sink, unsigned int inline_depth)
{
	json->sink = sink;
	json->used = 0;
	json->err = 0;
	json->depth = 0;
	json->inline_depth = inline_depth;
}

static void hand_on(struct json *json, const char *bytes, size_t size_bytes)
{
	if (!json->err && size_bytes)
		json->err = json->sink->write(json->sink, bytes, size_bytes);
}

int json_flush(struct json *json)
{
	hand_on(json, json->buffer, json->used);
	json->used = 0;
	return json->err;
}

static inline void put_bytes(struct json *json, const char *bytes, size_t size_bytes)
{
	if (size_bytes > sizeof(json->buffer) - json->used) {
		json_flush(json);
		if (size_bytes > sizeof(json->buffer)) {
			hand_on(json, bytes, size_bytes);
			return;
		}
	}
	memcpy(json->buffer + json->used, bytes, size_bytes);
	json->used += size_bytes;
}

static inline void put(struct json *json, const char *text)
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

static inline bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* From the first byte that is not plain on. */
static void put_unusual(struct json *json, const char *text)
{
	size_t left = strlen(text), plain = 0;

	while (left) {
		size_t length = text_utf8_length(text + plain, left);
		unsigned char c = (unsigned char)text[plain];

		if (length > 1 || is_plain(c)) {
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
}

#define BYTES(c) (0x0101010101010101ULL * (c))
/* The high bit of each byte that is zero; bytes above one may be taken for zero as well. */
#define ZERO_BYTES(word) (((word)-BYTES(0x01)) & ~(word)&BYTES(0x80))

/* Eight bytes at once: is one of them not plain? An odd one may be taken for it, none is missed. */
static inline bool has_unusual(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return ((word & BYTES(0x80)) | ((word - BYTES(0x20)) & BYTES(0x80)) |
		ZERO_BYTES(word ^ BYTES('"')) | ZERO_BYTES(word ^ BYTES('\\')) |
		ZERO_BYTES(word ^ BYTES(0x7f))) != 0;
}

static void put_quoted(struct json *json, const char *text)
{
	size_t length = strlen(text), plain = 0;

	while (length - plain >= 8 && !has_unusual(text + plain))
		plain += 8;
	while (is_plain((unsigned char)text[plain]))
		plain++;
	put_bytes(json, "\"", 1);
	put_bytes(json, text, plain);
	if (text[plain])
		put_unusual(json, text + plain);
	put_bytes(json, "\"", 1);
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
	return json_flush(json);
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

/* The digits of a number, written backwards from end; where they begin. */
static char *put_digits(char *end, uint64_t value)
{
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return end;
}

static uint64_t magnitude_of(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static void put_number(struct json *json, const char *key, uint64_t magnitude, bool is_negative)
{
	char number[NUMBER_BYTES], *end = number + sizeof(number);
	char *at = put_digits(end, magnitude);

	if (is_negative)
		*--at = '-';
	put_lead(json, key);
	put_bytes(json, at, (size_t)(end - at));
}

void json_int(struct json *json, const char *key, int64_t value)
{
	put_number(json, key, magnitude_of(value), value < 0);
}

void json_uint(struct json *json, const char *key, uint64_t value)
{
	put_number(json, key, value, false);
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

void json_number(struct json *json, const char *key, double value)
{
	char number[32];

	if (!isfinite(value)) {
		json_null(json, key);
		return;
	}
	snprintf(number, sizeof(number), "%.9g", value);
	put_member(json, key, number);
}

void json_us(struct json *json, const char *key, int64_t value_ns)
{
	uint64_t magnitude = magnitude_of(value_ns);
	char number[NUMBER_BYTES], *end = number + sizeof(number), *at = end;
	unsigned int fraction = (unsigned int)(magnitude % 1000);

	*--at = (char)('0' + fraction % 10);
	*--at = (char)('0' + fraction / 10 % 10);
	*--at = (char)('0' + fraction / 100);
	*--at = '.';
	at = put_digits(at, magnitude / 1000);
	if (value_ns < 0)
		*--at = '-';
	put_lead(json, key);
	put_bytes(json, at, (size_t)(end - at));
}
