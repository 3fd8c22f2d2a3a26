/*
 * cuda_calls.c - see cuda_calls.h. What an operator has, its work behind an indirect call, these do
 * not: nothing is known of what they call, so nothing but a `ret` says that it is over. All that
 * the real libraries have in front of theirs, behind the last call, is stepped as well. And a `ret`
 * is at the stack pointer of the entry, so the beginning must be too, or the two would not be told
 * to be of one call.
 */
#include "attach/cuda_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/cuda_names.h"
#include "attach/elf_symbols.h"
#include "base/log.h"

#define FUNCTION_BYTES_MAX ((uint64_t)16 << 10) /* real ones have up to 1 KB */
#define CODE_BYTES_MAX ((uint64_t)2 << 20)	/* of all; a libcudart has 270 KB of them */
#define EXITS_MAX 16				/* real ones have up to 2 */

struct search {
	const struct cuda_library *library;
	struct operator_table *table;
	struct elf_image *image;
	struct elf_symbol *symbols;
	size_t count;
	uint64_t code_left_bytes;
	size_t left_out;
};

static int collect(void *context, const struct elf_symbol *symbol)
{
	struct search *search = context;
	uint16_t callback_id;

	if (search->count == CUDA_CALLS_MAX ||
	    !cuda_names_is_shown(search->library->domain, symbol->name, &callback_id))
		return 0;
	search->symbols[search->count++] = *symbol;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct elf_symbol *left = a, *right = b;

	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return strcmp(left->name, right->name);
}

static int place_ends(const struct search *search, const struct probe_site *ends, size_t count,
		      struct operator_entry *entry)
{
	size_t i;

	if (elf_image_file_offset(search->image, ends[0].address, &entry->exit_offset))
		return -ENOENT;
	entry->exit_kind = ends[0].kind;
	entry->has_exit = true;
	if (count == 1)
		return 0;
	entry->more_exit_offsets = calloc(count - 1, sizeof(*entry->more_exit_offsets));
	if (!entry->more_exit_offsets)
		return -ENOMEM;
	entry->more_exit_count = count - 1;
	for (i = 1; i < count; i++) {
		if (elf_image_file_offset(search->image, ends[i].address,
					  &entry->more_exit_offsets[i - 1]))
			return -ENOENT;
	}
	return 0;
}

/* -ENOENT: it cannot be probed exactly. */
static int find_sites(struct search *search, const struct elf_symbol *symbol,
		      struct operator_entry *entry)
{
	const uint8_t *code = elf_image_code(search->image, symbol->address, symbol->size_bytes);
	struct probe_site begin, ends[EXITS_MAX];
	size_t count = 0;
	int err;

	if (!code || symbol->size_bytes > FUNCTION_BYTES_MAX ||
	    symbol->size_bytes > search->code_left_bytes)
		return -ENOENT;
	search->code_left_bytes -= symbol->size_bytes;
	err = probe_site_entry(code, symbol->size_bytes, symbol->address, PROBE_SITE_STACK, &begin);
	if (!err)
		err = elf_image_file_offset(search->image, begin.address, &entry->entry_offset);
	if (err)
		return err;
	entry->entry_kind = begin.kind;
	entry->has_entry = true;
	err = probe_site_returns(code, symbol->size_bytes, symbol->address, ends, EXITS_MAX,
				 &count);
	return err ? err : place_ends(search, ends, count, entry);
}

static int add_call(struct search *search, const struct elf_symbol *symbol)
{
	struct operator_entry entry = {
		.name = symbol->name,
		.domain = search->library->domain,
		.library = search->library->role,
	};
	int err = find_sites(search, symbol, &entry);

	cuda_names_is_shown(entry.domain, symbol->name, &entry.callback_id);
	if (!err)
		err = operator_table_add(search->table, &entry);
	if (err)
		free(entry.more_exit_offsets);
	if (err != -ENOENT)
		return err;
	search->left_out++;
	log_debug("%s: cannot be probed exactly", symbol->name);
	return 0;
}

static int find_calls(struct search *search)
{
	uint64_t file_bytes = elf_image_size_bytes(search->image);
	size_t i;
	int err;

	search->code_left_bytes = file_bytes < CODE_BYTES_MAX ? file_bytes : CODE_BYTES_MAX;
	search->symbols = calloc(CUDA_CALLS_MAX, sizeof(*search->symbols));
	if (!search->symbols)
		return -ENOMEM;
	err = elf_image_each_function(search->image, collect, search);
	if (search->count)
		qsort(search->symbols, search->count, sizeof(*search->symbols), compare);
	for (i = 0; i < search->count && !err; i++) {
		/* It may stand in both symbol tables, or under two names. */
		if (!i || search->symbols[i].address != search->symbols[i - 1].address)
			err = add_call(search, &search->symbols[i]);
	}
	return err;
}

int cuda_calls_add(struct operator_table *table, const struct cuda_library *library,
		   size_t *left_out)
{
	struct search search = { .library = library, .table = table };
	int err = elf_image_open(&search.image, library->fd);

	if (err)
		return err;
	err = find_calls(&search);
	free(search.symbols);
	elf_image_free(search.image);
	*left_out = search.left_out;
	return err;
}

static int on_function(void *context, const struct elf_symbol *symbol)
{
	(void)context;
	return !strcmp(symbol->name, "cudaLaunchKernel");
}

bool cuda_calls_has_runtime(int fd)
{
	struct elf_image *image;
	int found;

	if (elf_image_open(&image, fd))
		return false;
	found = elf_image_each_function(image, on_function, NULL);
	elf_image_free(image);
	return found > 0;
}
