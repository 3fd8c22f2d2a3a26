/*
 * inject_filter.c - see inject_filter.h. Classic BPF as seccomp takes it: 32-bit words of struct
 * seccomp_data, two registers, 16 cells, jumps forward alone, so that every filter ends.
 */
#include "attach/inject_filter.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

struct machine {
	uint32_t a, x, cells[BPF_MEMWORDS];
	size_t next;
	bool is_sound;
};

static void load(struct machine *machine, const struct sock_filter *step,
		 const struct seccomp_data *data)
{
	bool into_x = BPF_CLASS(step->code) == BPF_LDX;
	uint32_t value = 0;

	switch (BPF_MODE(step->code)) {
	case BPF_ABS:
		if (step->k % 4 || step->k > sizeof(*data) - 4)
			machine->is_sound = false;
		else
			memcpy(&value, (const char *)data + step->k, sizeof(value));
		break;
	case BPF_LEN:
		value = sizeof(*data);
		break;
	case BPF_IMM:
		value = step->k;
		break;
	case BPF_MEM:
		if (step->k >= BPF_MEMWORDS)
			machine->is_sound = false;
		else
			value = machine->cells[step->k];
		break;
	default:
		machine->is_sound = false;
	}
	*(into_x ? &machine->x : &machine->a) = value;
}

static void store(struct machine *machine, const struct sock_filter *step)
{
	if (step->k >= BPF_MEMWORDS)
		machine->is_sound = false;
	else
		machine->cells[step->k] = BPF_CLASS(step->code) == BPF_ST ? machine->a : machine->x;
}

static void calculate(struct machine *machine, const struct sock_filter *step)
{
	uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;

	switch (BPF_OP(step->code)) {
	case BPF_ADD:
		machine->a += operand;
		break;
	case BPF_SUB:
		machine->a -= operand;
		break;
	case BPF_MUL:
		machine->a *= operand;
		break;
	case BPF_DIV:
		machine->is_sound = operand;
		machine->a = operand ? machine->a / operand : 0;
		break;
	case BPF_AND:
		machine->a &= operand;
		break;
	case BPF_OR:
		machine->a |= operand;
		break;
	case BPF_XOR:
		machine->a ^= operand;
		break;
	case BPF_LSH:
		machine->a = operand < 32 ? machine->a << operand : 0;
		break;
	case BPF_RSH:
		machine->a = operand < 32 ? machine->a >> operand : 0;
		break;
	case BPF_NEG:
		machine->a = -machine->a;
		break;
	default:
		machine->is_sound = false;
	}
}

static void jump(struct machine *machine, const struct sock_filter *step)
{
	uint32_t operand = BPF_SRC(step->code) == BPF_X ? machine->x : step->k;
	bool holds = false;

	switch (BPF_OP(step->code)) {
	case BPF_JA:
		machine->next += step->k;
		return;
	case BPF_JEQ:
		holds = machine->a == operand;
		break;
	case BPF_JGT:
		holds = machine->a > operand;
		break;
	case BPF_JGE:
		holds = machine->a >= operand;
		break;
	case BPF_JSET:
		holds = machine->a & operand;
		break;
	default:
		machine->is_sound = false;
	}
	machine->next += holds ? step->jt : step->jf;
}

/* One step that does not return. */
static void take_step(struct machine *machine, const struct sock_filter *step,
		      const struct seccomp_data *data)
{
	switch (BPF_CLASS(step->code)) {
	case BPF_LD:
	case BPF_LDX:
		load(machine, step, data);
		break;
	case BPF_ST:
	case BPF_STX:
		store(machine, step);
		break;
	case BPF_ALU:
		calculate(machine, step);
		break;
	case BPF_JMP:
		jump(machine, step);
		break;
	case BPF_MISC:
		if (BPF_MISCOP(step->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		break;
	default:
		machine->is_sound = false;
	}
}

uint32_t inject_filter_run(const struct sock_filter *filter, size_t count,
			   const struct seccomp_data *data)
{
	struct machine machine = { .is_sound = true };

	while (machine.is_sound && machine.next < count) {
		const struct sock_filter *step = &filter[machine.next++];

		if (BPF_CLASS(step->code) == BPF_RET)
			return BPF_RVAL(step->code) == BPF_A ? machine.a : step->k;
		take_step(&machine, step, data);
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* What glibc's loader, the agent's start, and the frames do. */
struct needed_call {
	int number;
	bool must_work; /* else it may be refused with an error, as loading may */
	uint64_t arguments[6];
};

#define THREAD_FLAGS                                                                        \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
	 CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

static const struct needed_call needed_calls[] = {
	{ SYS_rt_sigreturn, true, { 0 } },
	{ SYS_rt_sigprocmask, true, { SIG_SETMASK, 0, 0, 8 } },
	{ SYS_futex, true, { 0 } },
	{ SYS_mmap, true, { 0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, 3 } },
	{ SYS_mprotect, true, { 0, 4096, PROT_READ } },
	{ SYS_munmap, true, { 0, 4096 } },
	{ SYS_close, true, { 3 } },
	{ SYS_read, true, { 3, 0, 832 } },
	{ SYS_clone, true, { THREAD_FLAGS } },
	{ SYS_openat, false, { (uint32_t)AT_FDCWD, 0, O_RDONLY | O_CLOEXEC } },
	{ SYS_pread64, false, { 3, 0, 832 } },
	{ SYS_fstat, false, { 3 } },
	{ SYS_newfstatat, false, { 3, 0, 0, AT_EMPTY_PATH } },
	{ SYS_brk, false, { 0 } },
	{ SYS_madvise, false, { 0 } },
	{ SYS_clone3, false, { 0, 88 } },
	{ SYS_memfd_create, false, { 0, MFD_CLOEXEC } },
	{ SYS_write, false, { 3, 0, 16 } },
	{ SYS_prctl, false, { 15 } },
	{ SYS_getpid, false, { 0 } },
	{ SYS_gettid, false, { 0 } },
	{ SYS_set_robust_list, false, { 0, 24 } },
	{ SYS_rseq, false, { 0, 32 } },
	{ SYS_clock_nanosleep, false, { 1 } },
	{ SYS_exit, false, { 0 } },
};

static bool is_allowed(uint32_t answer, bool must_work)
{
	switch (answer & SECCOMP_RET_ACTION_FULL) {
	case SECCOMP_RET_ALLOW:
	case SECCOMP_RET_LOG:
		return true;
	case SECCOMP_RET_ERRNO:
		return !must_work;
	default: /* a signal, or somebody who decides: not to be tried */
		return false;
	}
}

int inject_filter_check(const struct sock_filter *filter, size_t count, uint64_t place)
{
	size_t i;

	for (i = 0; i < sizeof(needed_calls) / sizeof(needed_calls[0]); i++) {
		const struct needed_call *call = &needed_calls[i];
		struct seccomp_data data = {
			.nr = call->number,
			.arch = AUDIT_ARCH_X86_64,
			.instruction_pointer = place,
		};

		memcpy(data.args, call->arguments, sizeof(data.args));
		if (!is_allowed(inject_filter_run(filter, count, &data), call->must_work))
			return call->number;
	}
	return -1;
}
