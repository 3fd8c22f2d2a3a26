/*
 * registers.h - a system call that is made with a known value in every register, general and
 * vector, and in the flags and modes; what is different afterwards is counted.
 */
#ifndef INJECT_REGISTERS_H
#define INJECT_REGISTERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Returns what the call does; -1 with errno, as the C library has it. */
long registers_keep(long number, long first, long second, long third, uint64_t seed,
		    _Atomic uint64_t *wrong);

#endif /* INJECT_REGISTERS_H */
