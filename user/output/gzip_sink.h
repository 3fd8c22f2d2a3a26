/* gzip_sink.h - compresses what is written into another sink, in a stream of small memory. */
#ifndef OUTPUT_GZIP_SINK_H
#define OUTPUT_GZIP_SINK_H

#include "base/byte_sink.h"

struct gzip_sink;

int gzip_sink_new(struct gzip_sink **out, struct byte_sink *next);
void gzip_sink_free(struct gzip_sink *gzip); /* NULL is legal; what was not finished is lost */

struct byte_sink *gzip_sink_bytes(struct gzip_sink *gzip);

/* Writes the rest and the trailer. */
int gzip_sink_finish(struct gzip_sink *gzip);

#endif /* OUTPUT_GZIP_SINK_H */
