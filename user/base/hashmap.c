/*
 * hashmap.c - open addressing with linear probing; removal shifts the followers back, so there are
 * no tombstones and a map that is filled and emptied for hours stays as quick as a new one.
 */
#include "base/hashmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 64

struct slot {
	uint64_t key;
	void *value; /* NULL: free */
};

struct hashmap {
	struct slot *slots;
	size_t capacity; /* a power of two */
	size_t count;
};

/* The finalizer of splitmix64: keys are addresses and thread ids, whose low bits alone are poor. */
static size_t slot_of(const struct hashmap *map, uint64_t key)
{
	key ^= key >> 30;
	key *= 0xbf58476d1ce4e5b9ULL;
	key ^= key >> 27;
	key *= 0x94d049bb133111ebULL;
	key ^= key >> 31;
	return key & (map->capacity - 1);
}

int hashmap_new(struct hashmap **out)
{
	struct hashmap *map = calloc(1, sizeof(*map));

	if (!map)
		return -ENOMEM;
	map->capacity = CAPACITY_MIN;
	map->slots = calloc(map->capacity, sizeof(*map->slots));
	if (!map->slots) {
		free(map);
		return -ENOMEM;
	}
	*out = map;
	return 0;
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
	struct hashmap bigger = { .capacity = map->capacity * 2, .count = map->count };
	size_t i;

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

	if (map->count * 4 >= map->capacity * 3) {
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
