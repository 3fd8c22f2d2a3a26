/*
 * Bottom of the choice of probe sites: bytes to struct flow_insn, by Capstone.
 *
 * Invariant: what is not understood is reported as doing harm. A register that an instruction may
 * write counts as written, a stack effect that is not in the short list below is STACK_LOST, and a
 * transfer of control of an unknown kind is no instruction at all.
 */
#include "attach/insn_decoder.h"

#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>

#include "attach/control_flow.h"

struct insn_decoder {
	csh handle;
	cs_insn *insn;
};

int insn_decoder_new(struct insn_decoder **out)
{
	struct insn_decoder *decoder;

	decoder = calloc(1, sizeof(*decoder));
	if (!decoder)
		return -ENOMEM;
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &decoder->handle) != CS_ERR_OK)
		goto err_free;
	if (cs_option(decoder->handle, CS_OPT_DETAIL, CS_OPT_ON) != CS_ERR_OK)
		goto err_close;
	decoder->insn = cs_malloc(decoder->handle);
	if (!decoder->insn)
		goto err_close;
	*out = decoder;
	return 0;

err_close:
	cs_close(&decoder->handle);
err_free:
	free(decoder);
	return -ENOMEM;
}

void insn_decoder_free(struct insn_decoder *decoder)
{
	if (!decoder)
		return;
	cs_free(decoder->insn, 1);
	cs_close(&decoder->handle);
	free(decoder);
}

static const cs_x86_op *operand(const cs_insn *insn, uint8_t index)
{
	const cs_x86 *x86 = &insn->detail->x86;

	return index < x86->op_count ? &x86->operands[index] : NULL;
}

static bool is_register(const cs_x86_op *op, x86_reg reg)
{
	return op && op->type == X86_OP_REG && op->reg == reg;
}

static bool is_immediate(const cs_x86_op *op)
{
	return op && op->type == X86_OP_IMM && op->imm >= INT32_MIN && op->imm <= INT32_MAX;
}

/* disp(base), no index: what compilers use to move the stack pointer with lea. */
static bool is_displaced(const cs_x86_op *op, x86_reg base)
{
	return op && op->type == X86_OP_MEM && op->mem.base == base &&
	       op->mem.index == X86_REG_INVALID && op->mem.segment == X86_REG_INVALID &&
	       op->mem.disp >= INT32_MIN && op->mem.disp <= INT32_MAX;
}

static enum flow_class call_class(const cs_x86_op *op)
{
	if (op && op->type == X86_OP_IMM)
		return FLOW_CALL;
	if (op && op->type == X86_OP_MEM && op->mem.base == X86_REG_RIP &&
	    op->mem.index == X86_REG_INVALID)
		return FLOW_CALL_SLOT;
	return FLOW_CALL_INDIRECT;
}

/* Returns -EILSEQ for a transfer of control that is none of a compiler's. */
static int classify(const struct insn_decoder *decoder, struct flow_insn *out)
{
	const cs_insn *insn = decoder->insn;
	const cs_x86_op *op = operand(insn, 0);

	out->class = FLOW_PLAIN;
	switch (insn->id) {
	case X86_INS_CALL:
		out->class = call_class(op);
		break;
	case X86_INS_JMP:
		out->class = op && op->type == X86_OP_IMM ? FLOW_JUMP : FLOW_JUMP_INDIRECT;
		break;
	case X86_INS_RET:
		out->class = FLOW_RETURN;
		break;
	case X86_INS_HLT:
	case X86_INS_INT3:
	case X86_INS_UD0:
	case X86_INS_UD2:
		out->class = FLOW_TRAP;
		break;
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
		out->class = FLOW_BRANCH;
		break;
	case X86_INS_LCALL:
	case X86_INS_LJMP:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_XBEGIN:
		return -EILSEQ;
	default:
		if (cs_insn_group(decoder->handle, insn, CS_GRP_RET) ||
		    cs_insn_group(decoder->handle, insn, CS_GRP_IRET) ||
		    cs_insn_group(decoder->handle, insn, CS_GRP_CALL))
			return -EILSEQ;
		if (cs_insn_group(decoder->handle, insn, CS_GRP_JUMP))
			out->class = FLOW_BRANCH;
	}
	if (out->class == FLOW_BRANCH && (!op || op->type != X86_OP_IMM))
		return -EILSEQ;
	if (out->class == FLOW_CALL || out->class == FLOW_JUMP || out->class == FLOW_BRANCH)
		out->target = (uint64_t)op->imm;
	return 0;
}

/* The number of the argument register that reg is a part of, or -1. */
static int argument_number(uint16_t reg)
{
	/* clang-format off */
	static const uint16_t arguments[][6] = {
		{ X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL },
		{ X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL },
		{ X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH },
		{ X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH },
		{ X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B },
		{ X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B },
	};
	/* clang-format on */
	size_t number, part;

	for (number = 0; number < sizeof(arguments) / sizeof(arguments[0]); number++) {
		for (part = 0; part < 6 && arguments[number][part]; part++) {
			if (reg == arguments[number][part])
				return (int)number;
		}
	}
	return -1;
}

static bool is_stack_pointer(uint16_t reg)
{
	return reg == X86_REG_RSP || reg == X86_REG_ESP || reg == X86_REG_SP || reg == X86_REG_SPL;
}

static bool is_frame_pointer(uint16_t reg)
{
	return reg == X86_REG_RBP || reg == X86_REG_EBP || reg == X86_REG_BP || reg == X86_REG_BPL;
}

/* Registers that are written, which the effects below then say more about where they can. */
static void note_writes(const struct insn_decoder *decoder, struct flow_insn *out)
{
	cs_regs reads, writes;
	uint8_t read_cnt, write_cnt, i;

	if (cs_regs_access(decoder->handle, decoder->insn, reads, &read_cnt, writes, &write_cnt) !=
	    CS_ERR_OK) {
		out->written_arguments = 0xff;
		out->writes_sp = true;
		out->stack = STACK_LOST;
		out->frame = FRAME_LOST;
		return;
	}
	for (i = 0; i < write_cnt; i++) {
		int argument = argument_number(writes[i]);

		if (argument >= 0)
			out->written_arguments |= (uint8_t)(1U << argument);
		if (is_frame_pointer(writes[i]))
			out->frame = FRAME_LOST;
		if (is_stack_pointer(writes[i])) {
			out->writes_sp = true;
			out->stack = STACK_LOST;
		}
	}
}

static void set_stack(struct flow_insn *out, enum stack_effect stack, int64_t value)
{
	out->stack = stack;
	out->stack_value = (int32_t)value;
}

/* mov and lea between the stack pointer and the frame pointer. */
static void note_moves(const cs_insn *insn, struct flow_insn *out)
{
	const cs_x86_op *to = operand(insn, 0);
	const cs_x86_op *from = operand(insn, 1);
	bool is_mov = insn->id == X86_INS_MOV;

	if (is_register(to, X86_REG_RSP)) {
		if (is_mov && is_register(from, X86_REG_RBP))
			set_stack(out, STACK_FROM_FRAME, 0);
		else if (!is_mov && is_displaced(from, X86_REG_RBP))
			set_stack(out, STACK_FROM_FRAME, from->mem.disp);
		else if (!is_mov && is_displaced(from, X86_REG_RSP))
			set_stack(out, STACK_MOVE, from->mem.disp);
	} else if (is_register(to, X86_REG_RBP)) {
		if (is_mov && is_register(from, X86_REG_RSP)) {
			out->frame = FRAME_SET;
		} else if (!is_mov && is_displaced(from, X86_REG_RSP)) {
			out->frame = FRAME_SET;
			out->frame_value = (int32_t)from->mem.disp;
		}
	}
}

static bool has_word_size(const cs_insn *insn)
{
	return insn->detail->x86.prefix[2] == X86_PREFIX_OPSIZE;
}

static void note_stack(const cs_insn *insn, struct flow_insn *out)
{
	const cs_x86_op *op = operand(insn, 0);
	const cs_x86_op *value = operand(insn, 1);

	switch (insn->id) {
	case X86_INS_CALL:
		/* back where it was once the callee has returned */
		set_stack(out, STACK_KEEP, 0);
		break;
	case X86_INS_PUSH:
		if (!has_word_size(insn))
			set_stack(out, STACK_MOVE, -8);
		break;
	case X86_INS_POP:
		if (!has_word_size(insn) && !is_register(op, X86_REG_RSP))
			set_stack(out, STACK_MOVE, 8);
		break;
	case X86_INS_ADD:
		if (is_register(op, X86_REG_RSP) && is_immediate(value))
			set_stack(out, STACK_MOVE, value->imm);
		break;
	case X86_INS_SUB:
		if (is_register(op, X86_REG_RSP) && is_immediate(value))
			set_stack(out, STACK_MOVE, -value->imm);
		break;
	case X86_INS_LEAVE:
		set_stack(out, STACK_FROM_FRAME, 8);
		out->frame = FRAME_LOST;
		break;
	case X86_INS_MOV:
	case X86_INS_LEA:
		note_moves(insn, out);
		break;
	default:
		break;
	}
}

/*
 * As branch_setup_xol_ops() and push_setup_xol_ops() of arch/x86/kernel/uprobes.c decide, but with
 * no prefix other than the REX.B of push: the lengths rule them out. That these bytes are an
 * instruction, Capstone has said.
 */
static bool is_emulated(const uint8_t *bytes, uint8_t length)
{
	switch (length) {
	case 1: /* push r64, nop */
		return (bytes[0] & 0xf8) == 0x50 || bytes[0] == 0x90;
	case 2: /* push r8 to r15, jmp rel8, jcc rel8 */
		return (bytes[0] == 0x41 && (bytes[1] & 0xf8) == 0x50) || bytes[0] == 0xeb ||
		       (bytes[0] & 0xf0) == 0x70;
	case 5: /* call rel32, jmp rel32 */
		return bytes[0] == 0xe8 || bytes[0] == 0xe9;
	case 6: /* jcc rel32 */
		return bytes[0] == 0x0f && (bytes[1] & 0xf0) == 0x80;
	default:
		return false;
	}
}

int insn_decoder_read(struct insn_decoder *decoder, const uint8_t *code, size_t size_bytes,
		      uint64_t address, struct flow_insn *insn)
{
	struct flow_insn result = { .next = { CONTROL_FLOW_NONE, CONTROL_FLOW_NONE } };
	int err;

	if (!cs_disasm_iter(decoder->handle, &code, &size_bytes, &address, decoder->insn))
		return -EILSEQ;
	result.length = (uint8_t)decoder->insn->size;
	result.is_emulated = is_emulated(decoder->insn->bytes, result.length);
	err = classify(decoder, &result);
	if (err)
		return err;
	note_writes(decoder, &result);
	note_stack(decoder->insn, &result);
	*insn = result;
	return 0;
}

int insn_decoder_operands(struct insn_decoder *decoder, const uint8_t *code, size_t size_bytes,
			  uint64_t address, struct insn_operands *out)
{
	const cs_x86_op *to, *from;
	const cs_insn *insn = decoder->insn;

	if (!cs_disasm_iter(decoder->handle, &code, &size_bytes, &address, decoder->insn))
		return -EILSEQ;
	to = operand(insn, 0);
	from = operand(insn, 1);
	*out = (struct insn_operands){ .length = (uint8_t)insn->size };
	if (insn->id == X86_INS_CALL)
		out->is_call = call_class(to) != FLOW_CALL_INDIRECT;
	out->takes_address = insn->id == X86_INS_LEA && is_register(to, X86_REG_RDI) &&
			     is_displaced(from, X86_REG_RIP);
	out->loads_word = insn->id == X86_INS_MOV && to && to->type == X86_OP_REG &&
			  to->size == sizeof(uint64_t) && is_displaced(from, X86_REG_RAX);
	if (out->takes_address)
		out->address = address + (uint64_t)from->mem.disp; /* behind the instruction */
	if (out->loads_word)
		out->displacement = from->mem.disp;
	return 0;
}
