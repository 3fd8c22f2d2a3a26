/* What the decoder checks of the records of operators, nodes and memory. */
#include "support/decode_fixture.h"

static void a_symbol_ends_where_its_size_says(void **state)
{
	struct fixture *fixture = *state;
	struct wire_symbol record = record_symbol(SYMBOL_RTTI, 1, "");

	memset(record.name, 'n', sizeof(record.name));
	record.header.size = sizeof(record);
	record.name_size = 5;
	assert_accepted(fixture, &record, sizeof(record));
	assert_string_equal(fixture->record.symbol.name, "nnnnn");
	record.name_size = WIRE_NAME_BYTES - 1;
	assert_accepted(fixture, &record, sizeof(record));
	assert_int_equal(strlen(fixture->record.symbol.name), WIRE_NAME_BYTES - 1);
	record.name_size = 10;
	record.header.size = offsetof(struct wire_symbol, name) + 3;
	assert_accepted(fixture, &record, sizeof(record));
	assert_string_equal(fixture->record.symbol.name, "nnn");
}

static void subjects_out_of_range_are_rejected(void **state)
{
	static const struct {
		enum wire_kind kind;
		uint32_t end;
	} rows[] = {
		{ WIRE_FUNCTION_BEGIN, FUNCTION_CNT }, { WIRE_SYMBOL, SYMBOL_CNT },
		{ WIRE_SEQUENCE, SEQUENCE_CNT },       { WIRE_MEMORY, MEMORY_CNT },
		{ WIRE_MODULE, MODULE_CNT },
	};
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		union any_record record = good_record(rows[i].kind);

		record.header.subject = rows[i].end;
		assert_rejected((struct fixture *)*state, &record, record.header.size);
		record.header.subject = UINT32_MAX;
		assert_rejected((struct fixture *)*state, &record, record.header.size);
		record.header.subject = rows[i].end - 1;
		assert_accepted((struct fixture *)*state, &record, record.header.size);
	}
}

static void operators_without_a_name_or_with_unknown_sites_are_rejected(void **state)
{
	struct wire_operator record = record_operator(3, "", "Tensor");

	assert_rejected((struct fixture *)*state, &record, sizeof(record));
	record = record_operator(3, "aten::add", "");
	record.entry_site = COST_KINDS + 1;
	assert_rejected((struct fixture *)*state, &record, sizeof(record));
	record.entry_site = COST_KINDS;
	assert_accepted((struct fixture *)*state, &record, sizeof(record));
	record.domain = CALL_DOMAIN_CNT - 1;
	assert_accepted((struct fixture *)*state, &record, sizeof(record));
	record.domain = CALL_DOMAIN_CNT;
	assert_rejected((struct fixture *)*state, &record, sizeof(record));
	record.domain = CALL_OPERATOR;
	record.exit_site = COST_KINDS + 1;
	assert_rejected((struct fixture *)*state, &record, sizeof(record));
}

static void modes_and_costs_out_of_range_are_rejected(void **state)
{
	const uint64_t time_max_ns = 1ULL << 62;
	struct wire_mode_record mode = record_mode(3, MODE_OFF, time_max_ns, UINT32_MAX);
	union any_record record = good_record(WIRE_COST);
	__u64 *times[] = { &mode.duration_ns, &mode.learned_ns, &mode.cost_ns,
			   &mode.cost_exact_ns };
	__u64 *costs[] = { &record.cost.predicted_added_ns, &record.cost.exact_added_ns,
			   &record.cost.attempt_ns, &record.cost.hit_ns[0],
			   &record.cost.hit_ns[COST_KINDS - 1] };
	size_t i;

	assert_accepted((struct fixture *)*state, &mode, sizeof(mode));
	for (i = 0; i < COUNT_OF(times); i++) {
		*times[i] = time_max_ns + 1;
		assert_rejected((struct fixture *)*state, &mode, sizeof(mode));
		*times[i] = 0;
	}
	mode.mode = MODE_CNT;
	assert_rejected((struct fixture *)*state, &mode, sizeof(mode));
	for (i = 0; i < COUNT_OF(costs); i++) {
		*costs[i] = time_max_ns + 1;
		assert_rejected((struct fixture *)*state, &record, sizeof(record.cost));
		*costs[i] = 0;
	}
	record.cost.hit_ns[0] = 1000000001;
	assert_rejected((struct fixture *)*state, &record, sizeof(record.cost));
}

static void blocks_larger_than_an_address_space_are_rejected(void **state)
{
	static const int64_t sizes[] = { INT64_MAX, INT64_MIN, (1LL << 48) + 1, -(1LL << 48) - 1 };
	size_t i;

	for (i = 0; i < COUNT_OF(sizes); i++) {
		struct wire_memory record =
			record_memory(1, 7, MEMORY_REPORTED, 0x7f00, 0x1000, sizes[i]);

		assert_rejected((struct fixture *)*state, &record, sizeof(record));
		record.header.subject = MEMORY_ALLOCATED;
		assert_rejected((struct fixture *)*state, &record, sizeof(record));
		record.header.subject = MEMORY_OUT; /* asked for in vain */
		assert_accepted((struct fixture *)*state, &record, sizeof(record));
	}
}

static void shapes_hold_the_arguments_that_they_count(void **state)
{
	struct fixture *fixture = *state;
	struct wire_shapes record = record_shapes(1, 7, 3, SHAPES_ARGUMENTS_MAX);
	static const struct wire_argument none;
	size_t i;

	for (i = 0; i < SHAPES_ARGUMENTS_MAX; i++) {
		memset(&record.arguments[i], 0xee, sizeof(record.arguments[i]));
		record.arguments[i].kind = ARGUMENT_CNT - 1;
	}
	assert_accepted(fixture, &record, sizeof(record));
	record.header.size--;
	assert_rejected(fixture, &record, sizeof(record));
	record.header.size = record_shapes(1, 7, 3, 2).header.size;
	assert_rejected(fixture, &record, sizeof(record));
	record.count = 2;
	assert_accepted(fixture, &record, record.header.size);
	assert_memory_equal(fixture->record.shapes.arguments, record.arguments, 2 * sizeof(none));
	for (i = 2; i < SHAPES_ARGUMENTS_MAX; i++) /* nothing of the record before */
		assert_memory_equal(&fixture->record.shapes.arguments[i], &none, sizeof(none));
	record.arguments[1].kind = ARGUMENT_CNT;
	assert_rejected(fixture, &record, record.header.size);
}

static void more_shapes_than_an_event_can_hold_are_rejected(void **state)
{
	unsigned char bytes[sizeof(struct wire_shapes) + sizeof(struct wire_argument)] = { 0 };
	struct wire_shapes record = record_shapes(1, 7, 3, SHAPES_ARGUMENTS_MAX);

	record.header.size = sizeof(bytes);
	memcpy(bytes, &record, sizeof(record));
	assert_accepted((struct fixture *)*state, bytes, sizeof(bytes));
	record.count = SHAPES_ARGUMENTS_MAX + 1;
	memcpy(bytes, &record, sizeof(record));
	assert_rejected((struct fixture *)*state, bytes, sizeof(bytes));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, decode_setup, decode_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_symbol_ends_where_its_size_says),
		TEST(subjects_out_of_range_are_rejected),
		TEST(operators_without_a_name_or_with_unknown_sites_are_rejected),
		TEST(modes_and_costs_out_of_range_are_rejected),
		TEST(blocks_larger_than_an_address_space_are_rejected),
		TEST(shapes_hold_the_arguments_that_they_count),
		TEST(more_shapes_than_an_event_can_hold_are_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
