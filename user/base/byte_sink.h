/* byte_sink.h - where formatted bytes go: a file, a compressed file, memory in a test. */
#ifndef BASE_BYTE_SINK_H
#define BASE_BYTE_SINK_H

#include <stddef.h>

/* Embedded first in what implements it. write returns 0 or a negative errno; all or nothing. */
struct byte_sink {
	int (*write)(struct byte_sink *sink, const void *bytes, size_t size_bytes);
};

#endif /* BASE_BYTE_SINK_H */
