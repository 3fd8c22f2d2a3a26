/*
 * operator_arguments.h - where at::_ops::NAME::call receives the arguments that --record-shapes
 * reads, by the System V calling convention.
 */
#ifndef ATTACH_OPERATOR_ARGUMENTS_H
#define ATTACH_OPERATOR_ARGUMENTS_H

#include "attach/torch_version.h"
#include "probe_config.h"

/*
 * Places of the tensors (Tensor, Tensor?) and integer lists (int[], SymInt[]) in the order of the
 * schema. The schema says what the arguments are and, by the return type, whether a hidden pointer
 * comes first; the mangled name says which C++ types carry them. An integer list's place is that of
 * its pointer, its length is in the next one: both are registers or both are stack slots. Lists of
 * tensors and optional lists have no place here.
 *
 * From an argument whose passing is not known on, and beyond SHAPES_ARGUMENTS_MAX, there are no
 * places. Returns 0, or -EINVAL with *out untouched: one of the two cannot be read, or they are
 * not of the same function. A release that is not known counts as a recent one.
 */
int operator_arguments(const char *schema, const char *mangled, torch_release release,
		       struct operator_places *out);

#endif /* ATTACH_OPERATOR_ARGUMENTS_H */
