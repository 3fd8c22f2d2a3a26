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
		[LOSS_SYMBOL_TABLE_FULL] = "symbol_table_full",
		[LOSS_LINK_TABLE_FULL] = "link_table_full",
		[LOSS_BLOCK_TABLE_FULL] = "block_table_full",
		[LOSS_ARGUMENT_UNREADABLE] = "argument_unreadable",
		[LOSS_DEVICE_TIME] = "device_time_invalid",
		[LOSS_DEVICE_TABLE_FULL] = "device_table_full",
		[LOSS_DEVICE_DROPPED] = "device_records_dropped",
		[LOSS_DEVICE_BATCH] = "device_batch_lost",
		[LOSS_DEVICE_ENDED_EARLY] = "device_watch_ended_early",
		[LOSS_MODULE_DEPTH] = "modules_nested_too_deep",
		[LOSS_MODULE_TABLE_FULL] = "module_table_full",
	};

	return cause < LOSS_CAUSE_CNT ? name[cause] : "unknown";
}

const char *summary_lost_name(enum wire_kind kind)
{
	static const char *const name[LOST_KINDS] = {
		[WIRE_RANGE_BEGIN] = "range_begins",
		[WIRE_RANGE_END] = "range_ends",
		[WIRE_OP_BEGIN] = "operator_begins",
		[WIRE_OP_END] = "operator_ends",
		[WIRE_NODE_BEGIN] = "node_begins",
		[WIRE_GUARD_END] = "guard_ends",
		[WIRE_FUNCTION_BEGIN] = "function_begins",
		[WIRE_SYMBOL] = "type_names",
		[WIRE_SEQUENCE] = "sequence_numbers",
		[WIRE_MEMORY] = "memory_events",
		[WIRE_MODULE] = "module_calls",
		[WIRE_SHAPES] = "shapes",
	};

	return kind < LOST_KINDS ? name[kind] : NULL;
}

bool summary_loss_is_data(enum wire_loss_cause cause)
{
	return cause != LOSS_NAME_TRUNCATED && cause != LOSS_NAME_UNREADABLE &&
	       cause != LOSS_ARGUMENT_UNREADABLE;
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

void summary_add_operator(struct summary *summary, const struct wire_operator *record)
{
	if (record->domain != CALL_OPERATOR) {
		summary->cuda_calls_found++;
		return;
	}
	summary->operators_found += record->entry_site != 0;
	summary->operators_without_exit += record->entry_site && !record->exit_site;
}

bool summary_probes_cuda_calls(const struct summary *summary)
{
	return summary->session->plan.activities & ACTIVITY_CUDA_CALLS && summary->cuda_calls_found;
}

void summary_add_memory(struct summary *summary, const struct memory_event *memory)
{
	int64_t *net =
		&summary->net_bytes[memory->device_type == WIRE_DEVICE_CPU ? SPAN_CPU : SPAN_GPU];

	summary->memory_events++;
	if (!memory->is_out_of_memory) /* unsigned: the sizes are whatever the job's memory held */
		*net = (int64_t)((uint64_t)*net + (uint64_t)memory->size_bytes);
}

const struct table_options *summary_table(const struct summary *summary)
{
	static const struct table_options defaults = { .sort_by = SORT_SELF_CPU_TIME };

	return summary->table ? summary->table : &defaults;
}

const struct mode_row *summary_mode(const struct summary *summary, uint32_t subject)
{
	size_t i;

	for (i = summary->mode_count; i-- > 0;) {
		if (summary->modes[i].subject == subject)
			return &summary->modes[i];
	}
	return NULL;
}

bool summary_has_memory(const struct summary *summary)
{
	const struct mode_row *mode = summary_mode(summary, MODE_SUBJECT_MEMORY);

	if (summary->memory_events || summary->old_frees || summary->out_of_memory)
		return true;
	return summary->session->plan.activities & ACTIVITY_MEMORY &&
	       (!mode || mode->mode != MODE_OFF);
}

bool summary_has_device_memory(const struct summary *summary)
{
	size_t i;

	for (i = 0; i < summary->row_count; i++) {
		if (summary->rows[i].self_bytes[SPAN_GPU] > 0)
			return true;
	}
	return false;
}

bool summary_lacks_shapes(const struct summary *summary)
{
	const struct table_options *table = summary_table(summary);

	return (table->group_by_shape || table->with_flops) && !summary->has_shapes;
}

bool summary_has_device_times(const struct summary *summary)
{
	size_t i;

	for (i = 0; i < summary->row_count; i++) {
		if (summary->rows[i].device_self_ns)
			return true;
	}
	return false;
}

void summary_add_losses(struct summary *summary, const struct wire_loss *loss)
{
	unsigned int cause;

	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		uint64_t *sum = &summary->loss[cause], count = loss->count[cause];

		*sum = count > UINT64_MAX - *sum ? UINT64_MAX : *sum + count;
	}
}
