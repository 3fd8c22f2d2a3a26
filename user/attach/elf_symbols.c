/*
 * First step of attaching: from a file that the target has mapped to functions and their bytes.
 * libelf takes the headers apart; what it hands out is used only after it was checked against the
 * file's size, because the file belongs to the job and may be damaged on purpose.
 *
 * Invariant: a struct elf_image holds only segments that lie inside the file, so an address that
 * passes segment_of() can be read without further checks.
 */
#include "attach/elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>

/* Linkers write one executable segment, or a few; a file with more is odd, the rest is ignored. */
#define SEGMENT_CNT_MAX 64

struct segment {
	uint64_t address;
	uint64_t offset;
	uint64_t size_bytes; /* bytes that are in the file */
};

struct elf_image {
	Elf *elf;
	const uint8_t *bytes;
	uint64_t size_bytes;
	size_t segment_cnt;
	struct segment segments[SEGMENT_CNT_MAX];
};

static bool is_inside(const struct elf_image *image, uint64_t offset, uint64_t size_bytes)
{
	return offset <= image->size_bytes && size_bytes <= image->size_bytes - offset;
}

static void add_segment(struct elf_image *image, const GElf_Phdr *header)
{
	struct segment *segment;

	if (header->p_type != PT_LOAD || !(header->p_flags & PF_X) || !header->p_filesz)
		return;
	if (!is_inside(image, header->p_offset, header->p_filesz))
		return;
	if (header->p_vaddr > UINT64_MAX - header->p_filesz)
		return;

	segment = &image->segments[image->segment_cnt++];
	segment->address = header->p_vaddr;
	segment->offset = header->p_offset;
	segment->size_bytes = header->p_filesz;
}

static int read_segments(struct elf_image *image)
{
	GElf_Phdr header;
	size_t cnt;
	size_t i;

	if (elf_getphdrnum(image->elf, &cnt))
		return -ENOEXEC;
	/* e_phnum has 16 bits, the extended count of PN_XNUM is for core files */
	if (cnt >= PN_XNUM)
		return -ENOEXEC;

	for (i = 0; i < cnt && image->segment_cnt < SEGMENT_CNT_MAX; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &header))
			return -ENOEXEC;
		add_segment(image, &header);
	}
	return 0;
}

static int check_header(Elf *elf)
{
	const char *ident;
	GElf_Ehdr header;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
		return -ENOEXEC;
	ident = elf_getident(elf, NULL);
	if (!ident || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (header.e_machine != EM_X86_64)
		return -ENOEXEC;
	if (header.e_type != ET_DYN && header.e_type != ET_EXEC)
		return -ENOEXEC;
	return 0;
}

static int read_image(struct elf_image *image, int fd)
{
	size_t size_bytes;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	image->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!image->elf)
		return -EIO;
	err = check_header(image->elf);
	if (err)
		return err;

	image->bytes = (const uint8_t *)elf_rawfile(image->elf, &size_bytes);
	if (!image->bytes)
		return -EIO;
	image->size_bytes = size_bytes;
	return read_segments(image);
}

int elf_image_open(struct elf_image **out, int fd)
{
	struct elf_image *image;
	int err;

	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	err = read_image(image, fd);
	if (err) {
		elf_image_free(image);
		return err;
	}
	*out = image;
	return 0;
}

void elf_image_free(struct elf_image *image)
{
	if (!image)
		return;
	elf_end(image->elf);
	free(image);
}

/* One symbol table and its strings, both inside the file. */
struct symbol_table {
	Elf_Data *symbols;
	size_t strings_index;
	size_t cnt;
	bool from_symtab;
};

static bool is_table_sound(const struct elf_image *image, const GElf_Shdr *header)
{
	Elf_Scn *strings;
	GElf_Shdr strings_header;

	if (header->sh_entsize != sizeof(Elf64_Sym))
		return false;
	if (!is_inside(image, header->sh_offset, header->sh_size))
		return false;
	strings = elf_getscn(image->elf, header->sh_link);
	if (!strings || !gelf_getshdr(strings, &strings_header))
		return false;
	return strings_header.sh_type == SHT_STRTAB &&
	       is_inside(image, strings_header.sh_offset, strings_header.sh_size);
}

/* Returns false when the file has no sound table of this type. */
static bool find_table(const struct elf_image *image, uint32_t type, struct symbol_table *table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		if (!is_table_sound(image, &header))
			continue;
		table->symbols = elf_getdata(section, NULL);
		if (!table->symbols)
			continue;
		table->strings_index = header.sh_link;
		table->cnt = table->symbols->d_size / sizeof(Elf64_Sym);
		table->from_symtab = type == SHT_SYMTAB;
		return true;
	}
	return false;
}

static bool read_symbol(const struct elf_image *image, const struct symbol_table *table,
			size_t index, struct elf_symbol *symbol)
{
	GElf_Sym entry;

	/* the index goes by int through libelf, so a table of 2^31 entries ends early */
	if (!gelf_getsym(table->symbols, (int)index, &entry))
		return false;
	if (GELF_ST_TYPE(entry.st_info) != STT_FUNC || entry.st_shndx == SHN_UNDEF)
		return false;
	/* checks the index and that the string ends inside its section */
	symbol->name = elf_strptr(image->elf, table->strings_index, entry.st_name);
	if (!symbol->name)
		return false;
	symbol->address = entry.st_value;
	symbol->size_bytes = entry.st_size;
	symbol->from_symtab = table->from_symtab;
	return true;
}

int elf_image_each_function(struct elf_image *image,
			    int (*fn)(void *context, const struct elf_symbol *symbol),
			    void *context)
{
	static const uint32_t types[] = { SHT_SYMTAB, SHT_DYNSYM };
	struct symbol_table table;
	struct elf_symbol symbol;
	size_t i, t;
	int ret;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		if (!find_table(image, types[t], &table))
			continue;
		for (i = 0; i < table.cnt && i < INT32_MAX; i++) {
			if (!read_symbol(image, &table, i, &symbol))
				continue;
			ret = fn(context, &symbol);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static const struct segment *segment_of(const struct elf_image *image, uint64_t address)
{
	const struct segment *segment;
	size_t i;

	for (i = 0; i < image->segment_cnt; i++) {
		segment = &image->segments[i];
		if (address >= segment->address && address - segment->address < segment->size_bytes)
			return segment;
	}
	return NULL;
}

int elf_image_file_offset(const struct elf_image *image, uint64_t address, uint64_t *offset)
{
	const struct segment *segment = segment_of(image, address);

	if (!segment)
		return -ENOENT;
	*offset = segment->offset + (address - segment->address);
	return 0;
}

const uint8_t *elf_image_code(const struct elf_image *image, uint64_t address, uint64_t size_bytes)
{
	const struct segment *segment = segment_of(image, address);
	uint64_t start;

	if (!segment || !size_bytes)
		return NULL;
	start = address - segment->address;
	if (size_bytes > segment->size_bytes - start)
		return NULL;
	return image->bytes + segment->offset + start;
}
