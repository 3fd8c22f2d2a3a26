/*
 * trace_device.c - see trace_device.h. Left out on purpose: waits of the host, which readers take
 * for work of the stream that they wait for; only Stream Wait Event is written.
 */
#include "output/trace_device.h"

#include <stdio.h>

#include "model/occupancy.h"

/* What Kineto divides by, whatever the device says. */
#define THREADS_PER_WARP 32

#define EDGE_NS 1 /* a range's share begins this much before its first work and ends after */
#define OVERHEAD_PID (-1)

int64_t trace_frame_ns(const struct trace_frame *frame, uint64_t time_ns)
{
	int64_t since_base_ns = (int64_t)time_ns + frame->offset_ns;

	return since_base_ns > 0 ? since_base_ns : 0;
}

struct row {
	const char *category, *name;
	int64_t pid, tid;
	uint64_t start_ns, end_ns;
};

static void begin_row(struct json *json, const struct trace_frame *frame, const struct row *row)
{
	json_object_begin(json, NULL);
	json_string(json, "ph", "X");
	json_string(json, "cat", row->category);
	json_string(json, "name", row->name);
	json_int(json, "pid", row->pid);
	json_int(json, "tid", row->tid);
	json_us(json, "ts", trace_frame_ns(frame, row->start_ns));
	json_us(json, "dur", (int64_t)(row->end_ns - row->start_ns));
	json_object_begin(json, "args");
}

static void end_row(struct json *json)
{
	json_object_end(json);
	json_object_end(json);
}

/* A viewer ties it to the row that has just these ts, pid and tid. */
static void put_arrow(struct json *json, const struct trace_frame *frame, const struct row *row,
		      uint32_t correlation_id, bool is_head)
{
	json_object_begin(json, NULL);
	json_string(json, "ph", is_head ? "f" : "s");
	json_uint(json, "id", correlation_id);
	json_int(json, "pid", row->pid);
	json_int(json, "tid", row->tid);
	json_us(json, "ts", trace_frame_ns(frame, row->start_ns));
	json_string(json, "cat", "ac2g");
	json_string(json, "name", "ac2g");
	if (is_head)
		json_string(json, "bp", "e");
	json_object_end(json);
}

static void put_external_id(struct json *json, uint64_t external_id)
{
	if (external_id)
		json_uint(json, "External id", external_id);
}

void trace_device_call(struct json *json, const struct trace_frame *frame,
		       const struct device_call *call)
{
	const struct row row = {
		.category = call->is_driver ? "cuda_driver" : "cuda_runtime",
		.name = call->name,
		.pid = frame->pid,
		.tid = call->tid,
		.start_ns = call->start_ns,
		.end_ns = call->end_ns,
	};

	begin_row(json, frame, &row);
	put_external_id(json, call->external_id);
	if (!call->is_probed || call->callback_id)
		json_uint(json, "cbid", call->callback_id);
	/* A number made up would be one that no work has: readers take the call for a launch whose
	 * work was lost. */
	if (!call->is_probed)
		json_uint(json, "correlation", call->correlation_id);
	if (call->is_unfinished)
		json_bool(json, "finished", false);
	if (call->is_inferred)
		json_bool(json, "inferred end", true);
	if (call->is_unwound)
		json_bool(json, "unwound", true);
	end_row(json);
	if (call->is_launch)
		put_arrow(json, frame, &row, call->correlation_id, false);
}

static void put_place(struct json *json, const struct device_work *work)
{
	json_uint(json, "device", work->device);
	json_uint(json, "context", work->context);
	json_uint(json, "stream", work->stream);
	json_uint(json, "correlation", work->correlation_id);
}

static void put_grid(struct json *json, const char *key, const struct device_grid *grid)
{
	json_array_begin(json, key);
	json_uint(json, NULL, grid->x);
	json_uint(json, NULL, grid->y);
	json_uint(json, NULL, grid->z);
	json_array_end(json);
}

static const struct device_properties *properties_of(const struct trace_frame *frame,
						     uint32_t device)
{
	const struct device_summary *summary = frame->device;
	size_t i;

	for (i = 0; i < summary->properties_count; i++) {
		if (summary->properties[i].id == device)
			return &summary->properties[i];
	}
	return NULL;
}

static double volume(const struct device_grid *grid)
{
	return (double)grid->x * grid->y * grid->z;
}

static void put_kernel(struct json *json, const struct trace_frame *frame,
		       const struct device_work *work)
{
	const struct device_properties *device = properties_of(frame, work->device);
	uint32_t occupancy;

	json_uint(json, "queued", 0);
	put_place(json, work);
	json_uint(json, "registers per thread", work->registers);
	json_uint(json, "shared memory",
		  (uint64_t)work->static_shared_bytes + work->dynamic_shared_bytes);
	if (device && device->multiprocessors) {
		double blocks = volume(&work->grid) / device->multiprocessors;

		json_number(json, "blocks per SM", blocks);
		json_number(json, "warps per SM", blocks * volume(&work->block) / THREADS_PER_WARP);
	}
	put_grid(json, "grid", &work->grid);
	put_grid(json, "block", &work->block);
	if (device && occupancy_percent(device, work, &occupancy))
		json_uint(json, "est. achieved occupancy %", occupancy);
	if (work->graph_id) {
		json_uint(json, "graph id", work->graph_id);
		json_uint(json, "graph node id", work->graph_node_id);
	}
}

static void put_transfer(struct json *json, const struct device_work *work)
{
	uint64_t duration_ns = work->end_ns - work->start_ns;

	if (work->is_between_devices) {
		json_uint(json, "fromDevice", work->device);
		json_uint(json, "toDevice", work->to_device);
		json_uint(json, "fromContext", work->context);
		json_uint(json, "toContext", work->to_context);
	}
	put_place(json, work);
	json_uint(json, "bytes", work->size_bytes);
	if (duration_ns)
		json_number(json, "memory bandwidth (GB/s)",
			    (double)work->size_bytes / (double)duration_ns);
}

static void put_sync(struct json *json, const struct device_work *work)
{
	json_string(json, "cuda_sync_kind", work->name);
	if (work->event_correlation_id) {
		json_uint(json, "wait_on_stream", work->event_stream);
		json_uint(json, "wait_on_cuda_event_record_corr_id", work->event_correlation_id);
	}
	json_uint(json, "wait_on_cuda_event_id", work->event_id);
	put_place(json, work);
}

static const char *category_of(const struct device_work *work)
{
	static const char *const names[DEVICE_WORK_KIND_CNT] = {
		[DEVICE_KERNEL] = "kernel",
		[DEVICE_MEMCPY] = "gpu_memcpy",
		[DEVICE_MEMSET] = "gpu_memset",
		[DEVICE_SYNC] = "cuda_sync",
	};

	return names[work->kind];
}

void trace_device_work(struct json *json, const struct trace_frame *frame,
		       const struct device_work *work)
{
	const struct row row = {
		.category = category_of(work),
		.name = work->name,
		.pid = work->device,
		.tid = work->stream,
		.start_ns = work->start_ns,
		.end_ns = work->end_ns,
	};

	if (work->kind == DEVICE_SYNC && work->sync != SYNC_STREAM_WAITS)
		return;
	begin_row(json, frame, &row);
	put_external_id(json, work->external_id);
	if (work->kind == DEVICE_KERNEL)
		put_kernel(json, frame, work);
	else if (work->kind == DEVICE_SYNC)
		put_sync(json, work);
	else
		put_transfer(json, work);
	end_row(json);
	if (work->kind != DEVICE_SYNC)
		put_arrow(json, frame, &row, work->correlation_id, true);
}

void trace_device_annotation(struct json *json, const struct trace_frame *frame,
			     const struct device_annotation *annotation)
{
	const struct row row = {
		.category = "gpu_user_annotation",
		.name = annotation->name,
		.pid = annotation->device,
		.tid = annotation->stream,
		.start_ns = annotation->start_ns - EDGE_NS,
		.end_ns = annotation->end_ns + EDGE_NS,
	};

	begin_row(json, frame, &row);
	put_external_id(json, annotation->external_id);
	end_row(json);
}

/* Of CUpti_ActivityOverheadKind, as Kineto spells them. */
static const char *overhead_name(uint32_t kind)
{
	switch (kind) {
	case 1:
		return "Driver Compiler";
	case 1U << 16:
		return "Buffer Flush";
	case 2U << 16:
		return "Instrumentation";
	case 3U << 16:
		return "Resource";
	case 4U << 16:
		return "Runtime Triggered Module Loading";
	case 5U << 16:
		return "Lazy Function Loading";
	case 6U << 16:
		return "Command Buffer Full";
	case 7U << 16:
		return "Activity Buffer Request";
	case 8U << 16:
		return "UVM Activity Init";
	default:
		return "Unknown";
	}
}

void trace_device_overhead(struct json *json, const struct trace_frame *frame,
			   const struct device_overhead *overhead)
{
	const struct row row = {
		.category = "overhead",
		.name = overhead_name(overhead->kind),
		.pid = OVERHEAD_PID,
		.tid = overhead->tid,
		.start_ns = overhead->start_ns,
		.end_ns = overhead->end_ns,
	};

	begin_row(json, frame, &row);
	end_row(json);
}

static void put_properties(struct json *json, const struct device_properties *device)
{
	json_object_begin(json, NULL);
	json_uint(json, "id", device->id);
	json_string(json, "name", device->name);
	json_uint(json, "totalGlobalMem", device->memory_bytes);
	json_uint(json, "computeMajor", device->compute_major);
	json_uint(json, "computeMinor", device->compute_minor);
	json_uint(json, "maxThreadsPerBlock", device->threads_per_block_max);
	json_uint(json, "maxThreadsPerMultiprocessor", device->threads_per_multiprocessor_max);
	json_uint(json, "regsPerBlock", device->registers_per_block);
	json_uint(json, "warpSize", device->warp_size);
	json_uint(json, "sharedMemPerBlock", device->shared_per_block_bytes);
	json_uint(json, "numSms", device->multiprocessors);
	json_uint(json, "regsPerMultiprocessor", device->registers_per_multiprocessor);
	json_uint(json, "sharedMemPerBlockOptin", device->shared_per_block_optin_bytes);
	json_uint(json, "sharedMemPerMultiprocessor", device->shared_per_multiprocessor_bytes);
	json_object_end(json);
}

void trace_device_properties(struct json *json, const struct device_summary *device)
{
	size_t i;

	json_array_begin(json, "deviceProperties");
	for (i = 0; i < device->properties_count; i++)
		put_properties(json, &device->properties[i]);
	json_array_end(json);
}
