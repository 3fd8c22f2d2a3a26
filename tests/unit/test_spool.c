/* Records come out as they went in, within the bound, whatever is put in between. */
#include "support/test.h"

#include "ingest/spool.h"

static void put(struct spool *spool, uint32_t number, size_t size_bytes)
{
	char record[4096];

	assert_true(size_bytes >= sizeof(number) && size_bytes <= sizeof(record));
	memset(record, (int)(number & 0xff), sizeof(record));
	memcpy(record, &number, sizeof(number));
	assert_int_equal(spool_add(spool, record, size_bytes), 0);
}

static void expect(struct spool *spool, uint32_t number, size_t size_bytes)
{
	const void *bytes;
	size_t size;
	uint32_t found;

	assert_true(spool_take(spool, &bytes, &size));
	assert_int_equal(size, size_bytes);
	memcpy(&found, bytes, sizeof(found));
	assert_int_equal(found, number);
	if (size_bytes > sizeof(number))
		assert_int_equal(((const unsigned char *)bytes)[size_bytes - 1], number & 0xff);
}

static void first_in_first_out(void **state)
{
	const void *bytes;
	struct spool *spool;
	size_t size;

	(void)state;
	assert_int_equal(spool_new(&spool, 1 << 20), 0);
	assert_false(spool_take(spool, &bytes, &size));
	put(spool, 1, 24);
	put(spool, 2, 25);
	expect(spool, 1, 24);
	put(spool, 3, 1000);
	expect(spool, 2, 25);
	expect(spool, 3, 1000);
	assert_false(spool_take(spool, &bytes, &size));
	assert_int_equal(spool_bytes(spool), 0);
	put(spool, 4, 24); /* into the block that was emptied */
	expect(spool, 4, 24);
	spool_free(spool);
}

static void a_full_spool_says_so(void **state)
{
	char record[100] = { 0 };
	struct spool *spool;

	(void)state;
	assert_int_equal(spool_new(&spool, 250), 0);
	assert_int_equal(spool_add(spool, record, sizeof(record)), 0);
	assert_int_equal(spool_add(spool, record, sizeof(record)), 0);
	assert_int_equal(spool_add(spool, record, sizeof(record)), -ENOSPC);
	assert_int_equal(spool_bytes(spool), 2 * 112);
	spool_free(spool);
	assert_int_equal(spool_new(&spool, SIZE_MAX), 0);
	assert_int_equal(spool_add(spool, record, 1 << 20), -EINVAL);
	spool_free(spool);
}

static size_t size_of(uint32_t number)
{
	return 4 + number * 7919U % 600;
}

static void many_blocks_keep_the_order(void **state)
{
	enum {
		RECORDS = 20000
	};
	uint64_t random = 88172645463325252ULL;
	uint32_t in = 0, out = 0;
	struct spool *spool;

	(void)state;
	assert_int_equal(spool_new(&spool, 64 << 20), 0);
	while (out < RECORDS) {
		if (in < RECORDS && (in == out || random_next(&random) % 3)) {
			put(spool, in, size_of(in));
			in++;
		} else {
			expect(spool, out, size_of(out));
			out++;
		}
	}
	assert_int_equal(spool_bytes(spool), 0);
	spool_free(spool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_in_first_out),
		cmocka_unit_test(a_full_spool_says_so),
		cmocka_unit_test(many_blocks_keep_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
