/* inject_trace.c - see inject_trace.h. */
#include "attach/inject_trace.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject_filter.h"
#include "base/clock.h"

#define PAUSE_NS 10000
#define STOP_LIMIT_NS 1000000000ULL /* for a thread that must get a processor first */
#define CODE_SEGMENT_64 0x33
#define SCAN_WORDS 8192	 /* of the stack, upwards */
#define THREAD_WORDS 512 /* of struct pthread: 0x900 bytes in glibc 2.36 */
/* Of the kernel's linux/errno.h: the call is begun again if no handler ran. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

static int request(enum __ptrace_request what, pid_t tid, void *address, void *data)
{
	return ptrace(what, tid, address, data) < 0 ? -errno : 0;
}

int inject_trace_seize(const struct inject_thread *thread)
{
	return request(PTRACE_SEIZE, thread->tid, NULL, NULL);
}

static void let_go(pid_t tid, int signal_number)
{
	request(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_number);
}

void inject_trace_release(const struct inject_thread *thread)
{
	let_go(thread->tid, 0);
}

/* Polled: a wait that cannot end would hold the thread. */
static int wait_for_stop(pid_t tid, int *status, uint64_t *since_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + STOP_LIMIT_NS;
	const struct timespec pause = { 0, PAUSE_NS };

	for (;;) {
		uint64_t now_ns = clock_monotonic_ns();
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (now_ns > end_ns)
			return -ETIMEDOUT;
		*since_ns = now_ns;
		nanosleep(&pause, NULL);
	}
}

int inject_trace_stop(const struct inject_thread *thread, uint64_t *since_ns)
{
	int status, err;

	*since_ns = clock_monotonic_ns();
	err = request(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	if (!err)
		err = wait_for_stop(thread->tid, &status, since_ns);
	if (err)
		return err;
	if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP)
		return 0;
	/* A signal that is being delivered goes on its way; a job that is stopped stays so. */
	let_go(thread->tid, status >> 16 ? 0 : WSTOPSIG(status));
	return -EAGAIN;
}

/* Would the kernel begin the call again without a word to the job? */
static bool begins_again(int64_t result)
{
	return result == -ERESTARTSYS || result == -ERESTARTNOINTR || result == -ERESTARTNOHAND ||
	       result == -ERESTART_RESTARTBLOCK;
}

static bool is_same_wait(const struct thread_wait *wait, const struct user_regs_struct *registers)
{
	const uint64_t *arguments = wait->arguments;

	return (int64_t)registers->orig_rax == wait->number && registers->rdi == arguments[0] &&
	       registers->rsi == arguments[1] && registers->rdx == arguments[2] &&
	       registers->r10 == arguments[3] && registers->r8 == arguments[4] &&
	       registers->r9 == arguments[5] && registers->rsp == wait->stack &&
	       registers->rip == wait->place && registers->cs == CODE_SEGMENT_64;
}

int inject_trace_read(const struct inject_thread *thread, struct inject_state *state)
{
	struct iovec vector = { state->vector, sizeof(state->vector) };
	uint16_t instruction;
	long word;
	int err = request(PTRACE_GETREGS, thread->tid, NULL, &state->registers);

	if (err)
		return err;
	if (!is_same_wait(&thread->wait, &state->registers) ||
	    !begins_again((int64_t)state->registers.rax))
		return -EAGAIN;
	errno = 0;
	word = ptrace(PTRACE_PEEKTEXT, thread->tid, (void *)(state->registers.rip - 2), NULL);
	memcpy(&instruction, &word, sizeof(instruction));
	if (errno || instruction != 0x050f) /* syscall */
		return -EAGAIN;
	err = request(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof(state->signal_mask),
		      &state->signal_mask);
	if (!err)
		err = request(PTRACE_GETREGSET, thread->tid, (void *)NT_X86_XSTATE, &vector);
	state->vector_bytes = vector.iov_len;
	return err;
}

static size_t read_words(pid_t tid, uint64_t address, void *words, size_t count)
{
	struct iovec to = { words, count * sizeof(uint64_t) };
	struct iovec from[2];
	uint64_t first = 4096 - address % 4096;
	ssize_t got;

	if (first > to.iov_len)
		first = to.iov_len;
	/* What comes first may be all that there is. */
	from[0] = (struct iovec){ (void *)(uintptr_t)address, first };
	from[1] = (struct iovec){ (void *)(uintptr_t)(address + first), to.iov_len - first };
	got = process_vm_readv(tid, &to, 1, from, 2, 0);
	return got > 0 ? (size_t)got / sizeof(uint64_t) : 0;
}

const char *inject_trace_stack(const struct inject_thread *thread, const struct inject_image *image,
			       const struct inject_state *state, uint64_t bytes)
{
	uint64_t stack_pointer = state->registers.rsp, pointer = state->registers.fs_base;
	uint64_t words[SCAN_WORDS];
	struct thread_stack stack;
	size_t count = read_words(thread->tid, pointer, words, THREAD_WORDS);

	if (stack_pointer % 8 || !thread_stack_find(&stack, words, count, pointer, stack_pointer))
		return "its stack is none that the C library made";
	if (stack_pointer - stack.begin < bytes)
		return "its stack is too small";
	count = (stack.end - stack_pointer) / 8;
	if (count > SCAN_WORDS)
		count = SCAN_WORDS;
	count = read_words(thread->tid, stack_pointer, words, count);
	return thread_stack_check(image, words, count, thread->by_lock ? &thread->wait : NULL);
}

#define FILTERS_MAX 64
#define FILTER_STEPS_MAX 4096 /* BPF_MAXINSNS */

/* A thread may have several filters, and each of them must allow a call. */
const char *inject_trace_filters(const struct inject_thread *thread,
				 const struct inject_image *image)
{
	struct sock_filter steps[FILTER_STEPS_MAX];
	uint64_t i;

	for (i = 0; i < FILTERS_MAX; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, thread->tid, (void *)i, NULL);

		if (count < 0 && errno == ENOENT && i)
			return NULL;
		if (count <= 0 || count > FILTER_STEPS_MAX ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, thread->tid, (void *)i, steps) != count)
			break;
		if (inject_filter_check(steps, (size_t)count, image->libc.begin) >= 0)
			return "its seccomp filter does not allow what loading a library takes";
	}
	return "its seccomp filter cannot be read, which takes CAP_SYS_ADMIN";
}

int inject_trace_write(const struct inject_thread *thread, const struct inject_frame *frame)
{
	struct iovec from = { (void *)(uintptr_t)frame->bytes, frame->size_bytes };
	struct iovec to = { (void *)(uintptr_t)frame->address, frame->size_bytes };
	ssize_t put = process_vm_writev(thread->tid, &from, 1, &to, 1, 0);

	if (put < 0)
		return -errno;
	return (size_t)put == frame->size_bytes ? 0 : -EFAULT;
}

int inject_trace_switch(const struct inject_thread *thread, const struct inject_frame *frame)
{
	return request(PTRACE_SETREGS, thread->tid, NULL, (void *)(uintptr_t)&frame->registers);
}
