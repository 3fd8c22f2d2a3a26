/*
 * inject_frame.h - what a thread is made to do: a few calls, one after the other, and then what it
 * was doing before. Pure.
 *
 * It is all data: a row of the frames that the kernel leaves on the stack for a signal handler,
 * each of which is taken back by rt_sigreturn. The first calls a function whose return address is
 * the C library's own rt_sigreturn, which takes the next one; the last is the thread's own state,
 * at the instruction of the system call that it waited in. Nobody has to be there when it runs, no
 * code is brought, nothing is mapped, and the frames lie where a signal's would, below the red
 * zone.
 */
#ifndef ATTACH_INJECT_FRAME_H
#define ATTACH_INJECT_FRAME_H

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

#define INJECT_CALLS_MAX 8
#define INJECT_VECTOR_BYTES_MAX 16384
#define INJECT_DATA_BYTES_MAX 512
#define INJECT_FRAME_BYTES_MAX 24576

struct inject_call {
	uint64_t function;
	uint64_t arguments[6];
};

/* What is to be done, in this order. */
struct inject_list {
	uint64_t restorer; /* of inject_image.h */
	const struct inject_call *calls;
	size_t call_count;
	const void *data;
	size_t data_bytes;
};

/* A thread's, as ptrace tells it. */
struct inject_state {
	struct user_regs_struct registers;
	uint64_t signal_mask;
	size_t vector_bytes; /* of NT_X86_XSTATE */
	_Alignas(64) unsigned char vector[INJECT_VECTOR_BYTES_MAX];
};

struct inject_frame {
	uint64_t address; /* where the bytes belong */
	size_t size_bytes;
	struct user_regs_struct registers; /* with these the thread begins */
	_Alignas(64) unsigned char bytes[INJECT_FRAME_BYTES_MAX];
};

/* Where data of this size will lie: calls may have its address. */
uint64_t inject_frame_data(const struct inject_state *state, size_t data_bytes);

/*
 * The thread waits in a system call (number: of the call), to which it goes back. 0; -EINVAL: the
 * vector state is none that is known, or there are too many calls or data.
 */
int inject_frame_build(struct inject_frame *frame, const struct inject_state *state, int64_t number,
		       const struct inject_list *list);

#endif /* ATTACH_INJECT_FRAME_H */
