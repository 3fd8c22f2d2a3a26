/* names.c - see names.h. One private mapping, open addressing, nothing is ever removed. */
#include "agent/names.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static uint64_t hash_of(const char *text, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ULL;
	size_t i;

	/* Eight bytes at a time: names of kernels are hundreds of bytes long. */
	for (i = 0; i + 8 <= size; i += 8) {
		uint64_t word;

		memcpy(&word, text + i, 8);
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 29;
	}
	for (; i < size; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ULL;
	return hash ^ hash >> 32;
}

int names_init(struct names *names, uint32_t capacity, uint32_t arena_bytes)
{
	size_t entry_bytes = capacity * sizeof(*names->entries);
	size_t slot_bytes = 2UL * capacity * sizeof(*names->slots);
	char *memory;

	memset(names, 0, sizeof(*names));
	memory = mmap(NULL, entry_bytes + slot_bytes + arena_bytes, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return -ENOMEM;
	names->entries = (struct name_entry *)memory;
	names->slots = (uint32_t *)(memory + entry_bytes);
	names->arena = memory + entry_bytes + slot_bytes;
	names->capacity = capacity;
	names->arena_bytes = arena_bytes;
	names->mapped_bytes = entry_bytes + slot_bytes + arena_bytes;
	return 0;
}

void names_fini(struct names *names)
{
	if (names->entries)
		munmap(names->entries, names->mapped_bytes);
	memset(names, 0, sizeof(*names));
}

uint32_t names_intern(struct names *names, const char *text, size_t limit)
{
	uint32_t mask = 2 * names->capacity - 1, slot;
	struct name_entry *entry;
	uint64_t hash;
	size_t size;

	if (!text || !names->entries)
		return 0;
	size = strnlen(text, limit);
	if (!size)
		return 0;
	hash = hash_of(text, size);
	for (slot = (uint32_t)hash & mask; names->slots[slot]; slot = (slot + 1) & mask) {
		entry = &names->entries[names->slots[slot] - 1];
		if (entry->hash == hash && entry->size == size &&
		    !memcmp(names->arena + entry->offset, text, size))
			return names->slots[slot];
	}
	if (names->count == names->capacity || size > names->arena_bytes - names->used)
		return 0;
	entry = &names->entries[names->count++];
	entry->hash = hash;
	entry->offset = names->used;
	entry->size = (uint32_t)size;
	entry->said = 0;
	entry->cut = size == limit && text[limit];
	memcpy(names->arena + names->used, text, size);
	names->used += (uint32_t)size;
	names->slots[slot] = names->count;
	return names->count;
}

struct name_entry *names_entry(struct names *names, uint32_t id)
{
	return &names->entries[id - 1];
}

const char *names_text(const struct names *names, const struct name_entry *entry)
{
	return names->arena + entry->offset;
}
