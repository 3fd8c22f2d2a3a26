/*
 * First step of attaching: from a file that the target has mapped to functions and their bytes.
 * libelf takes the headers apart; what it hands out is used only after it was checked against the
 * file's size, because the file belongs to the job and may be damaged on purpose.
 *
 * Invariant: a struct elf_image holds only segments that lie inside the file, so an address that
 * passes segment_of() can be read without further checks. Symbols and their names are read here,
 * not by libelf, which looks for the end of the string table anew with each name.
 */
#include "attach/elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Linkers write one executable segment, or a few; a file with more is odd, the rest is ignored. */
#define SEGMENT_CNT_MAX 64

/* A file with holes costs nothing to make and can be as large as it likes. libtorch_cpu has 530,000
 * symbols and 24 MB of read-only data. */
#define SYMBOL_CNT_MAX ((uint64_t)4 << 20)
#define READ_ONLY_BYTES_MAX ((uint64_t)512 << 20)

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

/*
 * Before libelf sees the file: it allocates for every section that is claimed. A number that does
 * not fit the header (e_shnum is 0 then) stands in the first section. No library needs that, and
 * with it a file of holes alone would take gigabytes.
 */
static int check_header(int fd)
{
	Elf64_Ehdr header;
	ssize_t got = pread(fd, &header, sizeof(header), 0);

	if (got < 0)
		return -EIO;
	if (got < (ssize_t)sizeof(header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
		return -ENOEXEC;
	if (header.e_machine != EM_X86_64 || (header.e_type != ET_DYN && header.e_type != ET_EXEC))
		return -ENOEXEC;
	return header.e_shoff && !header.e_shnum ? -ENOEXEC : 0;
}

static int read_image(struct elf_image *image, int fd)
{
	size_t size_bytes;
	int err = check_header(fd);

	if (err)
		return err;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	image->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!image->elf)
		return -EIO;
	if (elf_kind(image->elf) != ELF_K_ELF)
		return -ENOEXEC;

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
	const uint8_t *symbols; /* not aligned */
	const char *strings;
	uint64_t strings_bytes; /* up to the last NUL, which all that begins before it ends by */
	uint64_t cnt;
	bool from_symtab;
};

static bool find_strings(const struct elf_image *image, uint32_t index, struct symbol_table *table)
{
	Elf_Scn *section = elf_getscn(image->elf, index);
	GElf_Shdr header;
	const char *last;

	if (!section || !gelf_getshdr(section, &header) || header.sh_type != SHT_STRTAB ||
	    header.sh_flags & SHF_COMPRESSED || !is_inside(image, header.sh_offset, header.sh_size))
		return false;
	table->strings = (const char *)image->bytes + header.sh_offset;
	last = memrchr(table->strings, '\0', header.sh_size);
	table->strings_bytes = last ? (uint64_t)(last - table->strings) + 1 : 0;
	return true;
}

/* Returns false when the file has no sound table of this type. */
static bool find_table(const struct elf_image *image, uint32_t type, struct symbol_table *table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || header.sh_type != type)
			continue;
		if (header.sh_entsize != sizeof(Elf64_Sym) || header.sh_flags & SHF_COMPRESSED ||
		    !is_inside(image, header.sh_offset, header.sh_size) ||
		    !find_strings(image, header.sh_link, table))
			continue;
		table->symbols = image->bytes + header.sh_offset;
		table->cnt = header.sh_size / sizeof(Elf64_Sym);
		table->from_symtab = type == SHT_SYMTAB;
		return true;
	}
	return false;
}

static bool read_symbol(const struct symbol_table *table, uint64_t index, struct elf_symbol *symbol)
{
	Elf64_Sym entry;

	memcpy(&entry, table->symbols + index * sizeof(entry), sizeof(entry));
	if (ELF64_ST_TYPE(entry.st_info) != STT_FUNC || entry.st_shndx == SHN_UNDEF ||
	    entry.st_name >= table->strings_bytes)
		return false;
	symbol->name = table->strings + entry.st_name;
	if (strnlen(symbol->name, ELF_NAME_BYTES_MAX) == ELF_NAME_BYTES_MAX)
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
	uint64_t i;
	size_t t;
	int ret;

	for (t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		if (!find_table(image, types[t], &table))
			continue;
		for (i = 0; i < table.cnt && i < SYMBOL_CNT_MAX; i++) {
			if (!read_symbol(&table, i, &symbol))
				continue;
			ret = fn(context, &symbol);
			if (ret)
				return ret;
		}
	}
	return 0;
}

uint64_t elf_image_size_bytes(const struct elf_image *image)
{
	return image->size_bytes;
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

static bool holds(const GElf_Phdr *header, uint64_t address, uint64_t size_bytes)
{
	return header->p_type == PT_LOAD && address >= header->p_vaddr &&
	       header->p_vaddr <= UINT64_MAX - header->p_filesz && header->p_filesz >= size_bytes &&
	       address - header->p_vaddr <= header->p_filesz - size_bytes;
}

int elf_image_word(const struct elf_image *image, uint64_t address, uint64_t *word)
{
	GElf_Phdr header;
	size_t cnt, i;

	if (elf_getphdrnum(image->elf, &cnt) || cnt >= PN_XNUM)
		return -ENOENT;
	for (i = 0; i < cnt; i++) {
		if (!gelf_getphdr(image->elf, (int)i, &header) ||
		    !holds(&header, address, sizeof(*word)) ||
		    !is_inside(image, header.p_offset, header.p_filesz))
			continue;
		memcpy(word, image->bytes + header.p_offset + (address - header.p_vaddr),
		       sizeof(*word));
		return 0;
	}
	return -ENOENT;
}

/* Constants, strings and unwind tables: loaded, and neither written to nor run. */
static bool is_read_only_data(const struct elf_image *image, const GElf_Shdr *header)
{
	const uint64_t mask = SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR | SHF_COMPRESSED;

	return header->sh_type == SHT_PROGBITS && (header->sh_flags & mask) == SHF_ALLOC &&
	       header->sh_size && is_inside(image, header->sh_offset, header->sh_size);
}

int elf_image_each_read_only_data(struct elf_image *image,
				  int (*fn)(void *context, const uint8_t *bytes,
					    uint64_t size_bytes),
				  void *context)
{
	uint64_t left_bytes = image->size_bytes;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	int ret;

	if (left_bytes > READ_ONLY_BYTES_MAX)
		left_bytes = READ_ONLY_BYTES_MAX;
	while ((section = elf_nextscn(image->elf, section))) {
		if (!gelf_getshdr(section, &header) || !is_read_only_data(image, &header))
			continue;
		/* sections that lie over one another would make the work larger than the file */
		if (header.sh_size > left_bytes)
			break;
		left_bytes -= header.sh_size;
		ret = fn(context, image->bytes + header.sh_offset, header.sh_size);
		if (ret)
			return ret;
	}
	return 0;
}
