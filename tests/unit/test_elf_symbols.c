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
	size_t stop_at;	   /* 0: never */
	size_t name_bytes; /* every byte of every name was read */
	struct elf_symbol symbols[8];
};

static int note(void *context, const struct elf_symbol *symbol)
{
	struct seen *seen = context;

	seen->name_bytes += strlen(symbol->name);
	if (seen->cnt < sizeof(seen->symbols) / sizeof(seen->symbols[0]))
		seen->symbols[seen->cnt] = *symbol;
	seen->cnt++;
	return seen->cnt == seen->stop_at ? -EINTR : 0;
}

/* Opens the bytes, goes through all that can be asked and closes. Returns what open returned. */
static int walk(const void *bytes, size_t size_bytes, struct seen *seen)
{
	struct elf_image *image;
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
		cmocka_unit_test(addresses_become_offsets_in_executable_segments_only),
		cmocka_unit_test(code_is_given_out_only_when_all_of_it_is_there),
		cmocka_unit_test(files_that_are_no_x86_64_elf_are_refused),
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
