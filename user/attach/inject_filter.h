/*
 * inject_filter.h - may a thread behind a seccomp filter do what loading a library takes? The
 * filter is run here, on the calls that would be made: one that is not allowed may end the job.
 * Pure.
 */
#ifndef ATTACH_INJECT_FILTER_H
#define ATTACH_INJECT_FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the filter answers; SECCOMP_RET_KILL_PROCESS if it is no sound one. */
uint32_t inject_filter_run(const struct sock_filter *filter, size_t count,
			   const struct seccomp_data *data);

/*
 * The number of a call that the filter would end the job for, or without which loading would end
 * half way; -1: there is none.
 */
int inject_filter_check(const struct sock_filter *filter, size_t count, uint64_t place);

#endif /* ATTACH_INJECT_FILTER_H */
