/*
 * A capture file that anybody may have written, as `tpbpf report` reads it: whatever it holds, the
 * outputs are well-formed, and capture.raw made anew is the file again, as far as it is whole.
 */
#include "fuzz/fuzz.h"
#include "fuzz/pipeline_files.h"
#include "ingest/capture_file.h"

#define HEADER_BYTES 16 /* of the file; it has reserved ones */

/* fmemopen() of no bytes is refused. */
static FILE *open_bytes(const uint8_t *bytes, size_t size_bytes)
{
	FILE *file =
		size_bytes ? fmemopen((void *)bytes, size_bytes, "r") : fopen("/dev/null", "re");

	FUZZ_CHECK(file);
	return file;
}

static void check_raw(const struct pipeline_files *files, const uint8_t *bytes, size_t size_bytes)
{
	size_t raw_bytes;
	char *raw = temporary_dir_read(files->path, "capture.raw", &raw_bytes);

	FUZZ_CHECK(raw && raw_bytes >= HEADER_BYTES && raw_bytes <= size_bytes);
	FUZZ_CHECK(!memcmp(raw + HEADER_BYTES, bytes + HEADER_BYTES, raw_bytes - HEADER_BYTES));
	free(raw);
}

void fuzz_one(const uint8_t *bytes, size_t size_bytes)
{
	/* Everything that can be asked for, so that one file reaches all writers. */
	const struct table_options table = {
		.sort_by = SORT_COUNT,
		.group_by_shape = true,
		.group_by_overload = true,
		.with_flops = true,
	};
	struct pipeline_files files;
	bool truncated;
	FILE *file;
	int err;

	file = open_bytes(bytes, size_bytes);
	pipeline_files_begin(&files, true, &table);
	err = capture_file_replay(file, pipeline_sink(files.pipeline), &truncated);
	FUZZ_CHECK(!err || err == -ENOEXEC);
	fclose(file);
	if (truncated)
		pipeline_set_truncated(files.pipeline);
	if (!err && pipeline_files_finish(&files))
		check_raw(&files, bytes, size_bytes);
	pipeline_files_end(&files);
}
