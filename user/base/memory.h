/* memory.h - how much memory there is. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

#include <stdint.h>
#include <stdio.h>

/*
 * Bytes that can be had without pushing anything out: of the machine, or what the limits of our
 * control groups (version 2) leave, whichever is less. 0: not known.
 */
uint64_t memory_available_bytes(void);

/* The value in kilobytes of a line of /proc/meminfo, in bytes; 0: there is none. */
uint64_t memory_field_bytes(FILE *file, const char *field);

/*
 * What the limit of a control group leaves, from the contents of its memory.max and memory.current;
 * UINT64_MAX: no limit, or not known.
 */
uint64_t memory_left_bytes(const char *max_text, const char *current_text);

#endif /* BASE_MEMORY_H */
