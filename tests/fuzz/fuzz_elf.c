/*
 * The target's own file, which may be malicious: symbols, operators, schemas, probe plan and probe
 * sites are read from it. An input that begins as an ELF file is one. Any other is a list of
 * instructions of which a library is built, so that code, names and schemas change without the
 * tables around them falling apart:
 *
 *   'C' length16 bytes                          code
 *   'O' table length8 name at16 size16          an operator's function: add__TensorRKNS_6TensorES4_
 *   'R' row length8 suffix at16 size16          a function of the catalogue
 *   'N' table length8 name at16 size16          any function
 *   'D' length8 text                            a string of the read-only data
 *   'P' at16 byte                               overwrites a byte of the finished file
 *
 * libelf is made to read from a block of just the file's size instead of from the mapping, so that
 * reading past its end is seen: linked with --wrap=elf_begin.
 */
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "attach/elf_symbols.h"
#include "attach/operator_arguments.h"
#include "attach/operator_schema.h"
#include "attach/operator_table.h"
#include "attach/probe_plan.h"
#include "attach/probe_site.h"
#include "attach/torch_catalog.h"
#include "fuzz/fuzz.h"
#include "ingest/decode.h"
#include "model/sink.h"
#include "support/operator_library.h"

Elf *__wrap_elf_begin(int fd, Elf_Cmd command, Elf *reference);

/* Blocks that libelf reads from, until the input is done with. */
static void *blocks[64];
static size_t block_count;

Elf *__wrap_elf_begin(int fd, Elf_Cmd command, Elf *reference)
{
	struct stat stat_buffer;
	char *bytes;

	FUZZ_CHECK(command == ELF_C_READ_MMAP && !reference);
	FUZZ_CHECK(!fstat(fd, &stat_buffer) && block_count < sizeof(blocks) / sizeof(blocks[0]));
	bytes = malloc((size_t)stat_buffer.st_size);
	FUZZ_CHECK(bytes &&
		   pread(fd, bytes, (size_t)stat_buffer.st_size, 0) == stat_buffer.st_size);
	blocks[block_count++] = bytes;
	return elf_memory(bytes, (size_t)stat_buffer.st_size);
}

static void free_blocks(void)
{
	while (block_count)
		free(blocks[--block_count]);
}

static uint64_t code_address(const struct fuzz_input *at)
{
	return LIBRARY_BASE + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + at->left_bytes;
}

/* Name in the input, place and size behind it. */
static void add_function(struct operator_library *library, struct fuzz_input *input,
			 const char *before, bool with_length, bool is_dynamic)
{
	struct fuzz_input part = fuzz_part(input, fuzz_u8(input));
	char *text = fuzz_text(&part), name[1024];
	/* of the class of an operator: what stands before the parameters */
	size_t length = strcspn(text, "E");
	struct fuzz_input at = { NULL, fuzz_u16(input) };
	uint16_t size_bytes = fuzz_u16(input);

	if (with_length)
		snprintf(name, sizeof(name), "%s%zu%.*s4call%s", before, length, (int)length, text,
			 text + length);
	else
		snprintf(name, sizeof(name), "%s%s", before, text);
	operator_library_symbol(library, is_dynamic ? &library->dynsym : &library->symtab, name,
				code_address(&at), size_bytes);
	free(text);
}

static const char *catalog_prefix(uint8_t index)
{
	size_t count;
	const struct catalog_row *rows = torch_catalog(&count);
	const struct catalog_row *row = &rows[index % count];

	return row->prefixes[1] && index & 0x80 ? row->prefixes[1] : row->prefixes[0];
}

struct overwrites {
	uint32_t count;
	struct {
		uint16_t at;
		uint8_t byte;
	} list[64];
};

static void add_part(struct operator_library *library, struct fuzz_input *input,
		     struct overwrites *overwrites)
{
	struct fuzz_input part;
	uint8_t index;
	char *text;

	switch (fuzz_u8(input)) {
	case 'C':
		part = fuzz_part(input, fuzz_u16(input));
		library_append(&library->code, part.at, part.left_bytes);
		break;
	case 'O':
		add_function(library, input, "_ZN2at4_ops", true, fuzz_u8(input) & 1);
		break;
	case 'R':
		index = fuzz_u8(input);
		add_function(library, input, catalog_prefix(index), false, index & 0x40);
		break;
	case 'N':
		add_function(library, input, "", false, fuzz_u8(input) & 1);
		break;
	case 'D':
		part = fuzz_part(input, fuzz_u8(input));
		text = fuzz_text(&part);
		operator_library_string(library, text);
		free(text);
		break;
	case 'P':
		overwrites->list[overwrites->count % 64].at = fuzz_u16(input);
		overwrites->list[overwrites->count++ % 64].byte = fuzz_u8(input);
		break;
	default:
		break;
	}
}

static struct library_bytes build(struct fuzz_input *input)
{
	struct overwrites overwrites = { 0 };
	struct operator_library library;
	struct library_bytes file;
	uint32_t i;

	operator_library_init(&library);
	while (input->left_bytes)
		add_part(&library, input, &overwrites);
	file = operator_library_bytes(&library);
	operator_library_fini(&library);
	for (i = 0; i < overwrites.count && i < 64; i++) {
		if (overwrites.list[i].at < file.size)
			file.bytes[overwrites.list[i].at] = overwrites.list[i].byte;
	}
	return file;
}

struct walk {
	struct elf_image *image;
	uint64_t size_bytes;
	unsigned int functions;
};

static bool may_follow(void *context, uint64_t target)
{
	(void)context;
	return target & 1;
}

static void check_site(const struct walk *walk, const struct elf_symbol *symbol,
		       const struct probe_site *site)
{
	uint64_t offset;

	FUZZ_CHECK(site->address >= symbol->address &&
		   site->address - symbol->address < symbol->size_bytes);
	FUZZ_CHECK((unsigned int)site->kind < PROBE_SITE_KIND_CNT && site->sp_below_entry >= -1);
	FUZZ_CHECK(!elf_image_file_offset(walk->image, site->address, &offset));
	FUZZ_CHECK(offset < walk->size_bytes);
}

/* Every way to choose a site, of the first functions. */
static int on_function(void *context, const struct elf_symbol *symbol)
{
	const struct probe_site_calls calls = { may_follow, NULL };
	struct walk *walk = context;
	const uint8_t *code = elf_image_code(walk->image, symbol->address, symbol->size_bytes);
	enum probe_site_refusal refusal;
	struct probe_site site, ends[4];
	size_t count;

	FUZZ_CHECK(strlen(symbol->name) < walk->size_bytes);
	if (!code || symbol->size_bytes > 4096 || walk->functions++ >= 8)
		return 0;
	if (!probe_site_entry(code, symbol->size_bytes, symbol->address, PROBE_SITE_STACK, &site))
		check_site(walk, symbol, &site);
	if (!probe_site_exit_allowing(code, symbol->size_bytes, symbol->address, &calls, &site,
				      &refusal))
		check_site(walk, symbol, &site);
	if (!probe_site_return(code, symbol->size_bytes, symbol->address, &site))
		check_site(walk, symbol, &site);
	if (probe_site_returns(code, symbol->size_bytes, symbol->address, ends, 4, &count))
		return 0;
	FUZZ_CHECK(count && count <= 4);
	while (count--)
		check_site(walk, symbol, &ends[count]);
	return 0;
}

static void walk_image(int fd, uint64_t size_bytes)
{
	struct walk walk = { .size_bytes = size_bytes };

	if (elf_image_open(&walk.image, fd))
		return;
	elf_image_each_function(walk.image, on_function, &walk);
	elf_image_free(walk.image);
}

static void check_operators(int fd, uint64_t size_bytes, torch_release release)
{
	const struct operator_entry *entries;
	struct operator_table *table;
	struct operator_places places;
	size_t count, i, j;

	if (operator_table_new(&table, fd))
		return;
	entries = operator_table_entries(table, &count);
	for (i = 0; i < count; i++) {
		const struct operator_entry *entry = &entries[i];

		FUZZ_CHECK(strlen(entry->name) > strlen("aten::") && entry->overload);
		FUZZ_CHECK(!entry->has_entry || entry->entry_offset < size_bytes);
		FUZZ_CHECK(!entry->has_exit || entry->exit_offset < size_bytes);
		if (!entry->schema ||
		    operator_arguments(entry->schema, entry->mangled, release, &places))
			continue;
		FUZZ_CHECK(places.count <= SHAPES_ARGUMENTS_MAX);
		for (j = 0; j < places.count; j++)
			FUZZ_CHECK(places.places[j].position < OPERANDS_MAX);
	}
	operator_table_free(table);
}

static int on_event(struct event_sink *sink, const struct event *event)
{
	(void)sink;
	(void)event;
	return 0;
}

/* What would be probed. The records that say so must be good ones, whatever the file is. */
static void plan(int fd, torch_release release, bool by_operator)
{
	struct target target = { .release = release };
	struct event_sink sink = { .event = on_event };
	const struct step_spec by_range = { .mode = STEP_AUTO, .pattern_is_prefix = true };
	const struct step_spec by_call = { .mode = STEP_ENTRY,
					   .symbol = "_ZN2at4_ops",
					   .symbol_is_prefix = true,
					   .text = "op:any" };
	const struct step_spec *step = by_operator ? &by_call : &by_range;
	struct probe_config config;
	struct probe_plan probe_plan;
	struct decoder *decoder;
	unsigned int role;

	for (role = 0; role < LIBRARY_CNT; role++)
		target.libraries[role].fd = role == LIBRARY_NAMED ? -1 : fd;
	memset(&config, 0, sizeof(config));
	if (!probe_plan_make(&probe_plan, &target, step,
			     ACTIVITY_RANGES | ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD |
				     ACTIVITY_MEMORY | ACTIVITY_CUDA_CALLS)) {
		FUZZ_CHECK(!decoder_new(&decoder, &sink));
		FUZZ_CHECK(!probe_plan_emit(&probe_plan, 1, decoder_sink(decoder)));
		FUZZ_CHECK(!decoder_rejected(decoder) && !decoder_unknown_kinds(decoder));
		decoder_free(decoder);
		probe_plan_configure(&probe_plan, step, &config);
	}
	probe_plan_free(&probe_plan);
}

/* One file without a name, written anew for each input. */
static int file_with(const uint8_t *bytes, size_t size_bytes)
{
	static int fd = -1;

	if (fd < 0)
		fd = memfd_create("fuzz", MFD_CLOEXEC);
	FUZZ_CHECK(fd >= 0 && !ftruncate(fd, 0));
	FUZZ_CHECK(pwrite(fd, bytes, size_bytes, 0) == (ssize_t)size_bytes);
	return fd;
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	static const torch_release releases[] = { 0, TORCH_RELEASE(1, 13), TORCH_RELEASE(2, 4),
						  TORCH_RELEASE(2, 13) };
	struct fuzz_input input = { bytes, size_bytes };
	struct library_bytes built = { 0 };
	torch_release release = releases[size_bytes % 4];
	bool by_operator = size_bytes & 4;
	uint8_t options;
	int fd;

	if (size_bytes < SELFMAG || memcmp(bytes, ELFMAG, SELFMAG) != 0) {
		options = fuzz_u8(&input);
		release = releases[options % 4];
		by_operator = options & 4;
		built = build(&input);
		bytes = built.bytes;
		size_bytes = built.size;
	}
	fd = file_with(bytes, size_bytes);
	walk_image(fd, size_bytes);
	check_operators(fd, size_bytes, release);
	plan(fd, release, by_operator);
	free_blocks();
	free(built.bytes);
}
