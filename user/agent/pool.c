/* pool.c - see pool.h. */
#include "agent/pool.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

_Static_assert(POOL_BUFFERS == 32, "a bit of pool.free for each");

int pool_open(struct pool *pool)
{
	void *memory;

	if (pool->memory)
		return 0;
	memory = mmap(NULL, POOL_BUFFERS * POOL_BUFFER_BYTES, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	pool->memory = memory;
	atomic_store(&pool->free, ~0U);
	return 0;
}

void *pool_take(struct pool *pool)
{
	uint32_t free = atomic_load(&pool->free);

	while (free) {
		uint32_t lowest = free & -free;

		if (atomic_compare_exchange_weak(&pool->free, &free, free & ~lowest))
			return pool->memory + (size_t)__builtin_ctz(lowest) * POOL_BUFFER_BYTES;
	}
	return NULL;
}

bool pool_give_back(struct pool *pool, void *buffer)
{
	size_t offset = (size_t)((char *)buffer - pool->memory);
	uint32_t bit;

	if (!pool->memory || offset >= POOL_BUFFERS * POOL_BUFFER_BYTES ||
	    offset % POOL_BUFFER_BYTES)
		return false;
	bit = 1U << (offset / POOL_BUFFER_BYTES);
	return !(atomic_fetch_or(&pool->free, bit) & bit);
}

uint32_t pool_taken(const struct pool *pool)
{
	return pool->memory ? (uint32_t)__builtin_popcount(~atomic_load(&pool->free)) : 0;
}

void pool_trim(struct pool *pool)
{
	uint32_t i;

	for (i = 0; pool->memory && i < POOL_BUFFERS; i++) {
		uint32_t bit = 1U << i;

		/* Taken meanwhile, so that CUPTI cannot be given it. */
		if (!(atomic_fetch_and(&pool->free, ~bit) & bit))
			continue;
		madvise(pool->memory + i * POOL_BUFFER_BYTES, POOL_BUFFER_BYTES, MADV_DONTNEED);
		atomic_fetch_or(&pool->free, bit);
	}
}
