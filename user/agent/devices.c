/* devices.c - see devices.h. Calls that need no context, before CUPTI would record them. */
#include "agent/devices.h"

#include <string.h>

#include "agent/session.h"

#define DEVICES_MAX 64

static void say_device(struct session *session, int ordinal)
{
	struct cuda_api *cuda = &session->cuda;
	struct agent_device *record;
	struct recorder *recorder;
	char name[256] = "";
	size_t memory = 0;
	int device;
	const struct {
		int attribute;
		size_t offset;
	} attributes[] = {
		{ ATTRIBUTE_COMPUTE_MAJOR, offsetof(struct agent_device, compute_major) },
		{ ATTRIBUTE_COMPUTE_MINOR, offsetof(struct agent_device, compute_minor) },
		{ ATTRIBUTE_THREADS_PER_BLOCK, offsetof(struct agent_device, threads_per_block) },
		{ ATTRIBUTE_THREADS_PER_MULTIPROCESSOR,
		  offsetof(struct agent_device, threads_per_multiprocessor) },
		{ ATTRIBUTE_REGISTERS_PER_BLOCK,
		  offsetof(struct agent_device, registers_per_block) },
		{ ATTRIBUTE_REGISTERS_PER_MULTIPROCESSOR,
		  offsetof(struct agent_device, registers_per_multiprocessor) },
		{ ATTRIBUTE_WARP_SIZE, offsetof(struct agent_device, warp_size) },
		{ ATTRIBUTE_SHARED_PER_BLOCK, offsetof(struct agent_device, shared_per_block) },
		{ ATTRIBUTE_SHARED_PER_BLOCK_OPTIN,
		  offsetof(struct agent_device, shared_per_block_optin) },
		{ ATTRIBUTE_SHARED_PER_MULTIPROCESSOR,
		  offsetof(struct agent_device, shared_per_multiprocessor) },
		{ ATTRIBUTE_MULTIPROCESSORS, offsetof(struct agent_device, multiprocessors) },
	};
	int values[sizeof(attributes) / sizeof(attributes[0])] = { 0 };
	size_t i;

	if (cuda->get_device(&device, ordinal) || cuda->get_name(name, sizeof(name) - 1, device) ||
	    cuda->get_memory(&memory, device))
		return;
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		cuda->get_attribute(&values[i], attributes[i].attribute, device);
	recorder = session_lock(session);
	if (!recorder)
		return;
	record = batch_reserve_text(&recorder->batch, AGENT_DEVICE, sizeof(*record),
				    offsetof(struct agent_device, name_size), name);
	record->id = (uint32_t)ordinal;
	record->memory_bytes = memory;
	for (i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		memcpy((char *)record + attributes[i].offset, &values[i], sizeof(uint32_t));
	session_unlock(session);
}

void devices_say(struct session *session, int count)
{
	int i;

	for (i = 0; i < count && i < DEVICES_MAX; i++)
		say_device(session, i);
}
