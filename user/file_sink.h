/* file_sink.h - a byte sink over a FILE. */
#ifndef FILE_SINK_H
#define FILE_SINK_H

#include <stdio.h>

#include "base/byte_sink.h"

struct file_sink {
	struct byte_sink sink;
	FILE *file;
};

/* file stays the caller's. */
void file_sink_init(struct file_sink *sink, FILE *file);

#endif /* FILE_SINK_H */
