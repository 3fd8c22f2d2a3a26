/*
 * Reading ELF files: a tiny one that the test writes, with one field damaged at a time, and the
 * test's own program, whole, cut and with random bytes changed.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "attach/elf_symbols.h"

#define BASE 0x400000u
#define CODE_ADDRESS (BASE + offsetof(struct tiny, code))

enum {
	SECTION_NULL,
	SECTION_SYMTAB,
	SECTION_STRINGS,
	SECTION_DYNSYM,
	SECTION_DATA,
	SECTION_CNT
};
enum {
	SYMBOL_NULL,
	SYMBOL_CALL,
	SYMBOL_COLD,
	SYMBOL_OBJECT,
	SYMBOL_UNDEFINED,
	SYMBOL_CNT
};

struct tiny {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	uint8_t code[32];
	Elf64_Sym symtab[SYMBOL_CNT];
	Elf64_Sym dynsym[2];
	char strings[32];
	Elf64_Shdr sections[SECTION_CNT];
};

static void fill_segments(struct tiny *tiny)
{
	tiny->segments[0].p_type = PT_LOAD;
	tiny->segments[0].p_flags = PF_R | PF_X;
	tiny->segments[0].p_offset = offsetof(struct tiny, code);
	tiny->segments[0].p_vaddr = CODE_ADDRESS;
	tiny->segments[0].p_filesz = sizeof(tiny->code);
	tiny->segments[0].p_memsz = sizeof(tiny->code) + 64;
	tiny->segments[1].p_type = PT_LOAD;
	tiny->segments[1].p_flags = PF_R | PF_W;
	tiny->segments[1].p_offset = offsetof(struct tiny, symtab);
	tiny->segments[1].p_vaddr = 2 * BASE;
	tiny->segments[1].p_filesz = 16;
}

static void fill_symbol(Elf64_Sym *symbol, uint32_t name, int type, uint64_t address)
{
	symbol->st_name = name;
	symbol->st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type);
	symbol->st_shndx = 1;
	symbol->st_value = address;
	symbol->st_size = 8;
}

static void fill_symbols(struct tiny *tiny)
{
	/* offsets:          1     6 */
	static const char strings[] = "\0call\0call.cold";

	memcpy(tiny->strings, strings, sizeof(strings));
	fill_symbol(&tiny->symtab[SYMBOL_CALL], 1, STT_FUNC, CODE_ADDRESS);
	fill_symbol(&tiny->symtab[SYMBOL_COLD], 6, STT_FUNC, CODE_ADDRESS + 8);
	fill_symbol(&tiny->symtab[SYMBOL_OBJECT], 1, STT_OBJECT, CODE_ADDRESS);
	fill_symbol(&tiny->symtab[SYMBOL_UNDEFINED], 1, STT_FUNC, 0);
	tiny->symtab[SYMBOL_UNDEFINED].st_shndx = SHN_UNDEF;
	fill_symbol(&tiny->dynsym[1], 1, STT_FUNC, CODE_ADDRESS);
}

static void fill_section(Elf64_Shdr *section, uint32_t type, uint64_t offset, uint64_t size_bytes)
{
	section->sh_type = type;
	section->sh_offset = offset;
	section->sh_size = size_bytes;
	if (type == SHT_STRTAB)
		return;
	section->sh_entsize = sizeof(Elf64_Sym);
	section->sh_link = SECTION_STRINGS;
}

static struct tiny make_tiny(void)
{
	struct tiny tiny;

	memset(&tiny, 0, sizeof(tiny));
	memcpy(tiny.header.e_ident, ELFMAG, SELFMAG);
	tiny.header.e_ident[EI_CLASS] = ELFCLASS64;
	tiny.header.e_ident[EI_DATA] = ELFDATA2LSB;
	tiny.header.e_ident[EI_VERSION] = EV_CURRENT;
	tiny.header.e_type = ET_DYN;
	tiny.header.e_machine = EM_X86_64;
	tiny.header.e_version = EV_CURRENT;
	tiny.header.e_ehsize = sizeof(Elf64_Ehdr);
	tiny.header.e_phoff = offsetof(struct tiny, segments);
	tiny.header.e_phentsize = sizeof(Elf64_Phdr);
	tiny.header.e_phnum = 2;
	tiny.header.e_shoff = offsetof(struct tiny, sections);
	tiny.header.e_shentsize = sizeof(Elf64_Shdr);
	tiny.header.e_shnum = SECTION_CNT;
	memset(tiny.code, 0x90, sizeof(tiny.code));
	fill_segments(&tiny);
	fill_symbols(&tiny);
	fill_section(&tiny.sections[SECTION_SYMTAB], SHT_SYMTAB, offsetof(struct tiny, symtab),
		     sizeof(tiny.symtab));
	fill_section(&tiny.sections[SECTION_STRINGS], SHT_STRTAB, offsetof(struct tiny, strings),
		     sizeof(tiny.strings));
	fill_section(&tiny.sections[SECTION_DYNSYM], SHT_DYNSYM, offsetof(struct tiny, dynsym),
		     sizeof(tiny.dynsym));
	fill_section(&tiny.sections[SECTION_DATA], SHT_PROGBITS, offsetof(struct tiny, strings),
		     sizeof(tiny.strings));
	tiny.sections[SECTION_DATA].sh_flags = SHF_ALLOC;
	return tiny;
}

/* An open file with these bytes and no name. */
static int file_of(const void *bytes, size_t size_bytes)
{
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
	assert_int_equal(fflush(file), 0);
	fd = dup(fileno(file));
	assert_true(fd >= 0);
	assert_int_equal(fclose(file), 0);
	return fd;
}

struct seen {
	size_t cnt;
	size_t stop_at;		      /* 0: never */
	size_t name_bytes;	      /* every byte of every name was read */
	struct elf_symbol symbols[8]; /* names are gone when the image is */
	size_t lengths[8];	      /* of the names */
};

static int note(void *context, const struct elf_symbol *symbol)
{
	struct seen *seen = context;

	seen->name_bytes += strlen(symbol->name);
	if (seen->cnt < sizeof(seen->symbols) / sizeof(seen->symbols[0])) {
		seen->symbols[seen->cnt] = *symbol;
		seen->lengths[seen->cnt] = strlen(symbol->name);
	}
	seen->cnt++;
	return seen->cnt == seen->stop_at ? -EINTR : 0;
}

struct data {
	const uint8_t *bytes; /* the last section's */
	uint64_t size_bytes;
	size_t cnt;
	uint64_t total_bytes;
	unsigned int sum; /* every byte was read */
	int answer;
};

static int note_data(void *context, const uint8_t *bytes, uint64_t size_bytes)
{
	struct data *data = context;
	uint64_t i;

	for (i = 0; i < size_bytes; i++)
		data->sum += bytes[i];
	data->bytes = bytes;
	data->size_bytes = size_bytes;
	data->total_bytes += size_bytes;
	data->cnt++;
	return data->answer;
}

/* Opens the bytes, goes through all that can be asked and closes. Returns what open returned. */
static int walk(const void *bytes, size_t size_bytes, struct seen *seen)
{
	struct elf_image *image;
	struct data data = { 0 };
	const uint8_t *code;
	uint64_t offset;
	size_t i;
	int fd = file_of(bytes, size_bytes);
	int err;

	memset(seen, 0, sizeof(*seen));
	err = elf_image_open(&image, fd);
	if (!err) {
		assert_int_equal(elf_image_each_function(image, note, seen), 0);
		for (i = 0; i < seen->cnt && i < 8; i++) {
			code = elf_image_code(image, seen->symbols[i].address,
					      seen->symbols[i].size_bytes);
			/* read both ends: outside of the file this would fault */
			if (code)
				seen->name_bytes += code[0] + code[seen->symbols[i].size_bytes - 1];
			if (!elf_image_file_offset(image, seen->symbols[i].address, &offset))
				assert_true(offset < size_bytes);
		}
		assert_int_equal(elf_image_each_read_only_data(image, note_data, &data), 0);
		assert_true(data.total_bytes <= size_bytes);
		elf_image_free(image);
	}
	close(fd);
	return err;
}

static void functions_of_both_tables_are_reported_in_order(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	struct seen seen = { 0 };
	int fd = file_of(&tiny, sizeof(tiny));

	(void)state;
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_int_equal(elf_image_each_function(image, note, &seen), 0);
	assert_int_equal(seen.cnt, 3);
	assert_string_equal(seen.symbols[0].name, "call");
	assert_int_equal(seen.symbols[0].address, CODE_ADDRESS);
	assert_int_equal(seen.symbols[0].size_bytes, 8);
	assert_true(seen.symbols[0].from_symtab);
	assert_string_equal(seen.symbols[1].name, "call.cold");
	assert_string_equal(seen.symbols[2].name, "call");
	assert_false(seen.symbols[2].from_symtab);
	elf_image_free(image);
	close(fd);
}

static void the_pass_stops_when_the_callback_says_so(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	struct seen seen = { .stop_at = 2 };
	int fd = file_of(&tiny, sizeof(tiny));

	(void)state;
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_int_equal(elf_image_each_function(image, note, &seen), -EINTR);
	assert_int_equal(seen.cnt, 2);
	elf_image_free(image);
	close(fd);
}

static void names_end_by_the_last_nul_of_their_section(void **state)
{
	struct tiny tiny = make_tiny();
	struct seen seen;

	(void)state;
	/* nothing is terminated but "call" */
	memset(tiny.strings + 6, 'x', sizeof(tiny.strings) - 6);
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 2);
	assert_int_equal(seen.lengths[0], strlen("call"));
	assert_int_equal(seen.lengths[1], strlen("call"));

	tiny.sections[SECTION_STRINGS].sh_size = 5; /* less its NUL */
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 0);
	tiny.sections[SECTION_STRINGS].sh_size = 0;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 0);
}

/* Names that lie over one another would each be read to their common end. */
static void names_that_are_too_long_are_passed_over(void **state)
{
	static struct {
		struct tiny tiny;
		char strings[ELF_NAME_BYTES_MAX + 2];
	} file;
	struct seen seen;

	(void)state;
	file.tiny = make_tiny();
	memset(file.strings + 1, 'x', ELF_NAME_BYTES_MAX);
	fill_section(&file.tiny.sections[SECTION_STRINGS], SHT_STRTAB, sizeof(file.tiny),
		     sizeof(file.strings));
	file.tiny.symtab[SYMBOL_CALL].st_name = 2; /* of the greatest length */
	file.tiny.symtab[SYMBOL_COLD].st_name = 1;
	file.tiny.dynsym[1].st_name = 1;
	assert_int_equal(walk(&file, sizeof(file), &seen), 0);
	assert_int_equal(seen.cnt, 1);
	assert_int_equal(seen.lengths[0], ELF_NAME_BYTES_MAX - 1);
}

static void compressed_tables_are_passed_over(void **state)
{
	struct tiny tiny = make_tiny();
	struct seen seen;

	(void)state;
	tiny.sections[SECTION_SYMTAB].sh_flags = SHF_COMPRESSED;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 1);
	tiny.sections[SECTION_STRINGS].sh_flags = SHF_COMPRESSED;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 0);
}

/* The tiny file with a hole behind it, which holds a table or data of this size. */
static int file_with_hole(struct tiny *tiny, Elf64_Shdr *section, uint64_t size_bytes)
{
	int fd;

	section->sh_offset = sizeof(*tiny);
	section->sh_size = size_bytes;
	fd = file_of(tiny, sizeof(*tiny));
	assert_int_equal(ftruncate(fd, (off_t)(sizeof(*tiny) + size_bytes)), 0);
	return fd;
}

#define SYMBOLS_MAX ((size_t)4 << 20)
#define DATA_MAX ((uint64_t)512 << 20)

static void a_table_of_any_size_is_read_to_a_bound(void **state)
{
	struct tiny tiny = make_tiny();
	Elf64_Sym symbol = tiny.symtab[SYMBOL_CALL];
	struct elf_image *image;
	struct seen seen = { 0 };
	int fd = file_with_hole(&tiny, &tiny.sections[SECTION_SYMTAB],
				2 * SYMBOLS_MAX * sizeof(symbol));

	(void)state;
	assert_int_equal(pwrite(fd, &symbol, sizeof(symbol),
				(off_t)(sizeof(tiny) + (SYMBOLS_MAX - 1) * sizeof(symbol))),
			 sizeof(symbol));
	assert_int_equal(pwrite(fd, &symbol, sizeof(symbol),
				(off_t)(sizeof(tiny) + SYMBOLS_MAX * sizeof(symbol))),
			 sizeof(symbol));
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_int_equal(elf_image_each_function(image, note, &seen), 0);
	assert_int_equal(seen.cnt, 2); /* one of .symtab, one of .dynsym */
	elf_image_free(image);
	close(fd);
}

static int count_data(void *context, const uint8_t *bytes, uint64_t size_bytes)
{
	struct data *data = context;

	(void)bytes;
	data->total_bytes += size_bytes;
	return 0;
}

static void read_only_data_of_any_size_is_given_out_to_a_bound(void **state)
{
	static const uint64_t sizes[][2] = { { DATA_MAX, DATA_MAX }, { DATA_MAX + 1, 0 } };
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct tiny tiny = make_tiny();
		struct data data = { 0 };
		struct elf_image *image;
		int fd = file_with_hole(&tiny, &tiny.sections[SECTION_DATA], sizes[i][0]);

		assert_int_equal(elf_image_open(&image, fd), 0);
		assert_int_equal(elf_image_each_read_only_data(image, count_data, &data), 0);
		assert_int_equal(data.total_bytes, sizes[i][1]);
		elf_image_free(image);
		close(fd);
	}
}

static void addresses_become_offsets_in_executable_segments_only(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	uint64_t offset = 42;
	int fd = file_of(&tiny, sizeof(tiny));

	(void)state;
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_int_equal(elf_image_file_offset(image, CODE_ADDRESS + 31, &offset), 0);
	assert_int_equal(offset, offsetof(struct tiny, code) + 31);

	offset = 42;
	assert_int_equal(elf_image_file_offset(image, CODE_ADDRESS + 32, &offset), -ENOENT);
	assert_int_equal(elf_image_file_offset(image, CODE_ADDRESS - 1, &offset), -ENOENT);
	assert_int_equal(elf_image_file_offset(image, 2 * BASE, &offset), -ENOENT);
	assert_int_equal(elf_image_file_offset(image, UINT64_MAX, &offset), -ENOENT);
	assert_int_equal(offset, 42);
	elf_image_free(image);
	close(fd);
}

static void code_is_given_out_only_when_all_of_it_is_there(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	int fd = file_of(&tiny, sizeof(tiny));

	(void)state;
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_memory_equal(elf_image_code(image, CODE_ADDRESS, 32), tiny.code, 32);
	assert_non_null(elf_image_code(image, CODE_ADDRESS + 31, 1));
	assert_null(elf_image_code(image, CODE_ADDRESS, 33));
	assert_null(elf_image_code(image, CODE_ADDRESS + 31, 2));
	assert_null(elf_image_code(image, CODE_ADDRESS + 1, UINT64_MAX));
	assert_null(elf_image_code(image, CODE_ADDRESS, 0));
	assert_null(elf_image_code(image, 0, 1));
	elf_image_free(image);
	close(fd);
}

static void words_are_read_from_any_segment(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	uint64_t word = 42, want;
	int fd = file_of(&tiny, sizeof(tiny));

	(void)state;
	assert_int_equal(elf_image_open(&image, fd), 0);
	memcpy(&want, (const char *)tiny.symtab + 8, sizeof(want));
	assert_int_equal(elf_image_word(image, 2 * BASE + 8, &word), 0);
	assert_int_equal(word, want);
	memcpy(&want, tiny.code, sizeof(want));
	assert_int_equal(elf_image_word(image, CODE_ADDRESS, &word), 0);
	assert_int_equal(word, want);
	word = 42;
	assert_int_equal(elf_image_word(image, 2 * BASE + 9, &word), -ENOENT);
	assert_int_equal(elf_image_word(image, 2 * BASE - 1, &word), -ENOENT);
	assert_int_equal(elf_image_word(image, CODE_ADDRESS + 32, &word), -ENOENT);
	assert_int_equal(elf_image_word(image, UINT64_MAX, &word), -ENOENT);
	assert_int_equal(word, 42);
	elf_image_free(image);
	close(fd);
}

/* What elf_image_each_read_only_data() returns for the file; data is what it saw. */
static int data_of(const struct tiny *tiny, struct data *data)
{
	struct elf_image *image;
	int fd = file_of(tiny, sizeof(*tiny));
	int ret;

	assert_int_equal(elf_image_open(&image, fd), 0);
	ret = elf_image_each_read_only_data(image, note_data, data);
	if (data->cnt && data->size_bytes == sizeof(tiny->strings))
		assert_memory_equal(data->bytes, tiny->strings, sizeof(tiny->strings));
	elf_image_free(image);
	close(fd);
	return ret;
}

static void read_only_data_is_what_is_loaded_and_neither_written_nor_run(void **state)
{
	static const uint64_t flags[] = { 0, SHF_ALLOC | SHF_WRITE, SHF_ALLOC | SHF_EXECINSTR,
					  SHF_ALLOC | SHF_COMPRESSED };
	struct tiny tiny = make_tiny();
	struct data data = { 0 };
	size_t i;

	(void)state;
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 1);
	assert_int_equal(data.size_bytes, sizeof(tiny.strings));

	data = (struct data){ .answer = 7 };
	assert_int_equal(data_of(&tiny, &data), 7);

	for (i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		data = (struct data){ 0 };
		tiny.sections[SECTION_DATA].sh_flags = flags[i];
		assert_int_equal(data_of(&tiny, &data), 0);
		assert_int_equal(data.cnt, 0);
	}
	tiny.sections[SECTION_DATA].sh_flags = SHF_ALLOC;
	tiny.sections[SECTION_DATA].sh_type = SHT_NOBITS;
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 0);
}

static void read_only_data_beyond_the_file_is_passed_over(void **state)
{
	struct tiny tiny = make_tiny();
	struct data data = { 0 };

	(void)state;
	tiny.sections[SECTION_DATA].sh_size = sizeof(tiny);
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 0);
	tiny.sections[SECTION_DATA].sh_offset = UINT64_MAX - 4;
	tiny.sections[SECTION_DATA].sh_size = 8;
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 0);
}

/* A file of a thousand sections that are each the whole file would be read a thousand times. */
static void read_only_data_is_never_more_than_the_file(void **state)
{
	struct tiny tiny = make_tiny();
	struct data data = { 0 };

	(void)state;
	tiny.sections[SECTION_DYNSYM] = tiny.sections[SECTION_DATA];
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 2);

	data = (struct data){ 0 };
	tiny.sections[SECTION_DYNSYM].sh_offset = 0;
	tiny.sections[SECTION_DYNSYM].sh_size = sizeof(tiny) - sizeof(tiny.strings) + 1;
	assert_int_equal(data_of(&tiny, &data), 0);
	assert_int_equal(data.cnt, 1);
}

static void files_that_are_no_x86_64_elf_are_refused(void **state)
{
	struct tiny tiny;
	struct seen seen;

	(void)state;
	assert_int_equal(walk("", 0, &seen), -ENOEXEC);
	assert_int_equal(walk("#!/bin/sh\n", 10, &seen), -ENOEXEC);
	tiny = make_tiny();
	tiny.header.e_machine = EM_AARCH64;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), -ENOEXEC);
	tiny = make_tiny();
	tiny.header.e_type = ET_CORE;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), -ENOEXEC);
	tiny = make_tiny();
	tiny.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), -ENOEXEC);
	tiny = make_tiny();
	tiny.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), -ENOEXEC);
}

/* libelf would allocate 300 bytes for each. */
static void more_sections_than_the_header_can_count_are_refused(void **state)
{
	struct tiny tiny = make_tiny();
	struct elf_image *image;
	int fd;

	(void)state;
	tiny.header.e_shnum = 0;
	fd = file_with_hole(&tiny, &tiny.sections[SECTION_NULL], (uint64_t)1 << 30);
	assert_int_equal(elf_image_open(&image, fd), -ENOEXEC);
	close(fd);
	/* a file without sections has segments all the same */
	tiny.header.e_shoff = 0;
	fd = file_of(&tiny, sizeof(tiny));
	assert_int_equal(elf_image_open(&image, fd), 0);
	elf_image_free(image);
	close(fd);
}

static void what_is_no_file_is_refused(void **state)
{
	struct elf_image *image;
	int fds[2];

	(void)state;
	assert_true(elf_image_open(&image, -1) < 0);
	assert_int_equal(pipe(fds), 0);
	close(fds[1]);
	assert_true(elf_image_open(&image, fds[0]) < 0);
	close(fds[0]);
	elf_image_free(NULL);
}

static void a_damaged_table_is_passed_over(void **state)
{
	struct tiny tiny;
	struct seen seen;

	(void)state;
	tiny = make_tiny();
	tiny.sections[SECTION_SYMTAB].sh_offset = UINT64_MAX - 8;
	walk(&tiny, sizeof(tiny), &seen);
	assert_int_equal(seen.cnt, 1);

	tiny = make_tiny();
	tiny.sections[SECTION_SYMTAB].sh_size = UINT64_MAX;
	walk(&tiny, sizeof(tiny), &seen);
	assert_int_equal(seen.cnt, 1);

	tiny = make_tiny();
	tiny.sections[SECTION_SYMTAB].sh_link = 4000000000u;
	walk(&tiny, sizeof(tiny), &seen);
	assert_int_equal(seen.cnt, 1);

	tiny = make_tiny();
	tiny.sections[SECTION_SYMTAB].sh_entsize = 0;
	walk(&tiny, sizeof(tiny), &seen);
	assert_int_equal(seen.cnt, 1);

	tiny = make_tiny();
	tiny.sections[SECTION_STRINGS].sh_size = 1ull << 40;
	walk(&tiny, sizeof(tiny), &seen);
	assert_int_equal(seen.cnt, 0);
}

static void a_name_outside_of_the_strings_or_without_an_end_is_passed_over(void **state)
{
	struct tiny tiny;
	struct seen seen;

	(void)state;
	tiny = make_tiny();
	tiny.symtab[SYMBOL_CALL].st_name = 4000000000u;
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 2);

	tiny = make_tiny();
	memset(tiny.strings, 'x', sizeof(tiny.strings));
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 0);
}

static void a_segment_beyond_the_file_holds_no_code(void **state)
{
	const struct {
		uint64_t offset, address, size_bytes;
	} cases[] = {
		{ UINT64_MAX - 4, CODE_ADDRESS, 32 },
		{ sizeof(struct tiny) - 8, CODE_ADDRESS, 32 },
		{ 0, CODE_ADDRESS, UINT64_MAX },
		{ 0, UINT64_MAX - 8, 32 },
	};
	struct elf_image *image;
	struct tiny tiny;
	uint64_t offset;
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		tiny = make_tiny();
		tiny.segments[0].p_offset = cases[i].offset;
		tiny.segments[0].p_vaddr = cases[i].address;
		tiny.segments[0].p_filesz = cases[i].size_bytes;
		fd = file_of(&tiny, sizeof(tiny));
		assert_int_equal(elf_image_open(&image, fd), 0);
		assert_int_equal(elf_image_file_offset(image, cases[i].address, &offset), -ENOENT);
		assert_null(elf_image_code(image, cases[i].address, 1));
		assert_int_equal(elf_image_word(image, cases[i].address, &offset), -ENOENT);
		elf_image_free(image);
		close(fd);
	}
}

static void every_truncation_of_a_file_is_survived(void **state)
{
	struct tiny tiny = make_tiny();
	struct seen seen;
	size_t size_bytes;

	(void)state;
	for (size_bytes = 0; size_bytes < sizeof(tiny); size_bytes++) {
		walk(&tiny, size_bytes, &seen);
		/* the section headers stand last: cut, there is no whole table of them */
		assert_true(seen.cnt <= 3);
	}
	assert_int_equal(walk(&tiny, sizeof(tiny), &seen), 0);
	assert_int_equal(seen.cnt, 3);
}

static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

static void random_damage_is_survived(void **state)
{
	uint64_t random = 88172645463325252ull;
	struct tiny tiny;
	struct seen seen;
	size_t round, i;

	(void)state;
	for (round = 0; round < 5000; round++) {
		tiny = make_tiny();
		for (i = 0; i <= round % 8; i++)
			((uint8_t *)&tiny)[next_random(&random) % sizeof(tiny)] =
				(uint8_t)(next_random(&random) >> 32);
		walk(&tiny, sizeof(tiny), &seen);
	}
}

/* The test's own file, or NULL; the caller frees. */
static uint8_t *read_self(size_t *size_bytes)
{
	FILE *file = fopen("/proc/self/exe", "rb");
	uint8_t *bytes = NULL;
	long length;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	length = ftell(file);
	assert_true(length > 0);
	rewind(file);
	bytes = malloc((size_t)length);
	assert_non_null(bytes);
	assert_int_equal(fread(bytes, 1, (size_t)length, file), (size_t)length);
	fclose(file);
	*size_bytes = (size_t)length;
	return bytes;
}

static int find_main(void *context, const struct elf_symbol *symbol)
{
	if (strcmp(symbol->name, "main"))
		return 0;
	*(struct elf_symbol *)context = *symbol;
	return 1;
}

static void a_real_program_has_its_main(void **state)
{
	struct elf_symbol symbol = { 0 };
	struct elf_image *image;
	uint64_t offset;
	uint8_t byte;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&image, fd), 0);
	assert_int_equal(elf_image_each_function(image, find_main, &symbol), 1);
	assert_int_equal(elf_image_file_offset(image, symbol.address, &offset), 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)offset), 1);
	assert_int_equal(*elf_image_code(image, symbol.address, symbol.size_bytes), byte);
	elf_image_free(image);
	close(fd);
}

static void a_real_program_cut_or_damaged_is_survived(void **state)
{
	uint64_t random = 2463534242ull;
	struct seen seen;
	size_t size_bytes, i;
	uint8_t *bytes = read_self(&size_bytes);

	(void)state;
	for (i = 0; i < 24; i++)
		walk(bytes, size_bytes * i / 24, &seen);
	/* headers are where damage counts: the first page and the section headers at the end */
	for (i = 0; i < 100; i++) {
		bytes[next_random(&random) % 1024 + 24] = (uint8_t)(next_random(&random) >> 32);
		bytes[size_bytes - 1 - next_random(&random) % 2048] =
			(uint8_t)(next_random(&random) >> 32);
		walk(bytes, size_bytes, &seen);
	}
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_both_tables_are_reported_in_order),
		cmocka_unit_test(the_pass_stops_when_the_callback_says_so),
		cmocka_unit_test(names_end_by_the_last_nul_of_their_section),
		cmocka_unit_test(names_that_are_too_long_are_passed_over),
		cmocka_unit_test(compressed_tables_are_passed_over),
		cmocka_unit_test(a_table_of_any_size_is_read_to_a_bound),
		cmocka_unit_test(read_only_data_of_any_size_is_given_out_to_a_bound),
		cmocka_unit_test(addresses_become_offsets_in_executable_segments_only),
		cmocka_unit_test(code_is_given_out_only_when_all_of_it_is_there),
		cmocka_unit_test(words_are_read_from_any_segment),
		cmocka_unit_test(read_only_data_is_what_is_loaded_and_neither_written_nor_run),
		cmocka_unit_test(read_only_data_beyond_the_file_is_passed_over),
		cmocka_unit_test(read_only_data_is_never_more_than_the_file),
		cmocka_unit_test(files_that_are_no_x86_64_elf_are_refused),
		cmocka_unit_test(more_sections_than_the_header_can_count_are_refused),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(a_damaged_table_is_passed_over),
		cmocka_unit_test(a_name_outside_of_the_strings_or_without_an_end_is_passed_over),
		cmocka_unit_test(a_segment_beyond_the_file_holds_no_code),
		cmocka_unit_test(every_truncation_of_a_file_is_survived),
		cmocka_unit_test(random_damage_is_survived),
		cmocka_unit_test(a_real_program_has_its_main),
		cmocka_unit_test(a_real_program_cut_or_damaged_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
