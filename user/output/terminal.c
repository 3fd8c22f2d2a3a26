/*
 * terminal.c - the answer on stdout: what was seen, what it cost, where the step goes, what was not
 * seen, where the files are. Names come from the job and are made printable first.
 */
#include "output/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
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
	size_t i;

	for (i = 0; i < summary->attempt_count && summary->attempts[i].phase < PHASE_ACTIVE; i++)
		warmup += summary->attempts[i].phase == PHASE_WARMUP;
	if (summary->state == WINDOW_NO_CAPTURE || warmup <= planned)
		return 0;
	return print(out,
		     "note: warmup lasted %" PRIu64 " attempts for %" PRIu64
		     ", until the probes were in place\n",
		     warmup, planned);
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
	}
	return err;
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
	if (err || summary->state == WINDOW_NO_CAPTURE)
		return err;
	return print(out, "not seen: operators, memory and GPU activity (this version records "
			  "ranges and steps)\n");
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
		put_state, put_warmup, put_no_attempts, put_times,
		put_top,   put_loss,   put_not_seen,	put_files,
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
