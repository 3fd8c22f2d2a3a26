/*
 * filtered.c - runs a program behind a seccomp filter that lets all calls pass but one.
 *
 *   filtered NUMBER kill|errno PROGRAM ARGUMENT...
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned int action = argc > 3 && !strcmp(argv[2], "kill") ? SECCOMP_RET_KILL_PROCESS
								   : SECCOMP_RET_ERRNO | ENOSYS;
	unsigned int number = argc > 3 ? (unsigned int)strtoul(argv[1], NULL, 10) : 0;
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(steps) / sizeof(steps[0]), steps };

	if (argc < 4 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		return 2;
	execvp(argv[3], argv + 3);
	perror(argv[3]);
	return 2;
}
