/*
 * wait_probes.h - in a long wait takes the probes of attempts' ends off, which are half of all
 * hits, and puts them back before warmup. Meanwhile the programs tell attempts by their begin (see
 * begin_watch of probe_config.h); where they cannot, the probes stay.
 */
#ifndef WAIT_PROBES_H
#define WAIT_PROBES_H

#include "attach/probe.h"
#include "options.h"

struct wait_probes {
	const struct options *options;
	struct probes *probes;
	bool is_possible;
	bool is_refused;     /* for good: begins alone do not tell this job's attempts */
	bool is_wanted;	     /* that the programs change over */
	bool is_off;	     /* the probes of ends */
	uint32_t next_cycle; /* they have been taken off in those before */
	uint64_t attempt_ns; /* of late, on average; 0: not known */
};

/* options and probes stay the caller's. */
void wait_probes_init(struct wait_probes *wait, const struct options *options,
		      const struct probe_plan *plan, struct probes *probes);

/*
 * Does what the phase asks; before the window's probes are attached. attempt_ns: what the last
 * attempt took, 0 where that is not known. -ESRCH: the job is gone; other errors are logged.
 */
int wait_probes_follow(struct wait_probes *wait, uint64_t attempt_ns);

/* Attempts from a place in the plan (STATE_* of probe_config.h) to the next warmup; 0: not in a
 * wait. */
uint32_t wait_probes_left(const struct options *options, uint64_t state);

/* Are so many attempts worth it? It takes twice as many to begin with it as to go on. */
bool wait_probes_are_long(uint32_t left, uint64_t attempt_ns, bool is_begun);

#endif /* WAIT_PROBES_H */
