/* handover.c - see handover.h. Nothing here may be inlined, instrumented or given a prologue. */
#include "agent/handover.h"

#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

/* Not in .bss: the kernel counts in a page that is backed by the file. */
#define SEMAPHORE(name)                          \
	__attribute__((section(".probes"), used, \
		       visibility("hidden"))) volatile uint16_t tpbpf_agent_##name##_semaphore

SEMAPHORE(batch) = 0;
SEMAPHORE(collect) = 0;
SEMAPHORE(sync) = 0;

/*
 * A probe on a nop is emulated by the kernel, on any other first instruction it may be
 * single-stepped. The site of `batch` is the function's own first instruction; those of the two
 * switches are behind its end, where nothing ever runs.
 */
__asm__(".pushsection .text\n"
	".balign 16\n"
	".globl tpbpf_agent_batch\n"
	".hidden tpbpf_agent_batch\n"
	".type tpbpf_agent_batch, @function\n"
	"tpbpf_agent_batch:\n"
	"	.cfi_startproc\n"
	"990:	nop\n"
	"	ret\n"
	"991:	nop\n"
	"	ret\n"
	"992:	nop\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size tpbpf_agent_batch, . - tpbpf_agent_batch\n"
	".popsection\n");

#define NOTE(site, name, arguments)                                 \
	__asm__(".pushsection .note.stapsdt, \"\", \"note\"\n"      \
		".balign 4\n"                                       \
		".4byte 2f - 1f, 4f - 3f, 3\n"                      \
		"1:	.asciz \"stapsdt\"\n"                           \
		"2:	.balign 4\n"                                    \
		"3:	.8byte tpbpf_agent_batch + 2 * " #site "\n" \
		"	.8byte _.stapsdt.base\n"                          \
		"	.8byte tpbpf_agent_" #name "_semaphore\n"   \
		"	.asciz \"tpbpf_agent\"\n"                         \
		"	.asciz \"" #name "\"\n"                     \
		"	.asciz \"" arguments "\"\n"                 \
		"4:	.balign 4\n"                                    \
		".popsection\n")

__asm__(".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"
	".weak _.stapsdt.base\n"
	".hidden _.stapsdt.base\n"
	"_.stapsdt.base: .space 1\n"
	".size _.stapsdt.base, 1\n"
	".popsection\n");

NOTE(0, batch, "8@%rdi 8@%rsi");
NOTE(1, collect, "");
NOTE(2, sync, "");

/* A mark that is seen in memory: notes of .note.stapsdt are in the file alone. */
#define MARK_NAME "tpbpf-agent"

__asm__(".pushsection .note.tpbpf, \"a\", \"note\"\n"
	".balign 4\n"
	".4byte 12, 4, 1\n"
	".asciz \"" MARK_NAME "\"\n"
	".4byte 1\n"
	".popsection\n");

bool handover_listening(void)
{
	return tpbpf_agent_batch_semaphore != 0;
}

bool handover_collecting(void)
{
	return tpbpf_agent_collect_semaphore != 0;
}

bool handover_wants_sync(void)
{
	return tpbpf_agent_sync_semaphore != 0;
}

static bool has_mark(const struct dl_phdr_info *object)
{
	int i;

	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		const char *at = (const char *)(object->dlpi_addr + segment->p_vaddr);
		size_t left = segment->p_memsz;

		while (segment->p_type == PT_NOTE && left >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			size_t name_size = (note->n_namesz + 3UL) & ~3UL;
			size_t size = sizeof(*note) + name_size + ((note->n_descsz + 3UL) & ~3UL);

			if (size > left)
				break;
			if (note->n_namesz == sizeof(MARK_NAME) &&
			    !memcmp(note + 1, MARK_NAME, sizeof(MARK_NAME)))
				return true;
			at += size;
			left -= size;
		}
	}
	return false;
}

/* The objects come in the order in which they were loaded: stops at the first agent. */
static int first_agent(struct dl_phdr_info *object, size_t size, void *found)
{
	(void)size;
	if (!has_mark(object))
		return 0;
	*(ElfW(Addr) *)found = object->dlpi_addr;
	return 1;
}

static int own_base(struct dl_phdr_info *object, size_t size, void *found)
{
	ElfW(Addr) here = (ElfW(Addr)) & tpbpf_agent_batch_semaphore;
	int i;

	(void)size;
	for (i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];

		if (segment->p_type == PT_LOAD &&
		    here - (object->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
			*(ElfW(Addr) *)found = object->dlpi_addr;
			return 1;
		}
	}
	return 0;
}

bool handover_has_twin(void)
{
	ElfW(Addr) first = 0, own = 0;

	return dl_iterate_phdr(first_agent, &first) && dl_iterate_phdr(own_base, &own) &&
	       first != own;
}
