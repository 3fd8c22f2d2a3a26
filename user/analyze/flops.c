/*
 * flops.c - see flops.h. Sizes come from the watched job, so products are checked and a shape that
 * no such call can have counts nothing. The number of groups of a convolution is no list and does
 * not travel: it is the channels of the input over those of a kernel.
 */
#include "analyze/flops.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Of aten::conv2d(input, weight, bias, stride, padding, dilation, groups). */
#define CONV2D_STRIDE 3
#define CONV2D_PADDING 4
#define CONV2D_DILATION 5

enum flops_formula flops_formula_of(const char *name)
{
	static const struct {
		const char *name;
		enum flops_formula formula;
	} rows[] = {
		{ "aten::mm", FLOPS_MM },	  { "aten::addmm", FLOPS_ADDMM },
		{ "aten::bmm", FLOPS_BMM },	  { "aten::baddbmm", FLOPS_BADDBMM },
		{ "aten::conv2d", FLOPS_CONV2D }, { "aten::add", FLOPS_ELEMENTS },
		{ "aten::mul", FLOPS_ELEMENTS },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (!strcmp(name, rows[i].name))
			return rows[i].formula;
	}
	return FLOPS_NONE;
}

/* The argument at that position, if it is of that kind and all its sizes are there. */
static const struct wire_argument *argument_at(const struct wire_shapes *shapes,
					       unsigned int position, enum wire_argument_kind kind)
{
	unsigned int i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		const struct wire_argument *argument = &shapes->arguments[i];

		if (argument->position == position)
			return argument->kind == kind &&
					       argument->dimensions <= SHAPES_DIMENSIONS_MAX
				       ? argument
				       : NULL;
	}
	return NULL;
}

/* *product times sizes[first] ... sizes[last - 1]; false: negative or too large. */
static bool multiply(uint64_t *product, const __s64 *sizes, unsigned int first, unsigned int last)
{
	unsigned int i;

	for (i = first; i < last; i++) {
		if (sizes[i] < 0 || __builtin_mul_overflow(*product, (uint64_t)sizes[i], product))
			return false;
	}
	return true;
}

static uint64_t elements(const struct wire_shapes *shapes)
{
	const struct wire_argument *tensor = argument_at(shapes, 0, ARGUMENT_TENSOR);
	uint64_t product = 1;

	return tensor && multiply(&product, tensor->sizes, 0, tensor->dimensions) ? product : 0;
}

/* (..., k) by (k, n) takes 2 ... k n; of a batch both have the first dimension, once counted. */
static uint64_t matrices(const struct wire_shapes *shapes, unsigned int first, unsigned int batched)
{
	const struct wire_argument *left = argument_at(shapes, first, ARGUMENT_TENSOR);
	const struct wire_argument *right = argument_at(shapes, first + 1, ARGUMENT_TENSOR);
	uint64_t product = 2;

	if (!left || !right || left->dimensions <= batched || !left->sizes[left->dimensions - 1] ||
	    !multiply(&product, left->sizes, batched, left->dimensions - 1U) ||
	    !multiply(&product, right->sizes, 0, right->dimensions))
		return 0;
	return product;
}

struct convolution {
	const __s64 *stride, *padding, *dilation;
};

static const __s64 *pair_at(const struct wire_shapes *shapes, unsigned int position)
{
	const struct wire_argument *list = argument_at(shapes, position, ARGUMENT_INTEGERS);

	return list && list->dimensions == 2 ? list->sizes : NULL;
}

/* Positions of the kernel along height (0) or width (1); false: that is no convolution. */
static bool outputs(const struct convolution *convolution, __s64 input, __s64 kernel,
		    unsigned int axis, __s64 *count)
{
	__s64 padded, reach;

	if (convolution->stride[axis] <= 0 || kernel <= 0 ||
	    __builtin_mul_overflow(convolution->padding[axis], 2, &padded) ||
	    __builtin_add_overflow(padded, input, &padded) ||
	    __builtin_mul_overflow(convolution->dilation[axis], kernel - 1, &reach) ||
	    __builtin_sub_overflow(padded, reach, &padded) || padded < 1)
		return false;
	*count = (padded - 1) / convolution->stride[axis] + 1;
	return true;
}

static uint64_t conv2d(const struct wire_shapes *shapes)
{
	const struct wire_argument *input = argument_at(shapes, 0, ARGUMENT_TENSOR);
	const struct wire_argument *kernel = argument_at(shapes, 1, ARGUMENT_TENSOR);
	const struct convolution convolution = {
		.stride = pair_at(shapes, CONV2D_STRIDE),
		.padding = pair_at(shapes, CONV2D_PADDING),
		.dilation = pair_at(shapes, CONV2D_DILATION),
	};
	uint64_t product = 2;
	__s64 output[2];

	if (!convolution.stride || !convolution.padding || !convolution.dilation || !input ||
	    !kernel || input->dimensions != 4 || kernel->dimensions != 4)
		return 0;
	if (!outputs(&convolution, input->sizes[2], kernel->sizes[2], 0, &output[0]) ||
	    !outputs(&convolution, input->sizes[3], kernel->sizes[3], 1, &output[1]))
		return 0;
	/* Images, output positions, and all of the kernels. */
	if (!multiply(&product, input->sizes, 0, 1) || !multiply(&product, output, 0, 2) ||
	    !multiply(&product, kernel->sizes, 0, 4))
		return 0;
	return product;
}

uint64_t flops_count(enum flops_formula formula, const struct wire_shapes *shapes)
{
	switch (formula) {
	case FLOPS_MM:
		return matrices(shapes, 0, 0);
	case FLOPS_ADDMM:
		return matrices(shapes, 1, 0);
	case FLOPS_BMM:
		return matrices(shapes, 0, 1);
	case FLOPS_BADDBMM:
		return matrices(shapes, 1, 1);
	case FLOPS_CONV2D:
		return conv2d(shapes);
	case FLOPS_ELEMENTS:
		return elements(shapes);
	case FLOPS_NONE:
		break;
	}
	return 0;
}
