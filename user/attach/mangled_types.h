/* mangled_types.h - the parameter types of a C++ function, from its mangled name. */
#ifndef ATTACH_MANGLED_TYPES_H
#define ATTACH_MANGLED_TYPES_H

#include <stddef.h>

#define MANGLED_TYPES_MAX 64
#define MANGLED_TEXT_BYTES 16384

struct mangled_type {
	const char *text; /* not terminated, in the text of the struct it came in */
	size_t length;
};

/* 17 KiB: for the stack of a function that calls little. Not to be copied. */
struct mangled_types {
	size_t count;
	struct mangled_type types[MANGLED_TYPES_MAX];
	char text[MANGLED_TEXT_BYTES];
};

/*
 * Reads the types of a function in a namespace or class ("_ZN2at3addERKNS_6TensorE") as people
 * write them: "at::Tensor const&", "c10::ArrayRef<long>", "std::array<bool,3>"; without blanks
 * between brackets and behind commas. Only what the operators of PyTorch use of the mangling is
 * understood: no function types, no pointers to members, no expressions.
 * Returns 0, or -EINVAL: another mangling, or more types or text than the bounds.
 */
int mangled_types_read(struct mangled_types *out, const char *mangled);

#endif /* ATTACH_MANGLED_TYPES_H */
