/*
 * fuzz.h - what every fuzz target uses. A target is one file with fuzz_one(): linked with libFuzzer
 * it searches for inputs that break something, linked with replay.c it goes through the corpus as a
 * unit test. one_input.c is in both.
 */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* libFuzzer's name for it. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);

/* The target's: takes one input. What it logs goes nowhere. */
void fuzz_one(const uint8_t *bytes, size_t size_bytes);

/* A trap, which libFuzzer and cmocka both take for a failure. */
#define FUZZ_CHECK(condition)                                                             \
	do {                                                                              \
		if (!(condition)) {                                                       \
			dprintf(STDERR_FILENO, "%s:%d: not so: %s\n", __FILE__, __LINE__, \
				#condition);                                              \
			__builtin_trap();                                                 \
		}                                                                         \
	} while (0)

/* The input, taken from the front. What is not there any more is zero. */
struct fuzz_input {
	const uint8_t *at;
	size_t left_bytes;
};

static inline uint64_t fuzz_take(struct fuzz_input *input, size_t size_bytes)
{
	uint64_t value = 0;
	size_t taken = size_bytes < input->left_bytes ? size_bytes : input->left_bytes;

	if (taken)
		memcpy(&value, input->at, taken);
	input->at += taken;
	input->left_bytes -= taken;
	return value;
}

static inline uint8_t fuzz_u8(struct fuzz_input *input)
{
	return (uint8_t)fuzz_take(input, 1);
}

static inline uint16_t fuzz_u16(struct fuzz_input *input)
{
	return (uint16_t)fuzz_take(input, 2);
}

/* Up to size_bytes of the input as an input of their own. */
static inline struct fuzz_input fuzz_part(struct fuzz_input *input, size_t size_bytes)
{
	struct fuzz_input part = { input->at, size_bytes };

	if (size_bytes > input->left_bytes)
		part.left_bytes = input->left_bytes;
	input->at += part.left_bytes;
	input->left_bytes -= part.left_bytes;
	return part;
}

/* A terminated copy in a block of just that size, so that reading past its end is seen. */
static inline char *fuzz_text(const struct fuzz_input *input)
{
	char *text = malloc(input->left_bytes + 1);

	FUZZ_CHECK(text);
	if (input->left_bytes)
		memcpy(text, input->at, input->left_bytes);
	text[input->left_bytes] = 0;
	return text;
}

#endif /* FUZZ_FUZZ_H */
