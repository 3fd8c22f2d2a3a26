/*
 * Registers and stack slots of operators' arguments. The rows are operators of three releases; what
 * is expected was seen in the registers of compiled calls of these very functions.
 */
#include "support/test.h"

#include "attach/operator_arguments.h"

#define RELEASE_1_13 TORCH_RELEASE(1, 13)
#define RELEASE_2_4 TORCH_RELEASE(2, 4)
#define RELEASE_2_13 TORCH_RELEASE(2, 13)
#define MM "_ZN2at4_ops2mm4callERKNS_6TensorES4_"
#define MM_SCHEMA "mm(Tensor self, Tensor mat2) -> Tensor"

struct row {
	const char *schema, *mangled;
	torch_release release;
	size_t argument_count;
	/* "T1@rdx": a tensor, the second argument; "O" an optional one; "I" integers; "+3": a slot
	 */
	const char *places;
};

static const char *describe(const struct operator_places *places, char *to, size_t size)
{
	static const char *const registers[] = { "rdi", "rsi", "rdx", "rcx", "r8", "r9" };
	const struct argument_place *place;
	size_t i, at = 0;

	*to = '\0';
	for (i = 0; i < places->count; i++) {
		place = &places->places[i];
		at += (size_t)snprintf(to + at, size - at, "%s%c%u@", i ? " " : "",
				       place->kind == ARGUMENT_INTEGERS ? 'I'
				       : place->flags & PLACE_OPTIONAL	? 'O'
									: 'T',
				       place->position);
		if (place->place < PLACE_STACK)
			at += (size_t)snprintf(to + at, size - at, "%s", registers[place->place]);
		else
			at += (size_t)snprintf(to + at, size - at, "+%u",
					       place->place - PLACE_STACK);
	}
	return to;
}

static void check_all(const struct row *rows, size_t count)
{
	struct operator_places places;
	char text[256];
	size_t i, k;

	for (i = 0; i < count; i++) {
		memset(&places, 0xff, sizeof(places));
		assert_row(i, !operator_arguments(rows[i].schema, rows[i].mangled, rows[i].release,
						  &places));
		assert_row(i, places.argument_count == rows[i].argument_count);
		if (strcmp(describe(&places, text, sizeof(text)), rows[i].places) != 0)
			fail_msg("row %zu: %s, not %s", i, text, rows[i].places);
		for (k = 0; k < places.count; k++) {
			if (places.places[k].flags & PLACE_OPTIONAL)
				assert_row(i, !(places.places[k].flags & PLACE_FLAG_FIRST) ==
						      !(rows[i].release &&
							rows[i].release < TORCH_RELEASE(2, 2)));
		}
	}
}

static void a_result_in_memory_moves_the_arguments_by_one(void **state)
{
	static const struct row rows[] = {
		{ MM_SCHEMA, MM, RELEASE_2_13, 2, "T0@rsi T1@rdx" },
		{ "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)",
		  "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE", RELEASE_2_13, 3,
		  "T0@rdi T1@rsi" },
		{ "add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> "
		  "Tensor(a!)",
		  "_ZN2at4_ops7add_out4callERKNS_6TensorES4_RKN3c106ScalarERS2_", RELEASE_2_13, 4,
		  "T0@rdi T1@rsi T3@rcx" },
		{ "item(Tensor self) -> Scalar", "_ZN2at4_ops4item4callERKNS_6TensorE",
		  RELEASE_2_13, 1, "T0@rsi" },
		{ "is_conj(Tensor self) -> bool", "_ZN2at4_ops7is_conj4callERKNS_6TensorE",
		  RELEASE_2_13, 1, "T0@rdi" },
		{ "max.dim_max(Tensor self, int dim, bool keepdim=False, *, Tensor(a!) max, "
		  "Tensor(b!) max_values) -> (Tensor(a!) values, Tensor(b!) indices)",
		  "_ZN2at4_ops11max_dim_max4callERKNS_6TensorElbRS2_S5_", RELEASE_2_13, 5,
		  "T0@rsi T3@r8 T4@r9" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void what_finds_no_register_is_on_the_stack(void **state)
{
	static const struct row rows[] = {
		/* the last register goes to no half of a list */
		{ "convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, "
		  "SymInt[] "
		  "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt "
		  "groups)"
		  " -> Tensor",
		  "_ZN2at4_ops11convolution4callERKNS_6TensorES4_RKSt8optionalIS2_"
		  "EN3c108ArrayRefINS9_"
		  "6SymIntEEESC_SC_bSC_SB_",
		  RELEASE_2_13, 9, "T0@rsi T1@rdx O2@rcx I3@r8 I4@+0 I5@+2 I7@+5" },
		/* but to a smaller argument behind it */
		{ "set_.x(Tensor(a!) self, Storage source, SymInt y, SymInt[] size, SymInt[] "
		  "stride=[],"
		  " Tensor z) -> Tensor(a!)",
		  "_ZN2at4_ops6set__x4callERNS_6TensorEN3c107StorageENS4_6SymIntENS4_8ArrayRefIS6_"
		  "EES8_"
		  "RKS2_",
		  RELEASE_2_13, 6, "T0@rdi I3@rcx I4@+0 T5@r9" },
		/* floats have registers of their own */
		{ "_fused_adam_(Tensor(a!)[] self, Tensor(b!)[] grads, Tensor(c!)[] exp_avgs, "
		  "Tensor(d!)[] exp_avg_sqs, Tensor(e!)[] max_exp_avg_sqs, Tensor[] state_steps, "
		  "*, "
		  "float lr, float beta1, float beta2, float weight_decay, float eps, bool "
		  "amsgrad, "
		  "bool maximize, Tensor? grad_scale=None, Tensor? found_inf=None) -> ()",
		  "_ZN2at4_ops12_fused_adam_4callEN3c108ArrayRefINS_6TensorEEES5_S5_S5_S5_S5_"
		  "dddddbbRK"
		  "St8optionalIS4_ES9_",
		  RELEASE_2_13, 15, "O13@+8 O14@+9" },
		/* until there are no more than eight */
		{ "f(float a, float b, float c, float d, float e, float f, float g, float h, float "
		  "i, "
		  "Tensor x, int[] p, int[] q, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEdddddddddRKNS_6TensorEN3c108ArrayRefIlEES7_S4_", RELEASE_2_13,
		  13, "T9@rsi I10@rdx I11@r8 T12@+1" },
		/* and then the other half of an optional one takes no register either */
		{ "f(float a, float b, float c, float d, float e, float f, float g, float? h, "
		  "float? i, Tensor x) -> Tensor",
		  "_ZN2at4_ops1f4callEdddddddSt8optionalIdES3_RKNS_6TensorE", RELEASE_2_13, 10,
		  "T9@rdx" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void optionals_take_what_they_took_in_the_release(void **state)
{
	static const struct row rows[] = {
		{ "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
		  "bias_sizes, SymInt[] stride, Tensor x) -> (Tensor, Tensor, Tensor)",
		  "_ZN2at4_ops20convolution_backward4callERKNS_6TensorES4_S4_"
		  "N3c1016OptionalArrayRefINS5_"
		  "6SymIntEEENS5_8ArrayRefIS7_EES4_",
		  RELEASE_2_4, 6, "T0@rsi T1@rdx T2@rcx I4@r8 T5@+3" },
		{ "convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? "
		  "bias_sizes, SymInt[] stride, Tensor x) -> (Tensor, Tensor, Tensor)",
		  "_ZN2at4_ops20convolution_backward4callERKNS_6TensorES4_S4_"
		  "N3c1016OptionalArrayRefINS5_"
		  "6SymIntEEENS5_8ArrayRefIS7_EES4_",
		  RELEASE_1_13, 6, "T0@rsi T1@rdx T2@rcx I4@+0 T5@+2" },
		/* a release that is not known is taken for a recent one */
		{ "f(int[]? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEN3c1016OptionalArrayRefIlEERKNS_6TensorE", 0, 2, "T1@rsi" },
		{ "f(int[]? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEN3c1016OptionalArrayRefIlEERKNS_6TensorE", RELEASE_1_13, 2,
		  "T1@rcx" },
		{ "f(int[]? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEN3c1016OptionalArrayRefIlEERKNS_6TensorE",
		  TORCH_RELEASE(2, 1), 2, "T1@rcx" },
		{ "f(int[]? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEN3c1016OptionalArrayRefIlEERKNS_6TensorE",
		  TORCH_RELEASE(2, 2), 2, "T1@rsi" },
		{ "f(float? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callESt8optionalIdERKNS_6TensorE", RELEASE_2_13, 2, "T1@rdx" },
		{ "f(float? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callEN3c108optionalIdEERKNS_6TensorE", RELEASE_1_13, 2, "T1@rcx" },
		{ "f(int? x, ScalarType? y, Device? z, Tensor? w) -> Tensor",
		  "_ZN2at4_ops1f4callESt8optionalIlES2_IN3c1010ScalarTypeEES2_INS4_6DeviceEERKS2_"
		  "INS_"
		  "6TensorEE",
		  RELEASE_2_13, 4, "O3@r9" },
		{ "f(str? x, Tensor y) -> Tensor",
		  "_ZN2at4_ops1f4callESt8optionalISt17basic_string_viewIcSt11char_traitsIcEEERKNS_"
		  "6TensorE",
		  RELEASE_2_13, 2, "T1@rsi" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void lists_of_tensors_have_no_place_but_take_theirs(void **state)
{
	static const struct row rows[] = {
		{ "cat(Tensor[] tensors, int dim=0) -> Tensor",
		  "_ZN2at4_ops3cat4callERKN3c108IListRefINS_6TensorEEEl", RELEASE_2_13, 2, "" },
		{ "f(Tensor[] x, Tensor y) -> ()",
		  "_ZN2at4_ops1f4callEN3c108IListRefINS_6TensorEEERKS4_", RELEASE_2_13, 2, "" },
		{ "f(Tensor[] x, Tensor y) -> ()",
		  "_ZN2at4_ops1f4callERKN3c108IListRefINS_6TensorEEERKS4_", RELEASE_2_13, 2,
		  "T1@rsi" },
		{ "f(Tensor[] x, Tensor y) -> ()",
		  "_ZN2at4_ops1f4callEN3c108ArrayRefINS_6TensorEEERKS4_", RELEASE_2_13, 2,
		  "T1@rdx" },
		{ "f(Tensor?[] x, Tensor y) -> ()",
		  "_ZN2at4_ops1f4callERKN3c104ListISt8optionalINS_6TensorEEEERKS5_", RELEASE_2_13,
		  2, "T1@rsi" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void places_end_where_the_passing_is_not_known(void **state)
{
	static const struct row rows[] = {
		{ "f(Tensor x, Novelty y, Tensor z) -> Tensor",
		  "_ZN2at4_ops1f4callERKNS_6TensorEN3c107NoveltyES4_", RELEASE_2_13, 3, "T0@rsi" },
		/* nor where the result's is not */
		{ "f(Tensor x) -> Novelty", "_ZN2at4_ops1f4callERKNS_6TensorE", RELEASE_2_13, 1,
		  "" },
		/* a type that the schema alone has is passed as the name says */
		{ "f(Tensor x, Novelty y, Tensor z) -> Tensor",
		  "_ZN2at4_ops1f4callERKNS_6TensorElS4_", RELEASE_2_13, 3, "T0@rsi T2@rcx" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void no_more_places_than_a_record_holds(void **state)
{
	static const struct row rows[] = {
		{ "f(Tensor a, Tensor b, Tensor c, Tensor d, Tensor e, Tensor f, Tensor g, Tensor "
		  "h, "
		  "Tensor i) -> ()",
		  "_ZN2at4_ops1f4callERKNS_6TensorES4_S4_S4_S4_S4_S4_S4_S4_", RELEASE_2_13, 9,
		  "T0@rdi T1@rsi T2@rdx T3@rcx T4@r8 T5@r9 T6@+0 T7@+1" },
		{ "f() -> Tensor", "_ZN2at4_ops1f4callEv", RELEASE_2_13, 0, "" },
	};

	(void)state;
	check_all(rows, COUNT_OF(rows));
}

static void a_schema_of_another_function_is_refused(void **state)
{
	static const struct {
		const char *schema, *mangled;
	} rows[] = {
		{ "mm(Tensor self) -> Tensor", MM },
		{ "mm(Tensor self, Tensor? mat2) -> Tensor", MM },
		{ "mm(Tensor self, Tensor mat2) ->", MM },
		{ "", MM },
		{ MM_SCHEMA, "" },
		{ MM_SCHEMA, "_ZN2at2mm4callERKNS_6TensorES4_" },
		{ MM_SCHEMA, "_ZN2at4_ops2mm4callERKNS_6TensorESZ_" },
	};
	struct operator_places places, untouched;
	size_t i;

	(void)state;
	memset(&untouched, 0x55, sizeof(untouched));
	for (i = 0; i < COUNT_OF(rows); i++) {
		places = untouched;
		assert_row(i, operator_arguments(rows[i].schema, rows[i].mangled, RELEASE_2_13,
						 &places) == -EINVAL);
		assert_row(i, !memcmp(&places, &untouched, sizeof(places)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_result_in_memory_moves_the_arguments_by_one),
		cmocka_unit_test(what_finds_no_register_is_on_the_stack),
		cmocka_unit_test(optionals_take_what_they_took_in_the_release),
		cmocka_unit_test(lists_of_tensors_have_no_place_but_take_theirs),
		cmocka_unit_test(places_end_where_the_passing_is_not_known),
		cmocka_unit_test(no_more_places_than_a_record_holds),
		cmocka_unit_test(a_schema_of_another_function_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
