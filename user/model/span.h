/* span.h - a range with both its ends, ready for the tables and the trace. */
#ifndef MODEL_SPAN_H
#define MODEL_SPAN_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

struct span {
	const char *name; /* of the name table: equal names are equal pointers */
	uint64_t id;	  /* from 1 in order of beginning; External id of the trace */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t self_ns; /* less its direct children on the same thread; 0 for an asynchronous one
			   */
	uint32_t tid;	  /* of the beginning */
	uint8_t range;	  /* enum wire_range */
	bool is_finished; /* false: the end was not seen, end_ns is the end of the window */
	bool is_async;	  /* ended on another thread: stands outside the nesting */
	bool is_top;	  /* no range of this thread encloses it */
	bool is_step;	  /* a ProfilerStep annotation made by us */
};

#endif /* MODEL_SPAN_H */
