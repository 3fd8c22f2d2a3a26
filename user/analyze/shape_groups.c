/*
 * shape_groups.c - see shape_groups.h. The text is made once for each different list of shapes:
 * what is shown of it is packed into words, and the words are the key. Every call of an operator
 * comes through here, so nothing is allocated for one whose shapes have been seen.
 */
#include "analyze/shape_groups.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash_seed.h"
#include "base/hashmap.h"
#include "base/name_table.h"

#define WORDS_MAX (1 + SHAPES_ARGUMENTS_MAX * (1 + SHAPES_DIMENSIONS_MAX))
/* "[]" and ", " for each position, and numbers of up to 20 digits. */
#define TEXT_BYTES (4 * 256 + SHAPES_ARGUMENTS_MAX * (SHAPES_DIMENSIONS_MAX * 22 + 8))

struct shape_group {
	struct shape_group *next; /* of the same hash */
	const char *text;
	size_t word_count;
	uint64_t words[];
};

struct shape_groups {
	struct hashmap *by_hash;
	struct shape_group **all;
	size_t count, max;
	struct name_table *texts;
	struct hash_seed seed;
};

int shape_groups_new(struct shape_groups **out, size_t groups_max)
{
	struct shape_groups *groups = calloc(1, sizeof(*groups));
	int err;

	if (!groups)
		return -ENOMEM;
	groups->max = groups_max;
	groups->seed = hash_seed_make();
	groups->all = calloc(groups_max, sizeof(struct shape_group *));
	err = groups->all ? hashmap_new(&groups->by_hash) : -ENOMEM;
	if (!err)
		err = name_table_new(&groups->texts, groups_max);
	if (err) {
		shape_groups_free(groups);
		return err;
	}
	*out = groups;
	return 0;
}

void shape_groups_free(struct shape_groups *groups)
{
	size_t i;

	if (!groups)
		return;
	for (i = 0; i < groups->count; i++)
		free(groups->all[i]);
	free(groups->all);
	hashmap_free(groups->by_hash);
	name_table_free(groups->texts);
	free(groups);
}

static unsigned int kept(const struct wire_argument *argument)
{
	return argument->dimensions < SHAPES_DIMENSIONS_MAX ? argument->dimensions
							    : SHAPES_DIMENSIONS_MAX;
}

/* Two calls with the same words have the same text. */
static size_t pack(uint64_t *words, const struct wire_shapes *shapes)
{
	size_t count = 0;
	unsigned int i, j;

	words[count++] = shapes->argument_count;
	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		const struct wire_argument *argument = &shapes->arguments[i];
		bool is_tensor = argument->kind == ARGUMENT_TENSOR;

		words[count++] = (uint64_t)argument->position << 16 |
				 (uint64_t)argument->kind << 8 |
				 (is_tensor ? argument->dimensions : 0);
		for (j = 0; is_tensor && j < kept(argument); j++)
			words[count++] = (uint64_t)argument->sizes[j];
	}
	return count;
}

static uint64_t hash(const struct shape_groups *groups, const uint64_t *words, size_t count)
{
	uint64_t sum = count ^ groups->seed.mask;
	size_t i;

	for (i = 0; i < count; i++) {
		sum = (sum ^ words[i]) * groups->seed.factor;
		sum ^= sum >> 29;
	}
	return sum;
}

static char *put_argument(char *to, const struct wire_argument *argument)
{
	unsigned int i;

	to += sprintf(to, "[");
	if (argument->kind == ARGUMENT_UNREADABLE)
		to += sprintf(to, "?");
	for (i = 0; argument->kind == ARGUMENT_TENSOR && i < kept(argument); i++)
		to += sprintf(to, "%s%lld", i ? ", " : "", argument->sizes[i]);
	if (argument->kind == ARGUMENT_TENSOR && argument->dimensions > kept(argument))
		to += sprintf(to, ", ...");
	return to + sprintf(to, "]");
}

static const struct wire_argument *argument_at(const struct wire_shapes *shapes,
					       unsigned int position)
{
	static const struct wire_argument none = { .kind = ARGUMENT_NONE };
	unsigned int i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		if (shapes->arguments[i].position == position)
			return &shapes->arguments[i];
	}
	return &none;
}

static const char *make_text(struct shape_groups *groups, const struct wire_shapes *shapes)
{
	char text[TEXT_BYTES], *to = text;
	unsigned int count = shapes->argument_count, i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		if (shapes->arguments[i].position >= count)
			count = shapes->arguments[i].position + 1U;
	}
	to += sprintf(to, "[");
	for (i = 0; i < count; i++) {
		to += sprintf(to, "%s", i ? ", " : "");
		to = put_argument(to, argument_at(shapes, i));
	}
	to += sprintf(to, "]");
	return name_table_add(groups->texts, text, (size_t)(to - text));
}

static const char *add(struct shape_groups *groups, const struct wire_shapes *shapes,
		       const uint64_t *words, size_t word_count)
{
	uint64_t key = hash(groups, words, word_count);
	struct shape_group *group;
	void *next = NULL;

	if (groups->count == groups->max)
		return SHAPE_GROUPS_OTHER;
	group = calloc(1, sizeof(*group) + word_count * sizeof(*words));
	if (!group)
		return NULL;
	group->word_count = word_count;
	memcpy(group->words, words, word_count * sizeof(*words));
	group->text = make_text(groups, shapes);
	if (!group->text || hashmap_put(groups->by_hash, key, group, &next)) {
		free(group);
		return NULL;
	}
	group->next = next;
	groups->all[groups->count++] = group;
	return group->text;
}

const char *shape_groups_text(struct shape_groups *groups, const struct wire_shapes *shapes)
{
	static const struct wire_shapes none = { .count = 0 };
	uint64_t words[WORDS_MAX];
	const struct shape_group *group;
	size_t count;

	if (!shapes)
		shapes = &none;
	count = pack(words, shapes);
	for (group = hashmap_get(groups->by_hash, hash(groups, words, count)); group;
	     group = group->next) {
		if (group->word_count == count &&
		    !memcmp(group->words, words, count * sizeof(*words)))
			return group->text;
	}
	return add(groups, shapes, words, count);
}
