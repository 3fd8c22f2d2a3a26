/* device_state.h - what is said of the devices where they were not watched, or in part. */
#ifndef OUTPUT_DEVICE_STATE_H
#define OUTPUT_DEVICE_STATE_H

#include "model/summary.h"

#define DEVICE_REASON_BYTES (WIRE_NAME_BYTES + 64)

/* "on", "degraded", "off". */
const char *device_state_name(const struct summary *summary);

/* Why it is not on; NULL: it is. Returns to. */
const char *device_state_reason(const struct summary *summary, char to[DEVICE_REASON_BYTES]);

/* Who told of the calls of CUDA's: "agent", "probes"; NULL: nobody. */
const char *device_state_calls_by(const struct summary *summary);

#endif /* OUTPUT_DEVICE_STATE_H */
