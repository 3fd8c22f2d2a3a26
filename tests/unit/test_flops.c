/*
 * FLOPs against what torch.profiler(with_flops=True, record_shapes=True) of 1.13.1, 2.4.1 and
 * 2.13.0 gives for the same calls, all three the same.
 */
#include "support/test.h"

#include "analyze/flops.h"
#include "support/shapes.h"

static uint64_t count(const char *name, const struct wire_shapes *shapes)
{
	return flops_count(flops_formula_of(name), shapes);
}

static void matrix_products_are_counted(void **state)
{
	struct wire_shapes mm = shapes_none(), addmm = shapes_none(), bmm = shapes_none();
	struct wire_shapes baddbmm = shapes_none(), empty = shapes_none();

	(void)state;
	shapes_tensor(&mm, 3, 5);
	shapes_tensor(&mm, 5, 7);
	assert_int_equal(count("aten::mm", &mm), 210);
	shapes_tensor(&addmm, 7);
	shapes_tensor(&addmm, 3, 5);
	shapes_tensor(&addmm, 5, 7);
	shapes_add(&addmm, ARGUMENT_NONE);
	shapes_add(&addmm, ARGUMENT_NONE);
	assert_int_equal(count("aten::addmm", &addmm), 210);
	shapes_tensor(&bmm, 4, 3, 5);
	shapes_tensor(&bmm, 4, 5, 7);
	assert_int_equal(count("aten::bmm", &bmm), 840);
	shapes_tensor(&baddbmm, 4, 3, 7);
	shapes_tensor(&baddbmm, 4, 3, 5);
	shapes_tensor(&baddbmm, 4, 5, 7);
	assert_int_equal(count("aten::baddbmm", &baddbmm), 840);
	shapes_tensor(&empty, 3, 0);
	shapes_tensor(&empty, 0, 7);
	assert_int_equal(count("aten::mm", &empty), 0);
}

static void sums_and_products_count_the_elements_of_the_first(void **state)
{
	struct wire_shapes add = shapes_none(), mul = shapes_none(), scalar = shapes_none();

	(void)state;
	shapes_tensor(&add, 3, 4, 5);
	shapes_tensor(&add, 5);
	assert_int_equal(count("aten::add", &add), 60);
	shapes_tensor(&mul, 6, 1);
	shapes_tensor(&mul, 1, 9);
	assert_int_equal(count("aten::mul", &mul), 6);
	shapes_add(&scalar, ARGUMENT_TENSOR);
	assert_int_equal(count("aten::add", &scalar), 1);
}

struct call {
	int64_t input[4], kernel[4], stride[2], padding[2], dilation[2];
};

static struct wire_shapes conv2d(const struct call *call)
{
	struct wire_shapes shapes = shapes_none();

	shapes_add_sizes(&shapes, ARGUMENT_TENSOR, 4, call->input);
	shapes_add_sizes(&shapes, ARGUMENT_TENSOR, 4, call->kernel);
	shapes_add(&shapes, ARGUMENT_UNDEFINED);
	shapes_add_sizes(&shapes, ARGUMENT_INTEGERS, 2, call->stride);
	shapes_add_sizes(&shapes, ARGUMENT_INTEGERS, 2, call->padding);
	shapes_add_sizes(&shapes, ARGUMENT_INTEGERS, 2, call->dilation);
	shapes_add(&shapes, ARGUMENT_NONE);
	return shapes;
}

static void convolutions_are_counted(void **state)
{
	static const struct {
		struct call call;
		uint64_t flops;
	} rows[] = {
		{ { { 2, 3, 32, 32 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 } }, 777600 },
		{ { { 2, 3, 32, 30 }, { 8, 3, 3, 5 }, { 2, 3 }, { 1, 2 }, { 1, 1 } }, 230400 },
		{ { { 1, 4, 17, 19 }, { 6, 4, 3, 3 }, { 1, 1 }, { 0, 0 }, { 2, 3 } }, 73008 },
		/* 4 and 8 groups */
		{ { { 2, 8, 16, 16 }, { 12, 2, 3, 3 }, { 1, 1 }, { 1, 1 }, { 1, 1 } }, 221184 },
		{ { { 2, 8, 16, 16 }, { 8, 1, 3, 3 }, { 2, 2 }, { 1, 1 }, { 2, 2 } }, 14112 },
	};
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		struct wire_shapes shapes = conv2d(&rows[i].call);

		assert_row(i, count("aten::conv2d", &shapes) == rows[i].flops);
	}
}

/* padding="same" and a single image: torch.profiler counts none either. */
static void convolutions_of_another_form_are_none(void **state)
{
	static const struct call call = {
		{ 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 }
	};
	struct wire_shapes same = conv2d(&call), unbatched = conv2d(&call), short_list = same;

	(void)state;
	same.arguments[4].kind = ARGUMENT_NONE;
	assert_int_equal(count("aten::conv2d", &same), 0);
	unbatched.arguments[0].dimensions = 3;
	assert_int_equal(count("aten::conv2d", &unbatched), 0);
	short_list.arguments[3].dimensions = 1;
	assert_int_equal(count("aten::conv2d", &short_list), 0);
}

static void other_operators_count_none(void **state)
{
	static const char *const names[] = { "aten::add_", "aten::matmul", "aten::mm_", "mm", "" };
	struct wire_shapes shapes = shapes_none();
	size_t i;

	(void)state;
	shapes_tensor(&shapes, 3, 5);
	shapes_tensor(&shapes, 5, 7);
	for (i = 0; i < COUNT_OF(names); i++)
		assert_row(i, count(names[i], &shapes) == 0);
}

/* Any bytes may stand where sizes are read. */
static void sizes_that_cannot_be_count_none(void **state)
{
	static const struct call calls[] = {
		{ { 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 0, 1 }, { 0, 0 }, { 1, 1 } },
		{ { 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, -1 }, { 0, 0 }, { 1, 1 } },
		{ { 2, 3, 1, 1 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
		{ { 2, 3, 16, 16 }, { 8, 3, 0, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
		{ { 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { INT64_MAX, 0 }, { 1, 1 } },
		{ { 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { INT64_MAX, 1 } },
		{ { 2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { INT64_MIN, 1 } },
		{ { -2, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
		{ { INT64_MAX, 3, 16, 16 }, { 8, 3, 3, 3 }, { 1, 1 }, { 0, 0 }, { 1, 1 } },
	};
	struct wire_shapes huge = shapes_none(), many = shapes_none();
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(calls); i++) {
		struct wire_shapes shapes = conv2d(&calls[i]);

		assert_row(i, count("aten::conv2d", &shapes) == 0);
	}
	shapes_tensor(&huge, INT64_MAX, INT64_MAX);
	shapes_tensor(&huge, INT64_MAX, 2);
	assert_int_equal(count("aten::mm", &huge), 0);
	assert_int_equal(count("aten::add", &huge), 0);
	huge.arguments[0].dimensions = 255; /* more than were kept */
	assert_int_equal(count("aten::add", &huge), 0);
	many.count = 255;
	assert_int_equal(count("aten::add", &many), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matrix_products_are_counted),
		cmocka_unit_test(sums_and_products_count_the_elements_of_the_first),
		cmocka_unit_test(convolutions_are_counted),
		cmocka_unit_test(convolutions_of_another_form_are_none),
		cmocka_unit_test(other_operators_count_none),
		cmocka_unit_test(sizes_that_cannot_be_count_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
