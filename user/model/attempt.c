/* attempt.c - the spellings that steps.csv, profile.json and the terminal share. */
#include "model/attempt.h"

#include <stddef.h>

const char *attempt_phase_name(enum wire_phase phase)
{
	static const char *const name[PHASE_CNT] = {
		[PHASE_SKIP_FIRST] = "skip_first", [PHASE_WAIT] = "wait",
		[PHASE_WARMUP] = "warmup",	   [PHASE_ACTIVE] = "active",
		[PHASE_AFTER] = "after",
	};

	return phase < PHASE_CNT ? name[phase] : "unknown";
}

const char *attempt_label(const struct attempt *attempt)
{
	if (attempt->phase == PHASE_AFTER && attempt->is_disturbed)
		return "detach";
	return attempt_phase_name((enum wire_phase)attempt->phase);
}

const char *attempt_outcome_name(enum wire_outcome outcome)
{
	static const char *const name[OUTCOME_CNT] = {
		[OUTCOME_UNKNOWN] = "unknown",
		[OUTCOME_APPLIED] = "applied",
		[OUTCOME_SKIPPED] = "skipped",
	};

	return outcome < OUTCOME_CNT ? name[outcome] : "unknown";
}

const char *attempt_stop_name(enum wire_stop stop)
{
	static const char *const name[STOP_CNT] = {
		[STOP_WINDOW_FINISHED] = "window_finished",
		[STOP_INTERRUPTED] = "interrupted",
		[STOP_TIMEOUT] = "timeout",
		[STOP_TARGET_EXITED] = "target_exited",
		[STOP_TARGET_EXEC] = "target_exec",
		[STOP_OUTPUT_ERROR] = "output_error",
		[STOP_ATTACH_FAILED] = "attach_failed",
		[STOP_CAPTURE_TRUNCATED] = "capture_truncated",
	};

	return stop < STOP_CNT ? name[stop] : NULL;
}
