/*
 * operator_signature.h - the parameters of at::_ops::NAME::call, from its mangled name: which C++
 * types a build really passes, whatever its release is called. What the name does not say is the
 * return type.
 */
#ifndef ATTACH_OPERATOR_SIGNATURE_H
#define ATTACH_OPERATOR_SIGNATURE_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/operator_schema.h"

/* How a parameter travels by the System V calling convention. */
enum parameter_passing {
	PASSING_UNKNOWN,
	PASSING_WORD,	    /* one general register: a small value, or where the value is */
	PASSING_PAIR,	    /* two, or 16 bytes of stack where two are not left */
	PASSING_FLOAT,	    /* one vector register */
	PASSING_FLOAT_WORD, /* one of each, or 16 bytes of stack */
	PASSING_STACK,	    /* 24 bytes of stack */
	/* OptionalArrayRef: PASSING_PAIR up to PyTorch 2.1, PASSING_STACK from 2.2 on */
	PASSING_OPTIONAL_LIST,
};

struct operator_parameter {
	enum operand_type type;
	enum parameter_passing passing;
};

struct operator_signature {
	size_t count;
	struct operator_parameter parameters[OPERANDS_MAX];
};

/*
 * NAME in a mangled name, not terminated: "add__Tensor". Parts that the compiler split off or
 * cloned ('.' in the name) are not the function. False: another function's name.
 */
bool operator_signature_class(const char *mangled, const char **name, size_t *length);

/*
 * A parameter of a type that is not known is OPERAND_UNKNOWN and PASSING_UNKNOWN. Returns 0, or
 * -EINVAL (not such a function, a mangling that is not understood, more than OPERANDS_MAX
 * parameters) with *out in no defined state.
 */
int operator_signature_parse(struct operator_signature *out, const char *mangled);

/* Can the schema be this function's? Types that are not known fit to all. */
bool operator_signature_fits(const struct operator_signature *signature,
			     const struct operator_schema *schema);

#endif /* ATTACH_OPERATOR_SIGNATURE_H */
