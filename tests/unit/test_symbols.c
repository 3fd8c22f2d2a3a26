/* What operators, nodes and functions are called. */
#include "support/test.h"

#include "analyze/symbols.h"
#include "support/call_records.h"

#define TYPE 0x7f0011223340
#define OUTER "autograd::engine::evaluate_function: "

struct fixture {
	struct name_table *names;
	struct symbols *symbols;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	if (!fixture || name_table_new(&fixture->names, 1 << 20))
		return -1;
	*state = fixture;
	return symbols_new(&fixture->symbols, fixture->names);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	symbols_free(fixture->symbols);
	name_table_free(fixture->names);
	free(fixture);
	return 0;
}

static void give_operator(struct fixture *fixture, const struct wire_operator *record)
{
	struct event event = event_of(record);

	assert_int_equal(symbols_operator(fixture->symbols, &event), 0);
}

static void give(struct fixture *fixture, const struct wire_symbol *record)
{
	struct event event = event_of(record);

	assert_int_equal(symbols_symbol(fixture->symbols, &event), 0);
}

static void name_type(struct fixture *fixture, enum wire_symbol_kind kind, uint64_t type,
		      const char *name)
{
	struct wire_symbol record = record_symbol(kind, type, name);

	give(fixture, &record);
}

static void an_operator_is_known_by_its_index(void **state)
{
	struct fixture *fixture = *state;
	struct wire_operator record = record_operator(3, "aten::add_", "Tensor");
	const struct operator_name *name;

	record.exit_site = 4;
	give_operator(fixture, &record);
	name = symbols_operator_of(fixture->symbols, 3);
	assert_non_null(name);
	assert_string_equal(name->name, "aten::add_");
	assert_string_equal(name->overload, "Tensor");
	assert_ptr_equal(name->name, name_table_add(fixture->names, "aten::add_", 10));
	assert_ptr_equal(name->overload, name_table_add(fixture->names, "Tensor", 6));
	assert_int_equal(name->entry_site, 1);
	assert_int_equal(name->exit_site, 4);
	assert_null(symbols_operator_of(fixture->symbols, 2));
	assert_null(symbols_operator_of(fixture->symbols, 4));
}

static void an_operator_stays_where_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct wire_operator record = record_operator(0, "aten::t", "");
	const struct operator_name *name;
	uint32_t index;

	give_operator(fixture, &record);
	name = symbols_operator_of(fixture->symbols, 0);
	for (index = 1; index < SYMBOLS_OPERATORS_MAX; index += 97) {
		record.header.subject = index;
		give_operator(fixture, &record);
	}
	assert_ptr_equal(symbols_operator_of(fixture->symbols, 0), name);
	record = record_operator(0, "aten::mm", "out");
	give_operator(fixture, &record);
	assert_ptr_equal(symbols_operator_of(fixture->symbols, 0), name);
	assert_string_equal(name->name, "aten::mm");
	assert_string_equal(name->overload, "out");
}

static void an_index_out_of_range_is_refused(void **state)
{
	static const uint32_t indices[] = { SYMBOLS_OPERATORS_MAX, MODE_SUBJECT_NODES, UINT32_MAX };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(indices); i++) {
		struct wire_operator record = record_operator(indices[i], "aten::t", "");

		give_operator(fixture, &record);
		assert_null(symbols_operator_of(fixture->symbols, indices[i]));
		assert_int_equal(symbols_refused(fixture->symbols), i + 1);
	}
}

static void types_are_named_as_pytorch_names_them(void **state)
{
	static const struct {
		enum wire_symbol_kind kind;
		const char *told, *name;
	} rows[] = {
		{ SYMBOL_RTTI, "N5torch8autograd9generated14AddmmBackward0E", "AddmmBackward0" },
		{ SYMBOL_RTTI, "*N5torch8autograd9generated10TBackward0E", "TBackward0" },
		{ SYMBOL_RTTI, "N5torch8autograd14AccumulateGradE",
		  "torch::autograd::AccumulateGrad" },
		{ SYMBOL_RTTI, "N5torch8autograd7CppNodeI4MyFnEE",
		  "torch::autograd::CppNode<MyFn>" },
		{ SYMBOL_RTTI, "N12_GLOBAL__N_16MyNodeE", "(anonymous namespace)::MyNode" },
		{ SYMBOL_RTTI, "*12MyNode", "12MyNode" },
		{ SYMBOL_RTTI, "N5torch8autog", "N5torch8autog" },
		{ SYMBOL_RTTI, "\xff\x01", "\xff\x01" },
		{ SYMBOL_PYTHON, "FnBackward", "FnBackward" },
		{ SYMBOL_PYTHON, "torch._C._functions.UndefinedGrad", "UndefinedGrad" },
		{ SYMBOL_PYTHON, "ends.", "ends." },
		{ SYMBOL_OPERATOR, "aten::add", "aten::add" },
		{ SYMBOL_OPERATOR, "my.lib::foo", "my.lib::foo" },
	};
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(rows); i++) {
		char outer[128];

		name_type(fixture, rows[i].kind, TYPE + i, rows[i].told);
		snprintf(outer, sizeof(outer), OUTER "%s", rows[i].name);
		assert_string_equal(symbols_node(fixture->symbols, TYPE + i), rows[i].name);
		assert_string_equal(symbols_node_outer(fixture->symbols, TYPE + i), outer);
		assert_string_equal(symbols_function(fixture->symbols, TYPE + i), rows[i].name);
	}
	assert_int_equal(symbols_nameless(fixture->symbols), 0);
	assert_int_equal(symbols_refused(fixture->symbols), 0);
}

static void equal_names_of_two_types_are_one_pointer(void **state)
{
	struct fixture *fixture = *state;

	name_type(fixture, SYMBOL_PYTHON, TYPE, "FnBackward");
	name_type(fixture, SYMBOL_PYTHON, TYPE + 8, "FnBackward");
	assert_ptr_equal(symbols_node(fixture->symbols, TYPE),
			 symbols_node(fixture->symbols, TYPE + 8));
	assert_ptr_equal(symbols_node_outer(fixture->symbols, TYPE),
			 symbols_node_outer(fixture->symbols, TYPE + 8));
	assert_ptr_equal(symbols_node_outer(fixture->symbols, TYPE),
			 symbols_node_outer(fixture->symbols, TYPE));
}

static void a_type_named_again_has_the_new_name(void **state)
{
	struct fixture *fixture = *state;

	name_type(fixture, SYMBOL_PYTHON, TYPE, "First");
	assert_string_equal(symbols_node_outer(fixture->symbols, TYPE), OUTER "First");
	name_type(fixture, SYMBOL_PYTHON, TYPE, "Second");
	assert_string_equal(symbols_node(fixture->symbols, TYPE), "Second");
	assert_string_equal(symbols_node_outer(fixture->symbols, TYPE), OUTER "Second");
}

static void a_call_of_an_unknown_type_is_counted_once(void **state)
{
	struct fixture *fixture = *state;

	assert_string_equal(symbols_node(fixture->symbols, TYPE), "(unnamed node)");
	assert_string_equal(symbols_node_outer(fixture->symbols, TYPE), OUTER "(unnamed node)");
	assert_int_equal(symbols_nameless(fixture->symbols), 1);
	assert_string_equal(symbols_function(fixture->symbols, TYPE), "(unnamed function)");
	assert_int_equal(symbols_nameless(fixture->symbols), 2);
	assert_string_equal(symbols_node(fixture->symbols, 0), "(unnamed node)");
	assert_int_equal(symbols_nameless(fixture->symbols), 3);
}

static void a_name_that_could_not_be_read_is_none(void **state)
{
	static const uint16_t flags[] = { WIRE_NAME_UNREADABLE, WIRE_NAME_MISSING, 0 };
	struct fixture *fixture = *state;
	size_t i;

	for (i = 0; i < COUNT_OF(flags); i++) {
		struct wire_symbol record = record_symbol(SYMBOL_RTTI, TYPE, flags[i] ? "x" : "");

		name_type(fixture, SYMBOL_RTTI, TYPE, "4Node");
		record.header.flags = flags[i];
		give(fixture, &record);
		assert_string_equal(symbols_node(fixture->symbols, TYPE), "(unnamed node)");
		assert_int_equal(symbols_nameless(fixture->symbols), i + 1);
	}
}

static void a_cut_name_is_counted(void **state)
{
	struct fixture *fixture = *state;
	struct wire_symbol record = record_symbol(SYMBOL_PYTHON, TYPE, "LongN");

	record.header.flags = WIRE_NAME_TRUNCATED;
	give(fixture, &record);
	assert_string_equal(symbols_node(fixture->symbols, TYPE), "LongN");
	assert_int_equal(symbols_cut_names(fixture->symbols), 1);
	assert_int_equal(symbols_nameless(fixture->symbols), 0);
}

static void types_over_the_bound_are_refused(void **state)
{
	struct fixture *fixture = *state;
	uint64_t type;

	for (type = 0; type < SYMBOLS_TYPES_MAX; type++)
		name_type(fixture, SYMBOL_PYTHON, type, "Fn");
	assert_int_equal(symbols_refused(fixture->symbols), 0);
	name_type(fixture, SYMBOL_PYTHON, type, "Fn");
	assert_int_equal(symbols_refused(fixture->symbols), 1);
	assert_string_equal(symbols_function(fixture->symbols, type), "(unnamed function)");
	name_type(fixture, SYMBOL_PYTHON, type - 1, "Known");
	assert_int_equal(symbols_refused(fixture->symbols), 1);
	assert_string_equal(symbols_function(fixture->symbols, type - 1), "Known");
}

static void freeing_nothing_is_legal(void **state)
{
	(void)state;
	symbols_free(NULL);
}

/* The C++ library's mark of a type that is known by its address, and no name behind it. */
static void a_mark_alone_is_no_name(void **state)
{
	struct fixture *fixture = *state;
	struct wire_symbol record = record_symbol(SYMBOL_RTTI, 0x5000, "*");
	struct event event = event_of(&record);

	assert_int_equal(symbols_symbol(fixture->symbols, &event), 0);
	assert_string_equal(symbols_node(fixture->symbols, 0x5000), "(unnamed node)");
	assert_int_equal(symbols_nameless(fixture->symbols), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_operator_is_known_by_its_index),
		TEST(an_operator_stays_where_it_is),
		TEST(an_index_out_of_range_is_refused),
		TEST(types_are_named_as_pytorch_names_them),
		TEST(equal_names_of_two_types_are_one_pointer),
		TEST(a_type_named_again_has_the_new_name),
		TEST(a_call_of_an_unknown_type_is_counted_once),
		TEST(a_name_that_could_not_be_read_is_none),
		TEST(a_cut_name_is_counted),
		TEST(types_over_the_bound_are_refused),
		cmocka_unit_test(freeing_nothing_is_legal),
		TEST(a_mark_alone_is_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
