/* test.h - cmocka, what it wants included before it, and what every test uses. */
#ifndef SUPPORT_TEST_H
#define SUPPORT_TEST_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Says which row of a table failed; condition is evaluated once. */
#define assert_row(row, condition)                                          \
	do {                                                                \
		if (!(condition))                                           \
			fail_msg("row %zu: %s", (size_t)(row), #condition); \
	} while (0)

/* Deterministic pseudo-random numbers (xorshift64*). */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 2685821657736338717ULL;
}

#endif /* SUPPORT_TEST_H */
