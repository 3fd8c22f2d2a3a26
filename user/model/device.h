/*
 * device.h - what a GPU did and the calls that asked for it, as the agent in the job reports them
 * (agent_wire.h), checked, in CLOCK_MONOTONIC. Names are of a name table.
 */
#ifndef MODEL_DEVICE_H
#define MODEL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

enum device_work_kind {
	DEVICE_KERNEL,
	DEVICE_MEMCPY,
	DEVICE_MEMSET,
	DEVICE_SYNC, /* a wait, on the host or of a stream */
	DEVICE_WORK_KIND_CNT,
};

/* Of CUpti_ActivitySynchronizationType. */
enum device_sync {
	SYNC_EVENT = 1,
	SYNC_STREAM_WAITS = 2,
	SYNC_STREAM = 3,
	SYNC_CONTEXT = 4,
};

struct device_grid {
	uint32_t x, y, z;
};

/* Something that ran on a device, or waited for it. */
struct device_work {
	uint64_t start_ns, end_ns;
	uint64_t external_id; /* of the operator that asked for it (span.id); 0: none is known */
	const char *name;     /* of a kernel; of others what Kineto calls them */
	uint64_t size_bytes;  /* of a copy or a set */
	uint32_t correlation_id;
	uint32_t device, context, stream;
	uint32_t to_device, to_context; /* of a copy between devices; else as device, context */
	struct device_grid grid, block;
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
	uint32_t graph_id; /* 0: not of a graph */
	uint64_t graph_node_id;
	/* Of a wait for an event: which, the call that recorded it and on which stream; 0: not
	 * known. */
	uint32_t event_id, event_correlation_id, event_stream;
	uint8_t kind;	   /* enum device_work_kind */
	uint8_t copy_kind; /* CUpti_ActivityMemcpyKind */
	uint8_t from_kind; /* CUpti_ActivityMemoryKind */
	uint8_t to_kind;   /* the same; of a set: what was set */
	uint8_t sync;	   /* enum device_sync */
	bool is_between_devices;
};

/* A call of the runtime or the driver. */
struct device_call {
	uint64_t start_ns, end_ns;
	uint64_t external_id; /* as above */
	const char *name;     /* cudaLaunchKernel */
	uint32_t tid;
	uint32_t correlation_id;
	uint32_t callback_id; /* CUPTI's cbid */
	int32_t result;
	bool is_driver;
	bool is_launch; /* it asks for work, which an arrow leads to */
	/* By a probe, not by the agent: it has no correlation id and no result, and its time is in
	 * the tables already. */
	bool is_probed;
	/* As in struct span: of a probed one alone. */
	bool is_unfinished, is_inferred, is_unwound;
};

/* From the first to the last work that the calls inside a range asked for, on one stream. */
struct device_annotation {
	uint64_t start_ns, end_ns;
	uint64_t external_id; /* of the range */
	const char *name;
	uint32_t device, stream;
};

/* What CUPTI took for itself. */
struct device_overhead {
	uint64_t start_ns, end_ns;
	uint32_t kind; /* CUpti_ActivityOverheadKind */
	uint32_t tid;
};

/* One device, as Kineto's deviceProperties have it; 0 where not told. */
struct device_properties {
	char name[128];
	uint64_t memory_bytes;
	uint32_t id;
	uint32_t compute_major, compute_minor;
	uint32_t threads_per_block_max, threads_per_multiprocessor_max;
	uint32_t registers_per_block, registers_per_multiprocessor;
	uint32_t warp_size, multiprocessors;
	uint64_t shared_per_block_bytes, shared_per_multiprocessor_bytes,
		shared_per_block_optin_bytes;
};

/* All return 0 or a negative errno, which stops the capture. */
struct device_sink {
	int (*work)(struct device_sink *sink, const struct device_work *work);
	int (*call)(struct device_sink *sink, const struct device_call *call);
	int (*annotation)(struct device_sink *sink, const struct device_annotation *annotation);
	int (*overhead)(struct device_sink *sink, const struct device_overhead *overhead);
};

#endif /* MODEL_DEVICE_H */
