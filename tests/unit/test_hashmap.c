/* The hash map, with keys that are chosen to collide and against a model that is too simple to be
 * wrong. */
#include "support/test.h"

#include "base/hashmap.h"

static int setup(void **state)
{
	struct hashmap *map = NULL;

	if (hashmap_new(&map))
		return -1;
	*state = map;
	return 0;
}

static int teardown(void **state)
{
	hashmap_free(*state);
	return 0;
}

static void *value_of(uint64_t key)
{
	return (void *)(uintptr_t)(key * 2 + 1);
}

static void a_value_is_found_replaced_and_removed(void **state)
{
	struct hashmap *map = *state;
	int first, second;
	void *old = &first;

	assert_null(hashmap_get(map, 0));
	assert_int_equal(hashmap_put(map, 0, &first, &old), 0);
	assert_null(old);
	assert_ptr_equal(hashmap_get(map, 0), &first);
	assert_int_equal(hashmap_put(map, 0, &second, &old), 0);
	assert_ptr_equal(old, &first);
	assert_int_equal(hashmap_count(map), 1);
	assert_ptr_equal(hashmap_remove(map, 0), &second);
	assert_null(hashmap_remove(map, 0));
	assert_null(hashmap_get(map, 0));
	assert_int_equal(hashmap_count(map), 0);
}

static void the_extreme_keys_are_keys(void **state)
{
	struct hashmap *map = *state;

	assert_int_equal(hashmap_put(map, UINT64_MAX, value_of(1), NULL), 0);
	assert_int_equal(hashmap_put(map, 0, value_of(2), NULL), 0);
	assert_ptr_equal(hashmap_get(map, UINT64_MAX), value_of(1));
	assert_ptr_equal(hashmap_get(map, 0), value_of(2));
}

static void many_values_are_all_there(void **state)
{
	struct hashmap *map = *state;
	uint64_t key;

	for (key = 0; key < 50000; key++)
		assert_int_equal(hashmap_put(map, key * 64, value_of(key), NULL), 0);
	assert_int_equal(hashmap_count(map), 50000);
	for (key = 0; key < 50000; key++)
		assert_ptr_equal(hashmap_get(map, key * 64), value_of(key));
	assert_null(hashmap_get(map, 1));
}

/* The mixing of hashmap.c: if that changes, the keys collide less and the test still holds. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ULL;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebULL;
	return key ^ key >> 31;
}

#define COLLIDING 24

/* Keys whose homes are the last two slots of the smallest map, so that their run wraps round. */
static void colliding_keys(uint64_t keys[COLLIDING])
{
	size_t count = 0;
	uint64_t key;

	for (key = 1; count < COLLIDING; key++) {
		if ((mix(key) & 63) >= 62)
			keys[count++] = key;
	}
}

static void removal_keeps_what_collided(void **state)
{
	struct hashmap *map = *state;
	uint64_t keys[COLLIDING];
	size_t removed, i;

	colliding_keys(keys);
	for (removed = 0; removed < COLLIDING; removed++) {
		for (i = 0; i < COLLIDING; i++)
			assert_int_equal(hashmap_put(map, keys[i], value_of(keys[i]), NULL), 0);
		assert_ptr_equal(hashmap_remove(map, keys[removed]), value_of(keys[removed]));
		for (i = 0; i < COLLIDING; i++) {
			void *expected = i == removed ? NULL : value_of(keys[i]);

			assert_ptr_equal(hashmap_get(map, keys[i]), expected);
		}
	}
}

static void colliding_values_are_removed_one_by_one(void **state)
{
	struct hashmap *map = *state;
	uint64_t keys[COLLIDING];
	size_t i, left;

	colliding_keys(keys);
	for (i = 0; i < COLLIDING; i++)
		assert_int_equal(hashmap_put(map, keys[i], value_of(keys[i]), NULL), 0);
	for (i = 0; i < COLLIDING; i++) {
		assert_ptr_equal(hashmap_remove(map, keys[i]), value_of(keys[i]));
		assert_int_equal(hashmap_count(map), COLLIDING - 1 - i);
		for (left = i + 1; left < COLLIDING; left++)
			assert_ptr_equal(hashmap_get(map, keys[left]), value_of(keys[left]));
	}
}

#define MODEL_KEYS 400

static void random_use_agrees_with_a_model(void **state)
{
	struct hashmap *map = *state;
	void *model[MODEL_KEYS] = { NULL };
	size_t count = 0;
	uint64_t random = 7;
	int round;

	for (round = 0; round < 200000; round++) {
		uint64_t draw = random_next(&random);
		size_t key = (draw >> 8) % MODEL_KEYS;
		void *value = value_of(draw >> 40), *old;

		/* Fills up and empties by turns. */
		if ((draw & 7) < (round / 5000 % 2 ? 2U : 6U)) {
			assert_int_equal(hashmap_put(map, key << 4, value, &old), 0);
			assert_ptr_equal(old, model[key]);
			count += !model[key];
			model[key] = value;
		} else {
			assert_ptr_equal(hashmap_remove(map, key << 4), model[key]);
			count -= model[key] != NULL;
			model[key] = NULL;
		}
		assert_int_equal(hashmap_count(map), count);
	}
	for (round = 0; round < MODEL_KEYS; round++)
		assert_ptr_equal(hashmap_get(map, (uint64_t)round << 4), model[round]);
}

static void a_cleared_map_is_empty_and_usable(void **state)
{
	struct hashmap *map = *state;
	uint64_t key;

	for (key = 0; key < 1000; key++)
		assert_int_equal(hashmap_put(map, key, value_of(key), NULL), 0);
	hashmap_clear(map);
	assert_int_equal(hashmap_count(map), 0);
	for (key = 0; key < 1000; key++)
		assert_null(hashmap_get(map, key));
	assert_int_equal(hashmap_put(map, 5, value_of(5), NULL), 0);
	assert_ptr_equal(hashmap_get(map, 5), value_of(5));
	assert_int_equal(hashmap_count(map), 1);
}

static void freeing_nothing_is_legal(void **state)
{
	(void)state;
	hashmap_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_value_is_found_replaced_and_removed),
		TEST(the_extreme_keys_are_keys),
		TEST(many_values_are_all_there),
		TEST(removal_keeps_what_collided),
		TEST(colliding_values_are_removed_one_by_one),
		TEST(random_use_agrees_with_a_model),
		TEST(a_cleared_map_is_empty_and_usable),
		cmocka_unit_test(freeing_nothing_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
