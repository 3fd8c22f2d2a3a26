/*
 * spool.h - records that wait for the pipeline, first in first out. While the window records, every
 * moment spent on its files is taken from the job or from the rings; what has arrived is kept here
 * until there is time.
 */
#ifndef INGEST_SPOOL_H
#define INGEST_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

struct spool;

int spool_new(struct spool **out, size_t bytes_max);
void spool_free(struct spool *spool); /* NULL is legal */

/* Keeps a copy. -ENOSPC: bytes_max are waiting, take some out first. -ENOMEM, -EINVAL. */
int spool_add(struct spool *spool, const void *bytes, size_t size_bytes);

/* The oldest record, valid until the next call of this module; false: none. */
bool spool_take(struct spool *spool, const void **bytes, size_t *size_bytes);

size_t spool_bytes(const struct spool *spool);

#endif /* INGEST_SPOOL_H */
