/*
 * The table of operators of a library that the test makes: code is assembled into this file and
 * copied, and each kind of function stands there once.
 */
#include "support/test.h"
#include "support/operator_library.h"

#include "attach/operator_table.h"

#define CODE(name, text)                                   \
	extern const uint8_t name##_start[], name##_end[]; \
	__asm__(".pushsection .text\n" #name "_start:\n" text "\n" #name "_end:\n.popsection\n")

/* As compilers make an operator's call: push at +0, je at +5. */
CODE(usual, "push %rbx; call *%rax; test %al, %al; je 1f; nop; 1: pop %rbx; ret");
/* A jump table: only the ret at +8 sees the end. */
CODE(jump_table, "push %rbx; test %edi, %edi; je 1f; jmp *%rax; 1: pop %rbx; ret");
CODE(endless, "push %rbx; call *%rax; jmp *%rax");
/* The first argument is gone when the push comes. */
CODE(late_push, "mov %rax, %rdi; push %rbx; call *%rax; test %al, %al; je 1f; nop; 1: pop %rbx;"
		"ret");

#define MM "_ZN2at4_ops2mm4callERKNS_6TensorES4_"
#define ADD "_ZN2at4_ops11add__Tensor4callERNS_6TensorERKS2_RKN3c106ScalarE"
#define MM_SCHEMA "mm(Tensor self, Tensor mat2) -> Tensor"
#define ADD_SCHEMA "add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)"
#define ADDRESS_OFFSET(address) ((address)-LIBRARY_BASE)

static struct operator_table *table_of(const struct operator_library *library)
{
	struct library_bytes file = operator_library_bytes(library);
	int fd = library_file(file.bytes, file.size);
	struct operator_table *table;

	assert_int_equal(operator_table_new(&table, fd), 0);
	close(fd);
	free(file.bytes);
	return table;
}

static uint64_t add(struct operator_library *library, const char *name, const uint8_t *start,
		    const uint8_t *end)
{
	uint64_t address = operator_library_code(library, start, end);

	operator_library_symbol(library, &library->symtab, name, address, (uint64_t)(end - start));
	return address;
}

static void operators_have_names_and_sites(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	uint64_t mm, add_tensor;
	size_t count;

	(void)state;
	operator_library_init(&library);
	mm = add(&library, MM, usual_start, usual_end);
	add_tensor = add(&library, ADD, usual_start, usual_end);
	operator_library_string(&library, "no schema");
	operator_library_string(&library, ADD_SCHEMA);
	operator_library_string(&library, MM_SCHEMA);
	table = table_of(&library);

	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 2);
	assert_string_equal(entries[0].name, "aten::mm");
	assert_string_equal(entries[0].overload, "");
	assert_string_equal(entries[0].schema, MM_SCHEMA);
	assert_string_equal(entries[0].class_name, "mm");
	assert_string_equal(entries[0].mangled, MM);
	assert_string_equal(entries[1].name, "aten::add_");
	assert_string_equal(entries[1].overload, "Tensor");
	assert_string_equal(entries[1].schema, ADD_SCHEMA);
	assert_string_equal(entries[1].class_name, "add__Tensor");
	assert_string_equal(entries[1].mangled, ADD);

	assert_true(entries[0].has_entry && entries[0].has_exit);
	assert_true(entries[0].entry_has_arguments);
	assert_int_equal(entries[0].entry_offset, ADDRESS_OFFSET(mm));
	assert_int_equal(entries[0].exit_offset, ADDRESS_OFFSET(mm + 5));
	assert_int_equal(entries[0].entry_kind, PROBE_SITE_PUSH);
	assert_int_equal(entries[0].exit_kind, PROBE_SITE_BRANCH);
	assert_int_equal(entries[1].entry_offset, ADDRESS_OFFSET(add_tensor));
	assert_int_equal(operator_table_unnamed(table), 0);
	assert_int_equal(operator_table_dropped(table), 0);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void a_function_in_both_tables_is_one_entry_and_entries_go_by_address(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	uint64_t first, second;
	size_t count;

	(void)state;
	operator_library_init(&library);
	first = operator_library_code(&library, usual_start, usual_end);
	second = operator_library_code(&library, usual_start, usual_end);
	operator_library_symbol(&library, &library.symtab, MM, second, 8);
	operator_library_symbol(&library, &library.symtab, ADD, first, 8);
	operator_library_symbol(&library, &library.dynsym, ADD, first, 8);
	operator_library_symbol(&library, &library.dynsym, MM, second, 8);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 2);
	assert_string_equal(entries[0].class_name, "add__Tensor");
	assert_string_equal(entries[1].class_name, "mm");
	operator_table_free(table);
	operator_library_fini(&library);
}

static void a_stripped_library_has_its_operators_in_dynsym(void **state)
{
	struct operator_library library;
	struct operator_table *table;
	uint64_t address;
	size_t count;

	(void)state;
	operator_library_init(&library);
	address = operator_library_code(&library, usual_start, usual_end);
	operator_library_symbol(&library, &library.dynsym, MM, address, 8);
	table = table_of(&library);
	operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void other_functions_are_no_operators(void **state)
{
	static const char *const others[] = {
		"main",
		MM ".cold",
		"_ZN2at4_ops2mm4callERKNS_6TensorES4_.constprop.0",
		"_ZN2at4_ops2mm10redispatchEN3c1014DispatchKeySetERKNS_6TensorES5_",
		"_ZN2at4_ops2mm5callsERKNS_6TensorE",
		"_ZN2at4_ops99999mm4callE",
		"_ZN2at4_ops0mm4callEv",
		"_ZN2at4_ops99mm4callEv",
		"_ZN2at4_ops",
		"_ZN2at5_opsx2mm4callERKNS_6TensorES4_",
	};
	struct operator_library library;
	struct operator_table *table;
	size_t count, i;

	(void)state;
	operator_library_init(&library);
	for (i = 0; i < COUNT_OF(others); i++)
		add(&library, others[i], usual_start, usual_end);
	operator_library_string(&library, MM_SCHEMA);
	table = table_of(&library);
	operator_table_entries(table, &count);
	assert_int_equal(count, 0);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void an_operator_without_a_schema_is_called_by_its_class(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	size_t count;

	(void)state;
	operator_library_init(&library);
	add(&library, ADD, usual_start, usual_end);
	add(&library, MM, usual_start, usual_end);
	operator_library_string(&library, MM_SCHEMA);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 2);
	assert_string_equal(entries[0].name, "aten::add__Tensor");
	assert_string_equal(entries[0].overload, "");
	assert_null(entries[0].schema);
	assert_string_equal(entries[1].name, "aten::mm");
	assert_int_equal(operator_table_unnamed(table), 1);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void ends_are_seen_at_a_ret_or_not_at_all_where_no_site_is(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	uint64_t address;
	size_t count;

	(void)state;
	operator_library_init(&library);
	address = add(&library, "_ZN2at4_ops4item4callERKNS_6TensorE", jump_table_start,
		      jump_table_end);
	add(&library, MM, endless_start, endless_end);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 2);
	assert_true(entries[0].has_entry && entries[0].has_exit);
	assert_int_equal(entries[0].exit_kind, PROBE_SITE_RET);
	assert_int_equal(entries[0].exit_offset, ADDRESS_OFFSET(address + 8));
	assert_true(entries[1].has_entry);
	assert_false(entries[1].has_exit);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void a_cheap_entry_behind_a_changed_argument_is_taken_and_marked(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	uint64_t address;
	size_t count;

	(void)state;
	operator_library_init(&library);
	address = add(&library, MM, late_push_start, late_push_end);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	assert_true(entries[0].has_entry);
	assert_false(entries[0].entry_has_arguments);
	assert_int_equal(entries[0].entry_kind, PROBE_SITE_PUSH);
	assert_int_equal(entries[0].entry_offset, ADDRESS_OFFSET(address + 3));
	operator_table_free(table);
	operator_library_fini(&library);
}

static void a_function_without_a_size_or_outside_of_the_code_has_no_sites(void **state)
{
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	size_t count, i;

	(void)state;
	operator_library_init(&library);
	operator_library_code(&library, usual_start, usual_end);
	operator_library_symbol(&library, &library.symtab, MM, LIBRARY_BASE + 200, 0);
	operator_library_symbol(&library, &library.symtab, ADD, 99, 8);
	operator_library_symbol(&library, &library.symtab, "_ZN2at4_ops1t4callERKNS_6TensorE",
				LIBRARY_BASE, 1ull << 40);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 3);
	for (i = 0; i < count; i++)
		assert_row(i, !entries[i].has_entry && !entries[i].has_exit);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void what_does_not_fit_is_dropped_and_counted(void **state)
{
	struct operator_library library;
	struct operator_table *table;
	size_t count;
	uint64_t i;

	(void)state;
	operator_library_init(&library);
	for (i = 0; i < OPERATOR_TABLE_MAX + 10; i++)
		operator_library_symbol(&library, &library.symtab, MM, i, 0);
	table = table_of(&library);
	operator_table_entries(table, &count);
	assert_int_equal(count, OPERATOR_TABLE_MAX);
	assert_int_equal(operator_table_dropped(table), 10);
	operator_table_free(table);

	/* more symbols than two tables of such a size can hold are not even kept */
	for (; i < 2 * OPERATOR_TABLE_MAX + 3; i++)
		operator_library_symbol(&library, &library.symtab, MM, i, 0);
	table = table_of(&library);
	operator_table_entries(table, &count);
	assert_int_equal(count, OPERATOR_TABLE_MAX);
	assert_int_equal(operator_table_dropped(table), OPERATOR_TABLE_MAX + 3);
	operator_table_free(table);
	operator_library_fini(&library);
}

/* Overlapping symbols that each claim much code would cost minutes of decoding. */
static void decoding_is_bounded_whatever_the_sizes_say(void **state)
{
	static uint8_t garbage[65 * 1024];
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	uint64_t address, i;
	size_t count;

	(void)state;
	operator_library_init(&library);
	add(&library, MM, usual_start, usual_end);
	memset(garbage, 0x06, sizeof(garbage)); /* no instruction, so the test is quick */
	address = operator_library_code(&library, garbage, garbage + sizeof(garbage));
	/* together more than the file has */
	for (i = 0; i < 2; i++)
		operator_library_symbol(&library, &library.symtab, ADD, address + i, 64 * 1024);
	add(&library, MM, usual_start, usual_end);
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 4);
	assert_true(entries[0].has_entry);
	assert_false(entries[3].has_entry || entries[3].has_exit);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void a_function_of_no_operators_size_has_no_sites(void **state)
{
	static uint8_t nops[64 * 1024 + 1];
	const struct operator_entry *entries;
	struct operator_library library;
	struct operator_table *table;
	size_t count;

	(void)state;
	operator_library_init(&library);
	memset(nops, 0x90, sizeof(nops));
	add(&library, MM, nops, nops + sizeof(nops));
	table = table_of(&library);
	entries = operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	assert_false(entries[0].has_entry || entries[0].has_exit);
	operator_table_free(table);
	operator_library_fini(&library);
}

static void what_is_no_library_is_refused(void **state)
{
	struct operator_table *table = NULL;
	int fd = library_file((const uint8_t *)"#!/bin/sh\n", 10);

	(void)state;
	assert_int_equal(operator_table_new(&table, fd), -ENOEXEC);
	assert_null(table);
	close(fd);
	assert_true(operator_table_new(&table, -1) < 0);
	operator_table_free(NULL);
}

static size_t text_length(const struct operator_entry *entry)
{
	return strlen(entry->name) + strlen(entry->overload) + strlen(entry->class_name) +
	       strlen(entry->mangled) + (entry->schema ? strlen(entry->schema) : 0);
}

/* Opens what is there of a library and reads all text of its table. */
static void survive(const uint8_t *bytes, size_t size)
{
	const struct operator_entry *entries;
	struct operator_table *table;
	int fd = library_file(bytes, size);
	size_t count, i;

	if (!operator_table_new(&table, fd)) {
		entries = operator_table_entries(table, &count);
		for (i = 0; i < count; i++) {
			assert_true(text_length(&entries[i]) >= strlen("aten::"));
			assert_true(!entries[i].has_entry || entries[i].entry_offset < size);
			assert_true(!entries[i].has_exit || entries[i].exit_offset < size);
		}
		operator_table_free(table);
	}
	close(fd);
}

static void damage_is_survived(void **state)
{
	struct operator_library library;
	struct library_bytes file;
	uint64_t random = 88172645463325252ull;
	uint8_t *damaged;
	size_t round, i;

	(void)state;
	operator_library_init(&library);
	add(&library, MM, usual_start, usual_end);
	add(&library, ADD, jump_table_start, jump_table_end);
	operator_library_string(&library, MM_SCHEMA);
	operator_library_string(&library, ADD_SCHEMA);
	file = operator_library_bytes(&library);
	damaged = malloc(file.size);
	assert_non_null(damaged);
	for (i = 0; i < file.size; i += 7)
		survive(file.bytes, i);
	for (round = 0; round < 3000; round++) {
		memcpy(damaged, file.bytes, file.size);
		for (i = 0; i <= round % 6; i++)
			damaged[random_next(&random) % file.size] = (uint8_t)random_next(&random);
		survive(damaged, file.size);
	}
	free(damaged);
	free(file.bytes);
	operator_library_fini(&library);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(operators_have_names_and_sites),
		cmocka_unit_test(a_function_in_both_tables_is_one_entry_and_entries_go_by_address),
		cmocka_unit_test(a_stripped_library_has_its_operators_in_dynsym),
		cmocka_unit_test(other_functions_are_no_operators),
		cmocka_unit_test(an_operator_without_a_schema_is_called_by_its_class),
		cmocka_unit_test(ends_are_seen_at_a_ret_or_not_at_all_where_no_site_is),
		cmocka_unit_test(a_cheap_entry_behind_a_changed_argument_is_taken_and_marked),
		cmocka_unit_test(a_function_without_a_size_or_outside_of_the_code_has_no_sites),
		cmocka_unit_test(what_does_not_fit_is_dropped_and_counted),
		cmocka_unit_test(decoding_is_bounded_whatever_the_sizes_say),
		cmocka_unit_test(a_function_of_no_operators_size_has_no_sites),
		cmocka_unit_test(what_is_no_library_is_refused),
		cmocka_unit_test(damage_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
