/*
 * ring_maps.c - see ring_maps.h. What the programs keep of losses is mapped, so that it can be
 * looked at as often as the rings are read, and with no capability.
 */
#include "attach/ring_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "base/text.h"

#define MIB (1024UL * 1024)
#define DEFAULT_TOTAL_MAX (256 * MIB) /* of all rings */
#define DEFAULT_MEMORY_PART 8	      /* of the host's memory, at most */
#define ASKED_MEMORY_PART 4

/*
 * How much one CPU can write while the collector is kept from it for 0.3 s, which a busy machine
 * was seen to do. Operators: a record of 40 bytes in 0.7 us, the fastest probes. With shapes: 350
 * bytes in 1.7 us. Ranges: 344 bytes in 12 us, as Python takes for one.
 */
#define RANGES_BYTES (8 * MIB)
#define CALLS_BYTES RING_BYTES
#define SHAPES_BYTES (64 * MIB)

static size_t host_memory_bytes(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && page_bytes > 0 ? (size_t)pages * (size_t)page_bytes : SIZE_MAX;
}

size_t ring_maps_default_bytes(uint32_t activities, size_t count)
{
	size_t size_bytes = RANGES_BYTES, total_bytes = host_memory_bytes() / DEFAULT_MEMORY_PART;

	if (activities & ACTIVITY_SHAPES)
		size_bytes = SHAPES_BYTES;
	else if (activities & (ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY))
		size_bytes = CALLS_BYTES;
	if (total_bytes > DEFAULT_TOTAL_MAX)
		total_bytes = DEFAULT_TOTAL_MAX;
	while (size_bytes > RING_BYTES_MIN && size_bytes > total_bytes / count)
		size_bytes /= 2;
	return size_bytes;
}

int ring_maps_check(size_t size_bytes, size_t count)
{
	size_t limit_bytes = host_memory_bytes() / ASKED_MEMORY_PART;
	char each[32], limit[32];

	if (size_bytes <= limit_bytes / count)
		return 0;
	log_err("--ring-size: %zu rings of %s, one for each CPU, are more than a quarter of this "
		"host's memory; %s each fit",
		count, text_size(each, sizeof(each), size_bytes),
		text_size(limit, sizeof(limit), limit_bytes / count));
	return -E2BIG;
}

int ring_maps_init(struct ring_maps *maps)
{
	int cpu_count = libbpf_num_possible_cpus();
	size_t i;

	*maps = (struct ring_maps){ 0 };
	if (cpu_count < 0)
		return cpu_count;
	maps->count = cpu_count < RINGS_MAX ? (size_t)cpu_count : RINGS_MAX;
	maps->fds = calloc(maps->count, sizeof(*maps->fds));
	if (!maps->fds)
		return -ENOMEM;
	for (i = 0; i < maps->count; i++)
		maps->fds[i] = -1;
	return 0;
}

static int map_losses(struct ring_maps *maps, int losses_fd)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t size_bytes = maps->count * sizeof(*maps->losses);
	void *losses;

	size_bytes = (size_bytes + page_bytes - 1) / page_bytes * page_bytes;
	losses = mmap(NULL, size_bytes, PROT_READ, MAP_SHARED, losses_fd, 0);
	if (losses == MAP_FAILED)
		return -errno;
	maps->losses = losses;
	maps->losses_bytes = size_bytes;
	return 0;
}

int ring_maps_make(struct ring_maps *maps, size_t size_bytes, int map_fd, int losses_fd)
{
	__u32 i;

	maps->size_bytes = size_bytes;
	for (i = 0; i < maps->count; i++) {
		int fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, NULL, 0, 0, (__u32)size_bytes, NULL);

		if (fd < 0)
			return fd;
		maps->fds[i] = fd;
		if (bpf_map_update_elem(map_fd, &i, &fd, BPF_ANY))
			return -errno;
	}
	return map_losses(maps, losses_fd);
}

void ring_maps_fini(struct ring_maps *maps)
{
	size_t i;

	for (i = 0; maps->fds && i < maps->count; i++) {
		if (maps->fds[i] >= 0)
			close(maps->fds[i]);
	}
	free(maps->fds);
	if (maps->losses)
		munmap(maps->losses, maps->losses_bytes);
	*maps = (struct ring_maps){ 0 };
}

void ring_maps_lost(const struct ring_maps *maps, struct wire_rings *record)
{
	unsigned int kind;
	size_t i;

	record->ring_bytes = maps->size_bytes;
	record->count = (__u32)maps->count;
	for (i = 0; maps->losses && i < maps->count; i++) {
		const volatile struct ring_loss *loss = &maps->losses[i];

		for (kind = 0; kind < LOST_KINDS; kind++) {
			record->lost[kind] += loss->lost[kind];
			record->lost_after[kind] += loss->lost_after[kind];
			record->lost_in_warmup[kind] += loss->lost_in_warmup[kind];
		}
	}
}
