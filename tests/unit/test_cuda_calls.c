/*
 * Which functions of a CUDA library are watched, and where: code is assembled into this file and
 * copied into libraries that the test makes. Real ones are held against it by 74_gpu_calls.py.
 */
#include "support/test.h"
#include "support/operator_library.h"

#include "attach/cuda_calls.h"
#include "attach/cuda_names.h"
#include "attach/cuda_plan.h"

#define CODE(name, text)                                   \
	extern const uint8_t name##_start[], name##_end[]; \
	__asm__(".pushsection .text\n" #name "_start:\n" text "\n" #name "_end:\n.popsection\n")

/* As libcudart is made: the work is a direct call, on either path, and each has its ret. */
CODE(two_ways,
     "push %rbp; mov %rsp, %rbp; call 2f; test %eax, %eax; je 1f; call *%rax; pop %rbp; ret;"
     "1: call 2f; pop %rbp; ret; 2:");
/* The stack is lower where the first emulated instruction stands. */
CODE(late_push, "sub $8, %rsp; push %rbx; pop %rbx; add $8, %rsp; ret");
CODE(tail_call, "push %rbx; pop %rbx; jmp tail_call_end + 64");
CODE(jump_table, "push %rbx; test %edi, %edi; je 1f; jmp *%rax; 1: pop %rbx; ret; pop %rbx; ret");

static int file_of(struct operator_library *library)
{
	struct library_bytes file = operator_library_bytes(library);
	int fd = library_file(file.bytes, file.size);

	free(file.bytes);
	operator_library_fini(library);
	return fd;
}

/* library: used up. */
static struct operator_table *calls_of(struct operator_library *library,
				       enum wire_call_domain domain, size_t *left_out)
{
	struct cuda_library cuda = { file_of(library), LIBRARY_CUDART, domain };
	struct operator_table *table;

	assert_int_equal(operator_table_new_empty(&table), 0);
	assert_int_equal(cuda_calls_add(table, &cuda, left_out), 0);
	close(cuda.fd);
	return table;
}

#define ADD(library, table, name, code)                                                   \
	operator_library_symbol(library, &(library)->table, name,                         \
				operator_library_code(library, code##_start, code##_end), \
				(uint64_t)(code##_end - code##_start))

static void a_call_has_its_beginning_and_all_its_ends(void **state)
{
	struct operator_library library;
	const struct operator_entry *calls;
	struct operator_table *table;
	size_t count, left_out;

	(void)state;
	operator_library_init(&library);
	ADD(&library, dynsym, "cudaLaunchKernel", two_ways); /* stripped */
	table = calls_of(&library, CALL_RUNTIME, &left_out);
	calls = operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	assert_int_equal(left_out, 0);
	assert_string_equal(calls[0].name, "cudaLaunchKernel");
	assert_string_equal(calls[0].overload, "");
	assert_null(calls[0].schema);
	assert_int_equal(calls[0].callback_id, 211);
	assert_int_equal(calls[0].domain, CALL_RUNTIME);
	assert_int_equal(calls[0].library, LIBRARY_CUDART);
	assert_true(calls[0].has_entry && calls[0].has_exit);
	assert_int_equal(calls[0].entry_kind, PROBE_SITE_PUSH);
	assert_int_equal(calls[0].exit_kind, PROBE_SITE_RET);
	assert_int_equal(calls[0].more_exit_count, 1);
	assert_int_equal(calls[0].exit_offset - calls[0].entry_offset, 16);
	assert_int_equal(calls[0].more_exit_offsets[0] - calls[0].entry_offset, 23);
	operator_table_free(table);
}

/* An end is at the stack pointer of the call: a beginning below it would not be found again. */
static void a_beginning_is_where_the_stack_is_the_callers(void **state)
{
	struct operator_library library;
	const struct operator_entry *calls;
	struct operator_table *table;
	size_t count, left_out;

	(void)state;
	operator_library_init(&library);
	ADD(&library, symtab, "cudaMalloc", late_push);
	table = calls_of(&library, CALL_RUNTIME, &left_out);
	calls = operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	assert_int_equal(calls[0].entry_kind, PROBE_SITE_STEPPED);
	assert_int_equal(calls[0].entry_offset, sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr));
	operator_table_free(table);
}

static void what_has_an_end_elsewhere_is_left_out_and_counted(void **state)
{
	struct operator_library library;
	struct operator_table *table;
	size_t count, left_out;

	(void)state;
	operator_library_init(&library);
	ADD(&library, symtab, "cudaFree", tail_call);
	ADD(&library, symtab, "cudaFreeHost", jump_table); /* a ret that no known path leads to */
	ADD(&library, symtab, "cudaMallocHost", two_ways);
	table = calls_of(&library, CALL_RUNTIME, &left_out);
	assert_string_equal(operator_table_entries(table, &count)[0].name, "cudaMallocHost");
	assert_int_equal(count, 1);
	assert_int_equal(left_out, 2);
	operator_table_free(table);
}

static void what_kineto_leaves_out_is_not_watched(void **state)
{
	static const char *const names[] = { "cudaGetDevice",  "cudaGetLastError",
					     "cuLaunchKernel", "__cudaRegisterVar",
					     "cudart_private", "malloc" };
	struct operator_library library;
	struct operator_table *table;
	size_t count, left_out, i;

	(void)state;
	operator_library_init(&library);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		ADD(&library, symtab, names[i], two_ways);
	table = calls_of(&library, CALL_RUNTIME, &left_out);
	operator_table_entries(table, &count);
	assert_int_equal(count, 0);
	assert_int_equal(left_out, 0);
	operator_table_free(table);
}

static void of_the_driver_what_kineto_shows_is_watched(void **state)
{
	struct operator_library library;
	const struct operator_entry *calls;
	struct operator_table *table;
	size_t count, left_out;

	(void)state;
	operator_library_init(&library);
	ADD(&library, symtab, "cuCtxGetCurrent", two_ways);
	ADD(&library, symtab, "cuLaunchKernel", two_ways);
	ADD(&library, symtab, "cudaLaunchKernel", two_ways);
	table = calls_of(&library, CALL_DRIVER, &left_out);
	calls = operator_table_entries(table, &count);
	assert_int_equal(count, 1);
	assert_string_equal(calls[0].name, "cuLaunchKernel");
	assert_int_equal(calls[0].callback_id, 307);
	assert_int_equal(calls[0].domain, CALL_DRIVER);
	operator_table_free(table);
}

static void a_function_is_watched_once(void **state)
{
	struct operator_library library;
	struct operator_table *table;
	uint64_t address;
	size_t count, left_out;

	(void)state;
	operator_library_init(&library);
	address = operator_library_code(&library, two_ways_start, two_ways_end);
	operator_library_symbol(&library, &library.symtab, "cudaMemcpy", address,
				(uint64_t)(two_ways_end - two_ways_start));
	operator_library_symbol(&library, &library.dynsym, "cudaMemcpy", address,
				(uint64_t)(two_ways_end - two_ways_start));
	operator_library_symbol(&library, &library.dynsym, "cudaMemcpy_ptds", address,
				(uint64_t)(two_ways_end - two_ways_start));
	table = calls_of(&library, CALL_RUNTIME, &left_out);
	assert_string_equal(operator_table_entries(table, &count)[0].name, "cudaMemcpy");
	assert_int_equal(count, 1);
	operator_table_free(table);
}

/* The table is searched by name: each half of it must be found. */
static void numbers_are_cuptis(void **state)
{
	static const struct {
		const char *name;
		uint16_t callback_id;
	} known[] = {
		{ "cudaMemcpyAsync", 41 },	  { "cudaStreamSynchronize", 131 },
		{ "cudaDeviceSynchronize", 165 }, { "cudaLaunchKernelExC", 430 },
		{ "cudaGraphLaunch", 311 },	  { "cudaArrayGetInfo", 181 },
		{ "cudaStreamDestroy", 201 },	  { "cudaGetDeviceProperties", 0 },
		{ "cudaSomethingNew", 0 },
	};
	uint16_t callback_id;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(cuda_names_is_shown(CALL_RUNTIME, known[i].name, &callback_id));
		assert_int_equal(callback_id, known[i].callback_id);
	}
	assert_true(cuda_names_is_shown(CALL_DRIVER, "cuMemUnmap", &callback_id));
	assert_int_equal(callback_id, 552);
	assert_false(cuda_names_is_shown(CALL_DRIVER, "cuMemAlloc_v2", &callback_id));
}

static void init_target(struct target *target)
{
	unsigned int role;

	memset(target, 0, sizeof(*target));
	for (role = 0; role < LIBRARY_CNT; role++)
		target->libraries[role].fd = -1;
}

static void close_target(struct target *target)
{
	unsigned int role;

	for (role = 0; role < LIBRARY_CNT; role++) {
		if (target->libraries[role].fd >= 0)
			close(target->libraries[role].fd);
	}
}

static int library_with(const char *name)
{
	struct operator_library library;

	operator_library_init(&library);
	ADD(&library, symtab, name, two_ways);
	return file_of(&library);
}

static void a_job_without_cuda_has_nothing_to_say(void **state)
{
	struct target target;

	(void)state;
	init_target(&target);
	assert_false(cuda_plan_is_of_use(&target));
}

static void both_runtimes_and_the_driver_are_watched(void **state)
{
	struct operator_table *table;
	const struct operator_entry *calls;
	struct cuda_gaps gaps;
	struct target target;
	size_t count;

	(void)state;
	init_target(&target);
	target.libraries[LIBRARY_CUDART].fd = library_with("cudaMemcpy");
	target.libraries[LIBRARY_CUDART_OTHER].fd = library_with("cudaMemset");
	target.libraries[LIBRARY_CUDA].fd = library_with("cuLaunchKernel");
	assert_true(cuda_plan_is_of_use(&target));
	assert_int_equal(operator_table_new_empty(&table), 0);
	assert_int_equal(cuda_plan_add(table, &target, &gaps), 0);
	calls = operator_table_entries(table, &count);
	assert_int_equal(count, 3);
	assert_int_equal(calls[0].library, LIBRARY_CUDART);
	assert_int_equal(calls[1].library, LIBRARY_CUDART_OTHER);
	assert_int_equal(calls[2].library, LIBRARY_CUDA);
	assert_int_equal(gaps.count, 0);
	operator_table_free(table);
	close_target(&target);
}

static void a_static_runtime_is_named(void **state)
{
	struct operator_table *table;
	struct cuda_gaps gaps;
	struct target target;

	(void)state;
	init_target(&target);
	target.libraries[LIBRARY_CUDA].fd = library_with("cuLaunchKernel");
	assert_int_equal(operator_table_new_empty(&table), 0);
	assert_int_equal(cuda_plan_add(table, &target, &gaps), 0);
	assert_int_equal(gaps.count, 1);
	assert_string_equal(gaps.gaps[0].point, "shared libcudart");
	assert_non_null(strstr(gaps.gaps[0].cost, "statically where it is used"));
	target.libraries[LIBRARY_TORCH_CUDA].fd = library_with("cudaLaunchKernel");
	assert_int_equal(cuda_plan_add(table, &target, &gaps), 0);
	assert_non_null(strstr(gaps.gaps[0].cost, "statically into libtorch_cuda.so"));
	operator_table_free(table);
	close_target(&target);
}

static void a_library_that_cannot_be_read_is_a_gap(void **state)
{
	struct operator_table *table;
	struct cuda_gaps gaps;
	struct target target;

	(void)state;
	init_target(&target);
	target.libraries[LIBRARY_CUDART].err = -EACCES;
	target.libraries[LIBRARY_CUDA].fd = library_file((const uint8_t *)"no library", 10);
	assert_true(cuda_plan_is_of_use(&target));
	assert_int_equal(operator_table_new_empty(&table), 0);
	assert_int_equal(cuda_plan_add(table, &target, &gaps), 0);
	assert_int_equal(gaps.count, 2);
	assert_string_equal(gaps.gaps[0].cost, "calls of the CUDA driver");
	assert_string_equal(gaps.gaps[1].cost, "calls of the CUDA runtime");
	operator_table_free(table);
	close_target(&target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_has_its_beginning_and_all_its_ends),
		cmocka_unit_test(a_beginning_is_where_the_stack_is_the_callers),
		cmocka_unit_test(what_has_an_end_elsewhere_is_left_out_and_counted),
		cmocka_unit_test(what_kineto_leaves_out_is_not_watched),
		cmocka_unit_test(of_the_driver_what_kineto_shows_is_watched),
		cmocka_unit_test(a_function_is_watched_once),
		cmocka_unit_test(numbers_are_cuptis),
		cmocka_unit_test(a_job_without_cuda_has_nothing_to_say),
		cmocka_unit_test(both_runtimes_and_the_driver_are_watched),
		cmocka_unit_test(a_static_runtime_is_named),
		cmocka_unit_test(a_library_that_cannot_be_read_is_a_gap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
