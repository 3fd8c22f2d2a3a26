/*
 * operator_library.h - a small ELF file made in memory: functions with code, symbols in either
 * table and strings in read-only data. Sections and segments lie in one order: header, code,
 * strings of the data, symbols, their names, section headers.
 */
#ifndef SUPPORT_OPERATOR_LIBRARY_H
#define SUPPORT_OPERATOR_LIBRARY_H

#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY_BASE 0x10000u /* address of the file's first byte */

struct library_bytes {
	uint8_t *bytes;
	size_t size, max;
};

struct operator_library {
	struct library_bytes code, data, symtab, dynsym, names;
};

enum {
	LIBRARY_NULL,
	LIBRARY_DATA,
	LIBRARY_SYMTAB,
	LIBRARY_DYNSYM,
	LIBRARY_NAMES,
	LIBRARY_SECTIONS
};

/* Returns where in the buffer the bytes went. */
static inline size_t library_append(struct library_bytes *to, const void *bytes, size_t size)
{
	size_t at = to->size;

	while (to->size + size > to->max) {
		to->max = to->max ? to->max * 2 : 1024;
		to->bytes = realloc(to->bytes, to->max);
		if (!to->bytes)
			abort();
	}
	if (size)
		memcpy(to->bytes + at, bytes, size);
	to->size += size;
	return at;
}

static inline void operator_library_init(struct operator_library *library)
{
	static const Elf64_Sym none;

	memset(library, 0, sizeof(*library));
	library_append(&library->names, "", 1);
	library_append(&library->symtab, &none, sizeof(none));
	library_append(&library->dynsym, &none, sizeof(none));
}

static inline void operator_library_fini(struct operator_library *library)
{
	free(library->code.bytes);
	free(library->data.bytes);
	free(library->symtab.bytes);
	free(library->dynsym.bytes);
	free(library->names.bytes);
}

/* Returns the code's address in the library. */
static inline uint64_t operator_library_code(struct operator_library *library, const uint8_t *start,
					     const uint8_t *end)
{
	return LIBRARY_BASE + sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) +
	       library_append(&library->code, start, (size_t)(end - start));
}

static inline void operator_library_symbol(struct operator_library *library,
					   struct library_bytes *table, const char *name,
					   uint64_t address, uint64_t size)
{
	Elf64_Sym symbol = { 0 };

	symbol.st_name = (uint32_t)library_append(&library->names, name, strlen(name) + 1);
	symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	symbol.st_shndx = 1;
	symbol.st_value = address;
	symbol.st_size = size;
	library_append(table, &symbol, sizeof(symbol));
}

static inline void operator_library_string(struct operator_library *library, const char *text)
{
	library_append(&library->data, text, strlen(text) + 1);
}

static inline void library_section(struct library_bytes *file, Elf64_Shdr *section, uint32_t type,
				   const struct library_bytes *bytes)
{
	section->sh_type = type;
	section->sh_flags = type == SHT_PROGBITS ? SHF_ALLOC : 0;
	section->sh_size = bytes->size;
	section->sh_offset = library_append(file, bytes->bytes, bytes->size);
	if (type != SHT_SYMTAB && type != SHT_DYNSYM)
		return;
	section->sh_link = LIBRARY_NAMES;
	section->sh_entsize = sizeof(Elf64_Sym);
}

static inline Elf64_Ehdr library_header(uint64_t sections_at)
{
	Elf64_Ehdr header = {
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sections_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = LIBRARY_SECTIONS,
	};

	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS64;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	header.e_ident[EI_VERSION] = EV_CURRENT;
	return header;
}

/* The whole file; the caller frees the bytes. */
static inline struct library_bytes operator_library_bytes(const struct operator_library *library)
{
	Elf64_Shdr sections[LIBRARY_SECTIONS] = { 0 };
	struct library_bytes file = { 0 };
	Elf64_Ehdr header = { 0 };
	Elf64_Phdr segment = { 0 };

	library_append(&file, &header, sizeof(header));
	library_append(&file, &segment, sizeof(segment));
	library_append(&file, library->code.bytes, library->code.size);
	segment.p_type = PT_LOAD;
	segment.p_flags = PF_R | PF_X;
	segment.p_vaddr = LIBRARY_BASE;
	segment.p_filesz = segment.p_memsz = file.size;

	library_section(&file, &sections[LIBRARY_DATA], SHT_PROGBITS, &library->data);
	library_section(&file, &sections[LIBRARY_SYMTAB], SHT_SYMTAB, &library->symtab);
	library_section(&file, &sections[LIBRARY_DYNSYM], SHT_DYNSYM, &library->dynsym);
	library_section(&file, &sections[LIBRARY_NAMES], SHT_STRTAB, &library->names);
	header = library_header(library_append(&file, sections, sizeof(sections)));
	memcpy(file.bytes, &header, sizeof(header));
	memcpy(file.bytes + sizeof(header), &segment, sizeof(segment));
	return file;
}

/* An open file with these bytes and no name. */
static inline int library_file(const uint8_t *bytes, size_t size)
{
	FILE *file = tmpfile();
	int fd;

	if (!file || fwrite(bytes, 1, size, file) != size || fflush(file))
		abort();
	fd = dup(fileno(file));
	if (fd < 0 || fclose(file))
		abort();
	return fd;
}

#endif /* SUPPORT_OPERATOR_LIBRARY_H */
