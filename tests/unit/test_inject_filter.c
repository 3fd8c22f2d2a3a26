/* Filters as containers and sandboxes have them, and what they mean for loading a library. */
#include "support/test.h"

#include <linux/audit.h>
#include <sys/syscall.h>

#include "attach/inject_filter.h"

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF_EQUAL(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (yes), (no))
#define ANSWER(action) BPF_STMT(BPF_RET | BPF_K, (action))

static int check(const struct sock_filter *filter, size_t count)
{
	return inject_filter_check(filter, count, 0x7f0000000000ULL);
}

static void all_but_one(struct sock_filter *filter, uint32_t number, uint32_t action)
{
	const struct sock_filter steps[] = {
		LOAD(arch),
		IF_EQUAL(AUDIT_ARCH_X86_64, 1, 0),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		LOAD(nr),
		IF_EQUAL(number, 0, 1),
		ANSWER(action),
		ANSWER(SECCOMP_RET_ALLOW),
	};

	memcpy(filter, steps, sizeof(steps));
}

static void what_is_refused_matters(void **state)
{
	static const struct {
		uint32_t number, action;
		int want;
	} rows[] = {
		{ SYS_reboot, SECCOMP_RET_KILL_PROCESS, -1 },
		{ SYS_mmap, SECCOMP_RET_LOG, -1 },
		{ SYS_mmap, SECCOMP_RET_KILL_PROCESS, SYS_mmap },
		{ SYS_mmap, SECCOMP_RET_KILL_THREAD, SYS_mmap },
		{ SYS_openat, SECCOMP_RET_TRAP, SYS_openat },
		{ SYS_openat, SECCOMP_RET_TRACE, SYS_openat },
		{ SYS_openat, SECCOMP_RET_USER_NOTIF, SYS_openat },
		/* a container's way to say that it has none of it: the C library knows another */
		{ SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS, -1 },
		{ SYS_rt_sigreturn, SECCOMP_RET_ERRNO | EPERM, SYS_rt_sigreturn },
		{ SYS_close, SECCOMP_RET_ERRNO | EPERM, SYS_close },
	};
	struct sock_filter filter[7];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		all_but_one(filter, rows[i].number, rows[i].action);
		assert_row(i, check(filter, COUNT_OF(filter)) == rows[i].want);
	}
}

/* Docker's: new namespaces by clone() are refused by its flags, a thread is not. */
static void arguments_are_seen(void **state)
{
	const struct sock_filter filter[] = {
		LOAD(nr),
		IF_EQUAL(SYS_clone, 0, 3),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x7e020000, 0, 1),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		ANSWER(SECCOMP_RET_ALLOW),
	};
	const struct sock_filter no_code[] = {
		LOAD(nr),
		IF_EQUAL(SYS_mmap, 0, 3),
		LOAD(args[2]),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1),
		ANSWER(SECCOMP_RET_KILL_PROCESS),
		ANSWER(SECCOMP_RET_ALLOW),
	};

	(void)state;
	assert_int_equal(check(filter, COUNT_OF(filter)), -1);
	assert_int_equal(check(no_code, COUNT_OF(no_code)), SYS_mmap);
}

static void the_whole_machine(void **state)
{
	/* ((7 * 6 - 2) / 4 << 3 >> 1 | 1) & 0xff ^ 8, through every way to move a number */
	const struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_IMM, 7),
		BPF_STMT(BPF_ST, 3),
		BPF_STMT(BPF_LDX | BPF_IMM, 6),
		BPF_STMT(BPF_STX, 15),
		BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0),
		BPF_STMT(BPF_LD | BPF_MEM, 3),
		BPF_STMT(BPF_LDX | BPF_MEM, 15),
		BPF_STMT(BPF_ALU | BPF_MUL | BPF_X, 0),
		BPF_STMT(BPF_ALU | BPF_SUB | BPF_K, 2),
		BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 4),
		BPF_STMT(BPF_ALU | BPF_LSH | BPF_K, 3),
		BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_OR | BPF_K, 1),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff),
		BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 8),
		BPF_STMT(BPF_ALU | BPF_NEG, 0),
		BPF_STMT(BPF_ALU | BPF_NEG, 0),
		BPF_STMT(BPF_ALU | BPF_ADD | BPF_K, 5),
		BPF_STMT(BPF_MISC | BPF_TAX, 0),
		BPF_STMT(BPF_LD | BPF_IMM, 0),
		BPF_STMT(BPF_MISC | BPF_TXA, 0),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_X, 0, 0, 3),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_X, 0, 2, 0),
		BPF_STMT(BPF_JMP | BPF_JA, 0),
		BPF_STMT(BPF_RET | BPF_A, 0),
		ANSWER(SECCOMP_RET_TRAP),
	};
	const struct seccomp_data data = { .nr = 0 };

	(void)state;
	assert_int_equal(inject_filter_run(filter, COUNT_OF(filter), &data), 38);
}

/* No filter that the kernel took: but nothing is believed. */
static void unsound_filters_end(void **state)
{
	static const struct sock_filter rows[][3] = {
		{ LOAD(nr), LOAD(nr), LOAD(nr) },
		{ BPF_STMT(BPF_JMP | BPF_JA, UINT32_MAX), ANSWER(SECCOMP_RET_ALLOW),
		  ANSWER(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 64), ANSWER(SECCOMP_RET_ALLOW),
		  ANSWER(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 2), ANSWER(SECCOMP_RET_ALLOW),
		  ANSWER(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ST, 16), ANSWER(SECCOMP_RET_ALLOW), ANSWER(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 0), ANSWER(SECCOMP_RET_ALLOW),
		  ANSWER(SECCOMP_RET_ALLOW) },
		{ BPF_STMT(BPF_LD | BPF_B | BPF_IND, 0), ANSWER(SECCOMP_RET_ALLOW),
		  ANSWER(SECCOMP_RET_ALLOW) },
	};
	const struct seccomp_data data = { .nr = 0 };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++)
		assert_row(i, inject_filter_run(rows[i], 3, &data) == SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(inject_filter_run(rows[0], 0, &data), SECCOMP_RET_KILL_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_refused_matters),
		cmocka_unit_test(arguments_are_seen),
		cmocka_unit_test(the_whole_machine),
		cmocka_unit_test(unsound_filters_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
