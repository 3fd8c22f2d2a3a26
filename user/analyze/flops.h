/*
 * flops.h - the floating point operations of a call, by the formulas of torch.profiler's
 * with_flops: a multiplication and an addition count as two, whatever the kernel really does.
 */
#ifndef ANALYZE_FLOPS_H
#define ANALYZE_FLOPS_H

#include <stdint.h>

#include "wire.h"

/* Which formula an operator has; found once per name. */
enum flops_formula {
	FLOPS_NONE,
	FLOPS_MM,    /* mm: both matrices are the first arguments */
	FLOPS_ADDMM, /* addmm: behind the one that is added */
	FLOPS_BMM,
	FLOPS_BADDBMM,
	FLOPS_CONV2D,
	FLOPS_ELEMENTS, /* add, mul: one for each element of the first argument */
};

/* name: "aten::mm". */
enum flops_formula flops_formula_of(const char *name);

/* 0: none, or the shapes do not tell; what does not fit in 64 bits is 0 as well. */
uint64_t flops_count(enum flops_formula formula, const struct wire_shapes *shapes);

#endif /* ANALYZE_FLOPS_H */
