/*
 * pool.h - the buffers that CUPTI fills. One mapping, made at the first session and kept: CUPTI may
 * hold a buffer for as long as it likes. Thread-safe without a lock: the job's threads ask.
 */
#ifndef AGENT_POOL_H
#define AGENT_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CUPTI wants 1 to 10 MB; since 13.0 every thread has one of its own. */
#define POOL_BUFFER_BYTES (1UL << 20)
#define POOL_BUFFERS 32

struct pool {
	char *memory;
	_Atomic uint32_t free; /* a bit for each buffer */
};

/* Idempotent. -ENOMEM. */
int pool_open(struct pool *pool);

/* NULL: all are taken. */
void *pool_take(struct pool *pool);

/* False: not one of the pool's, or not taken. */
bool pool_give_back(struct pool *pool, void *buffer);

uint32_t pool_taken(const struct pool *pool);

/* Lets go of the memory of the buffers that are not taken. */
void pool_trim(struct pool *pool);

#endif /* AGENT_POOL_H */
