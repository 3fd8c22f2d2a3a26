/* Names of C++ classes from their type information, checked against what the C++ library says. */
#include "support/test.h"

#include "analyze/class_name.h"

static void classes_are_named_as_cpp_writes_them(void **state)
{
	static const struct {
		const char *mangled, *name;
	} rows[] = {
		{ "6MyNode", "MyNode" },
		{ "N5torch8autograd9generated14AddmmBackward0E",
		  "torch::autograd::generated::AddmmBackward0" },
		{ "N12_GLOBAL__N_15OuterE", "(anonymous namespace)::Outer" },
		{ "N5torch8autograd12_GLOBAL__N_14NodeE",
		  "torch::autograd::(anonymous namespace)::Node" },
		{ "N5torch8autograd7CppNodeI4MyFnEE", "torch::autograd::CppNode<MyFn>" },
		{ "N5torch8autograd7CppNodeINS0_2FnEEE",
		  "torch::autograd::CppNode<torch::autograd::Fn>" },
		{ "N5torch8autograd7CppNodeIN6vision3ops12_GLOBAL__N_116ROIAlignFunctionEEE",
		  "torch::autograd::CppNode<vision::ops::(anonymous "
		  "namespace)::ROIAlignFunction>" },
		{ "N5torch2nn4DictIS0_NS_1AIS1_EEE5InnerE",
		  "torch::nn::Dict<torch::nn, torch::A<torch::nn::Dict> >::Inner" },
		{ "St6vectorIiSaIiEE", "std::vector<int, std::allocator<int> >" },
		{ "NSt3foo3barE", "std::foo::bar" },
		{ "N1a1bISsEE", "a::b<std::string>" },
		{ "N1a1bIiE1cIS1_EE", "a::b<int>::c<a::b<int> >" },
		{ "1bI1aILl3ELb1ELb0ELc65ELin7ELj8EEE",
		  "b<a<3l, true, false, (char)65, -7, 8u> >" },
		{ "1bILN1a4EnumE2EE", "b<(a::Enum)2>" },
		{ "1bIPKcRKPciOdE", "b<char const*, char* const&, int, double&&>" },
		{ "1bIJEE", "b<>" },
		{ "1bI9_GLOBAL__N1aEE", "b<_GLOBAL__, a>" },
		{ "1aI1b1c1d1e1f1g1h1i1j1k1l1mS9_SA_SB_E",
		  "a<b, c, d, e, f, g, h, i, j, k, l, m, k, l, m>" },
		{ "1bIiJ1c1dEeE", "b<int, c, d, long double>" },
	};
	char name[CLASS_NAME_BYTES];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		assert_row(i, class_name_read(rows[i].mangled, name));
		assert_string_equal(name, rows[i].name);
	}
}

static void references_count_what_can_be_referred_to(void **state)
{
	static const struct {
		const char *reference, *name;
	} rows[] = {
		{ "S_", "a" },	      { "S0_", "b" }, { "S1_", "b::c" },
		{ "S2_", "b::c::d" }, { "S3_", "e" }, { "S4_", "b::c::d<e> " },
	};
	char mangled[64], expected[64], name[CLASS_NAME_BYTES];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		snprintf(mangled, sizeof(mangled), "1aIN1b1c1dI1eEE1fI%sEE", rows[i].reference);
		snprintf(expected, sizeof(expected), "a<b::c::d<e>, f<%s> >", rows[i].name);
		assert_row(i, class_name_read(mangled, name));
		assert_string_equal(name, expected);
	}
}

static void what_is_no_class_name_is_refused(void **state)
{
	static const char *const names[] = {
		"",
		"N",
		"NE",
		"N5torchE5torch",
		"5torc",
		"0",
		"N5torch",
		"N5torch8autograd",
		"99999999999999999999a",
		"18446744073709551617a",
		"1aIS3W5E11264SGSF_E",
		"1aILiEE",
		"4294967297a",
		"S_",
		"NS_1aE",
		"1aIS9_E",
		"1aISE",
		"1aIL",
		"1aILiE",
		"1aILi3",
		"1aILi3E",
		"1aILd3EE",
		"1aIJ",
		"1aIJE",
		"1aI",
		"1aIFvvEE",
		"ZN1a1bEvE1c",
		"FvvE",
		"NStE",
		"1aINStEE",
		"N1aS_E",
		"1aIS5_1bE",
		"NSt",
		"N1aSt1bE",
		"N1aIiES_E",
		"N1aIE",
		"I",
		"\xff\xfe",
		"1\xff\xfe",
		"AddmmBackward0",
	};
	char name[CLASS_NAME_BYTES];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(names); i++)
		assert_row(i, !class_name_read(names[i], name));
}

static void a_name_that_does_not_fit_is_refused(void **state)
{
	char name[CLASS_NAME_BYTES], mangled[2 * CLASS_NAME_BYTES];

	(void)state;
	memset(mangled, 'a', sizeof(mangled));
	memcpy(mangled, "1023", 4);
	mangled[4 + 1023] = 0;
	assert_true(class_name_read(mangled, name));
	assert_int_equal(strlen(name), CLASS_NAME_BYTES - 1);
	memcpy(mangled, "1024", 4);
	mangled[4 + 1023] = 'a';
	mangled[4 + 1024] = 0;
	assert_false(class_name_read(mangled, name));
	mangled[0] = 'N';
	memset(mangled + 1, 'a', sizeof(mangled) - 1);
	memcpy(mangled + 1, "510", 3);
	memcpy(mangled + 4 + 510, "511", 3);
	memcpy(mangled + 7 + 510 + 511, "E", 2);
	assert_true(class_name_read(mangled, name));
	assert_int_equal(strlen(name), CLASS_NAME_BYTES - 1);
	memcpy(mangled + 4 + 510, "512", 3);
	memcpy(mangled + 7 + 510 + 511, "aE", 3);
	assert_false(class_name_read(mangled, name));
	/* Each argument is twice as long as the one before. */
	assert_true(class_name_read("1aI1bIccE1cIS1_S1_E1dIS3_S3_EE", name));
	assert_string_equal(
		name, "a<b<char, char>, c<b<char, char>, b<char, char> >, "
		      "d<c<b<char, char>, b<char, char> >, c<b<char, char>, b<char, char> > > >");
	assert_false(class_name_read("1aI1bIccE1cIS1_S1_E1dIS3_S3_E1eIS5_S5_E1fIS7_S7_E1gIS9_S9_E"
				     "1hISB_SB_E1iISD_SD_EE",
				     name));
}

/* before, count times unit, between, count times end, after. */
static void repeat(char mangled[512], size_t count, const char *const parts[5])
{
	size_t i;

	strcpy(mangled, parts[0]);
	for (i = 0; i < count; i++)
		strcat(mangled, parts[1]);
	strcat(mangled, parts[2]);
	for (i = 0; i < count; i++)
		strcat(mangled, parts[3]);
	strcat(mangled, parts[4]);
}

static void nesting_and_references_have_a_bound(void **state)
{
	static const struct {
		const char *parts[5];
		size_t most; /* at least so many, and not the double */
	} rows[] = {
		{ { "1aI", "P", "i", "", "E" }, 30 },
		{ { "1aI", "J", "i", "E", "E" }, 30 },
		{ { "", "1aI", "i", "E", "" }, 30 },
		{ { "N", "1a", "", "", "E" }, 60 },
	};
	char name[CLASS_NAME_BYTES], mangled[512];
	size_t i;

	(void)state;
	for (i = 0; i < COUNT_OF(rows); i++) {
		repeat(mangled, rows[i].most, rows[i].parts);
		assert_row(i, class_name_read(mangled, name));
		repeat(mangled, 2 * rows[i].most, rows[i].parts);
		assert_row(i, !class_name_read(mangled, name));
	}
	repeat(mangled, 100, (const char *const[]){ "1aI", "JiE", "", "", "E" });
	assert_true(class_name_read(mangled, name));
}

/* Bytes that often mean something, so that the depths are reached. */
static void any_bytes_will_do(void **state)
{
	static const char alphabet[] = "NESt_I1a2JLKPRi0b5Sas\xff";
	char name[CLASS_NAME_BYTES];
	uint64_t random = 20240229;
	size_t round, read = 0;

	(void)state;
	for (round = 0; round < 300000; round++) {
		size_t size = 1 + random_next(&random) % 24, i;
		char *mangled = malloc(size + 1);

		assert_non_null(mangled);
		for (i = 0; i < size; i++)
			mangled[i] = alphabet[random_next(&random) % (sizeof(alphabet) - 1)];
		mangled[size] = 0;
		if (class_name_read(mangled, name)) {
			read++;
			assert_true(strnlen(name, sizeof(name)) < sizeof(name));
		}
		free(mangled);
	}
	assert_true(read > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_are_named_as_cpp_writes_them),
		cmocka_unit_test(references_count_what_can_be_referred_to),
		cmocka_unit_test(what_is_no_class_name_is_refused),
		cmocka_unit_test(a_name_that_does_not_fit_is_refused),
		cmocka_unit_test(nesting_and_references_have_a_bound),
		cmocka_unit_test(any_bytes_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
