/* gzip_sink.c - see gzip_sink.h. Level 1: the job's cores are worth more than the last tenth of a
 * file. */
#include "output/gzip_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "model/sink.h"

#define BUFFER_BYTES 65536
#define LEVEL 1
#define WINDOW_BITS_GZIP (15 + 16)
#define MEMORY_LEVEL 8

struct gzip_sink {
	struct byte_sink sink;
	struct byte_sink *next;
	z_stream stream;
	int err; /* kept: behind a lost block nothing can follow */
	unsigned char buffer[BUFFER_BYTES];
};

static int deflate_all(struct gzip_sink *gzip, int flush)
{
	int status;

	do {
		size_t size_bytes;
		int err;

		gzip->stream.next_out = gzip->buffer;
		gzip->stream.avail_out = sizeof(gzip->buffer);
		status = deflate(&gzip->stream, flush);
		if (status == Z_STREAM_ERROR)
			return -EIO;
		size_bytes = sizeof(gzip->buffer) - gzip->stream.avail_out;
		err = size_bytes ? gzip->next->write(gzip->next, gzip->buffer, size_bytes) : 0;
		if (err)
			return err;
	} while (!gzip->stream.avail_out);
	return 0;
}

static int run(struct gzip_sink *gzip, int flush)
{
	if (!gzip->err)
		gzip->err = deflate_all(gzip, flush);
	return gzip->err;
}

static int gzip_write(struct byte_sink *sink, const void *bytes, size_t size_bytes)
{
	struct gzip_sink *gzip = container_of(sink, struct gzip_sink, sink);

	gzip->stream.next_in = (unsigned char *)bytes; /* zlib only reads it */
	gzip->stream.avail_in = (uInt)size_bytes;
	return run(gzip, Z_NO_FLUSH);
}

int gzip_sink_new(struct gzip_sink **out, struct byte_sink *next)
{
	struct gzip_sink *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return -ENOMEM;
	gzip->sink.write = gzip_write;
	gzip->next = next;
	if (deflateInit2(&gzip->stream, LEVEL, Z_DEFLATED, WINDOW_BITS_GZIP, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return -ENOMEM;
	}
	*out = gzip;
	return 0;
}

void gzip_sink_free(struct gzip_sink *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	free(gzip);
}

struct byte_sink *gzip_sink_bytes(struct gzip_sink *gzip)
{
	return &gzip->sink;
}

int gzip_sink_finish(struct gzip_sink *gzip)
{
	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	return run(gzip, Z_FINISH);
}
