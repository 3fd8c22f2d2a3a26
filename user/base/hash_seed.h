/*
 * hash_seed.h - what the hashes of keys from outside begin with. Were it known, a job could choose
 * addresses, and the writer of a capture file names, that all fall into one place, and each look-up
 * would walk past all of them.
 */
#ifndef BASE_HASH_SEED_H
#define BASE_HASH_SEED_H

#include <stdint.h>

struct hash_seed {
	uint64_t mask;
	uint64_t factor; /* odd */
};

/* Another one each time. With SMALL_BOUNDS (bound.h) always the same, so that runs repeat. */
struct hash_seed hash_seed_make(void);

/* All bits of the key count for all bits of the result. Quick: every record asks a few times. */
static inline uint64_t hash_seeded(const struct hash_seed *seed, uint64_t key)
{
	unsigned __int128 product = (unsigned __int128)(key ^ seed->mask) * seed->factor;

	return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

#endif /* BASE_HASH_SEED_H */
