/* The text of a group of shapes, as torch.profiler prints Input Shapes. */
#include "support/test.h"

#include "analyze/shape_groups.h"
#include "support/shapes.h"

#define GROUPS_MAX 20

static int setup(void **state)
{
	struct shape_groups *groups;
	int err = shape_groups_new(&groups, GROUPS_MAX);

	*state = groups;
	return err;
}

static int teardown(void **state)
{
	shape_groups_free(*state);
	return 0;
}

static void texts_are_those_of_torch(void **state)
{
	struct wire_shapes shapes = shapes_none(), scalar = shapes_none(), sparse = shapes_none();

	shapes_tensor(&shapes, 10);
	shapes_tensor(&shapes, 64, 512);
	shapes_tensor(&shapes, 512, 10);
	shapes_add(&shapes, ARGUMENT_NONE);
	shapes_integers(&shapes, 1, 1);
	shapes_add(&shapes, ARGUMENT_UNDEFINED);
	assert_string_equal(shape_groups_text(*state, &shapes),
			    "[[10], [64, 512], [512, 10], [], [], []]");
	shapes_add(&scalar, ARGUMENT_TENSOR); /* of no dimension */
	assert_string_equal(shape_groups_text(*state, &scalar), "[[]]");
	shapes_tensor(&sparse, 3);
	sparse.arguments[0].position = 2;
	assert_string_equal(shape_groups_text(*state, &sparse), "[[], [], [3]]");
	assert_string_equal(shape_groups_text(*state, NULL), "[]");
}

/* aten::t has one argument, aten::add three: [[3]] is not [[3], [], []]. */
static void every_argument_has_its_place(void **state)
{
	struct wire_shapes shapes = shapes_none();

	shapes_tensor(&shapes, 3);
	assert_string_equal(shape_groups_text(*state, &shapes), "[[3]]");
	shapes.argument_count = 3;
	assert_string_equal(shape_groups_text(*state, &shapes), "[[3], [], []]");
	shapes.count = 0;
	assert_string_equal(shape_groups_text(*state, &shapes), "[[], [], []]");
}

static void what_is_not_known_is_no_shape(void **state)
{
	struct wire_shapes shapes = shapes_none();

	shapes_add(&shapes, ARGUMENT_UNREADABLE);
	shapes_tensor(&shapes, 1, 2, 3, 4, 5, 6, 7, 8);
	shapes.arguments[1].dimensions = 9;
	assert_string_equal(shape_groups_text(*state, &shapes),
			    "[[?], [1, 2, 3, 4, 5, 6, 7, 8, ...]]");
}

static void equal_shapes_are_one_pointer(void **state)
{
	struct wire_shapes first = shapes_none(), second = shapes_none(), third = shapes_none();

	shapes_tensor(&first, 2, 3);
	shapes_tensor(&second, 2, 3);
	shapes_tensor(&third, 3, 2);
	second.arguments[0].strides[0] = 1; /* a transposed one has the same shape */
	second.arguments[0].type = SCALAR_LONG;
	assert_ptr_equal(shape_groups_text(*state, &first), shape_groups_text(*state, &second));
	assert_ptr_not_equal(shape_groups_text(*state, &first), shape_groups_text(*state, &third));
	second.arguments[0].sizes[5] = 77; /* left from something else: it has two dimensions */
	assert_ptr_equal(shape_groups_text(*state, &first), shape_groups_text(*state, &second));
}

static void too_many_share_a_text(void **state)
{
	int64_t i;

	for (i = 0; i < GROUPS_MAX + 5; i++) {
		struct wire_shapes shapes = shapes_none();
		const char *text;

		shapes_tensor(&shapes, i);
		text = shape_groups_text(*state, &shapes);
		assert_row(i, !strcmp(text, SHAPE_GROUPS_OTHER) == (i >= GROUPS_MAX));
	}
}

static void any_bytes_have_a_text(void **state)
{
	uint64_t random = 99;
	unsigned int i;

	for (i = 0; i < GROUPS_MAX; i++) {
		struct wire_shapes shapes;
		unsigned char *bytes = (unsigned char *)&shapes;
		size_t at;

		for (at = 0; at < sizeof(shapes); at++)
			bytes[at] = (unsigned char)random_next(&random);
		assert_row(i, shape_groups_text(*state, &shapes)[0] == '[');
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(texts_are_those_of_torch),	     TEST(every_argument_has_its_place),
		TEST(what_is_not_known_is_no_shape), TEST(equal_shapes_are_one_pointer),
		TEST(too_many_share_a_text),	     TEST(any_bytes_have_a_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
