/*
 * fake_layout.h - CUPTI's records as the stand-in writes them: the newest form of each, of which an
 * older version writes the first so many bytes. Written from cupti_activity.h of 13.5, apart from
 * the agent's own table; tests/agent/conformance.c compares both with the headers.
 */
#ifndef FAKE_LAYOUT_H
#define FAKE_LAYOUT_H

#include <stdint.h>

struct fake_kernel_record {
	uint32_t kind;
	uint8_t cache_config, shared_config;
	uint16_t registers_per_thread;
	uint32_t cache_requested, cache_executed;
	uint64_t start, end, completed;
	uint32_t device, context, stream;
	int32_t grid[3], block[3];
	int32_t static_shared, dynamic_shared;
	uint32_t local_per_thread, local_total, correlation;
	int64_t grid_id;
	const char *name;
	void *reserved0;
	uint64_t queued, submitted;
	uint8_t launch_type, carveout_requested, carveout, padding;
	uint32_t shared_executed;
	uint64_t graph_node;
	uint32_t shmem_limit_config, graph;
	void *access_policy_window;
	uint32_t channel, channel_type, cluster[3], cluster_scheduling;
	uint64_t local_total_v2;			     /* K8: 200 */
	uint32_t max_potential_cluster, max_active_clusters; /* K9: 208 */
	uint8_t device_launched, padding3[7];		     /* K10: 216 */
	int32_t priority;
	uint32_t padding4;		    /* K11: 224 */
	uint32_t execution_model, padding5; /* K12: 232 */
	uint32_t source_graph, padding6;
	uint64_t source_graph_node; /* K13: 248 */
};

struct fake_memcpy_record {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation, runtime_correlation, padding;
	void *reserved0;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type; /* 5: 88 */
	uint8_t device_launched, padding2[3];
	uint64_t copy_count; /* 6: 96 */
	uint32_t source_graph, padding3;
	uint64_t source_graph_node; /* 7: 112 */
};

struct fake_peer_record {
	uint32_t kind;
	uint8_t copy_kind, source_kind, target_kind, flags;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, source_device, source_context, target_device,
		target_context, correlation;
	void *reserved0;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type; /* PtoP4: 96 */
};

struct fake_memset_record {
	uint32_t kind, value;
	uint64_t bytes, start, end;
	uint32_t device, context, stream, correlation;
	uint16_t flags, memory_kind;
	uint32_t padding;
	void *reserved0;
	uint64_t graph_node;
	uint32_t graph, channel, channel_type;
	uint8_t device_launched, padding2[3]; /* 4: 88 */
	uint32_t source_graph, padding3;
	uint64_t source_graph_node; /* 5: 104 */
};

struct fake_api_record {
	uint32_t kind, cbid;
	uint64_t start, end;
	uint32_t process, thread, correlation, result;
};

struct fake_sync_record {
	uint32_t kind, type;
	uint64_t start, end;
	uint32_t correlation, context, stream, event; /* 40 */
	uint64_t event_sync;
	uint32_t result, padding; /* 2: 56 */
};

struct fake_event_record {
	uint32_t kind, correlation, context, stream, event, padding; /* 24 */
	uint32_t device, padding2;
	void *reserved0;
	uint64_t timestamp, event_sync; /* 2: 56 */
	uint64_t graph_node;
	uint32_t graph, source_graph;
	uint64_t source_graph_node; /* 3: 80 */
};

struct fake_overhead_record {
	uint32_t kind, overhead, object;
	uint32_t ids[3];
	uint64_t start, end;		 /* 40 */
	uint32_t correlation, reserved0; /* 2: 48 */
	void *data;			 /* 3: 56 */
};

_Static_assert(sizeof(struct fake_kernel_record) == 248, "kernel");
_Static_assert(sizeof(struct fake_memcpy_record) == 112, "memcpy");
_Static_assert(sizeof(struct fake_peer_record) == 96, "peer");
_Static_assert(sizeof(struct fake_memset_record) == 104, "memset");
_Static_assert(sizeof(struct fake_api_record) == 40, "api");
_Static_assert(sizeof(struct fake_sync_record) == 56, "sync");
_Static_assert(sizeof(struct fake_event_record) == 80, "event");
_Static_assert(sizeof(struct fake_overhead_record) == 56, "overhead");

enum fake_kind {
	FAKE_KIND_MEMCPY = 1,
	FAKE_KIND_MEMSET = 2,
	FAKE_KIND_KERNEL = 3,
	FAKE_KIND_DRIVER = 4,
	FAKE_KIND_RUNTIME = 5,
	FAKE_KIND_CONCURRENT_KERNEL = 10,
	FAKE_KIND_OVERHEAD = 17,
	FAKE_KIND_PEER = 22,
	FAKE_KIND_EVENT = 36,
	FAKE_KIND_SYNC = 38,
	FAKE_KIND_CNT = 64,
};

/* Bytes of a record as this API version writes it; 0: no such kind. */
static inline unsigned int fake_record_size(unsigned int version, unsigned int kind)
{
	switch (kind) {
	case FAKE_KIND_KERNEL:
	case FAKE_KIND_CONCURRENT_KERNEL:
		return version >= 130400   ? 248
		       : version >= 130300 ? 232
		       : version >= 130100 ? 224
		       : version >= 130000 ? 216
		       : version > 18	   ? 208
					   : 200;
	case FAKE_KIND_MEMCPY:
		return version >= 130400 ? 112 : version >= 26 ? 96 : 88;
	case FAKE_KIND_PEER:
		return 96;
	case FAKE_KIND_MEMSET:
		return version >= 130400 ? 104 : 88;
	case FAKE_KIND_DRIVER:
	case FAKE_KIND_RUNTIME:
		return 40;
	case FAKE_KIND_SYNC:
		return version >= 26 ? 56 : 40;
	case FAKE_KIND_EVENT:
		return version >= 130500 ? 80 : version >= 26 ? 56 : 24;
	case FAKE_KIND_OVERHEAD:
		return version >= 22 ? 56 : 40;
	default:
		return 0;
	}
}

#endif /* FAKE_LAYOUT_H */
