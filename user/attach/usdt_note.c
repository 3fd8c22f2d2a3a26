/*
 * usdt_note.c - see usdt_note.h. The form: type 3, owner "stapsdt"; three addresses (site, base as
 * linked, semaphore), then provider, name and arguments, each with its NUL. A prelinked library has
 * moved by the distance of .stapsdt.base from the base in the note.
 */
#include "attach/usdt_note.h"

#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define NOTE_TYPE 3
#define ADDRESSES 3

struct wanted {
	const char *provider, *name;
	uint64_t base; /* address of .stapsdt.base; 0: there is none */
	uint64_t site, semaphore;
};

/* Past the string and its NUL, or NULL if it does not end. *equal: it is this one. */
static const char *compare(const char *at, const char *end, const char *wanted, bool *equal)
{
	size_t size = strnlen(at, (size_t)(end - at));

	if (size == (size_t)(end - at))
		return NULL;
	*equal = !strcmp(at, wanted);
	return at + size + 1;
}

static bool take_note(struct wanted *wanted, const char *description, size_t size)
{
	const char *at = description + ADDRESSES * sizeof(uint64_t), *end = description + size;
	bool provider_equal, name_equal;
	uint64_t addresses[ADDRESSES], moved = 0;

	if (size < ADDRESSES * sizeof(uint64_t))
		return false;
	memcpy(addresses, description, sizeof(addresses));
	at = compare(at, end, wanted->provider, &provider_equal);
	if (!at || !compare(at, end, wanted->name, &name_equal) || !provider_equal || !name_equal)
		return false;
	if (wanted->base && addresses[1])
		moved = wanted->base - addresses[1];
	wanted->site = addresses[0] + moved;
	wanted->semaphore = addresses[2] ? addresses[2] + moved : 0;
	return true;
}

static bool search_section(struct wanted *wanted, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t offset = 0, name_offset, description_offset;
	GElf_Nhdr note;

	while (data && data->d_buf &&
	       (offset = gelf_getnote(data, offset, &note, &name_offset, &description_offset))) {
		const char *bytes = data->d_buf;

		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof("stapsdt") &&
		    !memcmp(bytes + name_offset, "stapsdt", sizeof("stapsdt")) &&
		    take_note(wanted, bytes + description_offset, note.n_descsz))
			return true;
	}
	return false;
}

static bool is_named(Elf *elf, const GElf_Shdr *header, const char *name)
{
	const char *found = NULL;
	size_t strings;

	if (!elf_getshdrstrndx(elf, &strings))
		found = elf_strptr(elf, strings, header->sh_name);
	return found && !strcmp(found, name);
}

static bool search(Elf *elf, struct wanted *wanted)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && is_named(elf, &header, ".stapsdt.base"))
			wanted->base = header.sh_addr;
	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    is_named(elf, &header, ".note.stapsdt") && search_section(wanted, section))
			return true;
	return false;
}

/* In a segment of these flags, and in the file. */
static int file_offset(Elf *elf, uint64_t address, uint32_t flags, uint64_t *offset)
{
	GElf_Phdr header;
	size_t count, i;

	if (elf_getphdrnum(elf, &count))
		return -ENOEXEC;
	for (i = 0; i < count; i++) {
		if (!gelf_getphdr(elf, (int)i, &header) || header.p_type != PT_LOAD ||
		    (header.p_flags & flags) != flags || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		*offset = header.p_offset + (address - header.p_vaddr);
		return 0;
	}
	return -ENOENT;
}

static int find(Elf *elf, struct wanted *wanted, struct usdt_note *note)
{
	struct usdt_note found = { 0 };
	GElf_Ehdr header;
	int err;

	if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header) ||
	    header.e_ident[EI_CLASS] != ELFCLASS64)
		return -ENOEXEC;
	if (!search(elf, wanted))
		return -ENOENT;
	err = file_offset(elf, wanted->site, PF_X, &found.site_offset);
	if (!err && wanted->semaphore)
		err = file_offset(elf, wanted->semaphore, PF_W, &found.semaphore_offset);
	if (!err)
		*note = found;
	return err;
}

int usdt_note_find(int fd, const char *provider, const char *name, struct usdt_note *note)
{
	struct wanted wanted = { .provider = provider, .name = name };
	Elf *elf;
	int err;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EIO;
	/* Read, not mapped: the job may shrink its file. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf)
		return -EIO;
	err = find(elf, &wanted, note);
	elf_end(elf);
	return err;
}
