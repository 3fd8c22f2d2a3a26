/* summary.c - the spellings of states and losses. */
#include "model/summary.h"

const char *summary_state_name(enum window_state state)
{
	static const char *const name[] = { "pending", "complete", "partial", "no_capture" };

	return name[state];
}

const char *summary_loss_name(enum wire_loss_cause cause)
{
	static const char *const name[LOSS_CAUSE_CNT] = {
		[LOSS_RING_FULL] = "ring_full",
		[LOSS_THREAD_TABLE_FULL] = "thread_table_full",
		[LOSS_RANGE_TABLE_FULL] = "range_table_full",
		[LOSS_ATTEMPT_LOG] = "attempt_log",
		[LOSS_BAD_RECORD] = "bad_record",
		[LOSS_NAME_TABLE_FULL] = "name_table_full",
		[LOSS_OPEN_TABLE_FULL] = "open_table_full",
		[LOSS_CAPTURE_TRUNCATED] = "capture_truncated",
		[LOSS_NAME_TRUNCATED] = "name_truncated",
		[LOSS_NAME_UNREADABLE] = "name_unreadable",
	};

	return cause < LOSS_CAUSE_CNT ? name[cause] : "unknown";
}

bool summary_loss_is_data(enum wire_loss_cause cause)
{
	return cause != LOSS_NAME_TRUNCATED && cause != LOSS_NAME_UNREADABLE;
}

bool summary_has_lost_data(const struct summary *summary)
{
	unsigned int cause;

	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		if (summary->loss[cause] && summary_loss_is_data((enum wire_loss_cause)cause))
			return true;
	}
	return false;
}
