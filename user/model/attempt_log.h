/*
 * attempt_log.h - the attempts of a capture, in some five bytes each: a job may make millions while
 * it is waited for. Nothing is rounded: what is read is what was added.
 */
#ifndef MODEL_ATTEMPT_LOG_H
#define MODEL_ATTEMPT_LOG_H

#include "base/number_log.h"
#include "model/attempt.h"

/* Zeroes are an empty log. */
struct attempt_log {
	struct number_log rows;
	struct attempt last; /* that was added; zeroes: none */
	size_t count;
};

int attempt_log_add(struct attempt_log *log, const struct attempt *attempt); /* -ENOMEM */
void attempt_log_clear(struct attempt_log *log);			     /* leaves it empty */

/* From the first attempt on; none may be added meanwhile. */
struct attempt_cursor {
	struct number_cursor rows;
	struct attempt attempt;
};

void attempt_cursor_init(struct attempt_cursor *cursor, const struct attempt_log *log);

/* Valid until the next call; NULL: there are no more. */
const struct attempt *attempt_cursor_next(struct attempt_cursor *cursor);

#endif /* MODEL_ATTEMPT_LOG_H */
