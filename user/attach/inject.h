/*
 * inject.h - loads the agent into a job that was started without it: a thread that waits anyway is
 * made to call dlopen() and goes on waiting (inject_frame.h). One thread at a time is stopped, for
 * a fraction of a millisecond; what it then does takes as long as loading a library does.
 *
 * It is done by a child in a process group of its own, so that who kills us does not end it half
 * way; should it be killed as well, the job goes on all the same (inject_trace.h). What lies within
 * reach of the job as a file is loaded from there. In a container it is not: then the job first
 * makes a memory file, which the agent is written to and which it closes when it has loaded it. Of
 * a child that was killed between the two an empty one is left, and the next one takes it.
 */
#ifndef ATTACH_INJECT_H
#define ATTACH_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define INJECT_REASON_BYTES 160

struct inject_result {
	pid_t tid;	  /* the thread that was taken last; 0: none */
	uint64_t held_ns; /* the longest that one was stopped */
	uint32_t stops;	  /* how often one was: also one that was then let go as it was */
	uint32_t taken;	  /* how many were made to do something */
	bool by_memory;	  /* not from a file */
	char reason[INJECT_REASON_BYTES]; /* why not: a clause */
};

/*
 * The agent's file: beside the program or in ../lib/tpbpf, of the same owner, and writable by that
 * one alone. A descriptor, and its path; -ENOENT: there is none that may be used.
 */
int inject_agent_file(char *path, size_t size_bytes);

/*
 * The library of agent_fd, which lies at path for us, is loaded into the job. 0: it is mapped;
 * else a negative errno, and the reason. It is the caller's to know that the job does not have it.
 */
int inject_library(struct inject_result *result, pid_t pid, int agent_fd, const char *path);

/* Could it be done now? Nothing is stopped. As above; how many threads could be
 * taken. */
int inject_check(struct inject_result *result, pid_t pid, size_t *thread_count);

#endif /* ATTACH_INJECT_H */
