/*
 * capture_file.h - capture.raw: a file header and the records of wire.h one after another. Written
 * through a byte sink while the capture runs; ends with a WIRE_STOP record, so a cut file is known
 * for one.
 */
#ifndef INGEST_CAPTURE_FILE_H
#define INGEST_CAPTURE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "base/byte_sink.h"
#include "model/sink.h"

/* Writes the file header. */
int capture_file_begin(struct byte_sink *out);

/* Writes one record as it is, without the bytes past header.size. */
int capture_file_record(struct byte_sink *out, const void *bytes, size_t size_bytes);

/*
 * Pushes every record of a file into sink. -ENOEXEC: not a capture file, or of another version. A
 * file that ends inside a record, or whose record sizes make no sense, ends there: *truncated.
 */
int capture_file_replay(FILE *file, struct record_sink *sink, bool *truncated);

#endif /* INGEST_CAPTURE_FILE_H */
