/* device_state.c - see device_state.h. */
#include "output/device_state.h"

#include <stdio.h>

const char *device_state_name(const struct summary *summary)
{
	const struct device_summary *device = &summary->device;

	if (device->watch == DEVICE_WATCHED)
		return device->remark_count ? "degraded" : "on";
	if (device->watch == DEVICE_UNAVAILABLE && summary_probes_cuda_calls(summary))
		return "degraded";
	return "off";
}

const char *device_state_reason(const struct summary *summary, char to[DEVICE_REASON_BYTES])
{
	const struct device_summary *device = &summary->device;
	const char *reason =
		device->reason && device->reason[0] ? device->reason : "not looked for";
	const char *more = "";

	if (device->watch == DEVICE_WATCHED) {
		if (!device->remark_count)
			return NULL;
		reason = device->remarks[0];
	} else if (summary->session->plan.activities & ACTIVITY_CUDA_CALLS_UNSUPPORTED) {
		more = "; nor can this kernel probe the calls";
	}
	snprintf(to, DEVICE_REASON_BYTES, "%s%s", reason, more);
	return to;
}

const char *device_state_calls_by(const struct summary *summary)
{
	if (summary->device.watch == DEVICE_WATCHED)
		return "agent";
	return summary_probes_cuda_calls(summary) ? "probes" : NULL;
}
