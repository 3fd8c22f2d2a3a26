/*
 * fake_knobs.h - how libcupti's stand-in is told what to be, by environment variables:
 *   FAKE_CUPTI_VERSION   API version (28): 18, 24, 28, 130001, 130400, ...
 *   FAKE_CUPTI_CLOCK     real (default), mono, tsc, none
 *   FAKE_CUPTI_FAULTS    of these, by commas:
 *     err39              registering and enabling fail with 39, as under NVIDIA's own tools
 *     onlyN=N            that from the (N + 1)th registering on
 *     err999             all but cuptiGetVersion fails with 999, as without a driver
 *     err999all          that too
 *     privileges         enabling kernels fails with 35
 *     refuse=KIND        enabling this kind fails with 21
 *     nothreadids        cuptiSetThreadIdType fails
 *     droppedN=N         every Nth record is dropped and counted
 *     untimedN=N         every Nth record of the device has no times
 *     brokenN=N          every Nth buffer ends in a record of no known kind, which ends the reading
 *     hang=MS            from the first record on, a flush takes so long
 *     hangopen=MS        enabling kernels takes so long
 *     steal=MS           so long after kernels were enabled, "Kineto" registers callbacks
 *     tsc=MS             so long after kernels were enabled, the clock is the TSC
 *     shuffle            buffers come back in any order
 *     slow=US            a record is complete so long after its work has ended
 *     smallbuffers       only 16 KiB of a buffer are used
 *   LD_PRELOAD=libfakeclock.so with FAKE_CLOCK_STEP=MS:NS
 *                        CLOCK_REALTIME jumps by NS when the process is MS old
 */
#ifndef FAKE_KNOBS_H
#define FAKE_KNOBS_H

#include <stdbool.h>
#include <stdint.h>

struct fake_knobs {
	uint32_t version;
	enum {
		CLOCK_REAL,
		CLOCK_MONO,
		CLOCK_TSC,
		CLOCK_NONE
	} clock;
	bool err39, err999, err999all, privileges, no_thread_ids, shuffle, small_buffers;
	uint32_t refuse, dropped_nth, untimed_nth, broken_nth;
	uint32_t only_n, hang_ms, hang_open_ms, steal_ms, tsc_ms, slow_us;
};

/* Read anew each time: a test sets them between two sessions. */
void fake_knobs_read(struct fake_knobs *knobs);

#endif /* FAKE_KNOBS_H */
