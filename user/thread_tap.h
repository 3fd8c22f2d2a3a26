/*
 * thread_tap.h - stands in front of the pipeline of a live capture and adds a WIRE_THREAD record
 * before the first record of each thread, so that the capture file holds the names as well.
 */
#ifndef THREAD_TAP_H
#define THREAD_TAP_H

#include <sys/types.h>

#include "model/sink.h"

struct thread_tap;

/* pid: the job here; namespace_pid: in its own namespace, the one that records count in. */
int thread_tap_new(struct thread_tap **out, pid_t pid, pid_t namespace_pid,
		   struct record_sink *next);
void thread_tap_free(struct thread_tap *tap); /* NULL is legal */

struct record_sink *thread_tap_sink(struct thread_tap *tap);

#endif /* THREAD_TAP_H */
