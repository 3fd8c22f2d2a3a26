/*
 * class_name.c - a reader of the Itanium C++ ABI's mangling, by recursive descent. Text is only
 * ever appended, so what a later S_ stands for is a piece of the text before it. Every step
 * consumes input, appends text or fails, and both have a bound, as has the depth: no bytes can make
 * it run long.
 */
#include "analyze/class_name.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 32
#define PIECES_MAX 64

struct piece {
	size_t start, end;
};

struct reader {
	const char *next;
	char *text;
	size_t used_bytes;
	unsigned int depth;
	struct piece pieces[PIECES_MAX]; /* what S_, S0_, S1_ ... stand for */
	size_t piece_count;
};

static bool read_type(struct reader *reader);

static bool append(struct reader *reader, const char *bytes, size_t size_bytes)
{
	if (size_bytes >= CLASS_NAME_BYTES - reader->used_bytes)
		return false;
	memcpy(reader->text + reader->used_bytes, bytes, size_bytes);
	reader->used_bytes += size_bytes;
	return true;
}

static bool append_text(struct reader *reader, const char *text)
{
	return append(reader, text, strlen(text));
}

static bool accept(struct reader *reader, const char *expected)
{
	size_t size_bytes = strlen(expected);

	if (strncmp(reader->next, expected, size_bytes) != 0)
		return false;
	reader->next += size_bytes;
	return true;
}

/* The text since start can be referred to from here on. */
static bool remember(struct reader *reader, size_t start)
{
	if (reader->piece_count == PIECES_MAX)
		return false;
	reader->pieces[reader->piece_count++] = (struct piece){ start, reader->used_bytes };
	return true;
}

static bool is_digit(char character)
{
	return character >= '0' && character <= '9';
}

/* <length> <that many bytes> */
static bool read_source_name(struct reader *reader)
{
	size_t size_bytes = 0;
	const char *name;

	if (!is_digit(*reader->next))
		return false;
	while (is_digit(*reader->next)) {
		size_bytes = size_bytes * 10 + (size_t)(*reader->next++ - '0');
		if (size_bytes >= CLASS_NAME_BYTES)
			return false;
	}
	name = reader->next;
	if (!size_bytes || strnlen(name, size_bytes) < size_bytes)
		return false;
	reader->next += size_bytes;
	if (size_bytes >= 10 && !strncmp(name, "_GLOBAL__N", 10))
		return append_text(reader, "(anonymous namespace)");
	return append(reader, name, size_bytes);
}

static const struct builtin {
	char code;
	const char *name, *suffix; /* of a literal; NULL: it is written as a cast */
} builtins[] = {
	{ 'v', "void", NULL },
	{ 'b', "bool", NULL },
	{ 'c', "char", NULL },
	{ 'a', "signed char", NULL },
	{ 'h', "unsigned char", NULL },
	{ 's', "short", NULL },
	{ 't', "unsigned short", NULL },
	{ 'i', "int", "" },
	{ 'j', "unsigned int", "u" },
	{ 'l', "long", "l" },
	{ 'm', "unsigned long", "ul" },
	{ 'x', "long long", "ll" },
	{ 'y', "unsigned long long", "ull" },
	{ 'f', "float", NULL },
	{ 'd', "double", NULL },
	{ 'e', "long double", NULL },
};

static const struct builtin *builtin_of(char code)
{
	size_t i;

	for (i = 0; i < sizeof(builtins) / sizeof(builtins[0]); i++) {
		if (builtins[i].code == code)
			return &builtins[i];
	}
	return NULL;
}

/* L <type> <digits> E: a number that a template was given. */
static bool read_literal(struct reader *reader)
{
	const struct builtin *type = builtin_of(*reader->next);
	const char *suffix = type ? type->suffix : NULL;
	const char *digits;

	if (accept(reader, "b0E"))
		return append_text(reader, "false");
	if (accept(reader, "b1E"))
		return append_text(reader, "true");
	if (type && strchr("vfde", type->code)) /* written in bytes, if at all */
		return false;
	if (suffix)
		reader->next++;
	else if (!append_text(reader, "(") || !read_type(reader) || !append_text(reader, ")"))
		return false;
	if (accept(reader, "n") && !append_text(reader, "-"))
		return false;
	digits = reader->next;
	while (is_digit(*reader->next))
		reader->next++;
	return reader->next > digits && append(reader, digits, (size_t)(reader->next - digits)) &&
	       append_text(reader, suffix ? suffix : "") && accept(reader, "E");
}

/* Up to the E of the list; J ... E is a pack, a list within the list. */
static bool read_arguments(struct reader *reader, bool *is_first)
{
	while (!accept(reader, "E")) {
		if (accept(reader, "J")) {
			if (++reader->depth > DEPTH_MAX || !read_arguments(reader, is_first))
				return false;
			reader->depth--;
			continue;
		}
		if (!*is_first && !append_text(reader, ", "))
			return false;
		*is_first = false;
		if (!(accept(reader, "L") ? read_literal(reader) : read_type(reader)))
			return false;
	}
	return true;
}

/* I <arguments> E; two closing brackets are kept apart, as the C++ library writes them. */
static bool read_template(struct reader *reader)
{
	bool is_first = true;

	if (!append_text(reader, "<") || !read_arguments(reader, &is_first))
		return false;
	if (reader->text[reader->used_bytes - 1] == '>' && !append_text(reader, " "))
		return false;
	return append_text(reader, ">");
}

static const struct abbreviation {
	const char *code, *name;
} abbreviations[] = {
	{ "a", "std::allocator" }, { "b", "std::basic_string" }, { "s", "std::string" },
	{ "i", "std::istream" },   { "o", "std::ostream" },
};

/* The number of S_, S0_ ... S9_, SA_ ...: 0, 1 ... */
static bool read_number(struct reader *reader, size_t *number)
{
	*number = 0;
	if (accept(reader, "_"))
		return true;
	while (!accept(reader, "_")) {
		char digit = *reader->next++;

		if (!is_digit(digit) && !(digit >= 'A' && digit <= 'Z'))
			return false;
		*number = *number * 36 + (size_t)(is_digit(digit) ? digit - '0' : digit - 'A' + 10);
		if (*number >= PIECES_MAX)
			return false;
	}
	++*number;
	return true;
}

/* Behind an S: an abbreviation, or what was named before. */
static bool read_substitution(struct reader *reader)
{
	const struct piece *piece;
	size_t i, number;

	for (i = 0; i < sizeof(abbreviations) / sizeof(abbreviations[0]); i++) {
		if (accept(reader, abbreviations[i].code))
			return append_text(reader, abbreviations[i].name);
	}
	if (!read_number(reader, &number) || number >= reader->piece_count)
		return false;
	piece = &reader->pieces[number];
	return append(reader, reader->text + piece->start, piece->end - piece->start);
}

/*
 * Up to the E of N ... E. The whole and each of its beginnings can be referred to from here on, but
 * not std alone, and not again what is a reference itself: is_known.
 */
static bool read_nested(struct reader *reader, size_t start)
{
	bool is_known = *reader->next == 'S';

	if (accept(reader, "St")) {
		if (!append_text(reader, "std"))
			return false;
	} else if (!(accept(reader, "S") ? read_substitution(reader) : read_source_name(reader))) {
		return false;
	}
	while (!accept(reader, "E")) {
		bool is_template = accept(reader, "I");

		if (!is_known && !remember(reader, start))
			return false;
		is_known = false;
		if (is_template ? !read_template(reader)
				: !append_text(reader, "::") || !read_source_name(reader))
			return false;
	}
	return !is_known && remember(reader, start);
}

/* A name that is in no class and no namespace but std. */
static bool read_plain(struct reader *reader, size_t start)
{
	return read_source_name(reader) && remember(reader, start) &&
	       (!accept(reader, "I") || (read_template(reader) && remember(reader, start)));
}

static bool read_class(struct reader *reader)
{
	size_t start = reader->used_bytes;

	if (accept(reader, "N"))
		return read_nested(reader, start);
	if (accept(reader, "St"))
		return append_text(reader, "std::") && read_plain(reader, start);
	if (accept(reader, "S"))
		return read_substitution(reader) &&
		       (!accept(reader, "I") || (read_template(reader) && remember(reader, start)));
	return read_plain(reader, start);
}

static const struct qualifier {
	const char *code, *text;
} qualifiers[] = {
	{ "P", "*" },
	{ "R", "&" },
	{ "O", "&&" },
	{ "K", " const" },
};

static bool read_qualified(struct reader *reader)
{
	const struct builtin *builtin = builtin_of(*reader->next);
	size_t start = reader->used_bytes, i;

	for (i = 0; i < sizeof(qualifiers) / sizeof(qualifiers[0]); i++) {
		if (accept(reader, qualifiers[i].code))
			return read_type(reader) && append_text(reader, qualifiers[i].text) &&
			       remember(reader, start);
	}
	if (!builtin)
		return read_class(reader);
	reader->next++;
	return append_text(reader, builtin->name);
}

static bool read_type(struct reader *reader)
{
	bool is_read;

	if (reader->depth == DEPTH_MAX)
		return false;
	reader->depth++;
	is_read = read_qualified(reader);
	reader->depth--;
	return is_read;
}

bool class_name_read(const char *mangled, char out[CLASS_NAME_BYTES])
{
	struct reader reader = { .next = mangled, .text = out };

	if (!read_class(&reader) || *reader.next)
		return false;
	out[reader.used_bytes] = 0;
	return true;
}
