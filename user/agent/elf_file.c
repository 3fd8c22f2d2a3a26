/* elf_file.c - see elf_file.h. A symbol table of libtorch has a million entries, 100 MB of names.
 */
#include "agent/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE_BYTES (256UL << 10)
#define SECTIONS_MAX 4096
#define MATCHES_MAX 8

struct file {
	int fd;
	char *piece; /* PIECE_BYTES */
	const char *function;
	uint32_t matches[MATCHES_MAX]; /* where in the names it stands */
	uint32_t match_count;
};

static bool read_at(int fd, void *to, size_t size, uint64_t offset)
{
	return pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void find_names(struct file *file, const Elf64_Shdr *strings)
{
	size_t wanted = strlen(file->function) + 1;
	uint64_t at = 0;

	file->match_count = 0;
	while (strings->sh_size - at >= wanted && file->match_count < MATCHES_MAX) {
		size_t size = least(PIECE_BYTES, strings->sh_size - at);
		const char *found;

		if (!read_at(file->fd, file->piece, size, strings->sh_offset + at))
			return;
		found = memmem(file->piece, size, file->function, wanted);
		if (found) {
			at += (uint64_t)(found - file->piece);
			file->matches[file->match_count++] = (uint32_t)at;
			at += wanted;
		} else {
			/* It may lie across the end of this piece. */
			at += size - (wanted - 1);
		}
	}
}

static bool is_match(const struct file *file, const Elf64_Sym *symbol)
{
	uint32_t i;

	if (symbol->st_shndx == SHN_UNDEF)
		return false;
	for (i = 0; i < file->match_count; i++)
		if (symbol->st_name == file->matches[i])
			return true;
	return false;
}

/* A library that only calls the function names it, too. */
static bool table_defines(struct file *file, const Elf64_Shdr *table, const Elf64_Shdr *strings)
{
	uint64_t at = 0, end = table->sh_size - table->sh_size % sizeof(Elf64_Sym);

	find_names(file, strings);
	while (file->match_count && at < end) {
		size_t size = least(PIECE_BYTES - PIECE_BYTES % sizeof(Elf64_Sym), end - at);
		const Elf64_Sym *symbols = (const Elf64_Sym *)file->piece;
		size_t i;

		if (!read_at(file->fd, file->piece, size, table->sh_offset + at))
			return false;
		for (i = 0; i < size / sizeof(*symbols); i++)
			if (is_match(file, &symbols[i]))
				return true;
		at += size;
	}
	return false;
}

static bool tables_define(struct file *file)
{
	Elf64_Shdr *sections;
	bool found = false;
	Elf64_Ehdr head;
	int i;

	if (!read_at(file->fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_shentsize != sizeof(*sections) ||
	    head.e_shnum > SECTIONS_MAX)
		return false;
	sections = calloc((size_t)head.e_shnum + 1, sizeof(*sections));
	if (!sections)
		return false;
	if (read_at(file->fd, sections, head.e_shnum * sizeof(*sections), head.e_shoff)) {
		for (i = 0; i < head.e_shnum && !found; i++) {
			uint32_t type = sections[i].sh_type, link = sections[i].sh_link;

			found = (type == SHT_SYMTAB || type == SHT_DYNSYM) && link < head.e_shnum &&
				table_defines(file, &sections[i], &sections[link]);
		}
	}
	free(sections);
	return found;
}

bool elf_file_defines(const char *path, const char *function)
{
	struct file file = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK),
			     .function = function };
	bool found = false;

	if (file.fd < 0)
		return false;
	file.piece = malloc(PIECE_BYTES);
	if (file.piece)
		found = tables_define(&file);
	free(file.piece);
	close(file.fd);
	return found;
}
