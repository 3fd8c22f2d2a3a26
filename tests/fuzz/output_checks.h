/*
 * output_checks.h - what must hold of every output, whatever the input was: JSON parses, strictly
 * and by cJSON, and text holds nothing but characters that a terminal shows as themselves.
 */
#ifndef FUZZ_OUTPUT_CHECKS_H
#define FUZZ_OUTPUT_CHECKS_H

#include <cjson/cJSON.h>

#include "fuzz/fuzz.h"

#define CHECK_DEPTH_MAX 32

/* A position in text that ends with a NUL. */
struct json_text {
	const char *at;
	unsigned int depth;
};

/* Length of a character of UTF-8; 0: it is none. Written apart from base/text.c, which it checks.
 */
static inline size_t utf8_character(const char *text)
{
	const unsigned char *c = (const unsigned char *)text;
	size_t length = c[0] < 0x80 ? 1 : c[0] < 0xc2 ? 0 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
	size_t i;

	if (c[0] > 0xf4)
		return 0;
	for (i = 1; i < length; i++) {
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return length;
}

static inline void json_blanks(struct json_text *json)
{
	json->at += strspn(json->at, " \n\r\t");
}

static inline void json_expect(struct json_text *json, const char *text)
{
	FUZZ_CHECK(!strncmp(json->at, text, strlen(text)));
	json->at += strlen(text);
}

static inline void json_escape(struct json_text *json)
{
	FUZZ_CHECK(json->at[1] && strchr("\"\\/bfnrtu", json->at[1]));
	if (json->at[1] == 'u')
		FUZZ_CHECK(strspn(json->at + 2, "0123456789abcdefABCDEF") >= 4);
	json->at += json->at[1] == 'u' ? 6 : 2;
}

static inline void json_check_string(struct json_text *json)
{
	json_expect(json, "\"");
	while (*json->at != '"') {
		size_t length = utf8_character(json->at);

		FUZZ_CHECK(length && (unsigned char)*json->at >= 0x20);
		if (*json->at == '\\')
			json_escape(json);
		else
			json->at += length;
	}
	json->at++;
}

static inline void json_digits(struct json_text *json)
{
	size_t count = strspn(json->at, "0123456789");

	FUZZ_CHECK(count);
	json->at += count;
}

static inline void json_check_number(struct json_text *json)
{
	json->at += *json->at == '-';
	if (*json->at == '0')
		json->at++;
	else
		json_digits(json);
	if (*json->at == '.') {
		json->at++;
		json_digits(json);
	}
	if (*json->at == 'e' || *json->at == 'E') {
		json->at++;
		json->at += *json->at == '-' || *json->at == '+';
		json_digits(json);
	}
}

static inline void json_check_value(struct json_text *json);

static inline void json_check_members(struct json_text *json, char close)
{
	FUZZ_CHECK(++json->depth < CHECK_DEPTH_MAX);
	json->at++;
	json_blanks(json);
	while (*json->at != close) {
		if (close == '}') {
			json_check_string(json);
			json_blanks(json);
			json_expect(json, ":");
			json_blanks(json);
		}
		json_check_value(json);
		json_blanks(json);
		if (*json->at == close)
			break;
		json_expect(json, ",");
		json_blanks(json);
		FUZZ_CHECK(*json->at != close);
	}
	json->at++;
	json->depth--;
}

static inline void json_check_value(struct json_text *json)
{
	switch (*json->at) {
	case '{':
		json_check_members(json, '}');
		break;
	case '[':
		json_check_members(json, ']');
		break;
	case '"':
		json_check_string(json);
		break;
	case 't':
		json_expect(json, "true");
		break;
	case 'f':
		json_expect(json, "false");
		break;
	case 'n':
		json_expect(json, "null");
		break;
	default:
		json_check_number(json);
	}
}

/* RFC 8259 to the letter, in size_bytes bytes with a NUL behind them. */
static inline void check_json_text(const char *text, size_t size_bytes)
{
	struct json_text json = { .at = text };

	FUZZ_CHECK(strlen(text) == size_bytes);
	json_blanks(&json);
	json_check_value(&json);
	json_blanks(&json);
	FUZZ_CHECK(!*json.at);
}

/* The same, and what cJSON makes of it. The caller deletes it. */
static inline cJSON *check_json(const char *text, size_t size_bytes)
{
	cJSON *root;

	check_json_text(text, size_bytes);
	root = cJSON_ParseWithOpts(text, NULL, true);
	FUZZ_CHECK(root);
	return root;
}

/* Lines of characters that neither steer a terminal nor break a line. */
static inline void check_lines(const char *text, size_t size_bytes)
{
	const char *end = text + size_bytes;

	FUZZ_CHECK(strlen(text) == size_bytes);
	while (text < end) {
		size_t length = utf8_character(text);

		FUZZ_CHECK(length);
		FUZZ_CHECK(*text == '\n' || ((unsigned char)*text >= 0x20 && *text != 0x7f));
		/* C1 controls, and the marks that turn the direction of writing */
		FUZZ_CHECK(length != 2 || (unsigned char)text[0] != 0xc2 ||
			   (unsigned char)text[1] >= 0xa0);
		FUZZ_CHECK(length != 3 || memcmp(text, "\xe2\x80\xae", 3) != 0);
		text += length;
	}
}

#endif /* FUZZ_OUTPUT_CHECKS_H */
