/*
 * number_log.h - rows of numbers in the order in which they come, in as few bytes as they need: a
 * zero takes none, a number below 128 one, any other up to ten. For what grows with the length of a
 * capture and is read through at its end.
 */
#ifndef BASE_NUMBER_LOG_H
#define BASE_NUMBER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NUMBER_LOG_ROW_MAX 16

struct number_block;

/* Zeroes are an empty log. */
struct number_log {
	struct number_block *first, *last;
};

/*
 * One row; all rows of a log have the same count, NUMBER_LOG_ROW_MAX at most. -ENOMEM leaves the
 * log as it was.
 */
int number_log_add(struct number_log *log, const uint64_t *row, size_t count);
void number_log_clear(struct number_log *log); /* leaves it empty */

/* From the first row on; none may be added meanwhile. */
struct number_cursor {
	const struct number_block *block;
	size_t at;
};

void number_cursor_init(struct number_cursor *cursor, const struct number_log *log);
bool number_cursor_next(struct number_cursor *cursor, uint64_t *row, size_t count); /* false: end */

/* What leads from one number to another, wrapping; small for a small step in either direction. */
uint64_t number_log_step(uint64_t from, uint64_t to);
uint64_t number_log_take_step(uint64_t from, uint64_t step);

#endif /* BASE_NUMBER_LOG_H */
