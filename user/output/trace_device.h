/*
 * trace_device.h - the rows of the devices in the Chrome trace: calls, kernels, copies, sets,
 * waits, ranges' shares of a stream, CUPTI's overhead, and the ac2g arrows from a call to its work.
 * In Kineto's form (pytorch/kineto, libkineto/src/output_json.cpp and CuptiActivity.cpp), less what
 * breaks readers. Part of chrome_trace.c.
 */
#ifndef OUTPUT_TRACE_DEVICE_H
#define OUTPUT_TRACE_DEVICE_H

#include "base/json.h"
#include "model/device.h"
#include "model/summary.h"

/* ts = time + offset_ns; pid: of the job. */
struct trace_frame {
	int64_t offset_ns;
	int64_t pid;
	const struct device_summary *device;
};

/* A row of a device. */
struct trace_stream {
	uint32_t device, stream;
};

int64_t trace_frame_ns(const struct trace_frame *frame, uint64_t time_ns);

void trace_device_call(struct json *json, const struct trace_frame *frame,
		       const struct device_call *call);
void trace_device_work(struct json *json, const struct trace_frame *frame,
		       const struct device_work *work);
void trace_device_annotation(struct json *json, const struct trace_frame *frame,
			     const struct device_annotation *annotation);
void trace_device_overhead(struct json *json, const struct trace_frame *frame,
			   const struct device_overhead *overhead);

/* The list of the trace's head. */
void trace_device_properties(struct json *json, const struct device_summary *device);

#endif /* OUTPUT_TRACE_DEVICE_H */
