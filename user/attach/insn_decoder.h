/*
 * One x86-64 instruction at a time: its length, where control goes and what happens to the
 * registers that the choice of a probe site depends on. The only user of Capstone.
 */
#ifndef ATTACH_INSN_DECODER_H
#define ATTACH_INSN_DECODER_H

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

#endif
