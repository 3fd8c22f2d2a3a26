/*
 * Schemas of operators in a library's strings: which string is taken for which class. Blobs are
 * written as a linker leaves them, strings one after another.
 */
#include "support/test.h"

#include "attach/operator_names.h"

#define MM "_ZN2at4_ops2mm4callERKNS_6TensorES4_"
#define ERF_OUT "_ZN2at4_ops7erf_out4callERKNS_6TensorERS2_"
#define EXP2_OUT "_ZN2at4_ops8exp2_out4callERKNS_6TensorERS2_"
#define CONJ "_ZN2at4_ops4conj4callERKNS_6TensorE"
#define TANH "_ZN2at4_ops4tanh4callERKNS_6TensorE"
#define T "_ZN2at4_ops1t4callERKNS_6TensorE"
#define ADD_OUT "_ZN2at4_ops7add_out4callERKNS_6TensorES4_RKN3c106ScalarERS2_"
#define MUL "_ZN2at4_ops10mul_Tensor4callERKNS_6TensorES4_"
#define ODD "_ZN2at4_ops3odd4callERKN3foo9SomethingE"

struct row {
	const char *mangled;
	const char *blob;
	size_t size;	  /* with the last string's NUL */
	const char *name; /* "erf.out": with the overload; NULL: nothing is found */
	const char *schema;
};

#define BLOB(text) text, sizeof(text)

static void check(size_t index, const struct row *row)
{
	struct operator_names *names;
	struct operator_name found = { 0 };
	char name[64];
	int err;

	assert_int_equal(operator_names_new(&names, 4), 0);
	assert_int_equal(operator_names_add(names, row->mangled), 0);
	assert_int_equal(operator_names_scan(names, (const uint8_t *)row->blob, row->size), 0);
	err = operator_names_find(names, row->mangled, &found);
	assert_row(index, err == (row->name ? 0 : -ENOENT));
	if (!err) {
		snprintf(name, sizeof(name), "%.*s%s%.*s", (int)found.name_length, found.name,
			 found.overload_length ? "." : "", (int)found.overload_length,
			 found.overload);
		assert_row(index, !strcmp(name, row->name));
		assert_row(index, !found.schema == !row->schema);
		assert_row(index, !row->schema || !strcmp(found.schema, row->schema));
	}
	operator_names_free(names);
}

static void check_all(const struct row *rows, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		check(i, &rows[i]);
}

#define MM_SCHEMA "mm(Tensor self, Tensor mat2) -> Tensor"
#define ERF_SCHEMA "erf.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
#define EXP2_SCHEMA "exp2.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"
#define MUL_SCHEMA "mul.Tensor(Tensor self, Tensor other) -> Tensor"
#define ADD_OUT_SCHEMA \
	"add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)"

static void a_string_of_its_own_is_the_schema(void **state)
{
	static const struct row rows[] = {
		{ MM, BLOB(MM_SCHEMA), "mm", MM_SCHEMA },
		{ MM, BLOB("\1\2(\0) -> \0x\0" MM_SCHEMA "\0more"), "mm", MM_SCHEMA },
		{ ERF_OUT, BLOB("aten::mm(Tensor x) -> Tensor\0" ERF_SCHEMA), "erf.out",
		  ERF_SCHEMA },
		{ MM, BLOB("addmm.x(Tensor self) -> Tensor\0no schema"), NULL, NULL },
		{ MM, BLOB(""), NULL, NULL },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void the_end_of_a_longer_name_serves_where_there_is_no_string_of_its_own(void **state)
{
	static const struct row rows[] = {
		{ ERF_OUT, BLOB("special_" ERF_SCHEMA), "erf.out", ERF_SCHEMA },
		{ ERF_OUT, BLOB("special_" ERF_SCHEMA "\0" ERF_SCHEMA), "erf.out", ERF_SCHEMA },
		/* the end must be at the parenthesis */
		{ ERF_OUT, BLOB("erf.out_x(Tensor self, *, Tensor(a!) out) -> Tensor(a!)"), NULL,
		  NULL },
		/* and be the whole rest of the name */
		{ ERF_OUT, BLOB("x.erf.outer(Tensor self) -> Tensor"), NULL, NULL },
		/* ".x" is no name, though "_x" is one */
		{ "_ZN2at4_ops2_x4callERKNS_6TensorE", BLOB("f.x(Tensor self) -> Tensor"), NULL,
		  NULL },
		{ MM, BLOB("aten::" MM_SCHEMA), "mm", MM_SCHEMA },
		{ MM, BLOB("quantized::" MM_SCHEMA), "mm", MM_SCHEMA },
		{ MM, BLOB("a text with " MM_SCHEMA), "mm", MM_SCHEMA },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void of_several_ends_the_one_with_the_arguments_of_the_function_is_right(void **state)
{
	static const struct row rows[] = {
		{ EXP2_OUT,
		  BLOB("logaddexp2.out(Tensor self, Tensor other, *, Tensor(a!) out) -> "
		       "Tensor(a!)\0"
		       "special_" EXP2_SCHEMA),
		  "exp2.out", EXP2_SCHEMA },
		{ TANH,
		  BLOB("_foreach_tanh(Tensor[] self) -> Tensor[]\0"
		       "hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor\0"
		       "arctanh(Tensor self) -> Tensor"),
		  "tanh", "tanh(Tensor self) -> Tensor" },
		/* a whole string with other arguments is a list of the JIT's */
		{ MUL, BLOB("mul.Tensor(Tensor self, Scalar other) -> Tensor\0x" MUL_SCHEMA),
		  "mul.Tensor", MUL_SCHEMA },
		/* where none has them the name is all that is known */
		{ TANH, BLOB("_foreach_tanh(Tensor[] self) -> Tensor[]"), "tanh", NULL },
		{ MUL, BLOB("mul.Tensor(Tensor[] self, Tensor other) -> Tensor"), "mul.Tensor",
		  NULL },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void a_string_behind_the_namespace_says_which_end_is_meant(void **state)
{
	static const struct row rows[] = {
		{ CONJ,
		  BLOB("is_conj(Tensor self) -> bool\0resolve_conj(Tensor(a) self) -> Tensor(a)\0"
		       "aten::conj(Tensor(a) self) -> Tensor(a)"),
		  "conj", "conj(Tensor(a) self) -> Tensor(a)" },
		{ CONJ,
		  BLOB("aten::conj(Tensor(a) self) -> Tensor(a)\0is_conj(Tensor self) -> bool\0"
		       "resolve_conj(Tensor(a) self) -> Tensor(a)"),
		  "conj", "conj(Tensor(a) self) -> Tensor(a)" },
		/* bool comes back in a register, a tensor does not: without a hint neither is right
		 */
		{ CONJ,
		  BLOB("is_conj(Tensor self) -> bool\0resolve_conj(Tensor(a) self) -> Tensor(a)"),
		  "conj", NULL },
		{ CONJ,
		  BLOB("resolve_conj(Tensor(a) self) -> Tensor(a)\0is_conj(Tensor self) -> bool"),
		  "conj", NULL },
		/* the hint alone is better than another's end */
		{ CONJ,
		  BLOB("is_conj(Tensor self) -> bool\0aten::conj(Tensor(a) self) -> Tensor(a)"),
		  "conj", "conj(Tensor(a) self) -> Tensor(a)" },
		/* and that which is both is better than the hint */
		{ CONJ,
		  BLOB("aten::conj(Tensor self) -> bool\0aten::conj(Tensor(a) self) -> Tensor(a)\0"
		       "resolve_conj(Tensor(a) self) -> Tensor(a)"),
		  "conj", "conj(Tensor(a) self) -> Tensor(a)" },
		/* both are tensors: no difference to the function */
		{ CONJ,
		  BLOB("resolve_conj(Tensor(a) self) -> Tensor(a)\0x_conj(Tensor self) -> Tensor"),
		  "conj", "conj(Tensor(a) self) -> Tensor(a)" },
		/* a whole string needs no hint */
		{ MUL, BLOB("aten::mul.Tensor(Tensor self, Tensor other) -> (Tensor)\0" MUL_SCHEMA),
		  "mul.Tensor", MUL_SCHEMA },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void a_name_with_an_overload_is_preferred(void **state)
{
	static const struct row rows[] = {
		{ ADD_OUT,
		  BLOB("add_out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
		       "Tensor(a!)\0" ADD_OUT_SCHEMA),
		  "add.out", ADD_OUT_SCHEMA },
		{ ADD_OUT,
		  BLOB(ADD_OUT_SCHEMA "\0add_out(Tensor self, Tensor other, *, Scalar alpha=1, "
				      "Tensor(a!) out) -> Tensor(a!)"),
		  "add.out", ADD_OUT_SCHEMA },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void types_that_are_not_known_fit(void **state)
{
	static const struct row rows[] = {
		{ ODD, BLOB("odd(Novelty x) -> Tensor"), "odd", "odd(Novelty x) -> Tensor" },
		{ ODD, BLOB("odd(Novelty x, int y) -> Tensor"), "odd", NULL },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void damaged_strings_are_no_schemas(void **state)
{
	static const struct row rows[] = {
		{ MM, "mm(Tensor self, Tensor mat2) -> Tensor", 38, NULL, NULL }, /* no NUL */
		{ MM, BLOB("mm(Tensor self,\nTensor mat2) -> Tensor"), NULL, NULL },
		{ MM, BLOB("mm(Tensor self, Tensor mat2) -> Tens\xc3\xb6r"), NULL, NULL },
		{ MM, BLOB(") -> mm"), NULL, NULL },
		{ MM, BLOB("mm) -> (Tensor"), NULL, NULL },
		/* a name, but no schema: what stands behind is not one */
		{ MM, BLOB("mm(Tensor self, Tensor mat2) -> Tensor and more"), "mm", NULL },
		{ MM, BLOB("mm(Tensor self, Tensor mat2) -> Tensor(a"), "mm", NULL },
		{ MM, BLOB("mm(Tensor self, (Tensor mat2) -> Tensor"), "mm", NULL },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void a_string_too_long_for_a_schema_is_passed_over(void **state)
{
	static char blob[20000];
	struct row row = { MM, blob, sizeof(blob), "mm", MM_SCHEMA };

	(void)state;
	memset(blob, ' ', sizeof(blob));
	memcpy(blob + 6000, "mm(Tensor self, Tensor mat2) -> Te", 34);
	blob[15000] = '\0';
	memcpy(blob + 15001, MM_SCHEMA, sizeof(MM_SCHEMA));
	check(0, &row);
}

/* "t" is the end of hundreds of names. */
static void many_ends_do_not_hide_the_string(void **state)
{
	static char blob[64 * 1024];
	struct row row = { T, blob, 0, "t", "t(Tensor(a) self) -> Tensor(a)" };
	size_t i;

	(void)state;
	for (i = 0; i < 500; i++)
		row.size +=
			(size_t)sprintf(blob + row.size, "x%zu.int(Tensor self) -> bool", i) + 1;
	row.size += (size_t)sprintf(blob + row.size, "t(Tensor(a) self) -> Tensor(a)") + 1;
	check(0, &row);
}

static void classes_are_added_once_and_no_more_than_asked_for(void **state)
{
	struct operator_names *names;
	struct operator_name found;

	(void)state;
	assert_int_equal(operator_names_new(&names, 2), 0);
	assert_int_equal(operator_names_add(names, "main"), -EINVAL);
	assert_int_equal(operator_names_add(names, MM), 0);
	assert_int_equal(operator_names_add(names, MM), -EEXIST);
	assert_int_equal(operator_names_add(names, T), 0);
	assert_int_equal(operator_names_add(names, TANH), -ENOSPC);
	assert_int_equal(operator_names_find(names, TANH, &found), -ENOENT);
	assert_int_equal(operator_names_find(names, "main", &found), -ENOENT);
	operator_names_free(names);
	operator_names_free(NULL);
}

static void every_class_finds_its_own_among_many(void **state)
{
	static char mangled[3000][64], blob[3000 * 48];
	struct operator_names *names;
	struct operator_name found;
	char expected[48];
	size_t size = 0;
	size_t i;

	(void)state;
	assert_int_equal(operator_names_new(&names, 3000), 0);
	for (i = 0; i < 3000; i++) {
		sprintf(mangled[i], "_ZN2at4_ops8op%04zu_x4callERKNS_6TensorE", i);
		assert_int_equal(operator_names_add(names, mangled[i]), 0);
		size += (size_t)sprintf(blob + size, "op%04zu.x(Tensor s) -> Tensor", i) + 1;
	}
	assert_int_equal(operator_names_scan(names, (const uint8_t *)blob, size), 0);
	for (i = 0; i < 3000; i++) {
		assert_int_equal(operator_names_find(names, mangled[i], &found), 0);
		sprintf(expected, "op%04zu.x(Tensor s) -> Tensor", i);
		assert_string_equal(found.schema, expected);
	}
	operator_names_free(names);
}

static void random_bytes_are_survived(void **state)
{
	static const char text[] = "aten::special_mm.out(Tensor(a!) self, int[2] x=[1, 1], str "
				   "y='a', *, Tensor? z) -> (Tensor, Tensor(b!))";
	struct operator_names *names;
	struct operator_name found;
	uint64_t random = 42;
	uint8_t *blob;
	size_t round, i;

	(void)state;
	for (round = 0; round < 2000; round++) {
		/* on the heap and not a byte longer, so that a reader that runs off is seen */
		blob = malloc(sizeof(text));
		assert_non_null(blob);
		memcpy(blob, text, sizeof(text));
		for (i = 0; i < round % 5; i++)
			blob[random_next(&random) % sizeof(text)] = (uint8_t)random_next(&random);
		assert_int_equal(operator_names_new(&names, 2), 0);
		assert_int_equal(operator_names_add(names, "_ZN2at4_ops6mm_out4callEv"), 0);
		assert_int_equal(operator_names_add(names, "_ZN2at4_ops1t4callEv"), 0);
		assert_int_equal(operator_names_scan(names, blob, sizeof(text)), 0);
		if (!operator_names_find(names, "_ZN2at4_ops6mm_out4callEv", &found))
			assert_true(found.name_length > 0);
		operator_names_free(names);
		free(blob);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_string_of_its_own_is_the_schema),
		cmocka_unit_test(
			the_end_of_a_longer_name_serves_where_there_is_no_string_of_its_own),
		cmocka_unit_test(
			of_several_ends_the_one_with_the_arguments_of_the_function_is_right),
		cmocka_unit_test(a_string_behind_the_namespace_says_which_end_is_meant),
		cmocka_unit_test(a_name_with_an_overload_is_preferred),
		cmocka_unit_test(types_that_are_not_known_fit),
		cmocka_unit_test(damaged_strings_are_no_schemas),
		cmocka_unit_test(a_string_too_long_for_a_schema_is_passed_over),
		cmocka_unit_test(many_ends_do_not_hide_the_string),
		cmocka_unit_test(classes_are_added_once_and_no_more_than_asked_for),
		cmocka_unit_test(every_class_finds_its_own_among_many),
		cmocka_unit_test(random_bytes_are_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
