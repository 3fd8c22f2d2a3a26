/*
 * thread_numbers.h - where a thread keeps the number that its next autograd node takes, and
 * PyTorch's own number of it. Both are thread-local variables of libtorch_cpu without a symbol,
 * each with one small function that returns it (at::sequence_number::get_and_increment,
 * at::RecordFunction::currentThreadId). These say where it is:
 *
 *	lea  tls_index(%rip), %rdi	the module and an offset, as the linker wrote them
 *	call __tls_get_addr		the address of what tls_index names
 *	mov  displacement(%rax), %rdx
 *
 * Seen in the official wheels 2.13.0 and 2.14.1, and in Debian's 1.13.1, where each variable has a
 * tls_index of its own.
 */
#ifndef ATTACH_THREAD_NUMBERS_H
#define ATTACH_THREAD_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/elf_symbols.h"
#include "probe_config.h"

struct thread_variable {
	bool is_found;
	uint64_t index;	       /* address of its tls_index in the file */
	uint64_t index_offset; /* as the file has it */
	int64_t displacement;  /* behind what the tls_index names */
};

/* Zeroes: nothing was found yet. */
struct thread_numbers {
	struct thread_variable sequence, number;
};

/* Every function of the library: these two are picked out. */
void thread_numbers_look(struct thread_numbers *numbers, const struct elf_image *image,
			 const struct elf_symbol *symbol);

/* Where the function at address keeps its variable; out: untouched if it is not of that shape. */
void thread_numbers_decode(const uint8_t *code, uint64_t size_bytes, uint64_t address,
			   struct thread_variable *out);

/*
 * What the programs need to read both where the instruction at site (an address in the file) is
 * probed. False: the variables are not known.
 */
bool thread_numbers_configure(const struct thread_numbers *numbers, uint64_t site,
			      struct probe_config *config);

#endif /* ATTACH_THREAD_NUMBERS_H */
