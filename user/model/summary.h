/* summary.h - all that is known at the end of a capture; what every output is written from. */
#ifndef MODEL_SUMMARY_H
#define MODEL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/attempt.h"
#include "wire.h"

enum window_state {
	WINDOW_PENDING,
	WINDOW_COMPLETE,
	WINDOW_PARTIAL,
	WINDOW_NO_CAPTURE,
};

/* One row of the operator table. */
struct op_row {
	const char *name;
	uint8_t range; /* enum wire_range */
	uint64_t count;
	uint64_t total_ns;
	uint64_t self_ns;
	uint64_t unfinished; /* of count: without an end of their own */
	uint64_t async;	     /* of count: ended on another thread */
};

struct thread_name {
	uint32_t tid;
	const char *name;
};

struct output_file {
	char name[192];
	uint64_t size_bytes;
};

#define OUTPUT_FILES_MAX 16

struct summary {
	const struct wire_session *session;

	enum window_state state;
	enum wire_stop stop;
	const struct attempt *attempts;
	size_t attempt_count;
	uint64_t active_count;
	uint64_t outcome_count[OUTCOME_CNT];
	uint64_t started_ns; /* monotonic; first active boundary, 0: none */
	uint64_t ended_ns;
	uint64_t window_ns;	/* length of all active windows */
	int64_t real_offset_ns; /* of the first clock reading, used for every time of the trace */
	int64_t real_offset_drift_ns; /* last reading less the first: a clock step shows here */

	uint64_t median_ns[PHASE_CNT]; /* 0: not known */
	uint64_t attach_ns, detach_ns; /* the longest that the window's probes took; 0: none */
	uint64_t median_of[PHASE_CNT]; /* attempts that the median stands on */

	const struct op_row *rows; /* by self time, largest first */
	size_t row_count;
	uint64_t self_total_ns;
	bool steps_on_own_row; /* a range crosses a step's edge: annotations have a row of their own
				*/

	const struct wire_probe *probes;
	size_t probe_count;
	const struct thread_name *threads;
	size_t thread_count;
	uint64_t loss[LOSS_CAUSE_CNT];

	struct output_file files[OUTPUT_FILES_MAX];
	size_t file_count;
	const char *directory; /* NULL: none */
};

const char *summary_state_name(enum window_state state);

/* The key of a loss cause in profile.json. */
const char *summary_loss_name(enum wire_loss_cause cause);

/* A loss of data, as against a name that was cut. */
bool summary_loss_is_data(enum wire_loss_cause cause);
bool summary_has_lost_data(const struct summary *summary);

#endif /* MODEL_SUMMARY_H */
