/*
 * occupancy.h - how much of a multiprocessor a kernel can fill, from what it asks for and what the
 * device has. The rules and the numbers of each compute capability are those that NVIDIA states
 * in cuda_occupancy.h (CUDA 13.5); `make conformance` compares the two.
 */
#ifndef MODEL_OCCUPANCY_H
#define MODEL_OCCUPANCY_H

#include <stdbool.h>
#include <stdint.h>

#include "model/device.h"

/*
 * The blocks of this kernel that one multiprocessor holds at once; 0: it cannot run there. False:
 * not known, for a device of another generation, or one whose properties are not.
 */
bool occupancy_blocks(const struct device_properties *device, const struct device_work *kernel,
		      uint64_t *blocks);

/*
 * What Kineto calls "est. achieved occupancy %": of the threads that a multiprocessor can hold,
 * those of the blocks that this launch gives each at the most. As above.
 */
bool occupancy_percent(const struct device_properties *device, const struct device_work *kernel,
		       uint32_t *percent);

#endif /* MODEL_OCCUPANCY_H */
