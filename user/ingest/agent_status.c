/* agent_status.c - see agent_status.h. */
#include "ingest/agent_status.h"

#include <inttypes.h>
#include <stdio.h>

static const char *activity_name(int64_t value)
{
	static const char *const names[AGENT_ACTIVITY_CNT] = {
		[AGENT_ACTIVITY_KERNEL] = "kernels",
		[AGENT_ACTIVITY_MEMCPY] = "copies",
		[AGENT_ACTIVITY_MEMCPY_PEER] = "copies between devices",
		[AGENT_ACTIVITY_MEMSET] = "sets",
		[AGENT_ACTIVITY_RUNTIME] = "runtime calls",
		[AGENT_ACTIVITY_DRIVER] = "driver calls",
		[AGENT_ACTIVITY_OVERHEAD] = "CUPTI's overhead",
		[AGENT_ACTIVITY_SYNC] = "waits",
		[AGENT_ACTIVITY_EVENT] = "events",
	};
	uint8_t activity = (uint8_t)value;

	return activity < AGENT_ACTIVITY_CNT ? names[activity] : "an activity";
}

/* Of those that tell of CUPTI itself. */
static int cupti_text(char *to, size_t size_bytes, const struct agent_status *status,
		      const char *text)
{
	switch (status->code) {
	case AGENT_STATUS_NO_CUDA:
		return snprintf(to, size_bytes, "the job has not initialized CUDA");
	case AGENT_STATUS_NO_CUPTI:
		return snprintf(to, size_bytes, "the job has no libcupti mapped");
	case AGENT_STATUS_STATIC_CUPTI:
		return snprintf(to, size_bytes,
				"CUPTI is linked into %s and cannot be called from "
				"outside",
				text);
	case AGENT_STATUS_INCOMPLETE:
		return snprintf(to, size_bytes, "the job's libcupti has no %s", text);
	case AGENT_STATUS_TOO_OLD:
		return snprintf(to, size_bytes,
				"the job's CUPTI is too old (API version %" PRId64
				", 18 is CUDA 11.8)",
				(int64_t)status->value);
	case AGENT_STATUS_NEWER:
		return snprintf(to, size_bytes,
				"the job's CUPTI is newer than this version knows "
				"(API version %" PRId64 ")",
				(int64_t)status->value);
	case AGENT_STATUS_SEVERAL:
		return snprintf(to, size_bytes, "%" PRId64 " libcupti are mapped; %s is used",
				(int64_t)status->value, text);
	case AGENT_STATUS_BUSY:
		return snprintf(to, size_bytes, "another tool has CUPTI in this job (%s: error 39)",
				text);
	case AGENT_STATUS_UNKNOWN:
		return snprintf(to, size_bytes, "CUPTI fails for an unknown reason (%s: error 999)",
				text);
	case AGENT_STATUS_PRIVILEGES:
		return snprintf(to, size_bytes,
				"the driver does not permit this job to use CUPTI "
				"(%s: error %" PRId64 ")",
				text, (int64_t)status->value);
	case AGENT_STATUS_REFUSED:
		return snprintf(to, size_bytes, "CUPTI refuses %s (error %" PRId64 ")", text,
				(int64_t)status->value);
	case AGENT_STATUS_KIND:
		return snprintf(to, size_bytes, "CUPTI does not record %s (error %" PRId64 ")",
				activity_name(status->value), (int64_t)status->value >> 8);
	case AGENT_STATUS_TAKEN:
		return snprintf(to, size_bytes, "another profiler in the job took over CUPTI");
	default:
		return 0;
	}
}

static int course_text(char *to, size_t size_bytes, const struct agent_status *status,
		       const char *text)
{
	switch (status->code) {
	case AGENT_STATUS_HUNG:
		return snprintf(to, size_bytes,
				"CUPTI does not return from %s after %" PRId64 " ms", text,
				(int64_t)status->value);
	case AGENT_STATUS_RETURNED:
		return snprintf(to, size_bytes, "CUPTI returned from %s after %" PRId64 " ms", text,
				(int64_t)status->value);
	case AGENT_STATUS_CLOCK:
		return snprintf(to, size_bytes, "CUPTI's times fit no clock of this machine");
	case AGENT_STATUS_CLOCK_CHANGED:
		return snprintf(to, size_bytes, "CUPTI changed its clock");
	case AGENT_STATUS_CLOCK_STEP:
		return snprintf(to, size_bytes, "the clock was set by %" PRId64 " ns meanwhile",
				(int64_t)status->value);
	case AGENT_STATUS_UNTIMED:
		return snprintf(to, size_bytes, "CUPTI gave records without times");
	case AGENT_STATUS_LOST:
		return snprintf(to, size_bytes, "device records were lost in the job");
	case AGENT_STATUS_OUTSTANDING:
		return snprintf(to, size_bytes, "CUPTI kept %" PRId64 " buffers at the end",
				(int64_t)status->value);
	case AGENT_STATUS_NO_MEMORY:
		return snprintf(to, size_bytes, "the agent got no memory or thread in the job");
	case AGENT_STATUS_THREAD_IDS:
		return snprintf(to, size_bytes,
				"CUPTI does not tell threads as the system does: "
				"calls cannot be tied to operators");
	default:
		return 0;
	}
}

char *agent_status_text(char *to, size_t size_bytes, const struct agent_status *status,
			const char *text)
{
	to[0] = 0;
	if (!cupti_text(to, size_bytes, status, text))
		course_text(to, size_bytes, status, text);
	return to;
}
