/* name_table.c - a hash map of chains: two names with one hash stand in one chain. */
#include "base/name_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_seed.h"
#include "base/hashmap.h"

struct entry {
	struct entry *next_in_chain;
	struct entry *next; /* all of them, for free */
	char name[];
};

struct name_table {
	struct hashmap *chains;
	struct entry *all;
	size_t count, names_max;
	const char *other; /* the shared name */
	uint64_t refused;
	struct hash_seed seed;
};

int name_table_new(struct name_table **out, size_t names_max)
{
	struct name_table *table = calloc(1, sizeof(*table));
	int err;

	if (!table)
		return -ENOMEM;
	table->seed = hash_seed_make();
	err = hashmap_new(&table->chains);
	if (err) {
		free(table);
		return err;
	}
	table->names_max =
		names_max < SIZE_MAX ? names_max + 1 : SIZE_MAX; /* the shared one is not counted */
	table->other = name_table_add(table, NAME_TABLE_OTHER, sizeof(NAME_TABLE_OTHER));
	if (!table->other) {
		name_table_free(table);
		return -ENOMEM;
	}
	*out = table;
	return 0;
}

void name_table_free(struct name_table *table)
{
	struct entry *entry, *next;

	if (!table)
		return;
	for (entry = table->all; entry; entry = next) {
		next = entry->next;
		free(entry);
	}
	hashmap_free(table->chains);
	free(table);
}

static uint64_t hash_of(const struct name_table *table, const char *name, size_t size_bytes)
{
	uint64_t hash = table->seed.mask;
	size_t i;

	for (i = 0; i < size_bytes; i++)
		hash = (hash ^ (unsigned char)name[i]) * table->seed.factor;
	return hash;
}

static struct entry *entry_new(struct name_table *table, const char *name, size_t size_bytes)
{
	struct entry *entry = malloc(sizeof(*entry) + size_bytes + 1);

	if (!entry)
		return NULL;
	memcpy(entry->name, name, size_bytes);
	entry->name[size_bytes] = 0;
	entry->next = table->all;
	table->all = entry;
	table->count++;
	return entry;
}

const char *name_table_add(struct name_table *table, const char *name, size_t size_bytes)
{
	struct entry *chain, *entry;
	uint64_t hash;

	size_bytes = strnlen(name, size_bytes);
	hash = hash_of(table, name, size_bytes);
	chain = hashmap_get(table->chains, hash);
	for (entry = chain; entry; entry = entry->next_in_chain) {
		if (strlen(entry->name) == size_bytes && !memcmp(entry->name, name, size_bytes))
			return entry->name;
	}
	if (table->count >= table->names_max) {
		table->refused++;
		return table->other;
	}
	entry = entry_new(table, name, size_bytes);
	if (!entry)
		return NULL;
	entry->next_in_chain = chain;
	if (hashmap_put(table->chains, hash, entry, NULL))
		return NULL; /* unreachable by name, but freed with the rest */
	return entry->name;
}

uint64_t name_table_refused(const struct name_table *table)
{
	return table->refused;
}
