/* Schemas and mangled names taken apart, and whether the two are of the same function. */
#include "support/test.h"

#include "attach/mangled_types.h"
#include "attach/operator_schema.h"
#include "attach/operator_signature.h"

static void arguments_have_types_whatever_surrounds_them(void **state)
{
	static const struct {
		const char *text;
		enum operand_type type; /* of the last argument */
		size_t count;
	} rows[] = {
		{ "f(Tensor x) -> Tensor", OPERAND_TENSOR, 1 },
		{ "f(Tensor(a!) x) -> Tensor", OPERAND_TENSOR, 1 },
		{ "f(Tensor(a -> *) x) -> Tensor", OPERAND_TENSOR, 1 },
		{ "f(Tensor(a|b) x) -> Tensor", OPERAND_TENSOR, 1 },
		{ "f(Tensor? x=None) -> Tensor", OPERAND_TENSOR_OPTIONAL, 1 },
		{ "f(Tensor(a!)? x=None) -> Tensor", OPERAND_TENSOR_OPTIONAL, 1 },
		{ "f(Tensor(a!)[] x) -> Tensor", OPERAND_TENSOR_LIST, 1 },
		{ "f(Tensor?[] x) -> Tensor", OPERAND_TENSOR_OPTIONAL_LIST, 1 },
		{ "f(int[2] x=[1, 1]) -> Tensor", OPERAND_INTEGER_LIST, 1 },
		{ "f(SymInt[] x) -> Tensor", OPERAND_INTEGER_LIST, 1 },
		{ "f(int[1]? x=None) -> Tensor", OPERAND_INTEGER_LIST_OPTIONAL, 1 },
		{ "f(bool[3] x) -> Tensor", OPERAND_BOOL_ARRAY, 1 },
		{ "f(Tensor a, *, float? x=None) -> Tensor", OPERAND_FLOAT_OPTIONAL, 2 },
		{ "f(str a='x, y)', int x=-1) -> Tensor", OPERAND_INTEGER, 2 },
		{ "f(str a=\"\\\"'\\\\\", int x) -> Tensor", OPERAND_INTEGER, 2 },
		{ "f(ScalarType? x=long) -> Tensor", OPERAND_ENUM_OPTIONAL, 1 },
		{ "f(Novelty x) -> Tensor", OPERAND_UNKNOWN, 1 },
		{ "f(Tensor[][] x) -> Tensor", OPERAND_UNKNOWN, 1 },
	};
	struct operator_schema schema;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, !operator_schema_parse(&schema, rows[i].text));
		assert_row(i, schema.argument_count == rows[i].count);
		assert_row(i, schema.arguments[rows[i].count - 1] == rows[i].type);
	}
	assert_int_equal(operator_schema_parse(&schema, "f() -> Tensor"), 0);
	assert_int_equal(schema.argument_count, 0);
}

static void names_and_overloads_are_told_apart(void **state)
{
	struct operator_schema schema;

	(void)state;
	assert_int_equal(operator_schema_parse(&schema, "add_.Tensor(Tensor x) -> Tensor"), 0);
	assert_int_equal(schema.name_length, 4);
	assert_memory_equal(schema.name, "add_", 4);
	assert_int_equal(schema.overload_length, 6);
	assert_memory_equal(schema.overload, "Tensor", 6);
	assert_int_equal(operator_schema_parse(&schema, "mm(Tensor x) -> Tensor"), 0);
	assert_int_equal(schema.overload_length, 0);
}

static void results_come_back_in_memory_or_not(void **state)
{
	static const struct {
		const char *text;
		enum operator_return returns;
	} rows[] = {
		{ "f() -> Tensor", OPERATOR_RETURN_MEMORY },
		{ "f() -> Tensor(a)", OPERATOR_RETURN_MEMORY },
		{ "f() -> Tensor(a!)", OPERATOR_RETURN_PLAIN },
		{ "f() -> ()", OPERATOR_RETURN_PLAIN },
		{ "f() -> bool", OPERATOR_RETURN_PLAIN },
		{ "f() -> int", OPERATOR_RETURN_PLAIN },
		{ "f() -> float", OPERATOR_RETURN_PLAIN },
		{ "f() -> ScalarType", OPERATOR_RETURN_PLAIN },
		{ "f() -> Scalar", OPERATOR_RETURN_MEMORY },
		{ "f() -> SymInt", OPERATOR_RETURN_MEMORY },
		{ "f() -> Tensor[]", OPERATOR_RETURN_MEMORY },
		{ "f() -> Tensor(a)[]", OPERATOR_RETURN_MEMORY },
		{ "f() -> (Tensor, Tensor)", OPERATOR_RETURN_MEMORY },
		{ "f() -> (Tensor(a!) values, Tensor(b!) indices)", OPERATOR_RETURN_MEMORY },
		{ "f() -> (int, Novelty)", OPERATOR_RETURN_MEMORY },
		{ "f() -> (Tensor)", OPERATOR_RETURN_MEMORY },
		{ "f() -> (Tensor(a!))", OPERATOR_RETURN_PLAIN },
		{ "f() -> Tensor x", OPERATOR_RETURN_MEMORY },
		{ "f() -> Tensor(a!)[]", OPERATOR_RETURN_UNKNOWN },
		{ "f() -> Novelty", OPERATOR_RETURN_UNKNOWN },
	};
	struct operator_schema schema;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, !operator_schema_parse(&schema, rows[i].text));
		assert_row(i, schema.returns == rows[i].returns);
	}
}

static void what_is_not_all_of_a_schema_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"f",
		"f(",
		"f()",
		"f() ->",
		"f() -> ",
		"(Tensor x) -> Tensor",
		"2f(Tensor x) -> Tensor",
		"f.(Tensor x) -> Tensor",
		"f.a.b(Tensor x) -> Tensor",
		"aten::f(Tensor x) -> Tensor",
		"f(Tensor) -> Tensor",
		"f(Tensor x,) -> Tensor",
		"f(Tensor x, ) -> Tensor",
		"f(Tensor x,Tensor y) -> Tensor",
		"f(Tensor  x) -> Tensor",
		"f(Tensor x=) -> Tensor",
		"f(Tensor x=[1) -> Tensor",
		"f(Tensor x=1]) -> Tensor",
		"f(Tensor x='a) -> Tensor",
		"f(Tensor(a x) -> Tensor",
		"f(Tensor((a)) x) -> Tensor",
		"f(Tensor[x] x) -> Tensor",
		"f(Tensor[ x) -> Tensor",
		"f(AVeryLongTypeNameThatNoReleaseEverHad x) -> Tensor",
		"f(Tensor x) -> Tensor Tensor Tensor",
		"f(Tensor x) -> (Tensor",
		"f(Tensor x) -> (Tensor,)",
		"f(Tensor x) -> Tensor, Tensor",
		"f(Tensor x) -> Tensoraten::g(Tensor x) -> Tensor",
	};
	struct operator_schema schema;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(texts); i++)
		assert_row(i, operator_schema_parse(&schema, texts[i]) == -EINVAL);
}

static void a_schema_of_too_many_arguments_is_refused(void **state)
{
	char text[1024] = "f(int x";
	struct operator_schema schema;
	size_t i;

	(void)state;
	for (i = 1; i < OPERANDS_MAX; i++)
		strcat(text, ", int x");
	strcat(text, ") -> Tensor");
	assert_int_equal(operator_schema_parse(&schema, text), 0);
	assert_int_equal(schema.argument_count, OPERANDS_MAX);
	strcpy(strrchr(text, ')'), ", int x) -> Tensor");
	assert_int_equal(operator_schema_parse(&schema, text), -EINVAL);
}

static void types_are_read_with_their_substitutions(void **state)
{
	static const struct {
		const char *mangled, *types[7];
	} rows[] = {
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_",
		  { "at::Tensor const&", "at::Tensor const&" } },
		{ "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE",
		  { "at::Tensor&", "at::Tensor const&", "c10::Scalar const&" } },
		{ "_ZN2at4_ops10layer_norm4callERKNS_6TensorEN3c108ArrayRefINS5_"
		  "6SymIntEEERKSt8optionalIS2_"
		  "ESC_db",
		  { "at::Tensor const&", "c10::ArrayRef<c10::SymInt>",
		    "std::optional<at::Tensor> const&", "std::optional<at::Tensor> const&",
		    "double", "bool" } },
		{ "_ZN2at4_ops12index_Tensor4callERKNS_6TensorERKN3c104ListINS5_8optionalIS2_EEEE",
		  { "at::Tensor const&", "c10::List<c10::optional<at::Tensor>> const&" } },
		{ "_ZN2at4_ops20_test_string_default4callERKNS_6TensorESt17basic_string_"
		  "viewIcSt11char_"
		  "traitsIcEES8_",
		  { "at::Tensor const&", "std::basic_string_view<char,std::char_traits<char>>",
		    "std::basic_string_view<char,std::char_traits<char>>" } },
		{ "_ZN1a1fESt5arrayIbLm3EE", { "std::array<bool,3>" } },
		{ "_ZN1a1fENSt1x1yEOS_PKcS4_",
		  { "std::x::y", "a&&", "char const*", "char const*" } },
		{ "_ZN1a1fE4blahS0_", { "blah", "blah" } },
		{ "_ZN1a1fEv", { NULL } },
	};
	struct mangled_types types;
	size_t i, j;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, !mangled_types_read(&types, rows[i].mangled));
		for (j = 0; j < types.count; j++) {
			assert_row(i, rows[i].types[j]);
			assert_row(i, strlen(rows[i].types[j]) == types.types[j].length);
			assert_row(i, !memcmp(rows[i].types[j], types.types[j].text,
					      types.types[j].length));
		}
		assert_row(i, !rows[i].types[j]);
	}
}

static void mangled_names_that_are_not_understood_are_refused(void **state)
{
	static const char *const names[] = {
		"",
		"main",
		"_ZN",
		"_ZNE",
		"_ZNEv",
		"_ZN1a",
		"_ZN1a1fE",	      /* no parameters are written as v */
		"_ZN1a1fES_v",	      /* v among others */
		"_ZN1a1fES0_",	      /* a substitution that is not there yet */
		"_ZN1a1fESZZZZZZZZ_", /* nor ever will be */
		"_ZN1a1fES",
		"_ZN1a1fESt",
		"_ZN1a1fER",
		"_ZN1a1fEN",
		"_ZN1a1fENE",
		"_ZN1a1fEN1bIE",
		"_ZN1a1fEN1bIlE",
		"_ZN1a1fEN1bILE",
		"_ZN1a1fEN1bILl3",
		"_ZN1a1fENIlEE",
		"_ZN1a1fE99b",
		"_ZN1a1fE0",
		"_ZN1a1fE4294967297b",
		"_ZN1a1fEDn",
		"_ZN1a1fEPFvvE",
		"_ZN1aIlE1fEv",
		"_ZN1a1fERRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRRl", /* too deep */
	};
	struct mangled_types types;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(names); i++)
		assert_row(i, mangled_types_read(&types, names[i]) == -EINVAL);
}

/* Each template holds the one before it twice: S1_, S2_ and so on. */
static void nest_templates(char *name, size_t count)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	size_t i;

	name += sprintf(name, "_ZN1a1fE1bIllE");
	for (i = 0; i < count; i++)
		name += sprintf(name, "S0_IS%c_S%c_E", digits[i + 1], digits[i + 1]);
}

static void text_that_grows_without_end_is_refused(void **state)
{
	struct mangled_types types;
	char name[512];

	(void)state;
	nest_templates(name, 4);
	assert_int_equal(mangled_types_read(&types, name), 0);
	assert_int_equal(types.count, 5);
	nest_templates(name, 20);
	assert_int_equal(mangled_types_read(&types, name), -EINVAL);
}

static void more_parameters_than_the_bound_are_refused(void **state)
{
	char name[128] = "_ZN1a1fE";
	struct mangled_types types;
	size_t i;

	(void)state;
	for (i = 0; i < MANGLED_TYPES_MAX; i++)
		strcat(name, "l");
	assert_int_equal(mangled_types_read(&types, name), 0);
	assert_int_equal(types.count, MANGLED_TYPES_MAX);
	strcat(name, "l");
	assert_int_equal(mangled_types_read(&types, name), -EINVAL);
}

static void damaged_mangled_names_are_survived(void **state)
{
	static const char good[] =
		"_ZN2at4_ops19empty_memory_format4callEN3c108ArrayRefINS2_6SymIntEEE"
		"St8optionalINS2_10ScalarTypeEES6_INS2_6LayoutEES6_IbESt5arrayIbLm3EE";
	static const char letters[] = "_SNEIRKLlbcdt0123456789";
	struct operator_signature signature;
	uint64_t random = 7;
	char *name;
	size_t round, i;

	(void)state;
	assert_int_equal(operator_signature_parse(&signature, good), 0);
	assert_int_equal(signature.count, 5);
	for (round = 0; round < 20000; round++) {
		name = strdup(good);
		assert_non_null(name);
		for (i = 0; i <= round % 4; i++)
			name[random_next(&random) % strlen(good)] =
				letters[random_next(&random) % strlen(letters)];
		if (!operator_signature_parse(&signature, name))
			assert_true(signature.count <= OPERANDS_MAX);
		free(name);
	}
}

static void a_signature_and_a_schema_fit_or_not(void **state)
{
	static const struct {
		const char *mangled, *schema;
		bool fits;
	} rows[] = {
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_", "mm(Tensor self, Tensor mat2) -> Tensor",
		  true },
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_", "mm(Tensor self) -> Tensor", false },
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_",
		  "mm(Tensor self, Tensor mat2, *, int x) -> Tensor", false },
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_", "mm(Tensor self, Tensor? mat2) -> Tensor",
		  false },
		{ "_ZN2at4_ops2mm4callERKNS_6TensorES4_", "mm(Tensor self, Novelty x) -> Tensor",
		  true },
		{ "_ZN2at4_ops2mm4callERKNS_6TensorERKN1a1bE",
		  "mm(Tensor self, Novelty x) -> Tensor", true },
		{ "_ZN2at4_ops3cat4callERKN3c108IListRefINS_6TensorEEEl",
		  "cat(Tensor[] tensors, int dim=0) -> Tensor", true },
		/* schemas say int for SymInt and the other way round */
		{ "_ZN2at4_ops1x4callEN3c108ArrayRefINS2_6SymIntEEElb",
		  "x(int[] size, SymInt y, bool z) -> Tensor", true },
		{ "_ZN2at4_ops1x4callEv", "x() -> Tensor", true },
	};
	struct operator_signature signature;
	struct operator_schema schema;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, !operator_signature_parse(&signature, rows[i].mangled));
		assert_row(i, !operator_schema_parse(&schema, rows[i].schema));
		assert_row(i, operator_signature_fits(&signature, &schema) == rows[i].fits);
	}
	assert_int_equal(operator_signature_parse(&signature, "_ZN2at3fooEv"), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_have_types_whatever_surrounds_them),
		cmocka_unit_test(names_and_overloads_are_told_apart),
		cmocka_unit_test(results_come_back_in_memory_or_not),
		cmocka_unit_test(what_is_not_all_of_a_schema_is_refused),
		cmocka_unit_test(a_schema_of_too_many_arguments_is_refused),
		cmocka_unit_test(types_are_read_with_their_substitutions),
		cmocka_unit_test(mangled_names_that_are_not_understood_are_refused),
		cmocka_unit_test(text_that_grows_without_end_is_refused),
		cmocka_unit_test(more_parameters_than_the_bound_are_refused),
		cmocka_unit_test(damaged_mangled_names_are_survived),
		cmocka_unit_test(a_signature_and_a_schema_fit_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
