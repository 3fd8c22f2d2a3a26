/* Rows of a thread must nest in the arithmetic of those who read them: ts and dur as doubles. */
#include "support/test.h"

#include "analyze/edges.h"

#define ROWS_MAX 4096
#define BASE_NS 5042974001000000LL /* from Kineto's base to some day */
#define EVENT_NS 400		   /* no two probes of a thread are hit closer together */

struct row {
	uint64_t start_ns, end_ns; /* as written */
};

struct fixture {
	struct row rows[ROWS_MAX];
	size_t count;
	uint64_t next_ns; /* of the next event */
	uint64_t random;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture)
		return -1;
	fixture->next_ns = 1000000;
	fixture->random = 42;
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

static const struct row *write_row(struct fixture *fixture, struct span span,
				   struct edges_around around)
{
	struct row *row = &fixture->rows[fixture->count++];

	assert_true(fixture->count < ROWS_MAX);
	edges_settle(&span, &around);
	row->start_ns = span_shown_start_ns(&span);
	row->end_ns = span_shown_end_ns(&span);
	return row;
}

static struct span span_of(enum span_kind kind, uint64_t start_ns, uint64_t end_ns)
{
	return (struct span){
		.kind = (uint8_t)kind,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.tid = 7,
		.is_finished = true,
	};
}

/* As a reader has them. */
static double ts_of(const struct row *row)
{
	return (double)((int64_t)row->start_ns + BASE_NS) / 1e3;
}

static double end_of(const struct row *row)
{
	return ts_of(row) + (double)(row->end_ns - row->start_ns) / 1e3;
}

static int outer_first(const void *a, const void *b)
{
	const struct row *left = a, *right = b;

	if (ts_of(left) != ts_of(right))
		return ts_of(left) < ts_of(right) ? -1 : 1;
	return end_of(left) > end_of(right) ? -1 : end_of(left) < end_of(right);
}

/* The rule of TensorBoard's plugin. */
static void assert_nested(struct fixture *fixture)
{
	const struct row *stack[64];
	size_t depth = 0, i;

	qsort(fixture->rows, fixture->count, sizeof(struct row), outer_first);
	for (i = 0; i < fixture->count; i++) {
		const struct row *row = &fixture->rows[i];

		while (depth && ts_of(row) >= end_of(stack[depth - 1]))
			depth--;
		assert_row(i, !depth || end_of(row) <= end_of(stack[depth - 1]));
		assert_row(i, row->start_ns <= row->end_ns);
		assert_true(depth < COUNT_OF(stack));
		stack[depth++] = row;
	}
}

/* The time of an event. */
static uint64_t tick(struct fixture *fixture)
{
	uint64_t time_ns = fixture->next_ns;

	fixture->next_ns += EVENT_NS + random_next(&fixture->random) % 3000;
	return time_ns;
}

static bool toss(struct fixture *fixture, unsigned int one_in)
{
	return random_next(&fixture->random) % one_in == 0;
}

/* One call with calls inside, where it ends; and as it is shown. */
static uint64_t call(struct fixture *fixture, unsigned int depth, uint64_t *shown_end_ns)
{
	struct edges_around around = { .before_ns = *shown_end_ns };
	uint64_t start_ns = tick(fixture), last_end_ns = start_ns;
	unsigned int children = depth < 6 ? random_next(&fixture->random) % 3 : 0, i;
	struct span span = span_of(SPAN_OPERATOR, start_ns, 0);

	for (i = 0; i < children; i++)
		last_end_ns = call(fixture, depth + 1, &around.child_end_ns);
	span.is_inferred = toss(fixture, 2);
	span.is_unwound = !span.is_inferred && children && toss(fixture, 8);
	around.next_event_ns = fixture->next_ns;
	if (span.is_unwound) { /* last seen alive as its child ended */
		span.end_ns = last_end_ns;
	} else if (!span.is_inferred) {
		span.end_ns = tick(fixture);
		around.next_event_ns = 0;
	} else { /* its last child's end, or as late as can be */
		span.end_ns = children && toss(fixture, 2) ? last_end_ns : fixture->next_ns;
	}
	*shown_end_ns = write_row(fixture, span, around)->end_ns;
	return span.end_ns;
}

static void calls_of_any_shape_nest(void **state)
{
	struct fixture *fixture = *state;

	while (fixture->count < ROWS_MAX - 1000)
		call(fixture, 0, &(uint64_t){ 0 });
	assert_nested(fixture);
}

/* Twenty calls that are all over when something else comes. */
static void more_levels_than_there_is_room_for_share_an_edge(void **state)
{
	struct fixture *fixture = *state;
	struct edges_around around = { .next_event_ns = 10000 };
	uint64_t level;

	for (level = 20; level-- > 0;) {
		struct span span = span_of(SPAN_OPERATOR, 1000 + 400 * level, 10000);
		const struct row *row;

		span.is_inferred = true;
		row = write_row(fixture, span, around);
		assert_true(row->end_ns < 10000 && row->end_ns >= around.child_end_ns);
		around.child_end_ns = row->end_ns;
	}
}

static void probed_edges_stay(void **state)
{
	struct fixture *fixture = *state;
	struct span outer = span_of(SPAN_OPERATOR, 1000, 4000);
	const struct row *row =
		write_row(fixture, outer, (struct edges_around){ .child_end_ns = 3000 });

	assert_int_equal(row->start_ns, 1000);
	assert_int_equal(row->end_ns, 4000);
}

/* Both are begun and ended by the same hits; arrows look for the inner one. */
static void a_node_lies_inside_its_outer_row(void **state)
{
	struct fixture *fixture = *state;
	struct span node = span_of(SPAN_NODE, 2000, 3000);
	struct span outer = span_of(SPAN_NODE_OUTER, 2000, 3000);
	const struct row *row = write_row(fixture, node, (struct edges_around){ 0 });

	assert_int_equal(row->start_ns, 2000);
	assert_int_equal(row->end_ns, 3000);
	row = write_row(fixture, outer, (struct edges_around){ .child_end_ns = row->end_ns });
	assert_true(row->start_ns < 2000);
	assert_true(row->end_ns > 3000);
}

static void a_row_that_begins_as_its_sibling_ends_begins_later(void **state)
{
	struct fixture *fixture = *state;
	struct span detach = span_of(SPAN_FUNCTION, 3000, 4000);

	detach.is_start_told = true;
	assert_int_equal(
		write_row(fixture, detach, (struct edges_around){ .before_ns = 3000 })->start_ns,
		3000 + EDGES_GAP_NS);
	assert_int_equal(
		write_row(fixture, detach, (struct edges_around){ .before_ns = 2000 })->start_ns,
		3000);
}

/* The sibling's end, the row's own and that of what is around them were told to be one moment. */
static void a_row_without_time_lies_between_its_sibling_and_the_end(void **state)
{
	struct fixture *fixture = *state;
	struct span detach = span_of(SPAN_FUNCTION, 3000, 3000);
	struct span outer = span_of(SPAN_OPERATOR, 1000, 3000);
	const struct row *row, *around;

	detach.is_start_told = detach.is_inferred = outer.is_inferred = true;
	row = write_row(fixture, detach,
			(struct edges_around){ .before_ns = 2984, .next_event_ns = 3000 });
	assert_int_equal(row->start_ns, 2984 + EDGES_GAP_NS);
	around = write_row(
		fixture, outer,
		(struct edges_around){ .child_end_ns = row->end_ns, .next_event_ns = 3000 });
	assert_true(row->end_ns < around->end_ns && around->end_ns < 3000);
}

/* The window's end is the latest that anything may end at. */
static void unfinished_rows_end_with_the_window(void **state)
{
	struct fixture *fixture = *state;
	struct span outer = span_of(SPAN_NODE_OUTER, 1000, 3000);

	outer.is_finished = false;
	assert_int_equal(
		write_row(fixture, outer, (struct edges_around){ .child_end_ns = 3000 })->end_ns,
		3000);
}

/* Where a row ends before any other hit can have been, nothing can touch it but what holds it. */
static void short_rows_have_a_duration(void **state)
{
	struct fixture *fixture = *state;
	struct span span = span_of(SPAN_OPERATOR, 2000, 2005);

	span.is_inferred = true;
	assert_int_equal(
		write_row(fixture, span, (struct edges_around){ .next_event_ns = 2400 })->end_ns,
		2005);
	span.end_ns = 2000;
	assert_int_equal(
		write_row(fixture, span, (struct edges_around){ .next_event_ns = 2400 })->end_ns,
		2000 + EDGES_GAP_NS);
}

static void what_stands_outside_the_nesting_stays(void **state)
{
	struct fixture *fixture = *state;
	struct span async = span_of(SPAN_RANGE, 2500, 3000);
	const struct row *row;

	async.is_async = true;
	row = write_row(fixture, async, (struct edges_around){ .child_end_ns = 3500 });
	assert_int_equal(row->start_ns, 2500);
	assert_int_equal(row->end_ns, 3000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_of_any_shape_nest),
		TEST(more_levels_than_there_is_room_for_share_an_edge),
		TEST(probed_edges_stay),
		TEST(a_node_lies_inside_its_outer_row),
		TEST(a_row_that_begins_as_its_sibling_ends_begins_later),
		TEST(a_row_without_time_lies_between_its_sibling_and_the_end),
		TEST(unfinished_rows_end_with_the_window),
		TEST(short_rows_have_a_duration),
		TEST(what_stands_outside_the_nesting_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
