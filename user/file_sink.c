/* file_sink.c - see file_sink.h. */
#include "file_sink.h"

#include <errno.h>

#include "model/sink.h"

static int file_sink_write(struct byte_sink *sink, const void *bytes, size_t size_bytes)
{
	struct file_sink *file = container_of(sink, struct file_sink, sink);

	return fwrite(bytes, 1, size_bytes, file->file) == size_bytes ? 0 : -EIO;
}

void file_sink_init(struct file_sink *sink, FILE *file)
{
	sink->sink.write = file_sink_write;
	sink->file = file;
}
