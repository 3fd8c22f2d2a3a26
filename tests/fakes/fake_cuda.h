/*
 * fake_cuda.h - between the stand-ins: what the simulated device did, as the driver's stand-in
 * (libcuda.c) tells CUPTI's (libcupti.c). The runtime's (libcudart.c) is built on the driver's.
 *
 * The device is a timeline for each stream: a piece of work starts when it is launched or when what
 * is before it has ended, and ends after a duration that its size implies. Nothing waits for it but
 * synchronizing calls. All times are CLOCK_MONOTONIC nanoseconds. Everything that happens is kept
 * and written as the truth.
 */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

enum fake_op_kind {
	FAKE_KERNEL,
	FAKE_MEMCPY,
	FAKE_PEER,
	FAKE_MEMSET,
};

struct fake_op {
	enum fake_op_kind kind;
	uint64_t start_ns, end_ns;
	uint32_t correlation, device, context, stream;
	/* kernels */
	const char *name;
	uint32_t grid[3], block[3], registers, static_shared, dynamic_shared;
	int32_t priority;
	uint32_t graph_id;
	uint64_t graph_node;
	/* copies and sets */
	uint64_t bytes;
	uint32_t copy_kind, source_kind, target_kind, source_device, target_device, value;
};

enum fake_domain {
	FAKE_DRIVER = 1,
	FAKE_RUNTIME = 2,
};

struct fake_call {
	enum fake_domain domain;
	uint32_t cbid, thread, pthread, correlation, result;
	const char *name;
	uint64_t start_ns, end_ns;
};

struct fake_sync {
	uint32_t type, correlation, context, stream, event;
	uint64_t start_ns, end_ns, event_sync;
};

struct fake_event {
	uint32_t correlation, context, stream, event, device;
	uint64_t event_sync;
};

/* What CUPTI's stand-in wants to hear of. Called on the thread that makes the call. */
struct fake_hooks {
	void (*call)(const struct fake_call *call);
	void (*op)(const struct fake_op *op);
	void (*sync)(const struct fake_sync *sync);
	void (*event)(const struct fake_event *event);
};

extern FAKE_API _Atomic(const struct fake_hooks *) fake_hooks;

FAKE_API uint64_t fake_now_ns(void);

/* Around the body of every function of the API; leave returns result. */
FAKE_API void fake_enter(struct fake_call *call, enum fake_domain domain, uint32_t cbid,
			 const char *name);
FAKE_API int fake_leave(struct fake_call *call, int result);

/* The stream's number in records: 7 is the default stream. */
struct fake_stream;
FAKE_API struct fake_stream *fake_stream_new(int priority);
FAKE_API uint32_t fake_current_device(void);
FAKE_API void fake_set_device(uint32_t device);
FAKE_API uint32_t fake_device_count(void);

/* Puts op behind what is on the stream; NULL: the default stream. Fills in all that is implied. */
FAKE_API void fake_submit(struct fake_stream *stream, struct fake_op *op,
			  const struct fake_call *call);

/* Waits for the device, and tells of it. */
FAKE_API void fake_sync_stream(struct fake_stream *stream, const struct fake_call *call);
FAKE_API void fake_sync_device(const struct fake_call *call);

struct fake_cuda_event;
FAKE_API struct fake_cuda_event *fake_event_new(void);
FAKE_API void fake_event_free(struct fake_cuda_event *event);
FAKE_API void fake_event_record(struct fake_cuda_event *event, struct fake_stream *stream,
				const struct fake_call *call);
FAKE_API void fake_event_wait(struct fake_cuda_event *event, struct fake_stream *stream,
			      const struct fake_call *call);
FAKE_API void fake_event_sync(struct fake_cuda_event *event, const struct fake_call *call);

enum fake_truth_kind {
	FAKE_TRUTH_CALLS,  /* struct fake_call */
	FAKE_TRUTH_OPS,	   /* struct fake_op */
	FAKE_TRUTH_SYNCS,  /* struct fake_sync */
	FAKE_TRUTH_EVENTS, /* struct fake_event */
	FAKE_TRUTH_CNT,
};

/* What happened since the start or the last fake_truth_forget(); how many. Nothing may happen. */
FAKE_API size_t fake_truth(enum fake_truth_kind kind, const void **entries);
FAKE_API void fake_truth_forget(void);

/* The same, as JSON. 0 or -1. */
FAKE_API int fake_write_truth(const char *path);

#endif /* FAKE_CUDA_H */
