/* text.c - see text.h. Nothing here allocates; every function bounds what it writes. */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int text_parse_u32(const char *text, uint32_t max, uint32_t *value)
{
	uint64_t sum = 0;
	const char *c;

	if (!*text)
		return -EINVAL;
	for (c = text; *c; c++) {
		if (*c < '0' || *c > '9')
			return -EINVAL;
	}
	for (c = text; *c; c++) {
		sum = sum * 10 + (uint64_t)(*c - '0');
		if (sum > max)
			return -ERANGE;
	}
	*value = (uint32_t)sum;
	return 0;
}

int text_parse_bytes(const char *text, uint64_t max, uint64_t *value)
{
	static const char units[] = "KMG";
	size_t digits = strspn(text, "0123456789"), i;
	const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
	unsigned int shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	uint64_t sum = 0;

	if (!digits || (text[digits] && (!unit || text[digits + 1])))
		return -EINVAL;
	for (i = 0; i < digits; i++) {
		uint64_t digit = (uint64_t)(text[i] - '0');

		if (sum > (UINT64_MAX - digit) / 10)
			return -ERANGE;
		sum = sum * 10 + digit;
	}
	if (sum > max >> shift)
		return -ERANGE;
	*value = sum << shift;
	return 0;
}

/* Lead byte -> length and the smallest code point that needs it: shorter ones are overlong. */
static size_t utf8_lead(unsigned char lead, uint32_t *bits, uint32_t *smallest)
{
	if (lead < 0x80) {
		*bits = lead;
		*smallest = 0;
		return 1;
	}
	if ((lead & 0xe0) == 0xc0) {
		*bits = lead & 0x1f;
		*smallest = 0x80;
		return 2;
	}
	if ((lead & 0xf0) == 0xe0) {
		*bits = lead & 0x0f;
		*smallest = 0x800;
		return 3;
	}
	if ((lead & 0xf8) == 0xf0) {
		*bits = lead & 0x07;
		*smallest = 0x10000;
		return 4;
	}
	return 0;
}

size_t text_utf8_length(const char *from, size_t limit_bytes)
{
	uint32_t code = 0, smallest = 0;
	size_t length = utf8_lead((unsigned char)from[0], &code, &smallest);
	size_t i;

	if (!length || length > limit_bytes)
		return 0;
	for (i = 1; i < length; i++) {
		unsigned char c = (unsigned char)from[i];

		if ((c & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c & 0x3f);
	}
	if (code < smallest || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	return length;
}

/*
 * Characters that are valid and yet steer a terminal or break a line: U+0080 to U+009F, the marks
 * and overrides of writing direction, line and paragraph separators.
 */
static bool steers_terminal(const char *from, size_t length)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x80, 0x9f },	    { 0x61c, 0x61c },	{ 0x200e, 0x200f },
		{ 0x2028, 0x202e }, { 0x2066, 0x2069 }, { 0xfeff, 0xfeff },
	};
	uint32_t code = 0, unused;
	size_t i;

	if (length < 2)
		return false;
	utf8_lead((unsigned char)from[0], &code, &unused);
	for (i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)from[i] & 0x3f);
	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (code >= ranges[i].first && code <= ranges[i].last)
			return true;
	}
	return false;
}

char *text_printable(char *to, size_t size_bytes, const char *from)
{
	size_t left = strlen(from), used = 0;

	while (left) {
		size_t length = text_utf8_length(from, left);
		bool bad = !length ||
			   (length == 1 && ((unsigned char)*from < 0x20 || *from == 0x7f)) ||
			   steers_terminal(from, length);

		if (!length)
			length = 1;
		if (used + (bad ? 1 : length) >= size_bytes)
			break;
		if (bad)
			to[used++] = '?';
		else
			memcpy(to + used, from, length), used += length;
		from += length;
		left -= length;
	}
	to[used] = 0;
	return to;
}

bool text_copy(char *to, size_t size_bytes, const char *from)
{
	size_t length = strnlen(from, size_bytes);
	bool cut = length == size_bytes;

	if (cut)
		length = size_bytes - 1;
	memcpy(to, from, length);
	to[length] = 0;
	return cut;
}

bool text_has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool text_has_suffix(const char *text, const char *suffix)
{
	size_t length = strlen(text), suffix_length = strlen(suffix);

	return length >= suffix_length && !strcmp(text + length - suffix_length, suffix);
}

char *text_duration(char *to, size_t size_bytes, int64_t duration_ns)
{
	double us = (double)duration_ns / 1e3;

	if (us >= 1e6)
		snprintf(to, size_bytes, "%.3fs", us / 1e6);
	else if (us >= 1e3)
		snprintf(to, size_bytes, "%.3fms", us / 1e3);
	else
		snprintf(to, size_bytes, "%.3fus", us);
	return to;
}

char *text_size(char *to, size_t size_bytes, uint64_t value_bytes)
{
	static const char *const unit[] = { "B", "KB", "MB", "GB", "TB" };
	double value = (double)value_bytes;
	size_t i = 0;

	while (value >= 1024 && i + 1 < sizeof(unit) / sizeof(unit[0])) {
		value /= 1024;
		i++;
	}
	snprintf(to, size_bytes, i ? "%.1f %s" : "%.0f %s", value, unit[i]);
	return to;
}
