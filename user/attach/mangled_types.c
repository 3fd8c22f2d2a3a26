/*
 * The part of the Itanium mangling that occurs in at::_ops: names, templates, references, const,
 * and the substitutions, which stand for every name and type that was met before.
 *
 * Invariant: all text lies in one buffer and each piece is written once, at its end, so a name that
 * asks for more than the buffer holds, or for deeper nesting than the bound, is refused.
 */
#include "attach/mangled_types.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define SUBSTITUTIONS_MAX 128
#define DEPTH_MAX 12

/* A piece of the buffer. */
struct piece {
	size_t start;
	size_t length;
};

struct reader {
	const char *at;
	char *text;
	size_t used;
	struct piece substitutions[SUBSTITUTIONS_MAX];
	size_t substitution_count;
	unsigned int depth;
};

static int read_type(struct reader *reader, struct piece *out);

static bool take(struct reader *reader, char c)
{
	if (*reader->at != c)
		return false;
	reader->at++;
	return true;
}

static int add_text(struct reader *reader, struct piece *piece, const char *text, size_t length)
{
	if (length > MANGLED_TEXT_BYTES - reader->used)
		return -EINVAL;
	memmove(reader->text + reader->used, text, length);
	reader->used += length;
	piece->length += length;
	return 0;
}

/* Writes before, a middle that was written earlier, and after as a new piece. */
static int join(struct reader *reader, struct piece *out, const struct piece *middle,
		const char *after)
{
	struct piece piece = { .start = reader->used };
	int err;

	err = add_text(reader, &piece, reader->text + middle->start, middle->length);
	if (!err)
		err = add_text(reader, &piece, after, strlen(after));
	if (!err)
		*out = piece;
	return err;
}

/* The first piece, with the second one right behind it. */
static int join_pieces(struct reader *reader, struct piece *out, const struct piece *first,
		       const struct piece *second)
{
	struct piece piece = { .start = reader->used };
	int err;

	err = add_text(reader, &piece, reader->text + first->start, first->length);
	if (!err)
		err = add_text(reader, &piece, reader->text + second->start, second->length);
	if (!err)
		*out = piece;
	return err;
}

static int write_text(struct reader *reader, struct piece *out, const char *text)
{
	struct piece nothing = { 0 };

	return join(reader, out, &nothing, text);
}

static int remember(struct reader *reader, const struct piece *piece)
{
	if (reader->substitution_count == SUBSTITUTIONS_MAX)
		return -EINVAL;
	reader->substitutions[reader->substitution_count++] = *piece;
	return 0;
}

/* A decimal number below 4096, digits alone. */
static bool read_number(const char **at, size_t *number)
{
	const char *start = *at;

	*number = 0;
	while (**at >= '0' && **at <= '9' && *number < 4096)
		*number = *number * 10 + (size_t)(*(*at)++ - '0');
	return *at > start && *number < 4096;
}

/* <length><name> */
static int read_name(struct reader *reader, struct piece *out)
{
	struct piece piece = { .start = reader->used };
	size_t length;
	int err;

	if (!read_number(&reader->at, &length) || !length || strnlen(reader->at, length) < length)
		return -EINVAL;
	err = add_text(reader, &piece, reader->at, length);
	if (err)
		return err;
	reader->at += length;
	*out = piece;
	return 0;
}

/* L<type><digits>E, a template argument that is a number: the digits. */
static int read_literal(struct reader *reader, struct piece *out)
{
	struct piece piece = { 0 };
	struct piece type;
	const char *start;
	size_t number;
	int err;

	err = read_type(reader, &type);
	if (err)
		return err;
	start = reader->at;
	if (!read_number(&reader->at, &number))
		return -EINVAL;
	piece.start = reader->used;
	err = add_text(reader, &piece, start, (size_t)(reader->at - start));
	if (err)
		return err;
	*out = piece;
	return take(reader, 'E') ? 0 : -EINVAL;
}

/* I<argument>*E behind a template's name: *name becomes name<argument,...>. */
static int read_template(struct reader *reader, struct piece *name)
{
	struct piece argument;
	bool is_first = true;
	int err;

	err = join(reader, name, name, "<");
	while (!err && !take(reader, 'E')) {
		err = take(reader, 'L') ? read_literal(reader, &argument)
					: read_type(reader, &argument);
		if (!err && !is_first)
			err = join(reader, name, name, ",");
		if (!err)
			err = join_pieces(reader, name, name, &argument);
		is_first = false;
	}
	if (!err)
		err = join(reader, name, name, ">");
	return err ? err : remember(reader, name);
}

/* S_ is the first substitution, S0_ the second, to base 36. The S has been taken. */
static int read_substitution(struct reader *reader, struct piece *out)
{
	size_t index = 0;

	if (take(reader, '_'))
		goto found;
	while (*reader->at != '_') {
		if (*reader->at >= '0' && *reader->at <= '9')
			index = index * 36 + (size_t)(*reader->at - '0');
		else if (*reader->at >= 'A' && *reader->at <= 'Z')
			index = index * 36 + (size_t)(*reader->at - 'A') + 10;
		else
			return -EINVAL;
		if (index >= SUBSTITUTIONS_MAX)
			return -EINVAL;
		reader->at++;
	}
	reader->at++;
	index++;
found:
	if (index >= reader->substitution_count)
		return -EINVAL;
	*out = reader->substitutions[index];
	return 0;
}

/* *prefix becomes prefix::name, or name where there is no prefix. */
static int read_member(struct reader *reader, struct piece *prefix)
{
	struct piece name;
	int err;

	err = read_name(reader, &name);
	if (err)
		return err;
	if (!prefix->length) {
		*prefix = name;
	} else {
		err = join(reader, prefix, prefix, "::");
		if (!err)
			err = join_pieces(reader, prefix, prefix, &name);
	}
	return err ? err : remember(reader, prefix);
}

/* N<part>*E, with the N taken. */
static int read_nested(struct reader *reader, struct piece *out)
{
	struct piece prefix = { 0 };
	int err = 0;

	while (!err && !take(reader, 'E')) {
		if (*reader->at >= '1' && *reader->at <= '9')
			err = read_member(reader, &prefix);
		else if (prefix.length && take(reader, 'I'))
			err = read_template(reader, &prefix);
		else if (prefix.length || !take(reader, 'S'))
			err = -EINVAL;
		else if (take(reader, 't'))
			err = write_text(reader, &prefix, "std");
		else
			err = read_substitution(reader, &prefix);
	}
	if (!err && !prefix.length)
		err = -EINVAL;
	*out = prefix;
	return err;
}

/* A name of std, of the global namespace, or a substitution; each may be a template's. */
static int read_unnested(struct reader *reader, struct piece *out)
{
	struct piece name = { 0 };
	int err;

	if (!take(reader, 'S')) {
		err = read_member(reader, &name);
	} else if (take(reader, 't')) {
		err = write_text(reader, &name, "std");
		if (!err)
			err = read_member(reader, &name);
	} else {
		err = read_substitution(reader, &name);
	}
	if (!err && take(reader, 'I'))
		err = read_template(reader, &name);
	*out = name;
	return err;
}

static const char *builtin_name(char c)
{
	switch (c) {
	case 'a':
		return "signed char";
	case 'b':
		return "bool";
	case 'c':
		return "char";
	case 'd':
		return "double";
	case 'f':
		return "float";
	case 'h':
		return "unsigned char";
	case 'i':
		return "int";
	case 'j':
		return "unsigned int";
	case 'l':
		return "long";
	case 'm':
		return "unsigned long";
	default:
		return NULL;
	}
}

/* A type with something behind it, which is a substitution of its own: "&", " const". */
static int read_qualified(struct reader *reader, struct piece *out, const char *after)
{
	struct piece inner;
	int err;

	reader->at++;
	err = read_type(reader, &inner);
	if (!err)
		err = join(reader, out, &inner, after);
	return err ? err : remember(reader, out);
}

static int read_type_inside(struct reader *reader, struct piece *out)
{
	const char *builtin = builtin_name(*reader->at);

	if (builtin) {
		reader->at++;
		return write_text(reader, out, builtin);
	}
	switch (*reader->at) {
	case 'R':
		return read_qualified(reader, out, "&");
	case 'O':
		return read_qualified(reader, out, "&&");
	case 'P':
		return read_qualified(reader, out, "*");
	case 'K':
		return read_qualified(reader, out, " const");
	case 'N':
		reader->at++;
		return read_nested(reader, out);
	default:
		return read_unnested(reader, out);
	}
}

static int read_type(struct reader *reader, struct piece *out)
{
	int err;

	if (reader->depth == DEPTH_MAX)
		return -EINVAL;
	reader->depth++;
	err = read_type_inside(reader, out);
	reader->depth--;
	return err;
}

/* N<part>*E of the function itself: its last part is no substitution, all before it are. */
static int read_function(struct reader *reader)
{
	struct piece prefix = { 0 };
	int err = 0;

	while (!err && !take(reader, 'E')) {
		if (*reader->at < '1' || *reader->at > '9')
			return -EINVAL;
		err = read_member(reader, &prefix);
	}
	if (!err && !reader->substitution_count)
		err = -EINVAL;
	if (!err)
		reader->substitution_count--;
	return err;
}

static int read_parameters(struct reader *reader, struct mangled_types *out)
{
	struct piece piece;
	int err;

	if (!strcmp(reader->at, "v"))
		return 0;
	while (*reader->at) {
		if (out->count == MANGLED_TYPES_MAX)
			return -EINVAL;
		err = read_type(reader, &piece);
		if (err)
			return err;
		out->types[out->count].text = out->text + piece.start;
		out->types[out->count++].length = piece.length;
	}
	return out->count ? 0 : -EINVAL;
}

int mangled_types_read(struct mangled_types *out, const char *mangled)
{
	static const char prefix[] = "_ZN";
	struct reader reader = { .text = out->text };
	int err;

	out->count = 0;
	if (strncmp(mangled, prefix, strlen(prefix)) != 0)
		return -EINVAL;
	reader.at = mangled + strlen(prefix);
	err = read_function(&reader);
	return err ? err : read_parameters(&reader, out);
}
