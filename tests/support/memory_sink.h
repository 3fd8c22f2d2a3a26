/* memory_sink.h - a byte sink into memory, which may be given a size at which it fails. */
#ifndef SUPPORT_MEMORY_SINK_H
#define SUPPORT_MEMORY_SINK_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/byte_sink.h"
#include "model/sink.h"

struct memory_sink {
	struct byte_sink sink;
	char *bytes; /* ended by a NUL that size_bytes does not count */
	size_t size_bytes;
	size_t limit_bytes;
	unsigned int failures;
};

static inline int memory_sink_write(struct byte_sink *sink, const void *bytes, size_t size_bytes)
{
	struct memory_sink *memory = container_of(sink, struct memory_sink, sink);
	char *grown;

	if (memory->size_bytes + size_bytes > memory->limit_bytes) {
		memory->failures++;
		return -ENOSPC;
	}
	grown = realloc(memory->bytes, memory->size_bytes + size_bytes + 1);
	if (!grown)
		return -ENOMEM;
	memcpy(grown + memory->size_bytes, bytes, size_bytes);
	memory->bytes = grown;
	memory->size_bytes += size_bytes;
	grown[memory->size_bytes] = 0;
	return 0;
}

/* The write that would pass limit_bytes, and every later one of that size, gives -ENOSPC. */
static inline void memory_sink_init_limited(struct memory_sink *memory, size_t limit_bytes)
{
	memset(memory, 0, sizeof(*memory));
	memory->sink.write = memory_sink_write;
	memory->limit_bytes = limit_bytes;
}

static inline void memory_sink_init(struct memory_sink *memory)
{
	memory_sink_init_limited(memory, SIZE_MAX / 2);
}

static inline const char *memory_sink_text(const struct memory_sink *memory)
{
	return memory->bytes ? memory->bytes : "";
}

static inline void memory_sink_fini(struct memory_sink *memory)
{
	free(memory->bytes);
	memset(memory, 0, sizeof(*memory));
}

#endif /* SUPPORT_MEMORY_SINK_H */
