/*
 * terminal.c - the answer on stdout: what was seen, what it cost, where the step goes, what was not
 * seen, where the files are. Names come from the job and are made printable first.
 */
#include "output/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/activity_state.h"
#include "output/device_state.h"
#include "output/print.h"

#define TOP_ROWS 5
#define TOP_NAME_BYTES 61
#define NAME_BYTES 512

/* "12.1 ms": people read two or three digits. */
static char *short_duration(char *to, size_t size_bytes, uint64_t duration_ns)
{
	double value = (double)duration_ns;

	if (value >= 1e9)
		snprintf(to, size_bytes, "%.2f s", value / 1e9);
	else if (value >= 1e6)
		snprintf(to, size_bytes, "%.*f ms", value < 1e7 ? 2 : 1, value / 1e6);
	else
		snprintf(to, size_bytes, "%.0f us", value / 1e3);
	return to;
}

static const char *reason_text(enum wire_stop stop)
{
	static const char *const text[STOP_CNT] = {
		[STOP_NONE] = "still running",
		[STOP_WINDOW_FINISHED] = "the window is finished",
		[STOP_INTERRUPTED] = "interrupted",
		[STOP_TIMEOUT] = "the timeout has passed",
		[STOP_TARGET_EXITED] = "the job has exited",
		[STOP_TARGET_EXEC] = "the job has replaced itself by another program (exec)",
		[STOP_OUTPUT_ERROR] = "the output could not be written",
		[STOP_ATTACH_FAILED] = "the probes of the window could not be attached",
		[STOP_CAPTURE_TRUNCATED] = "the capture file ends early",
	};

	return text[stop];
}

static int put_state(struct byte_sink *out, const struct summary *summary)
{
	const uint64_t *outcomes = summary->outcome_count;
	char window[32], unknown[48] = "";
	int err;

	if (outcomes[OUTCOME_UNKNOWN])
		snprintf(unknown, sizeof(unknown), ", %" PRIu64 " unknown",
			 outcomes[OUTCOME_UNKNOWN]);
	err = print(out,
		    "%s: %" PRIu64 " active of %zu attempts seen (%" PRIu64 " applied, %" PRIu64
		    " skipped%s)",
		    summary_state_name(summary->state), summary->active_count,
		    summary->attempt_count, outcomes[OUTCOME_APPLIED], outcomes[OUTCOME_SKIPPED],
		    unknown);
	if (!err && summary->window_ns)
		err = print(out, "; window %s",
			    short_duration(window, sizeof(window), summary->window_ns));
	if (!err && summary->stop != STOP_WINDOW_FINISHED)
		err = print(out, "; %s", reason_text(summary->stop));
	return err ? err : print(out, "\n");
}

static int put_warmup(struct byte_sink *out, const struct summary *summary)
{
	uint64_t warmup = 0, planned = summary->session->plan.warmup;
	const struct attempt *attempt;
	struct attempt_cursor cursor;

	attempt_cursor_init(&cursor, summary->attempts);
	while ((attempt = attempt_cursor_next(&cursor)) && attempt->phase < PHASE_ACTIVE)
		warmup += attempt->phase == PHASE_WARMUP;
	if (summary->state == WINDOW_NO_CAPTURE || warmup <= planned)
		return 0;
	return print(out,
		     "note: warmup lasted %" PRIu64 " attempts for %" PRIu64
		     ", until the probes were in place\n",
		     warmup, planned);
}

static int put_doubtful(struct byte_sink *out, const struct summary *summary)
{
	if (!summary->doubtful_count)
		return 0;
	return print(out,
		     "note: %" PRIu64
		     " attempts of the wait were told by a begin that may lie inside "
		     "of the attempt before it\n",
		     summary->doubtful_count);
}

/* How many of the sites that were found are of what is always watched. */
static size_t attached_sites(const struct summary *summary)
{
	size_t count = 0, i;

	for (i = 0; i < summary->probe_count; i++)
		count += summary->probes[i].found && !summary->probes[i].activity;
	return count;
}

static int put_attached(struct byte_sink *out, const struct summary *summary)
{
	char attach[32], detach[32];
	int err;

	if (summary->session->attached == ATTACHED_BY_THREAD)
		return print(out, "note: this kernel probes thread by thread: of a new thread the "
				  "beginning may be missing\n");
	if (summary->session->attached != ATTACHED_ONE_BY_ONE)
		return 0;
	err = print(out, "note: %zu probes, attached one by one (no uprobe_multi)",
		    attached_sites(summary));
	if (!err && summary->attach_ns)
		err = print(out, "; it took up to %s at a time",
			    short_duration(attach, sizeof(attach), summary->attach_ns));
	if (!err && summary->detach_ns)
		err = print(out, "; to take them off up to %s",
			    short_duration(detach, sizeof(detach), summary->detach_ns));
	return err ? err : print(out, "\n");
}

static int put_no_attempts(struct byte_sink *out, const struct summary *summary)
{
	if (summary->attempt_count)
		return 0;
	return print(
		out,
		"no attempt was seen: an optimizer inside torch.compile, or one that is no "
		"torch.optim.Optimizer, shows no range. Name what a step is: --step range:NAME, "
		"--step op:NAME or --step symbol:LIB:SYMBOL\n");
}

static int put_ratio(struct byte_sink *out, uint64_t active_ns, uint64_t unwatched_ns)
{
	if (!active_ns || !unwatched_ns)
		return 0;
	return print(out, " (%.2fx)", (double)active_ns / (double)unwatched_ns);
}

static int put_times(struct byte_sink *out, const struct summary *summary)
{
	const uint64_t *median_ns = summary->median_ns;
	uint64_t unwatched_ns =
		median_ns[PHASE_WAIT] ? median_ns[PHASE_WAIT] : median_ns[PHASE_AFTER];
	const char *lead = "step time: ";
	char duration[32];
	int err = 0;

	if (median_ns[PHASE_WAIT]) {
		err = print(out, "%sunwatched %s", lead,
			    short_duration(duration, sizeof(duration), median_ns[PHASE_WAIT]));
		lead = ", ";
	}
	if (!err && median_ns[PHASE_ACTIVE]) {
		err = print(out, "%sactive %s", lead,
			    short_duration(duration, sizeof(duration), median_ns[PHASE_ACTIVE]));
		if (!err)
			err = put_ratio(out, median_ns[PHASE_ACTIVE], unwatched_ns);
		lead = ", ";
	}
	if (!err && median_ns[PHASE_AFTER]) {
		err = print(out, "%safter %s", lead,
			    short_duration(duration, sizeof(duration), median_ns[PHASE_AFTER]));
		lead = ", ";
	}
	if (err || lead[0] != ',')
		return err;
	return print(out, "\n");
}

static int put_top(struct byte_sink *out, const struct summary *summary)
{
	size_t i;
	int err = 0;

	if (!summary->row_count || !summary->self_total_ns)
		return 0;
	err = print(out, "where the step goes (self time):\n");
	for (i = 0; i < summary->row_count && i < TOP_ROWS && !err; i++) {
		const struct op_row *row = &summary->rows[i];
		char name[TOP_NAME_BYTES]; /* cut between characters, not inside */

		err = print(out, "  %5.1f %%  %6.1f calls/step  %s\n",
			    100.0 * (double)row->self_ns / (double)summary->self_total_ns,
			    summary->active_count
				    ? (double)row->count / (double)summary->active_count
				    : 0.0,
			    text_printable(name, sizeof(name), row->name));
	}
	return err;
}

static int put_operators(struct byte_sink *out, const struct summary *summary)
{
	if (!summary->inferred_kinds)
		return 0;
	return print(out,
		     "operators: %" PRIu64 " kinds, %" PRIu64
		     " of them with inferred ends (short ones; --exact probes every end)\n",
		     summary->operator_kinds, summary->inferred_kinds);
}

static bool is_off(const struct summary *summary, uint32_t subject)
{
	const struct mode_row *mode = summary_mode(summary, subject);

	return mode && mode->mode == MODE_OFF;
}

static int put_given_up(struct byte_sink *out, const struct summary *summary)
{
	static const struct {
		uint32_t subject;
		const char *name;
	} parts[] = {
		{ MODE_SUBJECT_NODES, "autograd nodes" },
		{ MODE_SUBJECT_SEQUENCES, "arrows from forward to backward" },
		{ MODE_SUBJECT_MEMORY, "memory" },
		{ MODE_SUBJECT_MODULES, "calls of modules" },
		{ MODE_SUBJECT_RANGES, "ranges" },
	};
	uint64_t operators = activity_state_operators_off(summary);
	char list[160] = "";
	size_t used = 0, i;

	if (operators)
		used += (size_t)snprintf(list, sizeof(list), ", %" PRIu64 " operator%s", operators,
					 operators == 1 ? "" : "s");
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (is_off(summary, parts[i].subject))
			used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s",
						 parts[i].name);
	}
	if (!used)
		return 0;
	return print(out,
		     "given up for its cost (--max-overhead %g%%): %s; see timing.modes in "
		     "profile.json\n",
		     (double)summary->cost.bound_permille / 10, list + 2);
}

static char *net_size(char *to, size_t size_bytes, int64_t net_bytes)
{
	uint64_t magnitude = net_bytes < 0 ? -(uint64_t)net_bytes : (uint64_t)net_bytes;

	to[0] = net_bytes < 0 ? '-' : '+';
	text_size(to + 1, size_bytes - 1, magnitude);
	return to;
}

static int put_memory(struct byte_sink *out, const struct summary *summary)
{
	char size[32];
	int err = 0;

	if (!summary->memory_events && !summary->old_frees)
		return 0;
	err = print(out, "memory: net %s on the CPU",
		    net_size(size, sizeof(size), summary->net_bytes[SPAN_CPU]));
	if (!err && summary->net_bytes[SPAN_GPU])
		err = print(out, ", %s on devices",
			    net_size(size, sizeof(size), summary->net_bytes[SPAN_GPU]));
	if (!err)
		err = print(out, ", %" PRIu64 " events", summary->memory_events);
	if (!err && summary->out_of_memory)
		err = print(out, "; out of memory %" PRIu64 " times", summary->out_of_memory);
	if (!err && summary->old_frees)
		err = print(out,
			    "; %" PRIu64 " frees of blocks older than the window are not counted",
			    summary->old_frees);
	return err ? err : print(out, "\n");
}

static int put_modules(struct byte_sink *out, const struct summary *summary)
{
	struct activity_state modules;

	if (!(summary->session->plan.activities & ACTIVITY_MODULES) ||
	    summary->state == WINDOW_NO_CAPTURE)
		return 0;
	if (summary->module_calls)
		return print(out, "modules: %" PRIu64 " calls of nn.Module, in the trace\n",
			     summary->module_calls);
	activity_state_of(summary, ACTIVITY_MODULES, &modules);
	return print(out, "modules: none (%s)\n", modules.reason);
}

/* Of all devices and active attempts together. */
static double busy_percent(const struct device_summary *device)
{
	double busy_ns = 0, all_ns = 0;
	size_t i;

	for (i = 0; i < device->busy_count; i++) {
		busy_ns += (double)device->busy[i].busy_ns;
		all_ns += (double)device->busy[i].busy_ns + (double)device->busy[i].idle_ns;
	}
	return all_ns > 0 ? 100 * busy_ns / all_ns : 0;
}

static int put_device_totals(struct byte_sink *out, const struct device_summary *device)
{
	const uint64_t *work = device->work_of_kind;
	char duration[32];
	int err = print(out, "GPU: %" PRIu64 " kernels, %" PRIu64 " copies, %" PRIu64 " sets, %s",
			work[DEVICE_KERNEL], work[DEVICE_MEMCPY], work[DEVICE_MEMSET],
			short_duration(duration, sizeof(duration), device->self_total_ns));

	if (!err && device->busy_count)
		err = print(out, "; busy %.1f %% of the active steps", busy_percent(device));
	if (!err && device->launches_without_work)
		err = print(out, "; %" PRIu64 " launches whose work was not seen",
			    device->launches_without_work);
	return err ? err : print(out, "\n");
}

static int put_devices(struct byte_sink *out, const struct summary *summary)
{
	const struct device_summary *device = &summary->device;
	char remark[NAME_BYTES];
	size_t i;
	int err = 0;

	if (summary->state == WINDOW_NO_CAPTURE)
		return 0;
	if (device->watch == DEVICE_WATCHED)
		err = put_device_totals(out, device);
	else if (device->calls)
		err = print(out, "CUDA: %" PRIu64 " calls, seen by probes\n", device->calls);
	for (i = 0; i < device->remark_count && !err; i++)
		err = print(out, "GPU: note: %s\n",
			    text_printable(remark, sizeof(remark), device->remarks[i]));
	return err;
}

/* "operator begins" for "operator_begins". */
static const char *spaced(char *to, size_t size_bytes, const char *name)
{
	char *c;

	snprintf(to, size_bytes, "%s", name);
	for (c = to; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	return to;
}

/* What the records were of, and what can be done. */
static int put_lost_records(struct byte_sink *out, const struct summary *summary)
{
	const struct wire_rings *rings = &summary->rings;
	const char *comma = "";
	uint64_t holes_ns = 0, after = 0;
	char name[NAME_BYTES], size[32], duration[32];
	size_t i;
	int err;

	if (!summary->loss[LOSS_RING_FULL] || !rings->count)
		return 0;
	err = print(out, "  of them");
	for (i = 0; i < LOST_KINDS && !err; i++) {
		if (!rings->lost[i] || !summary_lost_name((enum wire_kind)i))
			continue;
		err = print(out, "%s %llu %s", comma, rings->lost[i],
			    spaced(name, sizeof(name), summary_lost_name((enum wire_kind)i)));
		comma = ",";
	}
	for (i = 0; i < LOST_KINDS; i++)
		after += rings->lost_after[i];
	if (!err && after)
		err = print(out, "%s %" PRIu64 " ends behind the window", comma, after);
	for (i = 0; i < summary->hole_count; i++)
		holes_ns += summary->holes[i].last_ns - summary->holes[i].first_ns;
	if (!err && summary->hole_count)
		err = print(out, "; in %zu stretches of %s together, marked in the trace",
			    summary->hole_count,
			    short_duration(duration, sizeof(duration), holes_ns));
	return err ? err
		   : print(out,
			   "\n  the rings were full (%s for each CPU): --ring-size takes more\n",
			   text_size(size, sizeof(size), rings->ring_bytes));
}

static int put_loss(struct byte_sink *out, const struct summary *summary)
{
	unsigned int cause;
	int err = 0;

	for (cause = 0; cause < LOSS_CAUSE_CNT && !err; cause++) {
		if (summary->loss[cause])
			err = print(out, "%s: %s %" PRIu64 "\n",
				    summary_loss_is_data((enum wire_loss_cause)cause) ? "LOST"
										      : "note",
				    summary_loss_name((enum wire_loss_cause)cause),
				    summary->loss[cause]);
		if (!err && cause == LOSS_RING_FULL)
			err = put_lost_records(out, summary);
	}
	return err;
}

static int put_devices_not_seen(struct byte_sink *out, const struct summary *summary)
{
	char reason[DEVICE_REASON_BYTES], shown[NAME_BYTES];
	const char *calls = summary_probes_cuda_calls(summary) ? " but its calls" : "";
	const char *timing = "";

	if (summary->state == WINDOW_NO_CAPTURE || summary->device.watch == DEVICE_WATCHED)
		return 0;
	if (summary->device.watch == DEVICE_UNAVAILABLE)
		timing = "; cuda timing: unavailable";
	else
		calls = "";
	device_state_reason(summary, reason);
	return print(out, "not seen: GPU activity%s%s (%s)\n", calls, timing,
		     text_printable(shown, sizeof(shown), reason));
}

static int put_not_seen(struct byte_sink *out, const struct summary *summary)
{
	char cost[NAME_BYTES], point[NAME_BYTES];
	size_t i;
	int err = 0;

	for (i = 0; i < summary->probe_count && !err; i++) {
		const struct wire_probe *probe = &summary->probes[i];

		if (!probe->found && !probe->optional)
			err = print(out, "not seen: %s (%s is missing in this build)\n",
				    text_printable(cost, sizeof(cost), probe->cost),
				    text_printable(point, sizeof(point), probe->point));
	}
	if (!err && summary->session->plan.activities & ACTIVITY_UNSUPPORTED)
		err = print(out, "not seen: operators, autograd, memory (this kernel cannot probe "
				 "them: uprobe_multi with a filter by process is missing)\n");
	return err ? err : put_devices_not_seen(out, summary);
}

static int put_files(struct byte_sink *out, const struct summary *summary)
{
	char directory[NAME_BYTES], name[NAME_BYTES], size[32];
	size_t i;
	int err;

	if (!summary->directory)
		return 0;
	err = print(out, "files: %s/ (",
		    text_printable(directory, sizeof(directory), summary->directory));
	for (i = 0; i < summary->file_count && !err; i++) {
		const struct output_file *file = &summary->files[i];

		if (strchr(file->name, '/')) /* the second name of the trace */
			continue;
		err = print(out, "%s%s %s", i ? ", " : "",
			    text_printable(name, sizeof(name), file->name),
			    text_size(size, sizeof(size), file->size_bytes));
		if (!err && !strcmp(file->name, "trace.json.gz"))
			err = print(out, " opens in ui.perfetto.dev");
	}
	return err ? err : print(out, ")\n");
}

static int terminal_finish(struct byte_sink *out, const struct summary *summary)
{
	static int (*const parts[])(struct byte_sink *, const struct summary *) = {
		put_state,   put_attached, put_warmup,	  put_doubtful, put_no_attempts,
		put_times,   put_top,	   put_operators, put_given_up, put_memory,
		put_modules, put_devices,  put_loss,	  put_not_seen, put_files,
	};
	size_t i;
	int err = 0;

	for (i = 0; i < sizeof(parts) / sizeof(parts[0]) && !err; i++)
		err = parts[i](out, summary);
	return err;
}

int terminal_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, terminal_finish);
}
