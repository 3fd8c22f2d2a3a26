/* spool.c - see spool.h. A list of blocks: filled at the last one, emptied at the first. */
#include "ingest/spool.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)1 << 20)
#define ALIGN_BYTES ((size_t)8)

struct block {
	struct block *next;
	size_t first, end;
	char bytes[];
};

struct spool {
	struct block *first, *last;
	struct block *unused; /* one at most, so that a busy spool does not go to the allocator */
	size_t bytes, bytes_max;
};

int spool_new(struct spool **out, size_t bytes_max)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	if (!spool)
		return -ENOMEM;
	spool->bytes_max = bytes_max;
	*out = spool;
	return 0;
}

void spool_free(struct spool *spool)
{
	struct block *block, *next;

	if (!spool)
		return;
	for (block = spool->first; block; block = next) {
		next = block->next;
		free(block);
	}
	free(spool->unused);
	free(spool);
}

static size_t padded(size_t size_bytes)
{
	return (size_bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

static int add_block(struct spool *spool)
{
	struct block *block = spool->unused;

	spool->unused = NULL;
	if (!block)
		block = malloc(sizeof(*block) + BLOCK_BYTES);
	if (!block)
		return -ENOMEM;
	block->next = NULL;
	block->first = block->end = 0;
	if (spool->last)
		spool->last->next = block;
	else
		spool->first = block;
	spool->last = block;
	return 0;
}

int spool_add(struct spool *spool, const void *bytes, size_t size_bytes)
{
	size_t needed = sizeof(uint64_t) + padded(size_bytes);
	uint64_t size = size_bytes;
	struct block *block;
	int err;

	if (size_bytes > BLOCK_BYTES / 2)
		return -EINVAL;
	if (needed > spool->bytes_max - spool->bytes)
		return -ENOSPC;
	if (!spool->last || BLOCK_BYTES - spool->last->end < needed) {
		err = add_block(spool);
		if (err)
			return err;
	}
	block = spool->last;
	memcpy(block->bytes + block->end, &size, sizeof(size));
	memcpy(block->bytes + block->end + sizeof(size), bytes, size_bytes);
	block->end += needed;
	spool->bytes += needed;
	return 0;
}

static void drop_first(struct spool *spool)
{
	struct block *block = spool->first;

	spool->first = block->next;
	if (!spool->first)
		spool->last = NULL;
	if (spool->unused)
		free(block);
	else
		spool->unused = block;
}

bool spool_take(struct spool *spool, const void **bytes, size_t *size_bytes)
{
	struct block *block = spool->first;
	uint64_t size;

	/* The block of the record that was taken last is given up only now: it was lent out. */
	if (block && block->first == block->end) {
		drop_first(spool);
		block = spool->first;
	}
	if (!block)
		return false;
	memcpy(&size, block->bytes + block->first, sizeof(size));
	*bytes = block->bytes + block->first + sizeof(size);
	*size_bytes = (size_t)size;
	block->first += sizeof(size) + padded(*size_bytes);
	spool->bytes -= sizeof(size) + padded(*size_bytes);
	return true;
}

size_t spool_bytes(const struct spool *spool)
{
	return spool->bytes;
}
