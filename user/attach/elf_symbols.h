/*
 * Function symbols, file offsets, code bytes and read-only data of one ELF file.
 *
 * The file belongs to the watched job, so nothing in it is believed: every table, index and string
 * is checked against the size of the file. It is mapped, not read: should the job truncate it while
 * an image is open, an access beyond the new end raises SIGBUS, so keep images short-lived.
 */
#ifndef ATTACH_ELF_SYMBOLS_H
#define ATTACH_ELF_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

struct elf_image;

/* With its NUL. The longest that is looked for has 600; without a bound names that lie over one
 * another would make the work larger than the file by far. */
#define ELF_NAME_BYTES_MAX 4096

struct elf_symbol {
	const char *name; /* owned by the image, valid while it lives */
	uint64_t address; /* virtual address in the file, not in the process */
	uint64_t size_bytes;
	bool from_symtab; /* .symtab (true) or .dynsym (false) */
};

/*
 * Opens the ELF file behind fd, which stays the caller's and must stay open while the image lives.
 * Returns 0, -ENOEXEC (not an ELF64 x86-64 executable or library), -EIO or -ENOMEM.
 */
int elf_image_open(struct elf_image **out, int fd);

/* Releases the image and every name it gave out. NULL is legal. */
void elf_image_free(struct elf_image *image);

/*
 * Calls fn for each defined function (STT_FUNC) of .symtab, then of .dynsym, one pass per table.
 * A function that is in both is reported twice. Damaged entries are passed over, as are names of
 * ELF_NAME_BYTES_MAX and more, and what comes behind the first four million entries. Parts that the
 * compiler split off (".cold" in the name) are reported like any other. Returns 0, or the first
 * value other than 0 that fn returned; a file without symbols is no error.
 */
int elf_image_each_function(struct elf_image *image,
			    int (*fn)(void *context, const struct elf_symbol *symbol),
			    void *context);

/* Of the file: functions that lie over one another can have more code than that. */
uint64_t elf_image_size_bytes(const struct elf_image *image);

/*
 * File offset of a code address, by the executable PT_LOAD segments.
 * Returns 0, or -ENOENT with *offset untouched.
 */
int elf_image_file_offset(const struct elf_image *image, uint64_t address, uint64_t *offset);

/*
 * size_bytes of code at address, owned by the image. NULL when they are not all inside one
 * executable segment and inside the file, or when size_bytes is 0.
 */
const uint8_t *elf_image_code(const struct elf_image *image, uint64_t address, uint64_t size_bytes);

/*
 * The eight bytes at address that the file has for a loaded segment, before the loader writes to
 * it. Returns 0, or -ENOENT with *word untouched.
 */
int elf_image_word(const struct elf_image *image, uint64_t address, uint64_t *word);

/*
 * Calls fn for each section of read-only data, in the order of the section table; the bytes are the
 * image's. Sections beyond the file are passed over, and the pass ends where they would together
 * be larger than the file, or than 512 MB. Returns 0, or the first value other than 0 that fn
 * returned.
 */
int elf_image_each_read_only_data(struct elf_image *image,
				  int (*fn)(void *context, const uint8_t *bytes,
					    uint64_t size_bytes),
				  void *context);

#endif
