/* capture_file.c - see capture_file.h. */
#include "ingest/capture_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent_wire.h"

#define MAGIC "tpbpfcap"
#define RECORD_MAX_BYTES (sizeof(struct wire_agent) + AGENT_BATCH_BYTES)

struct file_header {
	char magic[8];
	__u32 abi;
	__u32 reserved;
};

int capture_file_begin(struct byte_sink *out)
{
	struct file_header header = { .abi = WIRE_ABI };

	memcpy(header.magic, MAGIC, sizeof(header.magic));
	return out->write(out, &header, sizeof(header));
}

int capture_file_record(struct byte_sink *out, const void *bytes, size_t size_bytes)
{
	struct wire_header header;

	if (size_bytes < sizeof(header))
		return 0; /* the decoder counts it */
	memcpy(&header, bytes, sizeof(header));
	if (header.size < sizeof(header) || header.size > size_bytes)
		return 0;
	return out->write(out, bytes, header.size);
}

static int check_header(FILE *file)
{
	struct file_header header;

	if (fread(&header, sizeof(header), 1, file) != 1)
		return -ENOEXEC;
	if (memcmp(header.magic, MAGIC, sizeof(header.magic)) != 0 || header.abi != WIRE_ABI)
		return -ENOEXEC;
	return 0;
}

/* The next record into buffer: its size, 0 at a clean end, -EPROTO at a damaged one. */
static long read_record(FILE *file, unsigned char *buffer)
{
	struct wire_header header;
	size_t got = fread(buffer, 1, sizeof(header), file);

	if (!got && feof(file))
		return 0;
	if (got < sizeof(header))
		return -EPROTO;
	memcpy(&header, buffer, sizeof(header));
	if (header.size < sizeof(header) || header.size > RECORD_MAX_BYTES)
		return -EPROTO;
	got = header.size - sizeof(header);
	if (got && fread(buffer + sizeof(header), got, 1, file) != 1)
		return -EPROTO;
	return header.size;
}

int capture_file_replay(FILE *file, struct record_sink *sink, bool *truncated)
{
	unsigned char *buffer = malloc(RECORD_MAX_BYTES);
	int err = buffer ? check_header(file) : -ENOMEM;

	*truncated = false;
	while (!err) {
		long size_bytes = read_record(file, buffer);

		if (size_bytes <= 0) {
			*truncated = size_bytes < 0;
			break;
		}
		err = sink->record(sink, buffer, (size_t)size_bytes);
	}
	free(buffer);
	return err;
}
