/*
 * From a library to the operators in it: symbols give the functions, read-only data their schemas,
 * code their probe sites.
 */
#include "attach/operator_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/elf_symbols.h"
#include "attach/operator_names.h"
#include "attach/operator_signature.h"
#include "base/array.h"

/*
 * The bounds on what damaged sizes can cost: real operators have up to 4 KB of code each, and 3 MB
 * together. Nor have they more than the file.
 */
#define FUNCTION_BYTES_MAX ((uint64_t)64 << 10)
#define CODE_BYTES_MAX ((uint64_t)12 << 20)

struct operator_table {
	struct operator_entry *entries;
	size_t count;
	size_t unnamed;
	size_t dropped;
};

/* What reading needs while the file is open. Symbol names are the image's. */
struct builder {
	struct elf_image *image;
	struct elf_symbol *symbols;
	size_t symbol_count;
	size_t symbol_max;
	struct operator_names *names;
	struct operator_table *table;
	uint64_t code_left_bytes;
};

static int collect(void *context, const struct elf_symbol *symbol)
{
	struct builder *builder = context;
	const char *name;
	size_t length;
	int err;

	if (!operator_signature_class(symbol->name, &name, &length))
		return 0;
	/* each operator may stand in both symbol tables */
	if (builder->symbol_count == 2 * OPERATOR_TABLE_MAX) {
		builder->table->dropped++;
		return 0;
	}
	err = ARRAY_RESERVE(builder->symbols, builder->symbol_max, builder->symbol_count + 1);
	if (err)
		return err;
	builder->symbols[builder->symbol_count++] = *symbol;
	return 0;
}

static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *left = a;
	const struct elf_symbol *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	/* the same one of several at an address whatever order they came in */
	return strcmp(left->name, right->name);
}

/* Leaves each address once, and no more than the table holds. */
static void drop_repeated(struct builder *builder)
{
	size_t kept = 0;
	size_t i;

	if (builder->symbol_count)
		qsort(builder->symbols, builder->symbol_count, sizeof(*builder->symbols),
		      by_address);
	for (i = 0; i < builder->symbol_count; i++) {
		if (kept && builder->symbols[i].address == builder->symbols[kept - 1].address)
			continue;
		if (kept == OPERATOR_TABLE_MAX)
			builder->table->dropped++;
		else
			builder->symbols[kept++] = builder->symbols[i];
	}
	builder->symbol_count = kept;
}

static int scan(void *context, const uint8_t *bytes, uint64_t size_bytes)
{
	struct builder *builder = context;

	return operator_names_scan(builder->names, bytes, size_bytes);
}

static int find_names(struct builder *builder)
{
	size_t i;
	int err;

	err = operator_names_new(&builder->names, builder->symbol_count);
	if (err)
		return err;
	for (i = 0; i < builder->symbol_count; i++) {
		/* one that is refused will have no schema */
		operator_names_add(builder->names, builder->symbols[i].name);
	}
	return elf_image_each_read_only_data(builder->image, scan, builder);
}

/* Copies length bytes and a NUL to *to, which moves on. Returns the copy. */
static char *put(char **to, const char *text, size_t length)
{
	char *copy = *to;

	memcpy(copy, text, length);
	copy[length] = '\0';
	*to += length + 1;
	return copy;
}

/* All text of an entry is one block that begins with its name. */
static int set_text(struct operator_entry *entry, const char *mangled,
		    const struct operator_name *found)
{
	static const char prefix[] = "aten::";
	const char *class_name = "";
	size_t class_length = 0;
	char *to;

	operator_signature_class(mangled, &class_name, &class_length);
	to = malloc(strlen(prefix) + found->name_length + found->overload_length + class_length +
		    strlen(mangled) + (found->schema ? strlen(found->schema) : 0) + 6);
	if (!to)
		return -ENOMEM;
	entry->name = put(&to, prefix, strlen(prefix));
	to--;
	put(&to, found->name, found->name_length);
	entry->overload = put(&to, found->overload, found->overload_length);
	entry->class_name = put(&to, class_name, class_length);
	entry->mangled = put(&to, mangled, strlen(mangled));
	if (found->schema)
		entry->schema = put(&to, found->schema, strlen(found->schema));
	return 0;
}

static int name_entry(struct builder *builder, struct operator_entry *entry, const char *mangled)
{
	struct operator_name found = { .overload = "" };

	if (operator_names_find(builder->names, mangled, &found)) {
		operator_signature_class(mangled, &found.name, &found.name_length);
		builder->table->unnamed++;
	}
	return set_text(entry, mangled, &found);
}

/*
 * With the arguments in place at any cost but that of single-stepping: they are read only with
 * shapes, while each hit counts.
 */
static int choose_entry(const struct elf_symbol *symbol, const uint8_t *code,
			struct probe_site *site, bool *has_arguments)
{
	struct probe_site later;
	int err;

	*has_arguments = true;
	err = probe_site_entry(code, symbol->size_bytes, symbol->address, PROBE_SITE_EVERYTHING,
			       site);
	if (err || site->emulated)
		return err;
	err = probe_site_entry(code, symbol->size_bytes, symbol->address, 0, &later);
	if (!err && later.emulated) {
		*has_arguments = false;
		*site = later;
	}
	return err == -ENOMEM ? err : 0;
}

static int choose_exit(const struct elf_symbol *symbol, const uint8_t *code,
		       struct probe_site *site)
{
	enum probe_site_refusal refusal;
	int err;

	err = probe_site_exit(code, symbol->size_bytes, symbol->address, site, &refusal);
	if (err == -ENOENT)
		err = probe_site_return(code, symbol->size_bytes, symbol->address, site);
	return err;
}

/* 0: one of the depths is not known, or the end is where the frame is gone already. */
static uint16_t frame_between(const struct probe_site *entry, const struct probe_site *end)
{
	int32_t bytes = end->sp_below_entry - entry->sp_below_entry;

	if (entry->sp_below_entry < 0 || end->sp_below_entry < 0 || bytes < 0)
		return 0;
	return bytes < UINT16_MAX ? (uint16_t)bytes : UINT16_MAX;
}

static int find_sites(struct builder *builder, struct operator_entry *entry,
		      const struct elf_symbol *symbol)
{
	const uint8_t *code = elf_image_code(builder->image, symbol->address, symbol->size_bytes);
	struct probe_site site = { .sp_below_entry = -1 }, end = { .sp_below_entry = -1 };
	int err;

	if (!code || symbol->size_bytes > FUNCTION_BYTES_MAX)
		return 0;
	if (symbol->size_bytes > builder->code_left_bytes) {
		builder->code_left_bytes = 0;
		return 0;
	}
	builder->code_left_bytes -= symbol->size_bytes;

	err = choose_entry(symbol, code, &site, &entry->entry_has_arguments);
	if (!err && !elf_image_file_offset(builder->image, site.address, &entry->entry_offset)) {
		entry->entry_kind = site.kind;
		entry->has_entry = true;
	}
	if (err != -ENOMEM)
		err = choose_exit(symbol, code, &end);
	if (!err && !elf_image_file_offset(builder->image, end.address, &entry->exit_offset)) {
		entry->exit_kind = end.kind;
		entry->has_exit = true;
	}
	if (entry->has_entry && entry->has_exit)
		entry->frame_bytes = frame_between(&site, &end);
	return err == -ENOMEM ? err : 0;
}

static int fill(struct builder *builder)
{
	struct operator_table *table = builder->table;
	const struct elf_symbol *symbol;
	int err;

	table->entries = calloc(builder->symbol_count + 1, sizeof(*table->entries));
	if (!table->entries)
		return -ENOMEM;
	for (; table->count < builder->symbol_count; table->count++) {
		symbol = &builder->symbols[table->count];
		err = name_entry(builder, &table->entries[table->count], symbol->name);
		if (err)
			return err;
		err = find_sites(builder, &table->entries[table->count], symbol);
		if (err) {
			table->count++;
			return err;
		}
	}
	return 0;
}

static int build(struct builder *builder)
{
	uint64_t file_bytes = elf_image_size_bytes(builder->image);
	int err;

	builder->code_left_bytes = file_bytes < CODE_BYTES_MAX ? file_bytes : CODE_BYTES_MAX;
	err = elf_image_each_function(builder->image, collect, builder);
	if (err)
		return err;
	drop_repeated(builder);
	err = find_names(builder);
	return err ? err : fill(builder);
}

int operator_table_new_empty(struct operator_table **out)
{
	*out = calloc(1, sizeof(**out));
	return *out ? 0 : -ENOMEM;
}

int operator_table_new(struct operator_table **out, int fd)
{
	struct builder builder = { 0 };
	int err = operator_table_new_empty(&builder.table);

	if (err)
		return err;
	err = elf_image_open(&builder.image, fd);
	if (!err)
		err = build(&builder);
	operator_names_free(builder.names);
	free(builder.symbols);
	elf_image_free(builder.image);
	if (err) {
		operator_table_free(builder.table);
		return err;
	}
	*out = builder.table;
	return 0;
}

void operator_table_free(struct operator_table *table)
{
	size_t i;

	if (!table)
		return;
	for (i = 0; i < table->count; i++) {
		free((void *)table->entries[i].name);
		free(table->entries[i].more_exit_offsets);
	}
	free(table->entries);
	free(table);
}

int operator_table_add(struct operator_table *table, const struct operator_entry *entry)
{
	size_t count = table->count;
	struct operator_entry *grown;
	char *name;

	if (count >= OPERATOR_TABLE_MAX)
		return -ENOSPC;
	name = strdup(entry->name);
	grown = name ? realloc(table->entries, (count + 1) * sizeof(*grown)) : NULL;
	if (!grown) {
		free(name);
		return -ENOMEM;
	}
	table->entries = grown;
	grown[count] = *entry;
	grown[count].name = grown[count].class_name = grown[count].mangled = name;
	grown[count].overload = "";
	grown[count].schema = NULL;
	table->count++;
	return 0;
}

const struct operator_entry *operator_table_entries(const struct operator_table *table,
						    size_t *count)
{
	*count = table->count;
	return table->entries;
}

size_t operator_table_unnamed(const struct operator_table *table)
{
	return table->unnamed;
}

size_t operator_table_dropped(const struct operator_table *table)
{
	return table->dropped;
}
