/*
 * Collects, for each class, the strings that may be its schema, and then judges them.
 *
 * Invariant: a string is looked at once and each of its bytes a fixed number of times, whatever
 * the file holds, and what is kept of it is bounded per class.
 */
#include "attach/operator_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/operator_schema.h"
#include "attach/operator_signature.h"
#include "base/array.h"

#define ARROW ") -> "
#define NAMESPACE "aten::"
#define SCHEMA_BYTES 4096
#define NAME_BYTES 256
#define CANDIDATES_MAX 32 /* of one class and one origin */
#define PROBES_MAX 64	  /* classes that hash alike, before a name counts as not there */
#define NONE UINT32_MAX

/* The hash of a name is built from its end on, so that all of its ends have theirs on the way. */
#define HASH_FACTOR 1099511628211ULL

enum origin {
	ORIGIN_WHOLE,	/* a string of its own */
	ORIGIN_LITERAL, /* behind "aten::" */
	ORIGIN_TAIL,	/* the end of a longer name */
	ORIGIN_CNT,
};

struct candidate {
	const char *text;
	uint32_t next; /* of the same class, in the order of the scan */
	enum origin origin;
};

struct class
{
	const char *mangled;
	const char *name;
	size_t length;
	uint64_t hash;
	uint32_t first, last;
	uint8_t candidate_count[ORIGIN_CNT];
};

struct operator_names {
	struct class *classes;
	size_t class_count;
	size_t class_max;
	uint32_t *slots;   /* open addressing: class or NONE */
	size_t slot_count; /* a power of two, at least four times class_max */
	struct candidate *candidates;
	size_t candidate_count;
	size_t candidate_max;
};

/* In front of what has been hashed so far; factor starts as 1. */
static void hash_before(uint64_t *hash, uint64_t *factor, char c)
{
	*hash += ((uint64_t)(unsigned char)(c == '.' ? '_' : c) + 1) * *factor;
	*factor *= HASH_FACTOR;
}

static size_t slot_of(const struct operator_names *names, uint64_t hash)
{
	return (size_t)(hash ^ hash >> 29) & (names->slot_count - 1);
}

int operator_names_new(struct operator_names **out, size_t classes_max)
{
	struct operator_names *names;
	size_t i;

	names = calloc(1, sizeof(*names));
	if (!names)
		return -ENOMEM;
	names->class_max = classes_max;
	names->slot_count = 16;
	while (names->slot_count < 4 * classes_max)
		names->slot_count *= 2;
	names->classes = calloc(classes_max + 1, sizeof(*names->classes));
	names->slots = malloc(names->slot_count * sizeof(*names->slots));
	if (!names->classes || !names->slots) {
		operator_names_free(names);
		return -ENOMEM;
	}
	for (i = 0; i < names->slot_count; i++)
		names->slots[i] = NONE;
	*out = names;
	return 0;
}

void operator_names_free(struct operator_names *names)
{
	if (!names)
		return;
	free(names->classes);
	free(names->slots);
	free(names->candidates);
	free(names);
}

static bool is_class(const struct class *class, uint64_t hash, const char *name, size_t length)
{
	size_t i;

	if (class->hash != hash || class->length != length)
		return false;
	for (i = 0; i < length; i++) {
		if (class->name[i] != (name[i] == '.' ? '_' : name[i]))
			return false;
	}
	return true;
}

/*
 * The class of a name, or NULL; *slot is where it stands or would stand, or NONE where too many
 * others stand before it.
 */
static struct class *find_class(const struct operator_names *names, uint64_t hash, const char *name,
				size_t length, size_t *slot)
{
	struct class *class;
	size_t i;

	for (i = 0; i < PROBES_MAX; i++) {
		*slot = (slot_of(names, hash) + i) & (names->slot_count - 1);
		if (names->slots[*slot] == NONE)
			return NULL;
		class = &names->classes[names->slots[*slot]];
		if (is_class(class, hash, name, length))
			return class;
	}
	*slot = NONE;
	return NULL;
}

static uint64_t hash_of(const char *name, size_t length)
{
	uint64_t hash = 0;
	uint64_t factor = 1;

	while (length)
		hash_before(&hash, &factor, name[--length]);
	return hash;
}

int operator_names_add(struct operator_names *names, const char *mangled)
{
	struct class class = { .mangled = mangled, .first = NONE, .last = NONE };
	size_t slot;

	if (!operator_signature_class(mangled, &class.name, &class.length) ||
	    class.length > NAME_BYTES)
		return -EINVAL;
	class.hash = hash_of(class.name, class.length);
	if (find_class(names, class.hash, class.name, class.length, &slot))
		return -EEXIST;
	if (slot == NONE || names->class_count == names->class_max)
		return -ENOSPC;
	names->slots[slot] = (uint32_t)names->class_count;
	names->classes[names->class_count++] = class;
	return 0;
}

static int add_candidate(struct operator_names *names, struct class *class, const char *text,
			 enum origin origin)
{
	uint32_t index = (uint32_t)names->candidate_count;
	int err;

	if (class->candidate_count[origin] == CANDIDATES_MAX)
		return 0;
	err = ARRAY_RESERVE(names->candidates, names->candidate_max, names->candidate_count + 1);
	if (err)
		return err;
	names->candidates[names->candidate_count++] =
		(struct candidate){ .text = text, .next = NONE, .origin = origin };
	if (class->last == NONE)
		class->first = index;
	else
		names->candidates[class->last].next = index;
	class->last = index;
	class->candidate_count[origin]++;
	return 0;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_byte(char c)
{
	return is_letter(c) || (c >= '0' && c <= '9') || c == '.';
}

static bool is_text(const char *text)
{
	for (; *text; text++) {
		if (*text < 0x20 || *text > 0x7e)
			return false;
	}
	return true;
}

static enum origin origin_of(const char *string, const char *name)
{
	if (name == string)
		return ORIGIN_WHOLE;
	if ((size_t)(name - string) == strlen(NAMESPACE) &&
	    !memcmp(string, NAMESPACE, strlen(NAMESPACE)))
		return ORIGIN_LITERAL;
	return ORIGIN_TAIL;
}

/* A terminated string with an arrow in it: each end of what stands before its '(' may be a name. */
static int note_string(struct operator_names *names, const char *string)
{
	const char *end = strchr(string, '(');
	const char *name = end;
	uint64_t hash = 0;
	uint64_t factor = 1;
	struct class *class;
	size_t slot;
	int err;

	if (!end || !is_text(string))
		return 0;
	while (name > string && is_name_byte(name[-1]) && end - name < NAME_BYTES) {
		name--;
		hash_before(&hash, &factor, *name);
		if (!is_letter(*name))
			continue;
		class = find_class(names, hash, name, (size_t)(end - name), &slot);
		if (!class)
			continue;
		err = add_candidate(names, class, name, origin_of(string, name));
		if (err)
			return err;
	}
	return 0;
}

/*
 * Start of the string that a byte of the block is in, no further back than from, where a string
 * starts too, nor than a schema is long.
 */
static const char *string_start(const char *from, const char *byte)
{
	const char *nul;

	if (byte - from > SCHEMA_BYTES)
		from = byte - SCHEMA_BYTES;
	nul = memrchr(from, '\0', (size_t)(byte - from));
	return nul ? nul + 1 : from;
}

int operator_names_scan(struct operator_names *names, const uint8_t *bytes, uint64_t size_bytes)
{
	const char *at = (const char *)bytes;
	const char *end = at + size_bytes;
	const char *arrow, *string, *nul;
	int err;

	while ((arrow = memmem(at, (size_t)(end - at), ARROW, strlen(ARROW)))) {
		string = string_start(at, arrow);
		nul = memchr(arrow, '\0', (size_t)(end - arrow));
		if (!nul)
			return 0;
		if (nul - string < SCHEMA_BYTES) {
			err = note_string(names, string);
			if (err)
				return err;
		}
		at = nul + 1;
	}
	return 0;
}

/* One candidate, judged. */
struct verdict {
	unsigned int score;
	enum operator_return returns;
};

/* Does the text stand behind "aten::" too? Then it is this class's own, not another's. */
static bool is_confirmed(const struct operator_names *names, const struct class *class,
			 const char *text)
{
	const struct candidate *candidate;
	uint32_t i;

	for (i = class->first; i != NONE; i = candidate->next) {
		candidate = &names->candidates[i];
		if (candidate->origin == ORIGIN_LITERAL && !strcmp(candidate->text, text))
			return true;
	}
	return false;
}

static bool has_overload(const char *text)
{
	return text[strcspn(text, ".(")] == '.';
}

static struct verdict judge(const struct operator_names *names, const struct class *class,
			    const struct operator_signature *signature,
			    const struct candidate *candidate)
{
	struct verdict verdict = { 0, OPERATOR_RETURN_UNKNOWN };
	struct operator_schema schema;

	if (!operator_schema_parse(&schema, candidate->text) &&
	    (!signature || operator_signature_fits(signature, &schema))) {
		verdict.score = 16;
		verdict.returns = schema.returns;
	}
	if (candidate->origin == ORIGIN_WHOLE)
		verdict.score += 8;
	if (has_overload(candidate->text))
		verdict.score += 4;
	if (is_confirmed(names, class, candidate->text))
		verdict.score += 2;
	if (candidate->origin == ORIGIN_TAIL)
		verdict.score += 1;
	return verdict;
}

static const char *choose(const struct operator_names *names, const struct class *class,
			  const struct operator_signature *signature, bool *is_certain)
{
	struct verdict best = { 0, OPERATOR_RETURN_UNKNOWN };
	const struct candidate *candidate;
	const char *text = NULL;
	struct verdict verdict;
	uint32_t i;

	*is_certain = false;
	for (i = class->first; i != NONE; i = candidate->next) {
		candidate = &names->candidates[i];
		verdict = judge(names, class, signature, candidate);
		if (text && verdict.score == best.score && verdict.returns != best.returns)
			*is_certain = false;
		if (text && verdict.score <= best.score)
			continue;
		text = candidate->text;
		best = verdict;
		*is_certain = verdict.score >= 16;
	}
	return text;
}

int operator_names_find(const struct operator_names *names, const char *mangled,
			struct operator_name *out)
{
	struct operator_signature signature;
	const struct class *class;
	const char *name, *text;
	bool is_certain, is_read;
	size_t length, slot;

	if (!operator_signature_class(mangled, &name, &length) || length > NAME_BYTES)
		return -ENOENT;
	class = find_class(names, hash_of(name, length), name, length, &slot);
	if (!class)
		return -ENOENT;
	is_read = !operator_signature_parse(&signature, mangled);
	text = choose(names, class, is_read ? &signature : NULL, &is_certain);
	if (!text)
		return -ENOENT;
	out->name = text;
	out->name_length = strcspn(text, ".(");
	out->overload = text + out->name_length;
	out->overload_length = 0;
	if (*out->overload == '.') {
		out->overload++;
		out->overload_length = strcspn(out->overload, "(");
	}
	out->schema = is_certain ? text : NULL;
	return 0;
}
