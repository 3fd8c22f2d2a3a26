/* clock.h - the two clocks. Everything is measured on the monotonic one. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

uint64_t clock_monotonic_ns(void);

/* Real time minus monotonic time: the narrowest of several readings, so that a preemption between
 * the two does not shift a trace. */
int64_t clock_real_offset_ns(void);

#endif /* BASE_CLOCK_H */
