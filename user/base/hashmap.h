/* hashmap.h - 64-bit keys to pointers. The values stay the caller's. */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_seed.h"

struct hashmap;

int hashmap_new(struct hashmap **out);
/* For tests: which keys share a slot is then known. */
int hashmap_new_seeded(struct hashmap **out, const struct hash_seed *seed);
void hashmap_free(struct hashmap *map); /* NULL is legal */

/* Adds or replaces; value may not be NULL. *old, where asked for, is what stood there, or NULL. */
int hashmap_put(struct hashmap *map, uint64_t key, void *value, void **old);
void *hashmap_get(const struct hashmap *map, uint64_t key); /* NULL: not there */
void *hashmap_remove(struct hashmap *map, uint64_t key);    /* what stood there, or NULL */
void hashmap_clear(struct hashmap *map);
size_t hashmap_count(const struct hashmap *map);

#endif /* BASE_HASHMAP_H */
