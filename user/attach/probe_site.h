/*
 * Where in a function its beginning and its end can be probed at little cost.
 *
 * The kernel emulates a few instructions (about 1 us a hit) and steps all others out of line (about
 * 10 us). Emulated are push r64, one-byte nop, call rel32, jmp and jcc, each without a prefix but
 * for the REX.B of push. An end is never seen by a return probe: one that an exception passes kills
 * the process.
 *
 * The rule of the exit. A site must lie on every path from the entry to an exit, be emulated, not
 * be on a cycle (it would be hit more than once), and no indirect call may be reachable from it:
 * then the work, which is behind an indirect call, is over. The last such instruction is taken.
 * What that needs, beyond the sentence:
 *
 *  - Exits are `ret` and tail calls. A direct jmp or jcc out of the function is a tail call where
 *    the stack pointer is at its entry value or not known, and else a jump to the function's .cold
 *    part, which is aside. That needs no symbols, so stripped files are treated alike.
 *  - Landing pads need no care: nothing jumps to them. One is met when it stands behind a call that
 *    does not return (__stack_chk_fail, std::terminate): it is then decoded as if the call
 *    returned. It ends in a jump to .cold or a further call that does not return, at a depth of the
 *    stack that is no tail call's, so it makes no exit. If it did, a site would be lost, not
 *    misplaced: more paths only make the rule stricter.
 *  - `jmp *` refuses the function. As a jump table its targets are not known, and as a tail call it
 *    is an indirect call that comes after every site.
 *  - A direct tail call is a direct call that comes after every site, or is the site. Where calls
 *    may follow it may too: a tail call that stood for the work on one path would be one branch
 *    away from the indirect call that stands for it on another, and no site is behind both.
 *  - A function without any indirect call is refused, unless the caller allows the calls that
 *    follow one by one: there the rule says nothing about where the work is.
 *  - `call *slot(%rip)` counts as a direct call: -fno-plt builds call every named function so.
 *  - A .cold part that jumps back behind the site hides that exit. Records are paired so that a
 *    missing exit is borne, as after an exception.
 */
#ifndef ATTACH_PROBE_SITE_H
#define ATTACH_PROBE_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum probe_site_kind {
	PROBE_SITE_PUSH,
	PROBE_SITE_NOP,
	PROBE_SITE_CALL,
	PROBE_SITE_JUMP,
	PROBE_SITE_BRANCH,  /* jcc */
	PROBE_SITE_RET,	    /* stepped */
	PROBE_SITE_STEPPED, /* any other instruction */
	PROBE_SITE_KIND_CNT,
};

struct probe_site {
	uint64_t address;
	enum probe_site_kind kind;
	bool emulated;
	/* bytes below the entry's stack pointer, before the site runs; -1 unknown */
	int32_t sp_below_entry;
};

/* Why no exit was chosen. */
enum probe_site_refusal {
	PROBE_SITE_ACCEPTED,
	PROBE_SITE_BAD_SIZE,
	PROBE_SITE_UNDECODABLE,
	PROBE_SITE_OVERLAP,
	PROBE_SITE_RUNS_OFF,
	PROBE_SITE_INDIRECT_JUMP,
	PROBE_SITE_NO_EXIT,
	PROBE_SITE_NO_INDIRECT_CALL,
	PROBE_SITE_NONE_ON_EVERY_PATH,
	PROBE_SITE_ON_CYCLE,
	PROBE_SITE_INDIRECT_CALL_AFTER,
	PROBE_SITE_CALL_AFTER,
	PROBE_SITE_REFUSAL_CNT,
};

/* A phrase for messages. Never NULL. */
const char *probe_site_refusal_text(enum probe_site_refusal refusal);

/*
 * Says which calls may still run after an exit site. target is the address that the call or tail
 * call names (a PLT stub, a function), or 0 when it goes through a slot of the GOT.
 */
struct probe_site_calls {
	bool (*may_follow)(void *context, uint64_t target);
	void *context;
};

/* What a probe at the entry reads, so what must still be as it was at the entry. */
#define PROBE_SITE_ARGUMENT(n) (1U << (n)) /* rdi rsi rdx rcx r8 r9 */
#define PROBE_SITE_STACK (1U << 6)
#define PROBE_SITE_EVERYTHING 0x7fU

/*
 * Entry of the function whose size_bytes of code lie at address: the first emulated instruction on
 * the straight line from its start, behind endbr64 and whatever else changes nothing of what the
 * probe needs. Never behind a branch or an indirect call, never on a cycle. Where there is none,
 * the function's first instruction, single-stepped. Returns 0; -ENOENT with *out untouched: size 0
 * or too large, the first instruction is undecodable or itself on a cycle; or -ENOMEM.
 */
int probe_site_entry(const uint8_t *code, uint64_t size_bytes, uint64_t address, unsigned int needs,
		     struct probe_site *out);

/*
 * Exit of a function whose work is behind an indirect call (at::_ops::*::call), by the rule above.
 * Direct calls may follow: there they free memory and release references.
 * Returns 0; -ENOENT with *refusal set and *out untouched; or -ENOMEM.
 */
int probe_site_exit(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		    struct probe_site *out, enum probe_site_refusal *refusal);

/* The same for any function: each call from the site on, the site included, must be allowed. */
int probe_site_exit_allowing(const uint8_t *code, uint64_t size_bytes, uint64_t address,
			     const struct probe_site_calls *calls, struct probe_site *out,
			     enum probe_site_refusal *refusal);

/*
 * The dear way out for a function without an exit site: its `ret`, if it has exactly one and no
 * tail call. Unlike above, all of the bytes are looked at in order, so a jump table does no harm.
 * Returns 0; -ENOENT with *out untouched; or -ENOMEM.
 */
int probe_site_return(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		      struct probe_site *out);

/*
 * The ends of a function about whose calls nothing is known: each of its `ret`s, stepped, of which
 * a run passes just one. All of the bytes are looked at in order; refused are a function with a
 * tail call, whose end lies elsewhere, and one with a `ret` that no path is known to.
 * Returns 0 with *count of them, by address; -ENOENT: none, more than max, or refused; or -ENOMEM.
 */
int probe_site_returns(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		       struct probe_site *out, size_t max, size_t *count);

#endif
