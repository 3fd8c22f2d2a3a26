/*
 * hashmap.c - open addressing with linear probing; removal shifts the followers back, so there are
 * no tombstones and a map that is filled and emptied for hours stays as quick as a new one.
 */
#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_seed.h"

#define CAPACITY_MIN 64

struct slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct hashmap {
	struct slot *slots;
	size_t capacity; /* a power of two */
	size_t count;
	struct hash_seed seed;
};

static size_t slot_of(const struct hashmap *map, uint64_t key)
{
	return hash_seeded(&map->seed, key) & (map->capacity - 1);
}

int hashmap_new_seeded(struct hashmap **out, const struct hash_seed *seed)
{
	struct hashmap *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->seed = *seed;
	map->capacity = CAPACITY_MIN;
	map->slots = calloc(map->capacity, sizeof(*map->slots));
	if (!map->slots) {
		free(map);
		return -ENOMEM;
	}
	*out = map;
	return 0;
}

int hashmap_new(struct hashmap **out)
{
	struct hash_seed seed = hash_seed_make();

	return hashmap_new_seeded(out, &seed);
}

void hashmap_free(struct hashmap *map)
{
	if (!map)
		return;
	free(map->slots);
	free(map);
}

/* The key's slot, or the free one where it would go. */
static struct slot *find(const struct hashmap *map, uint64_t key)
{
	size_t i = slot_of(map, key);

	while (map->slots[i].value && map->slots[i].key != key)
		i = (i + 1) & (map->capacity - 1);
	return &map->slots[i];
}

static int grow(struct hashmap *map)
{
	struct hashmap bigger = *map;
	size_t i;

	bigger.capacity *= 2;
	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < map->capacity; i++) {
		if (map->slots[i].value)
			*find(&bigger, map->slots[i].key) = map->slots[i];
	}
	free(map->slots);
	*map = bigger;
	return 0;
}

int hashmap_put(struct hashmap *map, uint64_t key, void *value, void **old)
{
	struct slot *slot;

	/* Half full at most: runs of used slots stay short, and removal walks a whole run. */
	if (map->count * 2 >= map->capacity) {
		int err = grow(map);

		if (err)
			return err;
	}
	slot = find(map, key);
	if (old)
		*old = slot->value;
	map->count += !slot->value;
	slot->key = key;
	slot->value = value;
	return 0;
}

void *hashmap_get(const struct hashmap *map, uint64_t key)
{
	return find(map, key)->value;
}

void *hashmap_remove(struct hashmap *map, uint64_t key)
{
	size_t mask = map->capacity - 1;
	struct slot *slot = find(map, key);
	void *value = slot->value;
	size_t hole = (size_t)(slot - map->slots), i;

	if (!value)
		return NULL;
	for (i = (hole + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
		size_t home = slot_of(map, map->slots[i].key);

		/* Move back only what the hole would cut off from its home. */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			map->slots[hole] = map->slots[i];
			hole = i;
		}
	}
	map->slots[hole].value = NULL;
	map->count--;
	return value;
}

void hashmap_clear(struct hashmap *map)
{
	memset(map->slots, 0, map->capacity * sizeof(*map->slots));
	map->count = 0;
}

size_t hashmap_count(const struct hashmap *map)
{
	return map->count;
}
