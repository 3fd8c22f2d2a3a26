/* Each name once, and never more of them than allowed. */
#include "support/test.h"

#include "base/name_table.h"

#define NAMES_MAX 1000

static int setup(void **state)
{
	struct name_table *table = NULL;

	if (name_table_new(&table, NAMES_MAX))
		return -1;
	*state = table;
	return 0;
}

static int teardown(void **state)
{
	name_table_free(*state);
	return 0;
}

static const char *add(struct name_table *table, const char *name)
{
	return name_table_add(table, name, strlen(name));
}

static void equal_names_are_one_pointer(void **state)
{
	char first[] = "forward", second[] = "forward";
	const char *name = add(*state, first);

	assert_string_equal(name, "forward");
	assert_ptr_not_equal(name, first);
	assert_ptr_equal(add(*state, second), name);
	assert_ptr_not_equal(add(*state, "backward"), name);
	memset(first, 'x', sizeof(first) - 1);
	assert_string_equal(name, "forward");
}

static void a_name_ends_at_its_size_or_at_a_nul(void **state)
{
	const char *name = add(*state, "for");

	assert_ptr_equal(name_table_add(*state, "forward", 3), name);
	assert_ptr_equal(name_table_add(*state, "for\0ward", 8), name);
	assert_ptr_equal(name_table_add(*state, "for", 4), name);
}

static void the_empty_name_is_a_name(void **state)
{
	const char *name = add(*state, "");

	assert_string_equal(name, "");
	assert_ptr_equal(name_table_add(*state, "\0x", 2), name);
	assert_ptr_equal(name_table_add(*state, "x", 0), name);
}

static void names_with_one_hash_are_told_apart(void **state)
{
	/* The 64-bit FNV-1a of the two is the same. */
	static const char first[] = "8yn0iYCKYHlIj4-BwPqk", second[] = "GReLUrM4wMqfg9yzV3KQ";
	const char *one = add(*state, first), *other = add(*state, second);

	assert_ptr_not_equal(one, other);
	assert_string_equal(one, first);
	assert_string_equal(other, second);
	assert_ptr_equal(add(*state, first), one);
	assert_ptr_equal(add(*state, second), other);
}

static void names_past_the_bound_are_the_shared_one(void **state)
{
	const char *first = NULL, *name;
	char text[32];
	int i;

	for (i = 0; i < NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		name = add(*state, text);
		assert_string_equal(name, text);
		first = first ? first : name;
	}
	assert_int_equal(name_table_refused(*state), 0);
	for (i = 0; i < 10; i++) {
		snprintf(text, sizeof(text), "late %d", i);
		name = add(*state, text);
		assert_string_equal(name, NAME_TABLE_OTHER);
		assert_ptr_equal(name, add(*state, "later still"));
	}
	assert_int_equal(name_table_refused(*state), 20);
	assert_ptr_equal(add(*state, "name 0"), first);
	assert_int_equal(name_table_refused(*state), 20);
}

/* A job may name a range as the table names the rest: still equal names are equal pointers. */
static void the_shared_name_is_the_same_as_one_of_the_job(void **state)
{
	const char *of_job = add(*state, NAME_TABLE_OTHER);
	char text[32];
	int i;

	for (i = 0; i < NAMES_MAX; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		add(*state, text);
	}
	assert_ptr_equal(add(*state, "one too many"), of_job);
}

static void freeing_nothing_is_legal(void **state)
{
	(void)state;
	name_table_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(equal_names_are_one_pointer),
		TEST(a_name_ends_at_its_size_or_at_a_nul),
		TEST(the_empty_name_is_a_name),
		TEST(names_with_one_hash_are_told_apart),
		TEST(names_past_the_bound_are_the_shared_one),
		TEST(the_shared_name_is_the_same_as_one_of_the_job),
		cmocka_unit_test(freeing_nothing_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
