/*
 * One x86-64 instruction at a time: its length, where control goes and what happens to the
 * registers that the choice of a probe site depends on. The only user of Capstone.
 */
#ifndef ATTACH_INSN_DECODER_H
#define ATTACH_INSN_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flow_insn;
struct insn_decoder;

/* Returns 0 or -ENOMEM. */
int insn_decoder_new(struct insn_decoder **out);

/* NULL is legal. */
void insn_decoder_free(struct insn_decoder *decoder);

/*
 * Decodes the instruction at code, which lies at address. Fills all of insn but offset, leaves and
 * sp_below_entry; next is CONTROL_FLOW_NONE twice. Returns 0 or -EILSEQ: not an instruction, longer
 * than size_bytes, or one that moves control in a way that user code does not (far jumps, iret).
 */
int insn_decoder_read(struct insn_decoder *decoder, const uint8_t *code, size_t size_bytes,
		      uint64_t address, struct flow_insn *insn);

/* What an instruction does with addresses, as far as thread_numbers.c asks. */
struct insn_operands {
	uint8_t length;
	bool takes_address; /* lea address(%rip), %rdi */
	bool is_call;	    /* of a named function */
	bool loads_word;    /* mov displacement(%rax), a 64-bit register */
	uint64_t address;
	int64_t displacement;
};

/* Decodes the instruction at code, which lies at address. Returns 0 or -EILSEQ. */
int insn_decoder_operands(struct insn_decoder *decoder, const uint8_t *code, size_t size_bytes,
			  uint64_t address, struct insn_operands *out);

#endif
