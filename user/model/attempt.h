/* attempt.h - one optimizer attempt as the analysis keeps it. */
#ifndef MODEL_ATTEMPT_H
#define MODEL_ATTEMPT_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct attempt {
	uint64_t start_ns; /* the boundary before it; 0: not seen (the first one, a lost boundary,
			      or one is a range's begin and the other an end) */
	uint64_t end_ns;   /* 0: the boundary was lost */
	uint32_t tid;
	uint16_t cycle;
	uint8_t phase;	   /* enum wire_phase */
	uint8_t outcome;   /* enum wire_outcome */
	uint8_t boundary;  /* enum wire_boundary: what end_ns is */
	bool is_disturbed; /* the window's probes were being taken off */
};

/* Names as the outputs spell them. */

/* The phase that an attempt ran in; "detach" for one after the window while its probes came off. */
const char *attempt_label(const struct attempt *attempt);
const char *attempt_phase_name(enum wire_phase phase);
const char *attempt_outcome_name(enum wire_outcome outcome);
const char *attempt_stop_name(enum wire_stop stop); /* NULL for STOP_NONE */

#endif /* MODEL_ATTEMPT_H */
