/* text.h - strings that come from the command line or from the watched job. */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A whole decimal number, digits alone. -EINVAL: not one; -ERANGE: above max. */
int text_parse_u32(const char *text, uint32_t max, uint32_t *value);

/* Digits, and K, M or G for that many times 1024. -EINVAL: not that; -ERANGE: above max. */
int text_parse_bytes(const char *text, uint64_t max, uint64_t *value);

/*
 * Copies what a terminal shows as itself: control bytes and bytes that are no valid UTF-8 become
 * '?'. Always ends with NUL, cuts at size_bytes. Returns to.
 */
char *text_printable(char *to, size_t size_bytes, const char *from);

/* Length of the valid UTF-8 sequence at from (limit_bytes > 0 bytes are there), or 0. */
size_t text_utf8_length(const char *from, size_t limit_bytes);

/* Copies with NUL, cut at size_bytes; true when it was cut. */
bool text_copy(char *to, size_t size_bytes, const char *from);

bool text_has_prefix(const char *text, const char *prefix);
bool text_has_suffix(const char *text, const char *suffix);

/* Microseconds as key_averages() prints a time: 12.345us, 1.234ms, 1.234s. */
char *text_duration(char *to, size_t size_bytes, int64_t duration_ns);

/* A size for people: 512 B, 1.2 KB, 3.4 MB. */
char *text_size(char *to, size_t size_bytes, uint64_t value_bytes);

#endif /* BASE_TEXT_H */
