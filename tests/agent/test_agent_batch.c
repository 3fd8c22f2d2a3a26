/* Names, batches and buffers: what is packed comes out, and nothing outgrows its bounds. */
#include "agent/agent_harness.h"

#include "agent/batch.h"
#include "agent/pool.h"

static void a_name_is_its_text(void **state)
{
	struct names names;
	char text[32] = "kernel_a";
	uint32_t a, b;

	(void)state;
	assert_int_equal(names_init(&names, 16, 4096), 0);
	a = names_intern(&names, text, 100);
	assert_true(a != 0);
	assert_int_equal(names_intern(&names, "kernel_a", 100), a);
	/* The same address, another text: a module was loaded anew. */
	strcpy(text, "kernel_b");
	b = names_intern(&names, text, 100);
	assert_true(b != 0 && b != a);
	assert_memory_equal(names_text(&names, names_entry(&names, a)), "kernel_a", 8);
	assert_int_equal(names_intern(&names, NULL, 100), 0);
	assert_int_equal(names_intern(&names, "", 100), 0);
	names_fini(&names);
	assert_int_equal(names_intern(&names, "kernel_a", 100), 0);
}

static void names_have_bounds(void **state)
{
	struct names names;
	char text[64];
	uint32_t i, id, first;

	(void)state;
	assert_int_equal(names_init(&names, 256, 1 << 20), 0);
	for (i = 0; i < 256; i++) {
		snprintf(text, sizeof(text), "kernel number %u of many", i);
		assert_int_equal(names_intern(&names, text, 100), i + 1);
	}
	assert_int_equal(names_intern(&names, "one too many", 100), 0);
	for (i = 0; i < 256; i++) {
		snprintf(text, sizeof(text), "kernel number %u of many", i);
		assert_int_equal(names_intern(&names, text, 100), i + 1);
	}
	names_fini(&names);
	assert_int_equal(names_init(&names, 256, 20), 0);
	first = names_intern(&names, "0123456789", 100);
	assert_int_equal(first, 1);
	assert_int_equal(names_intern(&names, "abcdefghijk", 100), 0);
	id = names_intern(&names, "abcdefghij", 100);
	assert_int_equal(id, 2);
	names_fini(&names);
}

static void a_long_name_is_cut_and_says_so(void **state)
{
	struct names names;
	uint32_t cut, whole;

	(void)state;
	assert_int_equal(names_init(&names, 16, 4096), 0);
	cut = names_intern(&names, "0123456789", 9);
	whole = names_intern(&names, "abcdefghi", 9);
	assert_true(names_entry(&names, cut)->cut);
	assert_false(names_entry(&names, whole)->cut);
	assert_int_equal(names_entry(&names, cut)->size, 9);
	names_fini(&names);
}

/* A batch has to begin as a session for the harness to be content. */
static void begin(struct batch *batch)
{
	harness_begin("28", "mono", "");
	assert_int_equal(batch_init(batch, 77), 0);
	assert_non_null(batch_reserve(batch, AGENT_SESSION, sizeof(struct agent_session)));
}

static void end(struct batch *batch)
{
	batch_reserve(batch, AGENT_END, sizeof(struct agent_end));
	batch_hand_over(batch);
	assert_true(harness_ended());
	batch_fini(batch);
}

static void batches_are_filled_and_handed_over_in_order(void **state)
{
	struct batch batch;
	uint32_t i;

	(void)state;
	begin(&batch);
	for (i = 0; i < 5000; i++) {
		struct agent_kernel *kernel = batch_reserve(&batch, AGENT_KERNEL, sizeof(*kernel));

		assert_int_equal(kernel->correlation, 0);
		kernel->correlation = i;
	}
	end(&batch);
	assert_int_equal(harness_count(AGENT_KERNEL), 5000);
	for (i = 0; i < 5000; i++)
		assert_int_equal(
			((const struct agent_kernel *)harness_record(AGENT_KERNEL, i))->correlation,
			i);
	assert_int_equal(harness_batches(), 1 + 5000 * sizeof(struct agent_kernel) / 65200);
	assert_int_equal(harness_last_batch()->counts[AGENT_COUNT_RECORDS], 5002);
	assert_int_equal(harness_last_batch()->sequence, harness_batches() - 1);
	assert_int_equal(harness_last_batch()->session, 77);
}

static void an_empty_batch_is_not_handed_over(void **state)
{
	struct batch batch;

	(void)state;
	begin(&batch);
	batch_hand_over(&batch);
	batch_hand_over(&batch);
	assert_int_equal(harness_batches(), 1);
	end(&batch);
	assert_int_equal(harness_batches(), 2);
}

static void what_no_batch_holds_is_refused(void **state)
{
	struct batch batch;

	(void)state;
	begin(&batch);
	assert_null(batch_reserve(&batch, AGENT_STATUS, AGENT_BATCH_BYTES));
	assert_non_null(batch_reserve(&batch, AGENT_STATUS,
				      AGENT_BATCH_BYTES - sizeof(struct agent_batch)));
	end(&batch);
	assert_int_equal(harness_batches(), 3);
}

static void texts_are_bounded(void **state)
{
	static char text[2 * AGENT_TEXT_BYTES];
	struct agent_status *status;
	struct batch batch;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	begin(&batch);
	status = batch_reserve_text(&batch, AGENT_STATUS, sizeof(*status),
				    offsetof(struct agent_status, text_size), text);
	assert_int_equal(status->text_size, AGENT_TEXT_BYTES);
	assert_true(status->record.flags & AGENT_NAME_CUT);
	status = batch_reserve_text(&batch, AGENT_STATUS, sizeof(*status),
				    offsetof(struct agent_status, text_size), NULL);
	assert_int_equal(status->text_size, 0);
	end(&batch);
}

static void a_name_is_said_once_and_again_after_a_while(void **state)
{
	char long_name[AGENT_NAME_BYTES + 100];
	struct batch batch;
	uint32_t id;
	int i;

	(void)state;
	memset(long_name, 'n', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	begin(&batch);
	id = batch_name(&batch, "kernel");
	for (i = 0; i < 100; i++)
		assert_int_equal(batch_name(&batch, "kernel"), id);
	assert_int_equal(batch_name(&batch, NULL), 0);
	assert_int_equal(batch.counts[AGENT_COUNT_NO_NAME], 0);
	batch_name(&batch, long_name);
	assert_int_equal(batch.counts[AGENT_COUNT_NAMES_CUT], 1);
	batch_hand_over(&batch);
	assert_int_equal(harness_count(AGENT_NAME), 2);
	/* 130 more batches: said again in two of them. */
	for (i = 0; i < 130; i++) {
		batch_name(&batch, "kernel");
		batch_reserve(&batch, AGENT_KERNEL, sizeof(struct agent_kernel));
		batch_hand_over(&batch);
	}
	assert_int_equal(harness_count(AGENT_NAME), 4);
	assert_string_equal(harness_name(id), "kernel");
	end(&batch);
}

static void names_that_do_not_fit_are_counted(void **state)
{
	struct batch batch;
	char text[64];
	int i, unnamed = 0;

	(void)state;
	begin(&batch);
	for (i = 0; i < 20000; i++) {
		snprintf(text, sizeof(text), "generated_kernel_%d", i);
		unnamed += !batch_name(&batch, text);
	}
	assert_int_equal(unnamed, 20000 - 16384);
	assert_int_equal(batch.counts[AGENT_COUNT_NO_NAME], unnamed);
	end(&batch);
	assert_int_equal(harness_count(AGENT_NAME), 16384);
}

static void the_pool_gives_each_buffer_once(void **state)
{
	struct pool pool = { 0 };
	void *buffers[POOL_BUFFERS];
	int i, j, other;

	(void)state;
	assert_false(pool_give_back(&pool, &pool));
	assert_null(pool_take(&pool));
	assert_int_equal(pool_open(&pool), 0);
	assert_int_equal(pool_open(&pool), 0);
	for (i = 0; i < POOL_BUFFERS; i++) {
		buffers[i] = pool_take(&pool);
		assert_non_null(buffers[i]);
		assert_int_equal((uintptr_t)buffers[i] % 4096, 0);
		for (j = 0; j < i; j++)
			assert_ptr_not_equal(buffers[i], buffers[j]);
		memset(buffers[i], 1, POOL_BUFFER_BYTES);
	}
	assert_null(pool_take(&pool));
	assert_int_equal(pool_taken(&pool), POOL_BUFFERS);
	assert_false(pool_give_back(&pool, &other));
	assert_false(pool_give_back(&pool, (char *)buffers[0] + 8));
	assert_true(pool_give_back(&pool, buffers[3]));
	assert_false(pool_give_back(&pool, buffers[3]));
	pool_trim(&pool);
	assert_int_equal(pool_taken(&pool), POOL_BUFFERS - 1);
	assert_ptr_equal(pool_take(&pool), buffers[3]);
	assert_int_equal(*(char *)buffers[3], 0);
	assert_int_equal(*(char *)buffers[4], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_its_text),
		cmocka_unit_test(names_have_bounds),
		cmocka_unit_test(a_long_name_is_cut_and_says_so),
		cmocka_unit_test(batches_are_filled_and_handed_over_in_order),
		cmocka_unit_test(an_empty_batch_is_not_handed_over),
		cmocka_unit_test(what_no_batch_holds_is_refused),
		cmocka_unit_test(texts_are_bounded),
		cmocka_unit_test(a_name_is_said_once_and_again_after_a_while),
		cmocka_unit_test(names_that_do_not_fit_are_counted),
		cmocka_unit_test(the_pool_gives_each_buffer_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
