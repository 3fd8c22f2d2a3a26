/*
 * number_log.c - see number_log.h. A row begins with a number whose bits say which of the row's
 * numbers follow; the others are zero. Numbers are written seven bits a byte, the lowest first; the
 * top bit says that another byte follows.
 *
 * Blocks are chained rather than one array grown: a grown one is up to twice as large as what it
 * holds, and three times while it is copied. A row stands in one block, so that a block that cannot
 * be had leaves no part of it.
 */
#include "base/number_log.h"

#include <errno.h>
#include <stdlib.h>

#define BLOCK_BYTES 8192
#define NUMBER_BYTES_MAX 10

struct number_block {
	struct number_block *next;
	size_t used;
	uint8_t bytes[BLOCK_BYTES - sizeof(struct number_block *) - sizeof(size_t)];
};

static bool has_room(const struct number_block *block, size_t count)
{
	return block && sizeof(block->bytes) - block->used >= (count + 1) * NUMBER_BYTES_MAX;
}

static struct number_block *append_block(struct number_log *log)
{
	struct number_block *block = malloc(sizeof(*block));

	if (!block)
		return NULL;
	block->next = NULL;
	block->used = 0;
	*(log->last ? &log->last->next : &log->first) = block;
	log->last = block;
	return block;
}

static void put(struct number_block *block, uint64_t number)
{
	while (number >= 0x80) {
		block->bytes[block->used++] = (uint8_t)(number | 0x80);
		number >>= 7;
	}
	block->bytes[block->used++] = (uint8_t)number;
}

int number_log_add(struct number_log *log, const uint64_t *row, size_t count)
{
	struct number_block *block = log->last;
	uint64_t present = 0;
	size_t i;

	if (count > NUMBER_LOG_ROW_MAX)
		return -EINVAL;
	if (!has_room(block, count))
		block = append_block(log);
	if (!block)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		present |= (uint64_t)(row[i] != 0) << i;
	put(block, present);
	for (i = 0; i < count; i++) {
		if (row[i])
			put(block, row[i]);
	}
	return 0;
}

void number_log_clear(struct number_log *log)
{
	struct number_block *block, *next;

	for (block = log->first; block; block = next) {
		next = block->next;
		free(block);
	}
	*log = (struct number_log){ 0 };
}

void number_cursor_init(struct number_cursor *cursor, const struct number_log *log)
{
	*cursor = (struct number_cursor){ .block = log->first };
}

static uint64_t take(struct number_cursor *cursor)
{
	uint64_t number = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor->block->bytes[cursor->at++];
		number |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return number;
}

bool number_cursor_next(struct number_cursor *cursor, uint64_t *row, size_t count)
{
	uint64_t present;
	size_t i;

	if (cursor->block && cursor->at == cursor->block->used)
		*cursor = (struct number_cursor){ .block = cursor->block->next };
	if (!cursor->block)
		return false;
	present = take(cursor);
	for (i = 0; i < count; i++)
		row[i] = present >> i & 1 ? take(cursor) : 0;
	return true;
}

uint64_t number_log_step(uint64_t from, uint64_t to)
{
	uint64_t difference = to - from;

	/* The sign goes into the lowest bit. */
	return difference << 1 ^ -(difference >> 63);
}

uint64_t number_log_take_step(uint64_t from, uint64_t step)
{
	return from + (step >> 1 ^ -(step & 1));
}
