/*
 * allocations.c - see allocations.h. A block's size is the value of its address in the map. Where
 * one is allocated at an address that is known, its free was not seen: the old one is gone.
 */
#include "analyze/allocations.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hashmap.h"

struct allocations {
	struct hashmap *sizes; /* by address; never 0 */
	size_t blocks_max;
	uint64_t total_bytes;	/* of those in sizes */
	uint64_t lost_until_ns; /* blocks that came by then may have gone, and others be there */
	uint64_t old_frees, out_of_memory, untracked;
};

int allocations_new(struct allocations **out, size_t blocks_max)
{
	struct allocations *allocations = calloc(1, sizeof(*allocations));
	int err;

	if (!allocations)
		return -ENOMEM;
	allocations->blocks_max = blocks_max;
	err = hashmap_new(&allocations->sizes);
	if (err) {
		allocations_free(allocations);
		return err;
	}
	*out = allocations;
	return 0;
}

void allocations_free(struct allocations *allocations)
{
	if (!allocations)
		return;
	hashmap_free(allocations->sizes);
	free(allocations);
}

/* Its size; 0: not known. */
static uint64_t forget(struct allocations *allocations, uint64_t address)
{
	uint64_t size_bytes = (uintptr_t)hashmap_remove(allocations->sizes, address);

	allocations->total_bytes -= size_bytes;
	return size_bytes;
}

static int remember(struct allocations *allocations, uint64_t address, uint64_t size_bytes)
{
	int err;

	if (hashmap_count(allocations->sizes) >= allocations->blocks_max) {
		allocations->untracked++;
		return 0;
	}
	err = hashmap_put(allocations->sizes, address, (void *)(uintptr_t)size_bytes, NULL);
	if (!err)
		allocations->total_bytes += size_bytes;
	return err;
}

/* As torch.profiler shows them: the CPU has no index and reserves nothing. */
static void count_cpu(const struct allocations *allocations, struct memory_event *out)
{
	out->device_type = WIRE_DEVICE_CPU;
	out->device_index = -1;
	out->total_allocated_bytes = allocations->total_bytes;
	out->total_reserved_bytes = 0;
}

/* PyTorch reports empty tensors too, as 0 bytes at address 0: none of these is an allocation. */
static int allocated(struct allocations *allocations, bool is_active, struct memory_event *out,
		     bool *is_shown)
{
	int err = 0;

	if (!out->address || out->size_bytes <= 0)
		return 0;
	forget(allocations, out->address);
	if (is_active && out->time_ns > allocations->lost_until_ns)
		err = remember(allocations, out->address, (uint64_t)out->size_bytes);
	count_cpu(allocations, out);
	*is_shown = is_active;
	return err;
}

static void freed(struct allocations *allocations, bool is_active, struct memory_event *out,
		  bool *is_shown)
{
	uint64_t size_bytes = forget(allocations, out->address);

	if (!is_active || !out->address)
		return;
	out->size_bytes = -(int64_t)size_bytes;
	count_cpu(allocations, out);
	allocations->old_frees += !size_bytes;
	*is_shown = size_bytes > 0;
}

static void ran_out(struct allocations *allocations, bool is_active, struct memory_event *out,
		    bool *is_shown)
{
	out->address = 0;
	out->is_out_of_memory = true;
	if (out->device_type == WIRE_DEVICE_CPU)
		count_cpu(allocations, out);
	allocations->out_of_memory += is_active;
	*is_shown = is_active;
}

int allocations_event(struct allocations *allocations, const struct event *event, bool is_active,
		      struct memory_event *out, bool *is_shown)
{
	const struct wire_memory *record = event->memory;

	*is_shown = false;
	*out = (struct memory_event){
		.time_ns = event->header->time_ns,
		.address = record->address,
		.size_bytes = record->size_bytes,
		.total_allocated_bytes = record->total_allocated_bytes,
		.total_reserved_bytes = record->total_reserved_bytes,
		.tid = event->header->tid,
		.device_type = record->device_type,
		.device_index = record->device_index,
	};
	switch (event->header->subject) {
	case MEMORY_ALLOCATED:
		return allocated(allocations, is_active, out, is_shown);
	case MEMORY_FREED:
		freed(allocations, is_active, out, is_shown);
		return 0;
	case MEMORY_REPORTED:
		*is_shown = is_active;
		return 0;
	default:
		ran_out(allocations, is_active, out, is_shown);
		return 0;
	}
}

void allocations_lost(struct allocations *allocations, uint64_t last_ns)
{
	hashmap_clear(allocations->sizes);
	allocations->total_bytes = 0;
	if (last_ns > allocations->lost_until_ns)
		allocations->lost_until_ns = last_ns;
}

uint64_t allocations_old_frees(const struct allocations *allocations)
{
	return allocations->old_frees;
}

uint64_t allocations_out_of_memory(const struct allocations *allocations)
{
	return allocations->out_of_memory;
}

uint64_t allocations_untracked(const struct allocations *allocations)
{
	return allocations->untracked;
}
