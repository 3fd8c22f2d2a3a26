#include "confine.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static constexpr size_t kHeapBytes = 32 << 20;

static pid_t copier;

[[noreturn]] static void fail(const char *what)
{
	perror(what);
	_exit(1);
}

// Files may not grow: a process that has no such limit writes ours.
static void copy_output()
{
	char buffer[65536];
	ssize_t size;
	int ends[2];

	fflush(stdout);
	if (pipe(ends))
		fail("standin: pipe");
	copier = fork();
	if (copier < 0)
		fail("standin: fork");
	if (copier == 0) {
		close(ends[1]);
		while ((size = read(ends[0], buffer, sizeof(buffer))) > 0) {
			if (write(STDOUT_FILENO, buffer, static_cast<size_t>(size)) != size)
				_exit(1);
		}
		_exit(0);
	}
	close(ends[0]);
	if (dup2(ends[1], STDOUT_FILENO) < 0)
		fail("standin: dup2");
	close(ends[1]);
}

void confine_limits()
{
	static const __rlimit_resource limits[] = {
		RLIMIT_NOFILE,	   RLIMIT_FSIZE,    RLIMIT_MEMLOCK, RLIMIT_CORE, RLIMIT_NPROC,
		RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_DATA,    RLIMIT_AS,
	};
	const rlimit none = {0, 0};

	copy_output();
	// Memory for what comes: none can be got afterwards.
	mallopt(M_MMAP_MAX, 0);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	free(malloc(kHeapBytes));
	for (__rlimit_resource limit : limits) {
		if (setrlimit(limit, &none))
			fail("standin: setrlimit");
	}
}

// Threads, memory, time, and writing: not one that a probe might make (uprobe, uretprobe).
static const uint32_t allowed[] = {
	SYS_futex,
	SYS_write,
	SYS_access,
	SYS_clock_nanosleep,
	SYS_clock_gettime,
	SYS_restart_syscall,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_madvise,
	SYS_brk,
	SYS_clone3,
	SYS_clone,
	SYS_set_robust_list,
	SYS_rseq,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_exit,
	SYS_exit_group,
};

static sock_filter load(size_t offset)
{
	return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

static sock_filter end_with(uint32_t action)
{
	return BPF_STMT(BPF_RET | BPF_K, action);
}

// Skips the next instruction if what was loaded is another value.
static sock_filter unless(uint32_t value)
{
	return BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
}

void confine_system_calls()
{
	std::vector<sock_filter> filter = {
		load(offsetof(seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		end_with(SECCOMP_RET_KILL_PROCESS),
		load(offsetof(seccomp_data, nr)),
	};
	sock_fprog program;

	for (uint32_t number : allowed) {
		filter.push_back(unless(number));
		filter.push_back(end_with(SECCOMP_RET_ALLOW));
	}
	filter.push_back(end_with(SECCOMP_RET_KILL_PROCESS));
	program = {static_cast<unsigned short>(filter.size()), filter.data()};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		fail("standin: no_new_privs");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		fail("standin: seccomp");
}

void confine_finish()
{
	int status = -1;

	if (copier == 0)
		return;
	fflush(stdout);
	close(STDOUT_FILENO);
	if (waitpid(copier, &status, 0) != copier || status)
		_exit(1);
}
