/*
 * ring_maps.h - the rings that the programs write into, one for each CPU: how large they are, and
 * what found them full.
 */
#ifndef ATTACH_RING_MAPS_H
#define ATTACH_RING_MAPS_H

#include <stddef.h>
#include <stdint.h>

#include "probe_config.h"

/* What a user may ask for: --ring-size. A ring's size is a power of two. */
#define RING_BYTES_MIN (128UL * 1024) /* what measures costs must fit in */
#define RING_BYTES_MAX (1024UL * 1024 * 1024)

struct ring_maps {
	int *fds;
	size_t count;
	size_t size_bytes;
	struct ring_loss *losses; /* of each; NULL: not mapped */
	size_t losses_bytes;
};

/* How many there are to be, before the programs are loaded. 0, or a negative error. */
int ring_maps_init(struct ring_maps *maps);

/*
 * Makes them, when the programs are loaded: map_fd is the map of rings, losses_fd that of struct
 * ring_loss. size_bytes is that of each ring.
 */
int ring_maps_make(struct ring_maps *maps, size_t size_bytes, int map_fd, int losses_fd);
void ring_maps_fini(struct ring_maps *maps); /* all zero is legal */

/* What each ring is by default: for a job of which the ACTIVITY_* are recorded on so many CPUs. */
size_t ring_maps_default_bytes(uint32_t activities, size_t count);

/* 0, or -E2BIG (logged): so many rings of this size are more than this host should give. */
int ring_maps_check(size_t size_bytes, size_t count);

/* So far, over all rings. */
void ring_maps_lost(const struct ring_maps *maps, struct wire_rings *record);

#endif /* ATTACH_RING_MAPS_H */
