/* The hash map, with keys that are chosen to collide and against a model that is too simple to be
 * wrong. */
#include "support/test.h"

#include <time.h>

#include "base/hashmap.h"

static int setup(void **state)
{
	/* Then a key's slot is that of its lowest bits. */
	static const struct hash_seed seed = { 0, 1 };
	struct hashmap *map = NULL;

	if (hashmap_new_seeded(&map, &seed))
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
	struct hashmap *map;
	uint64_t key;

	(void)state;
	assert_int_equal(hashmap_new(&map), 0);
	for (key = 0; key < 50000; key++)
		assert_int_equal(hashmap_put(map, key * 64, value_of(key), NULL), 0);
	assert_int_equal(hashmap_count(map), 50000);
	for (key = 0; key < 50000; key++)
		assert_ptr_equal(hashmap_get(map, key * 64), value_of(key));
	assert_null(hashmap_get(map, 1));
	hashmap_free(map);
}

#define COLLIDING 24

/* Keys whose homes are the last two slots of the smallest map, so that their run wraps round. */
static void colliding_keys(uint64_t keys[COLLIDING])
{
	size_t count = 0;
	uint64_t key;

	for (key = 1; count < COLLIDING; key++) {
		if ((key & 63) >= 62)
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

static clock_t time_of(uint64_t (*key_of)(uint64_t index))
{
	struct hashmap *map;
	clock_t start = clock();
	uint64_t i;

	assert_int_equal(hashmap_new(&map), 0);
	for (i = 1; i <= 40000; i++)
		assert_int_equal(hashmap_put(map, key_of(i), &map, NULL), 0);
	hashmap_free(map);
	return clock() - start;
}

static uint64_t an_address(uint64_t index)
{
	return 0x7f0000000000 + index * 64;
}

static uint64_t high_bits(uint64_t index)
{
	return index << 40;
}

/* Without a seed the map once folded a key in two, multiplied it by the golden ratio and folded it
 * again: from there backward. */
static uint64_t unmixed(uint64_t index)
{
	uint64_t inverse = 1, key = index << 32;
	int i;

	for (i = 0; i < 6; i++) /* of the factor, modulo 2^64: each round doubles the right bits */
		inverse *= 2 - 0x9e3779b97f4a7c15ULL * inverse;
	key = (key ^ key >> 32) * inverse;
	return key ^ key >> 32;
}

/* Each of them would walk past all before it. */
static void keys_cannot_be_made_to_collide(void **state)
{
	clock_t honest = time_of(an_address) + 1000;

	(void)state;
	assert_true(time_of(high_bits) < 20 * honest);
	assert_true(time_of(unmixed) < 20 * honest);
}

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
		cmocka_unit_test(many_values_are_all_there),
		TEST(removal_keeps_what_collided),
		TEST(colliding_values_are_removed_one_by_one),
		TEST(random_use_agrees_with_a_model),
		TEST(a_cleared_map_is_empty_and_usable),
		cmocka_unit_test(keys_cannot_be_made_to_collide),
		cmocka_unit_test(freeing_nothing_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
