/* activity_state.h - what became of each activity: profile.json says it of all of them. */
#ifndef OUTPUT_ACTIVITY_STATE_H
#define OUTPUT_ACTIVITY_STATE_H

#include "model/summary.h"

struct activity_state {
	const char *state; /* "on", "degraded", "off" */
	char reason[192];  /* empty: there is nothing to explain */
};

/* activity: one of ACTIVITY_*. */
void activity_state_of(const struct summary *summary, unsigned int activity,
		       struct activity_state *state);

/* How many operators the last modes leave out. */
uint64_t activity_state_operators_off(const struct summary *summary);

#endif /* OUTPUT_ACTIVITY_STATE_H */
