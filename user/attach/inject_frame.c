/* inject_frame.c - see inject_frame.h. The structures are the kernel's, not glibc's. */
#include "attach/inject_frame.h"

#include <cpuid.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#define RED_ZONE_BYTES 128
#define UC_FP_XSTATE 1ULL
#define UC_SIGCONTEXT_SS 2ULL
#define UC_STRICT_RESTORE_SS 4ULL
#define ALTERNATE_STACK_INVALID 7 /* no flags: the thread's own alternate stack stays */

/* Of the vector state, in the standard form. */
#define LEGACY_BYTES 512
#define HEADER_BYTES 64
#define SOFTWARE_OFFSET 464 /* within the legacy part */
#define MAGIC_1 0x46505853U
#define MAGIC_2 0x46505845U
#define TILES \
	(1ULL << 17 | 1ULL << 18) /* AMX: lost in any call; needs a permission to be restored */
#define FEATURE_CNT 63

/*
 * All signals wait until the thread has its own state back, lest a handler runs, or leaves by a
 * jump, within ours. But for the one by which the C library has all threads change their user: who
 * calls setuid() holds a lock until each has done so.
 */
#define SIGNAL_SETXID 33
#define SIGNALS_BLOCKED (~(1ULL << (SIGNAL_SETXID - 1)))

struct signal_context {
	uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip;
	uint64_t flags;
	uint16_t cs, gs, fs, ss;
	uint64_t err, trapno, oldmask, cr2;
	uint64_t vector; /* its address */
	uint64_t reserved[8];
};

/* As it lies on the stack at the entry of a handler: the return address first. */
struct signal_frame {
	uint64_t restorer;
	uint64_t uc_flags, uc_link;
	uint64_t stack_address;
	uint32_t stack_flags, stack_padding;
	uint64_t stack_bytes;
	struct signal_context context;
	uint64_t mask;
};

_Static_assert(sizeof(struct signal_context) == 256, "the kernel's struct sigcontext_64");
_Static_assert(sizeof(struct signal_frame) == 312, "the kernel's struct rt_sigframe, less siginfo");

/* So that each frame's return address is where a call leaves one: 8 below a multiple of 16. */
#define FRAME_STEP_BYTES ((sizeof(struct signal_frame) + 15) & ~15UL)

struct software_bytes {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t state_bytes;
	uint32_t padding[7];
};

/* How many bytes the state of these features takes. 0: the processor has none. */
static size_t vector_size(uint64_t features)
{
	size_t size = LEGACY_BYTES + HEADER_BYTES;
	unsigned int feature, a, b, c, d;

	for (feature = 2; feature < FEATURE_CNT; feature++) {
		if (!(features & 1ULL << feature))
			continue;
		if (!__get_cpuid_count(0xd, feature, &a, &b, &c, &d) || !a)
			return 0;
		if (a + (size_t)b > size)
			size = a + (size_t)b;
	}
	return size;
}

/*
 * As the kernel writes it for a signal handler. The kernel takes less of it, silently, if the size
 * is more than the thread may have: tiles are left out. Returns the size with the mark behind it.
 */
static size_t place_vector(unsigned char *to, size_t room, const struct inject_state *state)
{
	struct software_bytes software = { .magic = MAGIC_1 };
	const uint32_t magic = MAGIC_2;
	uint64_t features, present;
	size_t size;

	if (state->vector_bytes < LEGACY_BYTES + HEADER_BYTES)
		return 0;
	memcpy(&features, state->vector + SOFTWARE_OFFSET, sizeof(features));
	features &= ~TILES;
	size = vector_size(features);
	if (!size || size > state->vector_bytes || size + sizeof(magic) > room)
		return 0;
	memcpy(to, state->vector, size);
	memcpy(&present, to + LEGACY_BYTES, sizeof(present));
	present &= features;
	memcpy(to + LEGACY_BYTES, &present, sizeof(present));
	software.extended_bytes = (uint32_t)(size + sizeof(magic));
	software.features = features;
	software.state_bytes = (uint32_t)size;
	memcpy(to + SOFTWARE_OFFSET, &software, sizeof(software));
	memcpy(to + size, &magic, sizeof(magic));
	return size + sizeof(magic);
}

static void take_registers(struct signal_context *context, const struct user_regs_struct *from)
{
	*context = (struct signal_context){
		.r8 = from->r8,
		.r9 = from->r9,
		.r10 = from->r10,
		.r11 = from->r11,
		.r12 = from->r12,
		.r13 = from->r13,
		.r14 = from->r14,
		.r15 = from->r15,
		.rdi = from->rdi,
		.rsi = from->rsi,
		.rbp = from->rbp,
		.rbx = from->rbx,
		.rdx = from->rdx,
		.rax = from->rax,
		.rcx = from->rcx,
		.rsp = from->rsp,
		.rip = from->rip,
		.flags = from->eflags,
		.cs = (uint16_t)from->cs,
		.gs = (uint16_t)from->gs,
		.fs = (uint16_t)from->fs,
		.ss = (uint16_t)from->ss,
	};
}

static void fill(struct signal_frame *frame, const struct user_regs_struct *registers,
		 uint64_t mask, uint64_t vector)
{
	memset(frame, 0, sizeof(*frame));
	frame->uc_flags = UC_FP_XSTATE | UC_SIGCONTEXT_SS | UC_STRICT_RESTORE_SS;
	frame->stack_flags = ALTERNATE_STACK_INVALID;
	take_registers(&frame->context, registers);
	frame->context.vector = vector;
	frame->mask = mask;
}

static struct user_regs_struct call_registers(const struct user_regs_struct *before,
					      const struct inject_call *call, uint64_t stack)
{
	struct user_regs_struct registers = *before;

	registers.rip = call->function;
	registers.rsp = stack;
	registers.rdi = call->arguments[0];
	registers.rsi = call->arguments[1];
	registers.rdx = call->arguments[2];
	registers.rcx = call->arguments[3];
	registers.r8 = call->arguments[4];
	registers.r9 = call->arguments[5];
	registers.rax = 0;
	registers.rbp = 0;			       /* the outermost, to who walks by it */
	registers.eflags &= ~(1ULL << 10 | 1ULL << 8); /* direction, trap */
	return registers;
}

uint64_t inject_frame_data(const struct inject_state *state, size_t data_bytes)
{
	return (state->registers.rsp - RED_ZONE_BYTES - data_bytes) & ~63ULL;
}

/* frame i returns to frame i + 1; the last one to the thread's own state. */
static void place_frames(struct inject_frame *frame, const struct inject_state *state,
			 int64_t number, const struct inject_list *list, uint64_t vector)
{
	struct user_regs_struct own = state->registers, registers;
	size_t count = list->call_count, i;
	struct signal_frame each;

	own.rax = (uint64_t)number;
	own.rip -= 2; /* the instruction itself */
	for (i = 0; i <= count; i++) {
		uint64_t next = frame->address + 8 + (i + 1) * FRAME_STEP_BYTES;

		registers = i < count ? call_registers(&own, &list->calls[i], next) : own;
		fill(&each, &registers, i < count ? SIGNALS_BLOCKED : state->signal_mask, vector);
		each.restorer = list->restorer;
		memcpy(frame->bytes + 8 + i * FRAME_STEP_BYTES, &each, sizeof(each));
	}
	/* As if the first frame's return address had been taken. */
	frame->registers = own;
	frame->registers.rsp = frame->address + 16;
	frame->registers.rip = list->restorer;
	frame->registers.rax = 0;
	frame->registers.orig_rax = (uint64_t)-1; /* no call to begin anew */
}

int inject_frame_build(struct inject_frame *frame, const struct inject_state *state, int64_t number,
		       const struct inject_list *list)
{
	size_t frames_bytes = (8 + (list->call_count + 1) * FRAME_STEP_BYTES + 63) & ~63UL;
	uint64_t data_at = inject_frame_data(state, list->data_bytes);
	size_t vector_bytes, room;

	if (list->call_count > INJECT_CALLS_MAX || list->data_bytes > INJECT_DATA_BYTES_MAX)
		return -EINVAL;
	memset(frame->bytes, 0, sizeof(frame->bytes));
	room = sizeof(frame->bytes) - frames_bytes - INJECT_DATA_BYTES_MAX - 64;
	vector_bytes = place_vector(frame->bytes + frames_bytes, room, state);
	if (!vector_bytes)
		return -EINVAL;
	vector_bytes = (vector_bytes + 63) & ~63UL;
	frame->address = data_at - vector_bytes - frames_bytes;
	frame->size_bytes = frames_bytes + vector_bytes + list->data_bytes;
	memcpy(frame->bytes + frames_bytes + vector_bytes, list->data, list->data_bytes);
	place_frames(frame, state, number, list, frame->address + frames_bytes);
	return 0;
}
