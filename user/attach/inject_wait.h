/*
 * inject_wait.h - which thread may be taken for a moment: one that waits in a system call which the
 * kernel itself begins again when a signal comes in between, so that taking it looks to the job
 * like no more than that, and which waits no longer for it. Pure.
 */
#ifndef ATTACH_INJECT_WAIT_H
#define ATTACH_INJECT_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/inject_image.h"

/* /proc/PID/task/TID/syscall of a thread that is blocked. */
struct thread_wait {
	int64_t number; /* of the system call */
	uint64_t arguments[6];
	uint64_t stack, place; /* rsp, and rip behind the instruction */
};

/* False: it runs, or is blocked outside of a system call. */
bool thread_wait_parse(struct thread_wait *wait, const char *line);

/* The smaller the better. */
enum wait_rank {
	WAIT_ENDLESS, /* until something happens */
	WAIT_UNTIL,   /* or until a certain time */
	WAIT_SHORT,   /* or for at most a second, which begins anew */
	WAIT_UNFIT,
};

/* What the call alone does not tell. */
struct wait_question {
	bool by_lock;	   /* a futex: the code that it waits in must be looked at */
	int descriptor;	   /* fit if this is a pipe; -1: none */
	uint64_t duration; /* fit if the timespec there is WAIT_SHORT; 0: none */
};

/* By the call and its arguments. */
enum wait_rank thread_wait_rank(const struct thread_wait *wait, struct wait_question *question);

/* Of a wait for so long, which would begin anew. */
enum wait_rank wait_duration_rank(int64_t seconds, int64_t nanoseconds);

/*
 * What the words of the stack, from the stack pointer up, tell: NULL, or why the thread may not be
 * taken. futex: the wait if it is one by_lock, else NULL.
 */
const char *thread_stack_check(const struct inject_image *image, const uint64_t *words,
			       size_t count, const struct thread_wait *futex);

/* A stack that the C library made for a thread. */
struct thread_stack {
	uint64_t begin, end; /* without its guard */
};

/*
 * From what lies at the thread's pointer (its struct pthread): the C library's own record of a
 * stack that holds both the stack pointer and the thread's pointer. False: there is none, so that
 * nobody knows what lies below the stack pointer.
 */
bool thread_stack_find(struct thread_stack *stack, const uint64_t *words, size_t count,
		       uint64_t thread_pointer, uint64_t stack_pointer);

#endif /* ATTACH_INJECT_WAIT_H */
