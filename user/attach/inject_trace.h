/*
 * inject_trace.h - one thread of the job, held by ptrace for a moment. Steps, so that it can be
 * said of each what is if the tracer dies after it: the kernel lets the thread go on as it is then.
 * Up to inject_trace_write() that is in the system call that it waited in, which the kernel begins
 * again by itself (a memory write below the red zone is not seen); from inject_trace_switch() on it
 * is the row of frames, which ends in that call. There is nothing in between. No option is set that
 * would end the job with the tracer.
 */
#ifndef ATTACH_INJECT_TRACE_H
#define ATTACH_INJECT_TRACE_H

#include <stdint.h>
#include <sys/types.h>

#include "attach/inject_frame.h"
#include "attach/inject_image.h"
#include "attach/inject_thread.h"

/* 0, or a negative errno: -EPERM it may not be traced, -ESRCH it is gone. */
int inject_trace_seize(const struct inject_thread *thread);

/*
 * Stops it and waits for that: on a busy machine it has to get a processor first. *since_ns: it was
 * not stopped before. -EAGAIN: it stopped for a reason of its own
 * (a signal, which is passed on; the job is stopped): leave it alone; it is let go. -ETIMEDOUT: it
 * did not stop; it is let go when the caller exits.
 */
int inject_trace_stop(const struct inject_thread *thread, uint64_t *since_ns);

/* Its state; -EAGAIN: it is not in the wait that was seen, or the kernel would not begin it again.
 */
int inject_trace_read(const struct inject_thread *thread, struct inject_state *state);

/*
 * Is there room below its stack pointer, and does it hold nothing of the loader? NULL, or why not.
 * bytes: what is needed.
 */
const char *inject_trace_stack(const struct inject_thread *thread, const struct inject_image *image,
			       const struct inject_state *state, uint64_t bytes);

/*
 * Does its seccomp filter let it do what loading takes? NULL, or why not. To read the filter takes
 * CAP_SYS_ADMIN.
 */
const char *inject_trace_filters(const struct inject_thread *thread,
				 const struct inject_image *image);

int inject_trace_write(const struct inject_thread *thread, const struct inject_frame *frame);
int inject_trace_switch(const struct inject_thread *thread, const struct inject_frame *frame);

/* Goes on. Of a thread that is stopped. */
void inject_trace_release(const struct inject_thread *thread);

#endif /* ATTACH_INJECT_TRACE_H */
