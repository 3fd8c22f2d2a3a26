/* summary.h - all that is known at the end of a capture; what every output is written from. */
#ifndef MODEL_SUMMARY_H
#define MODEL_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/attempt_log.h"
#include "model/device.h"
#include "model/span.h"
#include "model/table_options.h"
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
	const char *overload; /* NULL: not grouped by it */
	const char *shapes;   /* NULL: not grouped by them */
	uint8_t kind;	      /* enum span_kind */
	uint64_t count;
	uint64_t total_ns; /* less the cost of the probes, as is self_ns */
	uint64_t self_ns;
	uint64_t raw_total_ns; /* as measured */
	uint64_t raw_self_ns;
	int64_t total_bytes[SPAN_DEVICE_CNT];
	int64_t self_bytes[SPAN_DEVICE_CNT];
	uint64_t flops;	     /* 0: none counted */
	uint64_t first_id;   /* of the first span: the order in which rows were first seen */
	uint64_t unfinished; /* of count: without an end of their own */
	uint64_t inferred;   /* of count: with an end told by warmup */
	uint64_t async;	     /* of count: ended on another thread */
	uint64_t unwound;    /* of count: left by an exception */
	bool is_async;	     /* the first call was: torch.profiler then gives the row no share */
	/* What the device did for the calls of a row of the CPU; of a row of the device: itself. */
	uint64_t device_self_ns, device_total_ns;
	bool is_device;	    /* a kernel, a copy, a set, a wait, or a range's share of a stream */
	bool is_annotation; /* the last of these: no device time of its own */
};

/* How an operator, the nodes or the memory were watched. */
struct mode_row {
	uint32_t subject; /* the operator's index, or MODE_SUBJECT_* */
	const char *name;
	const char *overload; /* NULL: no operator */
	uint8_t mode;	      /* enum wire_mode */
	uint64_t hits;	      /* in warmup */
	uint64_t duration_ns;
	uint64_t cost_ns, cost_exact_ns; /* of an attempt, predicted */
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

/* A device in an active attempt. */
struct device_busy {
	uint32_t attempt; /* index among the attempts */
	uint32_t device;
	uint64_t busy_ns, idle_ns;
};

struct device_summary {
	enum wire_device_watch watch;
	const char *reason;	    /* why it is not watched; empty: nothing to say */
	const char *const *remarks; /* what the agent had to say, a sentence each */
	size_t remark_count;
	const struct device_properties *properties;
	size_t properties_count;
	uint64_t calls, launches_without_work, overheads;
	uint64_t work_of_kind[DEVICE_WORK_KIND_CNT];
	uint64_t work_outside; /* asked for before or after the window */
	uint64_t self_total_ns;
	struct device_busy *busy;
	size_t busy_count;
};

/* Records that one or more threads made in this time found a ring full. */
struct hole {
	uint64_t first_ns, last_ns;
	uint64_t count; /* of records; more than that where it is not known */
	uint32_t kinds; /* 1 << enum wire_kind */
	uint32_t tid;	/* 0: several threads */
};

struct summary {
	const struct wire_session *session;

	enum window_state state;
	enum wire_stop stop;
	const struct attempt_log *attempts; /* NULL: none yet */
	size_t attempt_count;
	uint64_t active_count;
	uint64_t outcome_count[OUTCOME_CNT];
	uint64_t begin_count;	 /* attempts of long waits that are told by their begin alone */
	uint64_t doubtful_count; /* and such that may be a part of the one before them */
	uint64_t started_ns;	 /* monotonic; first active boundary, 0: none */
	uint64_t ended_ns;
	uint64_t window_ns;	/* length of all active windows */
	int64_t real_offset_ns; /* of the first clock reading, used for every time of the trace */
	int64_t real_offset_drift_ns; /* last reading less the first: a clock step shows here */

	uint64_t median_ns[PHASE_CNT]; /* 0: not known */
	uint64_t attach_ns, detach_ns; /* the longest that probes took to get on and off; 0: none */
	uint64_t median_of[PHASE_CNT]; /* attempts that the median stands on */

	const struct op_row *rows; /* by self time, largest first */
	size_t row_count;
	uint64_t self_total_ns;
	uint64_t operator_kinds; /* operators among the rows, by name */
	uint64_t inferred_kinds; /* of them: with ends told by warmup */
	bool has_shapes;	 /* a call of the window came with its arguments' shapes */
	const struct table_options *table; /* NULL: as by default */
	bool steps_on_own_row; /* a range crosses a step's edge: annotations have a row of their own
				*/

	const struct wire_probe *probes;
	size_t probe_count;
	const struct thread_name *threads;
	size_t thread_count;
	uint64_t loss[LOSS_CAUSE_CNT];
	struct wire_rings rings;  /* count 0: not known */
	const struct hole *holes; /* of the window, in order of time */
	size_t hole_count;

	/* What the window was predicted to cost; cost.is_final 0: nothing was decided. */
	struct wire_cost cost;
	const struct mode_row *modes; /* only those that differ from exact, and the dearest */
	size_t mode_count;
	uint64_t operators_found, operators_without_exit; /* sites of this build */
	uint64_t cuda_calls_found;			  /* functions that are probed */
	/* Of the window. */
	uint64_t spans_of_kind[SPAN_KIND_CNT];
	uint64_t inferred_ends, unwound_calls, flows, unlinked_nodes;
	uint64_t memory_events, module_calls;
	int64_t net_bytes[SPAN_DEVICE_CNT]; /* allocated less freed, of those events */
	uint64_t old_frees; /* of blocks that were allocated before the window: their size is not
			       known */
	uint64_t out_of_memory;

	struct device_summary device;

	struct output_file files[OUTPUT_FILES_MAX];
	size_t file_count;
	const char *directory; /* NULL: none */
};

const char *summary_state_name(enum window_state state);

/* The key of a loss cause in profile.json. */
const char *summary_loss_name(enum wire_loss_cause cause);

/* What a record of a kind tells of, in the plural; NULL: such a record is never lost. */
const char *summary_lost_name(enum wire_kind kind);

/* A loss of data, as against a detail of a call that is there: its name's end, a shape. */
bool summary_loss_is_data(enum wire_loss_cause cause);
bool summary_has_lost_data(const struct summary *summary);

/* What is lost beyond counting stays at the highest number. */
void summary_add_losses(struct summary *summary, const struct wire_loss *loss);

/* Counts a function that can be watched. */
void summary_add_operator(struct summary *summary, const struct wire_operator *record);

/* Calls of CUDA's are probed, as no agent reports them. */
bool summary_probes_cuda_calls(const struct summary *summary);

/* Counts a memory event of the window. */
void summary_add_memory(struct summary *summary, const struct memory_event *memory);

/* The options of the tables, never NULL. */
const struct table_options *summary_table(const struct summary *summary);

/* Memory was recorded: there is something to be said of it, be it that there was none. */
bool summary_has_memory(const struct summary *summary);

/* Some row has time of its own on a device. */
bool summary_has_device_times(const struct summary *summary);

/* Some row has device memory of its own. */
bool summary_has_device_memory(const struct summary *summary);

/* Grouping by shape or FLOPs were asked for and no call brought its shapes. */
bool summary_lacks_shapes(const struct summary *summary);

/* The last mode of one of MODE_SUBJECT_*, or of an operator; NULL: exact, or none was decided. */
const struct mode_row *summary_mode(const struct summary *summary, uint32_t subject);

#endif /* MODEL_SUMMARY_H */
