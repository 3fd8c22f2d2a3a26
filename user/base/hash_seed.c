/* hash_seed.c - see hash_seed.h. */
#include "base/hash_seed.h"

#include <sys/random.h>

#include "base/bound.h"
#include "base/clock.h"

static const struct hash_seed fixed = { 0x243f6a8885a308d3ULL, 0x9e3779b97f4a7c15ULL };

struct hash_seed hash_seed_make(void)
{
	struct hash_seed seed;

	if (BOUND(0, 1))
		return fixed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed)) {
		/* Soon after the boot: the addresses of this run are not known outside either. */
		seed.mask = fixed.mask * ((uintptr_t)&seed ^ clock_monotonic_ns());
		seed.factor = fixed.factor ^ clock_monotonic_ns() << 20;
	}
	seed.factor |= 1;
	return seed;
}
