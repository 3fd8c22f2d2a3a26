/*
 * From the text of a function schema to the types of its arguments. The text comes from the job's
 * files: what does not follow the grammar in full is refused, so that half a string, or one that
 * only looks like a schema, never says where an argument is.
 */
#include "attach/operator_schema.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define TYPE_BYTES 32

struct type_name {
	const char *text; /* without alias annotations and the sizes of lists */
	enum operand_type type;
};

static const struct type_name type_names[] = {
	{ "Tensor", OPERAND_TENSOR },
	{ "Tensor?", OPERAND_TENSOR_OPTIONAL },
	{ "Tensor[]", OPERAND_TENSOR_LIST },
	{ "Tensor?[]", OPERAND_TENSOR_OPTIONAL_LIST },
	{ "Scalar", OPERAND_SCALAR },
	{ "Scalar?", OPERAND_SCALAR_OPTIONAL },
	{ "Scalar[]", OPERAND_SCALAR_LIST },
	{ "int", OPERAND_INTEGER },
	{ "int?", OPERAND_INTEGER_OPTIONAL },
	{ "int[]", OPERAND_INTEGER_LIST },
	{ "int[]?", OPERAND_INTEGER_LIST_OPTIONAL },
	{ "SymInt", OPERAND_INTEGER },
	{ "SymInt?", OPERAND_INTEGER_OPTIONAL },
	{ "SymInt[]", OPERAND_INTEGER_LIST },
	{ "SymInt[]?", OPERAND_INTEGER_LIST_OPTIONAL },
	{ "float", OPERAND_FLOAT },
	{ "float?", OPERAND_FLOAT_OPTIONAL },
	{ "float[]?", OPERAND_FLOAT_LIST_OPTIONAL },
	{ "bool", OPERAND_BOOL },
	{ "bool?", OPERAND_BOOL_OPTIONAL },
	{ "bool[]", OPERAND_BOOL_ARRAY },
	{ "str", OPERAND_STRING },
	{ "str?", OPERAND_STRING_OPTIONAL },
	{ "Dimname", OPERAND_NAME },
	{ "Dimname[]", OPERAND_NAME_LIST },
	{ "Dimname[]?", OPERAND_NAME_LIST_OPTIONAL },
	{ "ScalarType", OPERAND_ENUM },
	{ "ScalarType?", OPERAND_ENUM_OPTIONAL },
	{ "Layout", OPERAND_ENUM },
	{ "Layout?", OPERAND_ENUM_OPTIONAL },
	{ "MemoryFormat", OPERAND_ENUM },
	{ "MemoryFormat?", OPERAND_ENUM_OPTIONAL },
	{ "DeviceIndex", OPERAND_ENUM },
	{ "Device", OPERAND_DEVICE },
	{ "Device?", OPERAND_DEVICE_OPTIONAL },
	{ "Generator?", OPERAND_GENERATOR_OPTIONAL },
	{ "Storage", OPERAND_STORAGE },
	{ "Stream", OPERAND_STREAM },
};

static bool is_word(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_';
}

/* Moves *at over a word. False: there is none, or it begins with a digit. */
static bool take_word(const char **at)
{
	const char *start = *at;

	if (*start >= '0' && *start <= '9')
		return false;
	while (is_word(**at))
		(*at)++;
	return *at > start;
}

static bool take(const char **at, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(*at, text, length) != 0)
		return false;
	*at += length;
	return true;
}

struct type_text {
	char text[TYPE_BYTES];
	size_t length;
	bool is_written; /* the annotation holds a '!' */
};

static bool append(struct type_text *type, char c)
{
	if (type->length + 1 >= sizeof(type->text))
		return false;
	type->text[type->length++] = c;
	type->text[type->length] = '\0';
	return true;
}

/* "(a!)", "(a -> *)", "(b|a)" behind a type. */
static bool take_annotation(const char **at, struct type_text *type)
{
	if (**at != '(')
		return true;
	while (**at != ')') {
		(*at)++;
		if (!**at || **at == '(')
			return false;
		type->is_written |= **at == '!';
	}
	(*at)++;
	return true;
}

/* Word, annotation, then any number of "[]", "[2]" and "?". */
static bool take_type(const char **at, struct type_text *type)
{
	const char *start = *at;

	memset(type, 0, sizeof(*type));
	if (!take_word(at))
		return false;
	for (; start < *at; start++) {
		if (!append(type, *start))
			return false;
	}
	if (!take_annotation(at, type))
		return false;
	while (**at == '[' || **at == '?') {
		if (!append(type, **at))
			return false;
		if (*(*at)++ == '?')
			continue;
		while (**at >= '0' && **at <= '9')
			(*at)++;
		if (!take(at, "]") || !append(type, ']'))
			return false;
	}
	return true;
}

static enum operand_type type_of(const struct type_text *type)
{
	size_t i;

	for (i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
		if (!strcmp(type->text, type_names[i].text))
			return type_names[i].type;
	}
	return OPERAND_UNKNOWN;
}

/* "1", "None", "'none'", "[1, 1]": up to the comma or parenthesis that ends the argument. */
static bool take_default(const char **at)
{
	const char *start = *at;
	unsigned int depth = 0;
	char quote = '\0';

	for (; **at; (*at)++) {
		if (quote) {
			if (**at == '\\' && (*at)[1])
				(*at)++;
			else if (**at == quote)
				quote = '\0';
			continue;
		}
		if (!depth && (**at == ',' || **at == ')'))
			return *at > start;
		if (**at == '\'' || **at == '"')
			quote = **at;
		else if (**at == '[')
			depth++;
		else if (**at == ']' && depth-- == 0)
			return false;
	}
	return false;
}

static int take_argument(const char **at, struct operator_schema *out)
{
	struct type_text type;

	if (take(at, "*"))
		return 0;
	if (out->argument_count == OPERANDS_MAX)
		return -EINVAL;
	if (!take_type(at, &type) || !take(at, " ") || !take_word(at))
		return -EINVAL;
	if (take(at, "=") && !take_default(at))
		return -EINVAL;
	out->arguments[out->argument_count++] = type_of(&type);
	return 0;
}

static int take_arguments(const char **at, struct operator_schema *out)
{
	int err;

	out->argument_count = 0;
	if (!take(at, "("))
		return -EINVAL;
	if (take(at, ")"))
		return 0;
	do {
		err = take_argument(at, out);
		if (err)
			return err;
	} while (take(at, ", "));
	return take(at, ")") ? 0 : -EINVAL;
}

static enum operator_return return_of(const struct type_text *type)
{
	static const char *const plain[] = { "int", "bool", "float", "ScalarType", "QScheme" };
	static const char *const memory[] = { "Tensor", "Tensor[]", "Scalar",
					      "SymInt", "SymBool",  "int[]" };
	size_t i;

	if (type->is_written)
		return strcmp(type->text, "Tensor") ? OPERATOR_RETURN_UNKNOWN
						    : OPERATOR_RETURN_PLAIN;
	for (i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
		if (!strcmp(type->text, plain[i]))
			return OPERATOR_RETURN_PLAIN;
	}
	for (i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
		if (!strcmp(type->text, memory[i]))
			return OPERATOR_RETURN_MEMORY;
	}
	return OPERATOR_RETURN_UNKNOWN;
}

/* A type, with a name in some schemas. */
static bool take_return(const char **at, struct type_text *type)
{
	if (!take_type(at, type))
		return false;
	return !take(at, " ") || take_word(at);
}

static int take_returns(const char **at, struct operator_schema *out)
{
	struct type_text type;
	size_t count = 0;

	out->returns = OPERATOR_RETURN_PLAIN;
	if (take(at, "()"))
		return 0;
	if (!take(at, "(")) {
		if (!take_return(at, &type))
			return -EINVAL;
		out->returns = return_of(&type);
		return 0;
	}
	do {
		if (!take_return(at, &type))
			return -EINVAL;
		count++;
	} while (take(at, ", "));
	/* a tuple is never handed back in registers: its copy constructor is not trivial */
	out->returns = count > 1 ? OPERATOR_RETURN_MEMORY : return_of(&type);
	return take(at, ")") ? 0 : -EINVAL;
}

int operator_schema_parse(struct operator_schema *out, const char *text)
{
	const char *at = text;
	int err;

	out->name = at;
	if (!take_word(&at))
		return -EINVAL;
	out->name_length = (size_t)(at - out->name);
	out->overload = at;
	out->overload_length = 0;
	if (take(&at, ".")) {
		out->overload = at;
		if (!take_word(&at))
			return -EINVAL;
		out->overload_length = (size_t)(at - out->overload);
	}
	err = take_arguments(&at, out);
	if (err)
		return err;
	if (!take(&at, " -> "))
		return -EINVAL;
	err = take_returns(&at, out);
	if (err)
		return err;
	return *at ? -EINVAL : 0;
}
