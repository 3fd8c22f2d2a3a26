/* What warmup tells of operators. */
#include "support/test.h"

#include "analyze/learned.h"
#include "wire.h"

static int setup(void **state)
{
	struct learned *learned = NULL;
	int err = learned_new(&learned);

	*state = learned;
	return err;
}

static int teardown(void **state)
{
	learned_free(*state);
	return 0;
}

static struct learned_call call_of(uint32_t subject, uint64_t duration_ns)
{
	return (struct learned_call){
		.subject = subject,
		.inclusive_ns = duration_ns,
		.self_ns = duration_ns,
	};
}

static void add(struct learned *learned, uint32_t subject, uint64_t duration_ns)
{
	struct learned_call call = call_of(subject, duration_ns);

	assert_int_equal(learned_call(learned, &call), 0);
}

static void add_times(struct learned *learned, uint32_t subject, uint64_t duration_ns, int times)
{
	while (times--)
		add(learned, subject, duration_ns);
}

/* Of the only subject. */
static const struct learned_row *only_row(struct learned *learned)
{
	size_t count;
	const struct learned_row *rows = learned_rows(learned, &count);

	assert_int_equal(count, 1);
	return rows;
}

static void nothing_learned_is_no_row(void **state)
{
	size_t count = 1;

	assert_null(learned_rows(*state, &count));
	assert_int_equal(count, 0);
	assert_int_equal(learned_span_ns(*state), 0);
	assert_int_equal(learned_guards_of(*state, 0), 0);
	learned_free(NULL);
}

static void times_are_less_what_the_probes_cost(void **state)
{
	struct learned_call call = {
		.subject = 3,
		.inclusive_ns = 1000,
		.probe_total_ns = 300,
		.self_ns = 400,
		.probe_self_ns = 100,
	};
	const struct learned_row *row;

	assert_int_equal(learned_call(*state, &call), 0);
	call.probe_self_ns = 500; /* more than there was */
	assert_int_equal(learned_call(*state, &call), 0);
	row = only_row(*state);
	assert_int_equal(row->subject, 3);
	assert_int_equal(row->hits, 2);
	assert_int_equal(row->mean_ns, 700);
	assert_int_equal(row->plain.p50_ns, 700);
	assert_int_equal(row->plain.p90_ns, 700);
	assert_int_equal(row->self_ns, 300);
}

static void rows_are_in_order_of_their_subjects(void **state)
{
	static const uint32_t subjects[] = { 65535, MODE_SUBJECT_NODES, 0, 70 };
	const struct learned_row *rows;
	size_t i, count;

	for (i = 0; i < COUNT_OF(subjects); i++)
		add(*state, subjects[i], 100);
	add(*state, 65536, 100); /* no such operators */
	add(*state, MODE_SUBJECT_MEMORY, 100);
	add(*state, UINT32_MAX, 100);
	rows = learned_rows(*state, &count);
	assert_int_equal(count, 4);
	assert_int_equal(rows[0].subject, 0);
	assert_int_equal(rows[1].subject, 70);
	assert_int_equal(rows[2].subject, 65535);
	assert_int_equal(rows[3].subject, MODE_SUBJECT_NODES);
}

static void percentiles_are_those_of_the_calls(void **state)
{
	const struct learned_row *row;

	add_times(*state, 1, 1000, 5);
	add_times(*state, 1, 5000, 4);
	add_times(*state, 1, 90000, 1);
	row = only_row(*state);
	assert_int_equal(row->plain.p50_ns, 1000);
	assert_int_equal(row->plain.p90_ns, 5000);
	add(*state, 1, 90000);
	row = only_row(*state);
	assert_int_equal(row->plain.p50_ns, 5000);
	assert_int_equal(row->plain.p90_ns, 90000);
}

static void outliers_are_left_out_of_the_mean(void **state)
{
	const struct learned_row *row;

	add_times(*state, 1, 1000, 50);
	add_times(*state, 1, 1300, 50);
	add(*state, 1, 10000000); /* the first one, say */
	row = only_row(*state);
	assert_int_equal(row->mean_ns, 1150);
	assert_int_equal(row->hits, 101);
	assert_int_equal(row->self_ns, 50 * 2300 + 10000000);
}

/* 4 medians, and not 4 times the mean. */
static void a_second_kind_of_call_is_no_outlier(void **state)
{
	add_times(*state, 1, 1000, 60);
	add_times(*state, 1, 3900, 40);
	assert_int_equal(only_row(*state)->mean_ns, (60 * 1000 + 40 * 3900) / 100);
}

static void times_of_any_size_find_a_place(void **state)
{
	static const uint64_t times_ns[] = { 0, 1, 7, 8, 9, 1ULL << 33, 1ULL << 40, UINT64_MAX };
	uint32_t i;
	size_t count;
	const struct learned_row *rows;

	for (i = 0; i < COUNT_OF(times_ns); i++)
		add(*state, i, times_ns[i]);
	rows = learned_rows(*state, &count);
	assert_int_equal(count, COUNT_OF(times_ns));
	for (i = 0; i < COUNT_OF(times_ns); i++)
		assert_row(i,
			   rows[i].plain.p50_ns == times_ns[i] && rows[i].mean_ns == times_ns[i]);
}

/* A bucket is a quarter of an octave wide: what it holds differs by a fifth at most. */
static void buckets_are_narrow(void **state)
{
	uint64_t duration_ns;

	for (duration_ns = 16; duration_ns < 1ULL << 32; duration_ns += duration_ns / 3) {
		const struct learned_row *row;

		learned_reset(*state);
		add(*state, 1, duration_ns);
		add(*state, 1, duration_ns + duration_ns / 3);
		row = only_row(*state);
		assert_true(row->plain.p50_ns == duration_ns);
		assert_true(row->plain.p90_ns == duration_ns + duration_ns / 3);
	}
}

static void steady_needs_enough_calls(void **state)
{
	add_times(*state, 1, 5000, 7);
	assert_false(only_row(*state)->is_steady);
	add(*state, 1, 5000);
	assert_true(only_row(*state)->is_steady);
}

static void steady_calls_take_about_as_long(void **state)
{
	static const struct {
		uint64_t most_ns, some_ns;
		bool is_steady;
	} rows[] = {
		{ 10000, 20000, true }, { 10000, 25000, false },
		{ 300, 3200, true }, /* within what some probes cost */
		{ 300, 3500, false },	{ 0, 2900, true },
		{ 0, 3100, false },
	};
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		learned_reset(*state);
		add_times(*state, 1, rows[i].most_ns, 16);
		add_times(*state, 1, rows[i].some_ns, 4);
		assert_row(i, only_row(*state)->is_steady == rows[i].is_steady);
	}
	/* A tenth may be anything. */
	learned_reset(*state);
	add_times(*state, 1, 10000, 18);
	add_times(*state, 1, 900000, 2);
	assert_true(only_row(*state)->is_steady);
}

/* Of a view, say, which makes a node in the forward and none in the backward. */
static void calls_that_take_a_number_are_another_kind(void **state)
{
	struct learned_call call = call_of(1, 1000);
	const struct learned_row *row;
	int i;

	for (i = 0; i < 20; i++) {
		call.inclusive_ns = i % 2 ? 8000 : 1000;
		call.inner_sequences = i % 2;
		assert_int_equal(learned_call(*state, &call), 0);
	}
	row = only_row(*state);
	assert_true(row->is_steady);
	assert_int_equal(row->plain.calls, 10);
	assert_int_equal(row->plain.mean_ns, 1000);
	assert_int_equal(row->numbered.mean_ns, 8000);
	assert_int_equal(row->mean_ns, 4500);
	/* The same without the number explains nothing. */
	learned_reset(*state);
	call.inner_sequences = 0;
	for (i = 0; i < 20; i++) {
		call.inclusive_ns = i % 2 ? 8000 : 1000;
		assert_int_equal(learned_call(*state, &call), 0);
	}
	assert_false(only_row(*state)->is_steady);
}

static void steady_calls_do_the_same_inside(void **state)
{
	uint32_t what;

	for (what = 0; what < 5; what++) {
		struct learned_call call = call_of(1, 5000);
		const struct learned_row *row;
		int i;

		learned_reset(*state);
		call.inner_children = 4;
		call.inner_guards = 1;
		call.inner_memory = 2;
		call.inner_sequences = what == 3;
		for (i = 0; i < 10; i++)
			assert_int_equal(learned_call(*state, &call), 0);
		assert_true(only_row(*state)->is_steady);
		assert_int_equal(learned_guards_of(*state, 1), 1);
		call.inner_children += what == 0;
		call.inner_guards += what == 1;
		call.inner_memory += what == 2;

		assert_int_equal(learned_call(*state, &call), 0);
		row = only_row(*state);
		assert_row(what, row->is_steady == (what > 1));
		assert_row(what, row->memory_varies == (what == 2));
		assert_row(what, row->takes_numbers == (what == 3));
		assert_int_equal(row->inner_children, 4 + (what == 0));
		assert_int_equal(row->inner_guards, 1 + (what == 1));
		assert_int_equal(row->inner_memory, 2 + (what == 2));

		assert_int_equal(learned_guards_of(*state, 1), what == 1 ? 0 : 1);
		/* Once different, always. */
		call.inner_memory = 2;
		assert_int_equal(learned_call(*state, &call), 0);
		assert_row(what, only_row(*state)->is_steady == (what > 1));
		assert_row(what, only_row(*state)->memory_varies == (what == 2));
	}
}

static void an_unwound_call_counts_but_its_times_do_not(void **state)
{
	struct learned_call call = call_of(1, 9000000);
	const struct learned_row *row;

	add_times(*state, 1, 5000, 20);
	assert_true(only_row(*state)->is_steady);
	call.is_unwound = true;
	call.inner_children = 5;
	assert_int_equal(learned_call(*state, &call), 0);
	row = only_row(*state);
	assert_false(row->is_steady);
	assert_int_equal(row->hits, 21);
	assert_int_equal(row->unwound, 1);
	assert_int_equal(row->mean_ns, 5000);
	assert_int_equal(row->plain.p90_ns, 5000);
	assert_int_equal(row->self_ns, 100000);
	assert_int_equal(row->inner_children, 0);
}

static void hits_and_the_time_are_counted(void **state)
{
	learned_seen(*state, 500);
	learned_hit(*state, LEARNED_MEMORY);
	learned_hit(*state, LEARNED_MEMORY);
	learned_hit(*state, LEARNED_GUARDS);
	learned_seen(*state, 1700);
	learned_seen(*state, 1600); /* another thread's */
	assert_int_equal(learned_hits(*state, LEARNED_MEMORY), 2);
	assert_int_equal(learned_hits(*state, LEARNED_GUARDS), 1);
	assert_int_equal(learned_hits(*state, LEARNED_NODES), 0);
	assert_int_equal(learned_span_ns(*state), 1200);
}

static void what_was_learned_stays_when_it_stops(void **state)
{
	struct learned_call call = call_of(1, 100);

	call.inner_guards = 1;
	assert_int_equal(learned_call(*state, &call), 0);
	learned_seen(*state, 100);
	learned_seen(*state, 300);
	learned_stop(*state);
	add(*state, 1, 100);
	add(*state, 2, 100);
	learned_hit(*state, LEARNED_NODES);
	learned_seen(*state, 9000);
	assert_int_equal(only_row(*state)->hits, 1);
	assert_int_equal(learned_hits(*state, LEARNED_NODES), 0);
	assert_int_equal(learned_span_ns(*state), 200);
	assert_int_equal(learned_guards_of(*state, 1), 1);
}

static void a_reset_begins_anew(void **state)
{
	size_t count;

	add(*state, 1, 100);
	learned_hit(*state, LEARNED_NODES);
	learned_seen(*state, 100);
	assert_non_null(learned_rows(*state, &count));
	learned_stop(*state);
	learned_reset(*state);
	assert_null(learned_rows(*state, &count));
	assert_int_equal(learned_hits(*state, LEARNED_NODES), 0);
	learned_seen(*state, 5000);
	learned_seen(*state, 5100);
	assert_int_equal(learned_span_ns(*state), 100);
	add(*state, 1, 100);
	assert_int_equal(only_row(*state)->hits, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_learned_is_no_row),
		TEST(times_are_less_what_the_probes_cost),
		TEST(rows_are_in_order_of_their_subjects),
		TEST(percentiles_are_those_of_the_calls),
		TEST(outliers_are_left_out_of_the_mean),
		TEST(a_second_kind_of_call_is_no_outlier),
		TEST(times_of_any_size_find_a_place),
		TEST(buckets_are_narrow),
		TEST(steady_needs_enough_calls),
		TEST(steady_calls_take_about_as_long),
		TEST(steady_calls_do_the_same_inside),
		TEST(calls_that_take_a_number_are_another_kind),
		TEST(an_unwound_call_counts_but_its_times_do_not),
		TEST(hits_and_the_time_are_counted),
		TEST(what_was_learned_stays_when_it_stops),
		TEST(a_reset_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
