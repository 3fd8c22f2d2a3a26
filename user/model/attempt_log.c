/*
 * attempt_log.c - see attempt_log.h. Each is told by what differs from the one before it: mostly it
 * begins where that one ended and is like it in all but its duration.
 */
#include "model/attempt_log.h"

enum column {
	COLUMN_DURATION,
	COLUMN_START, /* from the end of the one before it */
	COLUMN_KIND,
	COLUMN_TID,
	COLUMN_CNT,
};

/* Small numbers in one. */
static uint64_t kind_of(const struct attempt *attempt)
{
	return (uint64_t)attempt->is_disturbed | (uint64_t)attempt->outcome << 1 |
	       (uint64_t)attempt->phase << 9 | (uint64_t)attempt->cycle << 17 |
	       (uint64_t)attempt->boundary << 33;
}

static void set_kind(struct attempt *attempt, uint64_t kind)
{
	attempt->is_disturbed = kind & 1;
	attempt->outcome = (uint8_t)(kind >> 1);
	attempt->phase = (uint8_t)(kind >> 9);
	attempt->cycle = (uint16_t)(kind >> 17);
	attempt->boundary = (uint8_t)(kind >> 33);
}

int attempt_log_add(struct attempt_log *log, const struct attempt *attempt)
{
	const struct attempt *last = &log->last;
	const uint64_t row[COLUMN_CNT] = {
		[COLUMN_DURATION] = number_log_step(attempt->start_ns, attempt->end_ns),
		[COLUMN_START] = number_log_step(last->end_ns, attempt->start_ns),
		[COLUMN_KIND] = kind_of(attempt) ^ kind_of(last),
		[COLUMN_TID] = attempt->tid ^ last->tid,
	};
	int err = number_log_add(&log->rows, row, COLUMN_CNT);

	if (err)
		return err;
	log->last = *attempt;
	log->count++;
	return 0;
}

void attempt_log_clear(struct attempt_log *log)
{
	number_log_clear(&log->rows);
	*log = (struct attempt_log){ 0 };
}

void attempt_cursor_init(struct attempt_cursor *cursor, const struct attempt_log *log)
{
	*cursor = (struct attempt_cursor){ 0 };
	number_cursor_init(&cursor->rows, &log->rows);
}

const struct attempt *attempt_cursor_next(struct attempt_cursor *cursor)
{
	struct attempt *attempt = &cursor->attempt;
	uint64_t row[COLUMN_CNT];

	if (!number_cursor_next(&cursor->rows, row, COLUMN_CNT))
		return NULL;
	attempt->start_ns = number_log_take_step(attempt->end_ns, row[COLUMN_START]);
	attempt->end_ns = number_log_take_step(attempt->start_ns, row[COLUMN_DURATION]);
	attempt->tid ^= (uint32_t)row[COLUMN_TID];
	set_kind(attempt, kind_of(attempt) ^ row[COLUMN_KIND]);
	return attempt;
}
