/* What is compressed is what comes out of zlib again. */
#include "support/test.h"

#include <zlib.h>

#include "output/gzip_sink.h"
#include "support/memory_sink.h"

/* Bytes that do not compress well, so that many blocks come out. */
static char *random_bytes(size_t size_bytes)
{
	char *bytes = malloc(size_bytes + 1);
	uint64_t random = 99;
	size_t i;

	assert_non_null(bytes);
	for (i = 0; i < size_bytes; i++)
		bytes[i] = (char)(random_next(&random) >> 40);
	return bytes;
}

/* The whole stream; *size_bytes of expected bytes and the end of the stream must come. */
static void assert_inflates(const struct memory_sink *packed, const char *expected,
			    size_t size_bytes)
{
	char *plain = malloc(size_bytes + 1);
	z_stream stream = { .next_in = (unsigned char *)packed->bytes,
			    .avail_in = (uInt)packed->size_bytes,
			    .next_out = (unsigned char *)plain,
			    .avail_out = (uInt)size_bytes + 1 };

	assert_non_null(plain);
	assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
	assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
	assert_int_equal(stream.total_out, size_bytes);
	assert_int_equal(stream.avail_in, 0);
	assert_memory_equal(plain, expected, size_bytes);
	inflateEnd(&stream);
	free(plain);
}

static void a_megabyte_comes_back(void **state)
{
	static const size_t parts[] = { 1, 7, 4096, 65536, 1 << 20 };
	const size_t size_bytes = 1 << 20;
	char *bytes = random_bytes(size_bytes);
	size_t i, at;

	(void)state;
	for (i = 2; i < COUNT_OF(parts); i++) {
		struct memory_sink memory;
		struct gzip_sink *gzip = NULL;
		struct byte_sink *sink;

		memory_sink_init(&memory);
		assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
		sink = gzip_sink_bytes(gzip);
		for (at = 0; at < size_bytes; at += parts[i])
			assert_int_equal(sink->write(sink, bytes + at, parts[i]), 0);
		assert_int_equal(gzip_sink_finish(gzip), 0);
		assert_inflates(&memory, bytes, size_bytes);
		gzip_sink_free(gzip);
		memory_sink_fini(&memory);
	}
	free(bytes);
}

static void single_bytes_come_back(void **state)
{
	static const char text[] = "{\"ph\": \"X\"}";
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;
	size_t i;

	(void)state;
	memory_sink_init(&memory);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	for (i = 0; i < strlen(text); i++)
		assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), text + i, 1),
				 0);
	assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), text, 0), 0);
	assert_int_equal(gzip_sink_finish(gzip), 0);
	assert_inflates(&memory, text, strlen(text));
	gzip_sink_free(gzip);
	memory_sink_fini(&memory);
}

static void nothing_is_a_whole_stream(void **state)
{
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;

	(void)state;
	memory_sink_init(&memory);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	assert_int_equal(gzip_sink_finish(gzip), 0);
	assert_inflates(&memory, "", 0);
	gzip_sink_free(gzip);
	memory_sink_fini(&memory);
}

static void the_error_of_the_next_sink_comes_back(void **state)
{
	char *bytes = random_bytes(1 << 20);
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;

	(void)state;
	memory_sink_init_limited(&memory, 100000);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), bytes, 1 << 20),
			 -ENOSPC);
	gzip_sink_free(gzip);
	memory_sink_fini(&memory);
	free(bytes);
}

static void an_error_at_the_end_comes_back(void **state)
{
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;

	(void)state;
	memory_sink_init_limited(&memory, 12);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), "text", 4), 0);
	assert_int_equal(gzip_sink_finish(gzip), -ENOSPC);
	gzip_sink_free(gzip);
	memory_sink_fini(&memory);
}

/* A part is missing from then on: room that comes back does not make the stream whole. */
static void an_error_stays(void **state)
{
	char *bytes = random_bytes(1 << 20);
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;

	(void)state;
	memory_sink_init_limited(&memory, 100000);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), bytes, 1 << 20),
			 -ENOSPC);
	memory.limit_bytes = 1 << 24;
	assert_int_equal(gzip_sink_finish(gzip), -ENOSPC);
	gzip_sink_free(gzip);
	memory_sink_fini(&memory);
	free(bytes);
}

static void what_was_not_finished_may_be_freed(void **state)
{
	struct memory_sink memory;
	struct gzip_sink *gzip = NULL;

	(void)state;
	memory_sink_init(&memory);
	assert_int_equal(gzip_sink_new(&gzip, &memory.sink), 0);
	assert_int_equal(gzip_sink_bytes(gzip)->write(gzip_sink_bytes(gzip), "text", 4), 0);
	gzip_sink_free(gzip);
	gzip_sink_free(NULL);
	memory_sink_fini(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_megabyte_comes_back),
		cmocka_unit_test(single_bytes_come_back),
		cmocka_unit_test(nothing_is_a_whole_stream),
		cmocka_unit_test(the_error_of_the_next_sink_comes_back),
		cmocka_unit_test(an_error_at_the_end_comes_back),
		cmocka_unit_test(an_error_stays),
		cmocka_unit_test(what_was_not_finished_may_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
