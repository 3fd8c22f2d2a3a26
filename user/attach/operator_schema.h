/*
 * operator_schema.h - one function schema of PyTorch taken apart, as it stands in libtorch_cpu:
 * "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)".
 */
#ifndef ATTACH_OPERATOR_SCHEMA_H
#define ATTACH_OPERATOR_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>

/* More than twice as many as the longest schema of any release has. */
#define OPERANDS_MAX 64

/* What an argument is, whichever C++ type carries it. */
enum operand_type {
	OPERAND_UNKNOWN,
	OPERAND_TENSOR,
	OPERAND_TENSOR_OPTIONAL,
	OPERAND_TENSOR_LIST,
	OPERAND_TENSOR_OPTIONAL_LIST, /* Tensor?[] */
	OPERAND_SCALAR,
	OPERAND_SCALAR_OPTIONAL,
	OPERAND_SCALAR_LIST,
	OPERAND_INTEGER, /* int, SymInt */
	OPERAND_INTEGER_OPTIONAL,
	OPERAND_INTEGER_LIST,
	OPERAND_INTEGER_LIST_OPTIONAL,
	OPERAND_FLOAT,
	OPERAND_FLOAT_OPTIONAL,
	OPERAND_FLOAT_LIST_OPTIONAL,
	OPERAND_BOOL,
	OPERAND_BOOL_OPTIONAL,
	OPERAND_BOOL_ARRAY,
	OPERAND_STRING,
	OPERAND_STRING_OPTIONAL,
	OPERAND_NAME, /* Dimname */
	OPERAND_NAME_LIST,
	OPERAND_NAME_LIST_OPTIONAL,
	OPERAND_ENUM, /* ScalarType, Layout, MemoryFormat, DeviceIndex */
	OPERAND_ENUM_OPTIONAL,
	OPERAND_DEVICE,
	OPERAND_DEVICE_OPTIONAL,
	OPERAND_GENERATOR_OPTIONAL,
	OPERAND_STORAGE,
	OPERAND_STREAM,
};

/* How the function hands back its result. */
enum operator_return {
	OPERATOR_RETURN_UNKNOWN,
	OPERATOR_RETURN_PLAIN,	/* nothing, a value in a register, a reference to an argument */
	OPERATOR_RETURN_MEMORY, /* where a hidden first argument points */
};

struct operator_schema {
	const char *name; /* in the text, not terminated, without a namespace */
	size_t name_length;
	const char *overload;
	size_t overload_length; /* 0: none */
	enum operator_return returns;
	size_t argument_count;
	enum operand_type arguments[OPERANDS_MAX];
};

/*
 * Takes text apart, which out points into. A namespace in front is refused, as is anything behind
 * the schema. Returns 0 or -EINVAL with *out in no defined state.
 */
int operator_schema_parse(struct operator_schema *out, const char *text);

#endif /* ATTACH_OPERATOR_SCHEMA_H */
