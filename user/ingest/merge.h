/*
 * merge.h - puts records of several rings into the order of their times. Records of one thread may
 * lie in several rings, as it moves between CPUs.
 */
#ifndef INGEST_MERGE_H
#define INGEST_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/sink.h"

struct merge;

int merge_new(struct merge **out, size_t ring_count);
void merge_free(struct merge *merge); /* NULL is legal */

/* Keeps a copy of a record of a ring, behind those that the ring gave before. 0, -ENOMEM, -EINVAL.
 */
int merge_add(struct merge *merge, size_t ring, const void *bytes, size_t size_bytes);

/*
 * A ring has been read, after until_ns was taken. is_whole: all that was reserved in it by until_ns
 * was read. It is not where a program was interrupted between reserving and submitting: a ring
 * gives nothing behind such a record.
 */
void merge_read(struct merge *merge, size_t ring, uint64_t until_ns, bool is_whole);

/*
 * Up to when all there is has been read: the least of the rings' bounds, for a ring that was read
 * whole until_ns, else the time of the youngest record that it gave. A ring that was never read has
 * none.
 */
uint64_t merge_horizon_ns(const struct merge *merge);

/*
 * Hands on what is not younger than until_ns, oldest first. Returns 0 or what the sink returned,
 * which ends it.
 *
 * Up to the horizon each thread's records come in the order in which it made them, though programs
 * are interrupted, and threads change CPUs, at any point but while one runs. For a record's time is
 * taken before its room is reserved, and that is before the thread makes its next one. So
 *  - if a record has not been read, its room was reserved after the bound of its ring, and the next
 *    one of its thread is younger than that: it is not handed on;
 *  - if it has been read, all that lies before it in its ring is older than the next one of its
 *    thread, which therefore has to wait for it.
 */
int merge_pass_on(struct merge *merge, uint64_t until_ns, struct record_sink *sink);

#endif /* INGEST_MERGE_H */
