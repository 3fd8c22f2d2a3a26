/*
 * operator_names.h - from the classes of at::_ops ("add__Tensor") to the schemas of their operators
 * ("add_.Tensor(...) -> Tensor(a!)"), by the strings in the library's read-only data.
 *
 * A class is a schema's name with '_' for '.', so it alone does not say where the overload begins.
 * Schemas stand there as strings of their own, except that a linker that merges strings keeps
 * "erf.out(..." only as the end of "special_erf.out(...". Other strings look alike: lists for the
 * JIT say "aten::mul.Tensor(...) -> (Tensor)", with other arguments or another return type.
 */
#ifndef ATTACH_OPERATOR_NAMES_H
#define ATTACH_OPERATOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct operator_names;

struct operator_name {
	const char *name; /* in a scanned string, not terminated, without a namespace */
	size_t name_length;
	const char *overload;
	size_t overload_length; /* 0: none */
	const char
		*schema; /* the scanned string from the name on; NULL: not known which is right */
};

/* For at most classes_max classes. 0 or -ENOMEM. */
int operator_names_new(struct operator_names **out, size_t classes_max);
void operator_names_free(struct operator_names *names); /* NULL is legal */

/*
 * Adds the class of at::_ops::NAME::call, before the first scan. The mangled name stays the
 * caller's and must live as long as names. 0; -EINVAL: not such a function; -EEXIST; -ENOSPC.
 */
int operator_names_add(struct operator_names *names, const char *mangled);

/*
 * Looks for schemas of the classes in these bytes, which must live as long as names. Time is linear
 * in their size. 0 or -ENOMEM.
 */
int operator_names_scan(struct operator_names *names, const uint8_t *bytes, uint64_t size_bytes);

/*
 * The best schema found for the function's class: one whose arguments are those of the mangled
 * name, a whole string before the end of another, one with an overload before one without. Where
 * as good ones differ in how the result is handed back, there is a name and no schema. -ENOENT:
 * nothing was found.
 */
int operator_names_find(const struct operator_names *names, const char *mangled,
			struct operator_name *out);

#endif /* ATTACH_OPERATOR_NAMES_H */
