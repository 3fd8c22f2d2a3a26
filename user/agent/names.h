/*
 * names.h - texts by number. Interned by content: CUPTI's pointers go stale when a module is
 * unloaded. Bounded in number and bytes; touched memory grows with what is kept.
 */
#ifndef AGENT_NAMES_H
#define AGENT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct name_entry {
	uint64_t hash;
	uint32_t offset; /* of the text in the arena */
	uint32_t size;
	uint64_t said; /* the owner's: when it was handed over last, 0 never */
	bool cut;      /* the text was longer than size */
};

struct names {
	struct name_entry *entries; /* entries[id - 1] */
	uint32_t *slots;	    /* ids by hash, 0 empty; twice the capacity */
	char *arena;
	uint32_t count, capacity;
	uint32_t used, arena_bytes;
	size_t mapped_bytes;
};

/* capacity: a power of two. -ENOMEM. */
int names_init(struct names *names, uint32_t capacity, uint32_t arena_bytes);
void names_fini(struct names *names);

/*
 * The id of text, of which at most limit bytes count; 0 if text is NULL or empty, or does not fit
 * any more.
 */
uint32_t names_intern(struct names *names, const char *text, size_t limit);

struct name_entry *names_entry(struct names *names, uint32_t id);
const char *names_text(const struct names *names, const struct name_entry *entry);

#endif /* AGENT_NAMES_H */
