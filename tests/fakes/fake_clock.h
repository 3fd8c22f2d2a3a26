/* fake_clock.h - the clock that libcupti's stand-in tells the time by. */
#ifndef FAKE_CLOCK_H
#define FAKE_CLOCK_H

#include <stdint.h>

#include "fake_knobs.h"

/* The anchor of the TSC; once, early. */
void fake_clock_start(void);

/* What the clock of this kind shows, or did, at a monotonic time. */
uint64_t fake_clock_at(int clock, uint64_t mono_ns);

/* What it shows now, read as CUPTI does. */
uint64_t fake_clock_now(int clock);

#endif /* FAKE_CLOCK_H */
