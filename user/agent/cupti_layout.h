/*
 * cupti_layout.h - what the agent knows of CUPTI's binary interface.
 *
 * Own copies, because one agent has to work with every CUPTI from 11.8 on. Source: cupti_activity.h
 * and the cbid headers of 11.8, 12.1, 12.4, 12.6, 12.8, 13.0 and 13.5; tests/agent/conformance.c
 * compares all of it with those headers. Records only ever grew at their end, and a library writes
 * the newest form that it knows: reading up to the size that its API version promises is right for
 * every later one too.
 */
#ifndef AGENT_CUPTI_LAYOUT_H
#define AGENT_CUPTI_LAYOUT_H

#include <stdint.h>

/* CUPTI_API_VERSION: small numbers up to 12.9, then major * 10000 + minor * 100 + update. */
#define CUPTI_OLDEST 18 /* 11.8; 12.0 and 12.1 say so too */
#define CUPTI_12_4 22
#define CUPTI_12_8 26
#define CUPTI_13_1 130100
#define CUPTI_NEWEST 130500 /* checked up to here */

enum cupti_result {
	CUPTI_SUCCESS = 0,
	CUPTI_MAX_LIMIT_REACHED = 12, /* of GetNextRecord: that was the last one */
	CUPTI_NOT_INITIALIZED = 15,
	CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	CUPTI_MULTIPLE_SUBSCRIBERS = 39,
	CUPTI_VIRTUAL_PRIVILEGES = 40,
	CUPTI_UNKNOWN = 999,
};

/* CUpti_ActivityKind */
enum cupti_kind {
	KIND_MEMCPY = 1,
	KIND_MEMSET = 2,
	KIND_KERNEL = 3,
	KIND_DRIVER = 4,
	KIND_RUNTIME = 5,
	KIND_CONCURRENT_KERNEL = 10,
	KIND_OVERHEAD = 17,
	KIND_MEMCPY2 = 22,
	KIND_CUDA_EVENT = 36,
	KIND_SYNCHRONIZATION = 38,
};

#define CUPTI_THREAD_ID_SYSTEM 1
#define CUPTI_FLUSH_FORCED 1

#define OBJECT_THREAD 2 /* CUpti_ActivityObjectKind: up to here the ids are those of a process */

/* Offsets of the fields, and sizes up to which a record of the oldest version can be read. */
enum kernel_layout {
	KERNEL_REGISTERS = 6,
	KERNEL_START = 16,
	KERNEL_END = 24,
	KERNEL_DEVICE = 40,
	KERNEL_CONTEXT = 44,
	KERNEL_STREAM = 48,
	KERNEL_GRID = 52,
	KERNEL_BLOCK = 64,
	KERNEL_STATIC_SHARED = 76,
	KERNEL_DYNAMIC_SHARED = 80,
	KERNEL_LOCAL_PER_THREAD = 84,
	KERNEL_CORRELATION = 92,
	KERNEL_NAME = 104,
	KERNEL_GRAPH_NODE = 144,
	KERNEL_GRAPH = 156,
	KERNEL_CHANNEL = 168,
	KERNEL_CHANNEL_TYPE = 172,
	KERNEL_CLUSTER = 176,
	KERNEL_SIZE = 200,
	KERNEL_PRIORITY = 216, /* 13.1 */
};

enum memcpy_layout {
	MEMCPY_KIND = 4,
	MEMCPY_SOURCE_KIND = 5,
	MEMCPY_TARGET_KIND = 6,
	MEMCPY_FLAGS = 7,
	MEMCPY_BYTES = 8,
	MEMCPY_START = 16,
	MEMCPY_END = 24,
	MEMCPY_DEVICE = 32,
	MEMCPY_CONTEXT = 36,
	MEMCPY_STREAM = 40,
	MEMCPY_CORRELATION = 44,
	MEMCPY_GRAPH_NODE = 64,
	MEMCPY_GRAPH = 72,
	MEMCPY_CHANNEL = 76,
	MEMCPY_CHANNEL_TYPE = 80,
	MEMCPY_SIZE = 88,
	MEMCPY_COPY_COUNT = 88, /* 12.8 */
};

/* The same as a copy's up to the stream. */
enum memcpy_peer_layout {
	PEER_SOURCE_DEVICE = 44,
	PEER_SOURCE_CONTEXT = 48,
	PEER_TARGET_DEVICE = 52,
	PEER_TARGET_CONTEXT = 56,
	PEER_CORRELATION = 60,
	PEER_GRAPH_NODE = 72,
	PEER_GRAPH = 80,
	PEER_CHANNEL = 84,
	PEER_CHANNEL_TYPE = 88,
	PEER_SIZE = 96,
};

enum memset_layout {
	MEMSET_VALUE = 4,
	MEMSET_BYTES = 8,
	MEMSET_START = 16,
	MEMSET_END = 24,
	MEMSET_DEVICE = 32,
	MEMSET_CONTEXT = 36,
	MEMSET_STREAM = 40,
	MEMSET_CORRELATION = 44,
	MEMSET_FLAGS = 48,
	MEMSET_MEMORY_KIND = 50,
	MEMSET_GRAPH_NODE = 64,
	MEMSET_GRAPH = 72,
	MEMSET_CHANNEL = 76,
	MEMSET_CHANNEL_TYPE = 80,
	MEMSET_SIZE = 88,
};

enum api_layout {
	API_CALLBACK = 4,
	API_START = 8,
	API_END = 16,
	API_THREAD = 28,
	API_CORRELATION = 32,
	API_RESULT = 36,
	API_SIZE = 40,
};

enum sync_layout {
	SYNC_TYPE = 4,
	SYNC_START = 8,
	SYNC_END = 16,
	SYNC_CORRELATION = 24,
	SYNC_CONTEXT = 28,
	SYNC_STREAM = 32,
	SYNC_EVENT = 36,
	SYNC_SIZE = 40,
	SYNC_EVENT_SYNC = 40, /* 12.8 */
	SYNC_RESULT = 48,     /* 12.8 */
};

enum event_layout {
	EVENT_CORRELATION = 4,
	EVENT_CONTEXT = 8,
	EVENT_STREAM = 12,
	EVENT_ID = 16,
	EVENT_SIZE = 24,
	EVENT_DEVICE = 24,     /* 12.8 */
	EVENT_EVENT_SYNC = 48, /* 12.8 */
};

enum overhead_layout {
	OVERHEAD_KIND = 4,
	OVERHEAD_OBJECT = 8,
	OVERHEAD_IDS = 12,
	OVERHEAD_START = 24,
	OVERHEAD_END = 32,
	OVERHEAD_SIZE = 40,
	OVERHEAD_CORRELATION = 40, /* 12.4 */
};

/* Callback ids: the same in every version. What Kineto's block list and allow list name. */
enum runtime_callback {
	RUNTIME_GET_LAST_ERROR = 10,
	RUNTIME_SET_DEVICE = 16,
	RUNTIME_GET_DEVICE = 17,
	RUNTIME_EVENT_CREATE = 133,
	RUNTIME_EVENT_CREATE_WITH_FLAGS = 134,
	RUNTIME_EVENT_DESTROY = 136,
};

enum driver_callback {
	DRIVER_GET_VERSION = 2,
	DRIVER_LAUNCH_KERNEL = 307,
	DRIVER_MEM_CREATE = 549,
	DRIVER_MEM_RELEASE = 550,
	DRIVER_MEM_MAP = 551,
	DRIVER_MEM_UNMAP = 552,
	DRIVER_MEM_EXPORT = 554,
	DRIVER_MEM_IMPORT = 555,
	DRIVER_LAUNCH_KERNEL_EX = 652,
};

#define CALLBACKS_MAX 2048 /* of a domain; 13.5 has 877 */

/* CUdevice_attribute, CUresult */
enum cuda_attribute {
	ATTRIBUTE_THREADS_PER_BLOCK = 1,
	ATTRIBUTE_SHARED_PER_BLOCK = 8,
	ATTRIBUTE_WARP_SIZE = 10,
	ATTRIBUTE_REGISTERS_PER_BLOCK = 12,
	ATTRIBUTE_MULTIPROCESSORS = 16,
	ATTRIBUTE_THREADS_PER_MULTIPROCESSOR = 39,
	ATTRIBUTE_COMPUTE_MAJOR = 75,
	ATTRIBUTE_COMPUTE_MINOR = 76,
	ATTRIBUTE_SHARED_PER_MULTIPROCESSOR = 81,
	ATTRIBUTE_REGISTERS_PER_MULTIPROCESSOR = 82,
	ATTRIBUTE_SHARED_PER_BLOCK_OPTIN = 97,
};

#endif /* AGENT_CUPTI_LAYOUT_H */
