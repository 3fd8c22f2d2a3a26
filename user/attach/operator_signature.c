/*
 * From a mangled name to how its parameters are passed: the types that at::_ops uses are few, and
 * the table says of each what it is to the schema and to the calling convention.
 */
#include "attach/operator_signature.h"

#include <errno.h>
#include <string.h>

#include "attach/mangled_types.h"

#define CLASS_PREFIX "_ZN2at4_ops"
#define CLASS_SUFFIX "4callE"
#define CLASS_BYTES_MAX 4096

struct parameter_name {
	const char *text;
	struct operator_parameter parameter;
};

/* Sizes and triviality as the headers of 1.13, 2.4 and 2.13 have them. */
static const struct parameter_name parameter_names[] = {
	{ "at::Tensor const&", { OPERAND_TENSOR, PASSING_WORD } },
	{ "at::Tensor&", { OPERAND_TENSOR, PASSING_WORD } },
	{ "std::optional<at::Tensor> const&", { OPERAND_TENSOR_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<at::Tensor> const&", { OPERAND_TENSOR_OPTIONAL, PASSING_WORD } },
	{ "c10::ArrayRef<at::Tensor>", { OPERAND_TENSOR_LIST, PASSING_PAIR } },
	{ "c10::IListRef<at::Tensor> const&", { OPERAND_TENSOR_LIST, PASSING_WORD } },
	{ "c10::List<std::optional<at::Tensor>> const&",
	  { OPERAND_TENSOR_OPTIONAL_LIST, PASSING_WORD } },
	{ "c10::List<c10::optional<at::Tensor>> const&",
	  { OPERAND_TENSOR_OPTIONAL_LIST, PASSING_WORD } },
	{ "c10::Scalar const&", { OPERAND_SCALAR, PASSING_WORD } },
	{ "std::optional<c10::Scalar> const&", { OPERAND_SCALAR_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::Scalar> const&", { OPERAND_SCALAR_OPTIONAL, PASSING_WORD } },
	{ "c10::ArrayRef<c10::Scalar>", { OPERAND_SCALAR_LIST, PASSING_PAIR } },
	{ "long", { OPERAND_INTEGER, PASSING_WORD } },
	{ "c10::SymInt", { OPERAND_INTEGER, PASSING_WORD } },
	{ "std::optional<long>", { OPERAND_INTEGER_OPTIONAL, PASSING_PAIR } },
	{ "c10::optional<long>", { OPERAND_INTEGER_OPTIONAL, PASSING_PAIR } },
	{ "std::optional<c10::SymInt>", { OPERAND_INTEGER_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::SymInt>", { OPERAND_INTEGER_OPTIONAL, PASSING_WORD } },
	{ "c10::ArrayRef<long>", { OPERAND_INTEGER_LIST, PASSING_PAIR } },
	{ "c10::ArrayRef<c10::SymInt>", { OPERAND_INTEGER_LIST, PASSING_PAIR } },
	{ "c10::OptionalArrayRef<long>", { OPERAND_INTEGER_LIST_OPTIONAL, PASSING_OPTIONAL_LIST } },
	{ "c10::OptionalArrayRef<c10::SymInt>",
	  { OPERAND_INTEGER_LIST_OPTIONAL, PASSING_OPTIONAL_LIST } },
	{ "double", { OPERAND_FLOAT, PASSING_FLOAT } },
	{ "std::optional<double>", { OPERAND_FLOAT_OPTIONAL, PASSING_FLOAT_WORD } },
	{ "c10::optional<double>", { OPERAND_FLOAT_OPTIONAL, PASSING_PAIR } },
	{ "std::optional<c10::ArrayRef<double>>", { OPERAND_FLOAT_LIST_OPTIONAL, PASSING_STACK } },
	{ "c10::optional<c10::ArrayRef<double>>", { OPERAND_FLOAT_LIST_OPTIONAL, PASSING_PAIR } },
	{ "bool", { OPERAND_BOOL, PASSING_WORD } },
	{ "std::optional<bool>", { OPERAND_BOOL_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<bool>", { OPERAND_BOOL_OPTIONAL, PASSING_WORD } },
	{ "std::array<bool,2>", { OPERAND_BOOL_ARRAY, PASSING_WORD } },
	{ "std::array<bool,3>", { OPERAND_BOOL_ARRAY, PASSING_WORD } },
	{ "std::array<bool,4>", { OPERAND_BOOL_ARRAY, PASSING_WORD } },
	{ "c10::basic_string_view<char>", { OPERAND_STRING, PASSING_PAIR } },
	{ "std::basic_string_view<char,std::char_traits<char>>", { OPERAND_STRING, PASSING_PAIR } },
	{ "c10::optional<c10::basic_string_view<char>>",
	  { OPERAND_STRING_OPTIONAL, PASSING_WORD } },
	{ "std::optional<c10::basic_string_view<char>>",
	  { OPERAND_STRING_OPTIONAL, PASSING_STACK } },
	{ "std::optional<std::basic_string_view<char,std::char_traits<char>>>",
	  { OPERAND_STRING_OPTIONAL, PASSING_STACK } },
	{ "at::Dimname", { OPERAND_NAME, PASSING_WORD } },
	{ "c10::ArrayRef<at::Dimname>", { OPERAND_NAME_LIST, PASSING_PAIR } },
	{ "std::optional<c10::ArrayRef<at::Dimname>>",
	  { OPERAND_NAME_LIST_OPTIONAL, PASSING_STACK } },
	{ "c10::optional<c10::ArrayRef<at::Dimname>>",
	  { OPERAND_NAME_LIST_OPTIONAL, PASSING_PAIR } },
	{ "c10::ScalarType", { OPERAND_ENUM, PASSING_WORD } },
	{ "c10::Layout", { OPERAND_ENUM, PASSING_WORD } },
	{ "c10::MemoryFormat", { OPERAND_ENUM, PASSING_WORD } },
	{ "signed char", { OPERAND_ENUM, PASSING_WORD } },
	{ "std::optional<c10::ScalarType>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::ScalarType>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "std::optional<c10::Layout>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::Layout>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "std::optional<c10::MemoryFormat>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::MemoryFormat>", { OPERAND_ENUM_OPTIONAL, PASSING_WORD } },
	{ "c10::Device", { OPERAND_DEVICE, PASSING_WORD } },
	{ "std::optional<c10::Device>", { OPERAND_DEVICE_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<c10::Device>", { OPERAND_DEVICE_OPTIONAL, PASSING_WORD } },
	{ "std::optional<at::Generator>", { OPERAND_GENERATOR_OPTIONAL, PASSING_WORD } },
	{ "c10::optional<at::Generator>", { OPERAND_GENERATOR_OPTIONAL, PASSING_WORD } },
	{ "c10::Storage", { OPERAND_STORAGE, PASSING_WORD } },
	{ "c10::Stream", { OPERAND_STREAM, PASSING_PAIR } },
};

bool operator_signature_class(const char *mangled, const char **name, size_t *length)
{
	const char *at = mangled + strlen(CLASS_PREFIX);
	size_t size = 0;

	if (strncmp(mangled, CLASS_PREFIX, strlen(CLASS_PREFIX)) != 0 || strchr(mangled, '.'))
		return false;
	for (; *at >= '0' && *at <= '9' && size < CLASS_BYTES_MAX; at++)
		size = size * 10 + (size_t)(*at - '0');
	if (!size || strnlen(at, size) < size)
		return false;
	if (strncmp(at + size, CLASS_SUFFIX, strlen(CLASS_SUFFIX)) != 0)
		return false;
	*name = at;
	*length = size;
	return true;
}

static struct operator_parameter parameter_of(const struct mangled_type *type)
{
	struct operator_parameter unknown = { OPERAND_UNKNOWN, PASSING_UNKNOWN };
	size_t i;

	for (i = 0; i < sizeof(parameter_names) / sizeof(parameter_names[0]); i++) {
		if (strlen(parameter_names[i].text) == type->length &&
		    !memcmp(parameter_names[i].text, type->text, type->length))
			return parameter_names[i].parameter;
	}
	return unknown;
}

int operator_signature_parse(struct operator_signature *out, const char *mangled)
{
	struct mangled_types types;
	const char *name;
	size_t length, i;

	if (!operator_signature_class(mangled, &name, &length))
		return -EINVAL;
	if (mangled_types_read(&types, mangled) || types.count > OPERANDS_MAX)
		return -EINVAL;
	out->count = types.count;
	for (i = 0; i < types.count; i++)
		out->parameters[i] = parameter_of(&types.types[i]);
	return 0;
}

bool operator_signature_fits(const struct operator_signature *signature,
			     const struct operator_schema *schema)
{
	size_t i;

	if (signature->count != schema->argument_count)
		return false;
	for (i = 0; i < signature->count; i++) {
		if (signature->parameters[i].type != OPERAND_UNKNOWN &&
		    schema->arguments[i] != OPERAND_UNKNOWN &&
		    signature->parameters[i].type != schema->arguments[i])
			return false;
	}
	return true;
}
