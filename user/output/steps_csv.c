/* steps_csv.c - steps.csv: every attempt seen, a line each, times of CLOCK_MONOTONIC. */
#include "output/writer.h"

#include <inttypes.h>
#include <stdio.h>

#include "output/print.h"

/* What was not seen is empty, never 0. */
static char *optional(char *to, size_t size_bytes, bool is_known, uint64_t value)
{
	if (is_known)
		snprintf(to, size_bytes, "%" PRIu64, value);
	else
		to[0] = 0;
	return to;
}

static int steps_csv_line(struct byte_sink *out, size_t index, const struct attempt *attempt)
{
	bool has_duration = attempt->start_ns && attempt->end_ns >= attempt->start_ns;
	char start[24], duration[24];

	return print(out, "%zu,%s,%s,%s,%s\n", index, attempt_label(attempt),
		     optional(start, sizeof(start), attempt->start_ns, attempt->start_ns),
		     optional(duration, sizeof(duration), has_duration,
			      attempt->end_ns - attempt->start_ns),
		     attempt_outcome_name(attempt->outcome));
}

static int steps_csv_finish(struct byte_sink *out, const struct summary *summary)
{
	const struct attempt *attempt;
	struct attempt_cursor cursor;
	size_t index = 0;
	int err = print(out, "attempt,phase,start_ns,duration_ns,outcome\n");

	attempt_cursor_init(&cursor, summary->attempts);
	while (!err && (attempt = attempt_cursor_next(&cursor)))
		err = steps_csv_line(out, index++, attempt);
	return err;
}

int steps_csv_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, steps_csv_finish);
}
