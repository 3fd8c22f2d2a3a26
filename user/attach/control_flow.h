/*
 * The instructions of one function that can be reached from its first one, and the edges between
 * them. Bytes are decoded by Capstone, following the jumps, so padding, landing pads of exceptions
 * and data between functions are never looked at.
 *
 * How control can leave without an edge:
 *  - `ret`, and jumps and branches out of the function (leaves);
 *  - `jmp *`, whose targets are not known;
 *  - a call that is the function's last instruction: nothing follows, so it does not return
 *    (__stack_chk_fail, _Unwind_Resume). A call inside the function is taken to return.
 */
#ifndef ATTACH_CONTROL_FLOW_H
#define ATTACH_CONTROL_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer functions are refused: the bound on time and memory that a damaged symbol can cost. */
#define CONTROL_FLOW_SIZE_MAX ((uint64_t)256 * 1024)

#define CONTROL_FLOW_NONE UINT32_MAX

/* The stack pointer's distance is not known. */
#define CONTROL_FLOW_SP_UNKNOWN (-1)

enum flow_class {
	FLOW_PLAIN,
	FLOW_CALL,	/* direct */
	FLOW_CALL_SLOT, /* call *slot(%rip): a named function, the way of -fno-plt builds */
	FLOW_CALL_INDIRECT,
	FLOW_JUMP,
	FLOW_JUMP_INDIRECT,
	FLOW_BRANCH, /* conditional */
	FLOW_RETURN,
	FLOW_TRAP, /* hlt, ud2, int3: control does not go on */
};

/* What one instruction does to the stack pointer and the frame pointer (rbp). */
enum stack_effect {
	STACK_KEEP,
	STACK_MOVE,	  /* sp = sp + value */
	STACK_FROM_FRAME, /* sp = rbp + value */
	STACK_LOST,
};

enum frame_effect {
	FRAME_KEEP,
	FRAME_SET, /* rbp = sp + value, with the sp from before the instruction */
	FRAME_LOST,
};

struct flow_insn {
	uint32_t offset;  /* bytes from the function's start */
	uint32_t next[2]; /* indices of what may run next: the following one, the jump's target */
	uint64_t target;  /* address that a direct call, jump or branch names, else 0 */
	enum flow_class class;
	enum stack_effect stack;
	enum frame_effect frame;
	int32_t stack_value;
	int32_t frame_value;
	int32_t sp_below_entry; /* bytes, before the instruction runs; CONTROL_FLOW_SP_UNKNOWN */
	uint8_t length;
	bool leaves;		   /* the target is outside the function */
	uint8_t written_arguments; /* bit n: argument register n (rdi rsi rdx rcx r8 r9), any width
				    */
	bool writes_sp;
	bool is_emulated; /* by the kernel, when probed */
};

/* Why a graph is not the whole function. */
enum control_flow_flaw {
	CONTROL_FLOW_WHOLE,
	CONTROL_FLOW_UNDECODABLE, /* bytes that are no instruction, or one cut by the end */
	CONTROL_FLOW_OVERLAP,	  /* a jump into the middle of an instruction */
	CONTROL_FLOW_RUNS_OFF,	  /* control runs past the end */
};

struct control_flow {
	struct flow_insn *insns; /* the entry first, then in the order of discovery */
	uint32_t cnt;
	enum control_flow_flaw flaw; /* the first one met; the rest of the graph is still there */
};

/*
 * Builds the graph of the function at address. The code is not kept.
 * Returns 0, -EINVAL (size 0 or above CONTROL_FLOW_SIZE_MAX), -ENOENT (the first instruction cannot
 * be decoded) or -ENOMEM. A flaw is no error: see control_flow.flaw.
 */
int control_flow_new(struct control_flow **out, const uint8_t *code, uint64_t size_bytes,
		     uint64_t address);

/* NULL is legal. */
void control_flow_free(struct control_flow *flow);

#endif
