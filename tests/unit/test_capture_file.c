/* Capture files: written and read back, cut at every byte, and damaged. */
#include "support/test.h"

#include "ingest/capture_file.h"
#include "support/memory_sink.h"
#include "support/records.h"

#define RECORDS_MAX 8

struct recorder {
	struct record_sink sink;
	struct memory_sink bytes;
	size_t sizes[RECORDS_MAX];
	size_t count;
	int err;
};

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct recorder *recorder = container_of(sink, struct recorder, sink);

	assert_true(recorder->count < RECORDS_MAX);
	recorder->sizes[recorder->count++] = size_bytes;
	assert_int_equal(recorder->bytes.sink.write(&recorder->bytes.sink, bytes, size_bytes), 0);
	return recorder->err;
}

static void recorder_init(struct recorder *recorder)
{
	memset(recorder, 0, sizeof(*recorder));
	recorder->sink.record = on_record;
	memory_sink_init(&recorder->bytes);
}

/* Three records of different sizes behind a header. */
static void write_file(struct memory_sink *file)
{
	const struct wire_session session = record_session(1);
	const struct wire_range_begin begin = record_begin(2, 7, 0x10, "forward");
	const struct wire_stop_record stop = record_stop(3, STOP_WINDOW_FINISHED);
	struct byte_sink *out = &file->sink;

	memory_sink_init(file);
	assert_int_equal(capture_file_begin(out), 0);
	assert_int_equal(capture_file_record(out, &session, sizeof(session)), 0);
	assert_int_equal(capture_file_record(out, &begin, sizeof(begin)), 0);
	assert_int_equal(capture_file_record(out, &stop, sizeof(stop)), 0);
}

static int replay(const void *bytes, size_t size_bytes, struct recorder *recorder, bool *truncated)
{
	/* fmemopen() does not take an empty buffer everywhere. */
	FILE *file = size_bytes ? fmemopen((void *)(uintptr_t)bytes, size_bytes, "r")
				: fopen("/dev/null", "re");
	int err;

	assert_non_null(file);
	err = capture_file_replay(file, &recorder->sink, truncated);
	fclose(file);
	return err;
}

static void what_was_written_is_read_back(void **state)
{
	const struct wire_range_begin begin = record_begin(2, 7, 0x10, "forward");
	struct memory_sink file;
	struct recorder recorder;
	bool truncated = true;

	(void)state;
	write_file(&file);
	recorder_init(&recorder);
	assert_int_equal(replay(file.bytes, file.size_bytes, &recorder, &truncated), 0);
	assert_false(truncated);
	assert_int_equal(recorder.count, 3);
	assert_int_equal(recorder.sizes[0], sizeof(struct wire_session));
	assert_int_equal(recorder.sizes[1], begin.header.size);
	assert_int_equal(recorder.sizes[2], sizeof(struct wire_stop_record));
	assert_memory_equal(recorder.bytes.bytes + recorder.sizes[0], &begin, begin.header.size);
	memory_sink_fini(&recorder.bytes);
	memory_sink_fini(&file);
}

static void the_bytes_past_a_record_are_not_written(void **state)
{
	struct wire_range_begin begin = record_begin(2, 7, 0x10, "forward");
	struct memory_sink out;

	(void)state;
	memory_sink_init(&out);
	assert_int_equal(capture_file_record(&out.sink, &begin, sizeof(begin)), 0);
	assert_int_equal(out.size_bytes, begin.header.size);
	memory_sink_fini(&out);
}

static void records_that_would_break_the_file_are_not_written(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 23, 33, UINT32_MAX };
	struct memory_sink out;
	size_t i;

	(void)state;
	memory_sink_init(&out);
	for (i = 0; i < COUNT_OF(sizes); i++) {
		struct wire_range_end end = record_end(1, 7, 1);

		end.header.size = sizes[i];
		assert_int_equal(capture_file_record(&out.sink, &end, sizeof(end)), 0);
	}
	assert_int_equal(capture_file_record(&out.sink, "abc", 3), 0);
	assert_int_equal(out.size_bytes, 0);
	memory_sink_fini(&out);
}

static void a_file_cut_anywhere_gives_the_records_before(void **state)
{
	struct memory_sink file;
	size_t cut, header_bytes, ends[3];

	(void)state;
	write_file(&file);
	header_bytes = file.size_bytes - sizeof(struct wire_session) -
		       record_begin(0, 0, 0, "forward").header.size -
		       sizeof(struct wire_stop_record);
	ends[0] = header_bytes + sizeof(struct wire_session);
	ends[1] = ends[0] + record_begin(0, 0, 0, "forward").header.size;
	ends[2] = file.size_bytes;
	for (cut = 0; cut < file.size_bytes; cut++) {
		struct recorder recorder;
		bool truncated = false;
		size_t whole = (size_t)(cut >= ends[0]) + (cut >= ends[1]) + (cut >= ends[2]);
		bool at_edge = cut == header_bytes || cut == ends[0] || cut == ends[1];
		int err;

		recorder_init(&recorder);
		err = replay(file.bytes, cut, &recorder, &truncated);
		assert_row(cut, err == (cut < header_bytes ? -ENOEXEC : 0));
		assert_row(cut, recorder.count == whole);
		if (!err)
			assert_row(cut, truncated == !at_edge);
		memory_sink_fini(&recorder.bytes);
	}
	memory_sink_fini(&file);
}

static void another_magic_or_version_is_refused(void **state)
{
	size_t at;

	(void)state;
	for (at = 0; at < 12; at++) {
		struct memory_sink file;
		struct recorder recorder;
		bool truncated = true;

		write_file(&file);
		recorder_init(&recorder);
		file.bytes[at] ^= 0x20;
		assert_row(at,
			   replay(file.bytes, file.size_bytes, &recorder, &truncated) == -ENOEXEC);
		assert_row(at, !recorder.count && !truncated);
		memory_sink_fini(&file);
	}
}

static void a_record_size_without_sense_ends_the_file(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 23, 65561, 0x7fffffff, UINT32_MAX };
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(sizes); i++) {
		struct memory_sink file;
		struct recorder recorder;
		struct wire_range_end end = record_end(1, 7, 1);
		static const char filler[1 << 17];
		bool truncated = false;

		write_file(&file);
		recorder_init(&recorder);
		end.header.size = sizes[i];
		assert_int_equal(file.sink.write(&file.sink, &end, sizeof(end)), 0);
		assert_int_equal(file.sink.write(&file.sink, filler, sizeof(filler)), 0);
		assert_row(i, !replay(file.bytes, file.size_bytes, &recorder, &truncated));
		assert_row(i, truncated);
		assert_row(i, recorder.count == 3);
		memory_sink_fini(&recorder.bytes);
		memory_sink_fini(&file);
	}
}

static void the_error_of_the_sink_ends_the_replay(void **state)
{
	struct memory_sink file;
	struct recorder recorder;
	bool truncated = true;

	(void)state;
	write_file(&file);
	recorder_init(&recorder);
	recorder.err = -ENOMEM;
	assert_int_equal(replay(file.bytes, file.size_bytes, &recorder, &truncated), -ENOMEM);
	assert_int_equal(recorder.count, 1);
	assert_false(truncated);
	memory_sink_fini(&recorder.bytes);
	memory_sink_fini(&file);
}

static void the_error_of_the_output_comes_back(void **state)
{
	const struct wire_range_end end = record_end(1, 7, 1);
	struct memory_sink out;

	(void)state;
	memory_sink_init_limited(&out, 0);
	assert_int_equal(capture_file_begin(&out.sink), -ENOSPC);
	assert_int_equal(capture_file_record(&out.sink, &end, sizeof(end)), -ENOSPC);
	memory_sink_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_written_is_read_back),
		cmocka_unit_test(the_bytes_past_a_record_are_not_written),
		cmocka_unit_test(records_that_would_break_the_file_are_not_written),
		cmocka_unit_test(a_file_cut_anywhere_gives_the_records_before),
		cmocka_unit_test(another_magic_or_version_is_refused),
		cmocka_unit_test(a_record_size_without_sense_ends_the_file),
		cmocka_unit_test(the_error_of_the_sink_ends_the_replay),
		cmocka_unit_test(the_error_of_the_output_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
