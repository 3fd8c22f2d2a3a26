/* device_names.c - see device_names.h. */
#include "model/device_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *copy_kind(uint8_t kind)
{
	static const char *const names[] = { "Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA",
					     "AtoD",	"DtoA", "DtoD", "HtoH", "PtoP" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

static const char *memory_kind(uint8_t kind)
{
	static const char *const names[] = { "Unknown",	      "Pageable",      "Pinned",
					     "Device",	      "Array",	       "Managed",
					     "Device Static", "Managed Static" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : names[0];
}

static const char *sync_name(uint8_t sync)
{
	switch (sync) {
	case SYNC_EVENT:
		return "Event Sync";
	case SYNC_STREAM_WAITS:
		return "Stream Wait Event";
	case SYNC_STREAM:
		return "Stream Sync";
	case SYNC_CONTEXT:
		return "Context Sync";
	default:
		return "Unknown Sync";
	}
}

char *device_work_name(char *to, size_t size_bytes, const struct device_work *work)
{
	switch (work->kind) {
	case DEVICE_MEMCPY:
		snprintf(to, size_bytes, "Memcpy %s (%s -> %s)", copy_kind(work->copy_kind),
			 memory_kind(work->from_kind), memory_kind(work->to_kind));
		break;
	case DEVICE_MEMSET:
		snprintf(to, size_bytes, "Memset (%s)", memory_kind(work->to_kind));
		break;
	case DEVICE_SYNC:
		snprintf(to, size_bytes, "%s", sync_name(work->sync));
		break;
	default:
		snprintf(to, size_bytes, "(unnamed kernel)");
		break;
	}
	return to;
}

const char *device_call_name(const char *name)
{
	/* From CUDA 13 on, the launch that the compiler puts into a program. */
	return text_has_prefix(name, "__cuda") ? name + 2 : name;
}

size_t device_call_name_bytes(const char *name, size_t size_bytes)
{
	size_t digits = 0;

	while (digits < size_bytes && isdigit((unsigned char)name[size_bytes - digits - 1]))
		digits++;
	if (!digits || size_bytes < digits + 3 ||
	    memcmp(name + size_bytes - digits - 2, "_v", 2) != 0)
		return size_bytes;
	return size_bytes - digits - 2;
}

bool device_call_is_launch(const char *name)
{
	static const char *const prefixes[] = {
		"cudaLaunchKernel",    "cudaLaunchCooperative", "cudaGraphLaunch", "cudaMemcpy",
		"cudaMemset",	       "cuLaunchKernel",	"cuGraphLaunch",   "cuMemcpy",
		"cudaStreamWaitEvent", "cudaMallocAsync",
	};
	size_t i;

	for (i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		if (text_has_prefix(name, prefixes[i]))
			return true;
	}
	return false;
}
