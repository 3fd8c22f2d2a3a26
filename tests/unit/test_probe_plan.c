/*
 * The plan of a library that the test makes: what is found where, and what a library with lying
 * sizes may cost. What attaching does with it is tested end to end.
 */
#include "support/test.h"
#include "support/operator_library.h"

#include <fcntl.h>

#include "attach/probe_plan.h"
#include "attach/site_list.h"

#define RANGE_END "_ZN2at14RecordFunction3endEv"

struct fixture {
	struct operator_library library;
	struct target target;
	struct probe_plan plan;
	uint64_t code_address;
};

#define CODE_BYTES (200u * 1024)

/* Of pushes, each of which may be probed: a function's place is its beginning. */
static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint8_t *code = malloc(CODE_BYTES);
	unsigned int role;

	if (!fixture || !code)
		return -1;
	memset(code, 0x50, CODE_BYTES);
	code[CODE_BYTES - 1] = 0xc3;
	operator_library_init(&fixture->library);
	fixture->code_address = operator_library_code(&fixture->library, code, code + CODE_BYTES);
	for (role = 0; role < LIBRARY_CNT; role++)
		fixture->target.libraries[role].fd = -1;
	fixture->target.release = TORCH_RELEASE(2, 13);
	free(code);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	probe_plan_free(&fixture->plan);
	operator_library_fini(&fixture->library);
	free(fixture);
	return 0;
}

static void add(struct fixture *fixture, const char *name, uint64_t offset, uint64_t size_bytes)
{
	operator_library_symbol(&fixture->library, &fixture->library.symtab, name,
				fixture->code_address + offset, size_bytes);
}

static int make_plan_of(struct fixture *fixture, unsigned int activities)
{
	const struct step_spec step = { .mode = STEP_ENTRY,
					.symbol = "step_function",
					.text = "symbol:x:step_function" };
	struct library_bytes file = operator_library_bytes(&fixture->library);
	int fd = library_file(file.bytes, file.size), err;

	fixture->target.libraries[LIBRARY_TORCH_CPU].fd = fd;
	err = probe_plan_make(&fixture->plan, &fixture->target, &step, activities);
	close(fd);
	free(file.bytes);
	return err;
}

static int make_plan(struct fixture *fixture)
{
	return make_plan_of(fixture, ACTIVITY_RANGES | ACTIVITY_AUTOGRAD);
}

static size_t count_found(const struct fixture *fixture, enum probe_kind kind)
{
	size_t count = 0, i;

	for (i = 0; i < fixture->plan.count; i++)
		count += fixture->plan.sites[i].is_found && fixture->plan.sites[i].kind == kind;
	return count;
}

static void add_family(struct fixture *fixture, uint64_t size_bytes)
{
	char name[64];
	int i;

	add(fixture, "step_function", 0, 64);
	for (i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "_ZN2at4_ops11_fused_sgd_4callE%dx", i);
		add(fixture, name, 16 + 16 * (uint64_t)i, size_bytes);
	}
}

static void every_function_of_a_family_is_planned(void **state)
{
	struct fixture *fixture = *state;

	add_family(fixture, 16);
	assert_int_equal(make_plan(fixture), 0);
	assert_int_equal(count_found(fixture, PROBE_FUSED_STEP), 3);
	assert_int_equal(count_found(fixture, PROBE_STEP_ENTRY), 1);
}

/* Thousands of them that lie over one another would cost hours of decoding. */
static void no_more_code_is_decoded_than_the_file_has(void **state)
{
	struct fixture *fixture = *state;

	add_family(fixture, CODE_BYTES - 64);
	assert_int_equal(make_plan(fixture), 0);
	assert_int_equal(count_found(fixture, PROBE_FUSED_STEP), 1);
}

static void of_two_functions_of_a_row_the_first_is_planned(void **state)
{
	struct fixture *fixture = *state;
	size_t i;

	add(fixture, "step_function", 0, 64);
	add(fixture, RANGE_END, 64, 64);
	add(fixture, RANGE_END, 128, 64);
	operator_library_symbol(&fixture->library, &fixture->library.dynsym, RANGE_END,
				fixture->code_address + 64, 64);
	assert_int_equal(make_plan(fixture), 0);
	assert_int_equal(count_found(fixture, PROBE_RANGE_END), 1);
	for (i = 0; i < fixture->plan.count; i++) {
		if (fixture->plan.sites[i].kind == PROBE_RANGE_END)
			assert_int_equal(fixture->plan.sites[i].site.address,
					 fixture->code_address + 64);
	}
}

/* The first one cannot be read: its size is a lie. */
static void where_the_first_has_no_place_the_second_is_planned(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, "step_function", 0, 64);
	add(fixture, RANGE_END, 64, 2 * CODE_BYTES);
	add(fixture, RANGE_END "x", 128, 64);
	assert_int_equal(make_plan(fixture), 0);
	assert_int_equal(count_found(fixture, PROBE_RANGE_END), 1);
}

static void what_is_not_there_is_planned_as_missing(void **state)
{
	struct fixture *fixture = *state;
	size_t i, missing = 0;

	add(fixture, "step_function", 0, 64);
	assert_int_equal(make_plan(fixture), 0);
	assert_int_equal(count_found(fixture, PROBE_NODE_BEGIN), 0);
	for (i = 0; i < fixture->plan.count; i++)
		missing += fixture->plan.sites[i].kind == PROBE_NODE_BEGIN;
	assert_int_equal(missing, 1);
}

static void without_a_step_there_is_no_plan(void **state)
{
	assert_int_equal(make_plan(*state), -ENOENT);
}

static int file_of(struct operator_library *library)
{
	struct library_bytes file = operator_library_bytes(library);
	int fd = library_file(file.bytes, file.size);

	free(file.bytes);
	operator_library_fini(library);
	return fd;
}

struct told {
	struct record_sink sink;
	size_t sites, gaps, operators, calls, subjects;
};

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct told *told = container_of(sink, struct told, sink);
	const struct wire_header *header = bytes;

	assert_int_equal(header->size, size_bytes);
	if (header->kind == WIRE_PROBE) {
		const struct wire_probe *probe = bytes;

		told->sites++;
		told->gaps += probe->activity == ACTIVITY_CUDA_CALLS;
	} else {
		const struct wire_operator *operator_ = bytes;

		told->operators++;
		told->calls += operator_->domain != CALL_OPERATOR;
		told->subjects += header->subject;
	}
	return 0;
}

/* A plan of a step, of an operator, and of a call in a libcuda; the missing libcudart is a gap. */
static void plan_calls(struct fixture *fixture)
{
	struct operator_library cuda;
	uint8_t code[32];
	int err;

	add(fixture, "step_function", 0, 64);
	add(fixture, "_ZN2at4_ops10add_Tensor4callERKNS_6TensorES4_RKN3c106ScalarE", 64, 64);
	memset(code, 0x50, sizeof(code));
	code[31] = 0xc3;
	operator_library_init(&cuda);
	operator_library_symbol(&cuda, &cuda.dynsym, "cuLaunchKernel",
				operator_library_code(&cuda, code, code + sizeof(code)),
				sizeof(code));
	fixture->target.libraries[LIBRARY_CUDA].fd = file_of(&cuda);
	err = make_plan_of(fixture, ACTIVITY_RANGES | ACTIVITY_OPERATORS | ACTIVITY_CUDA_CALLS);
	close(fixture->target.libraries[LIBRARY_CUDA].fd);
	assert_int_equal(err, 0);
}

static struct told tell(const struct fixture *fixture)
{
	struct told told = { .sink = { on_record } };

	assert_int_equal(probe_plan_emit(&fixture->plan, 1, &told.sink), 0);
	return told;
}

static size_t sites_in(const struct fixture *fixture, enum probe_group group,
		       enum library_role role)
{
	const struct probe_modes modes = { 0 };
	struct site_list sites = { 0 };
	size_t count;

	assert_int_equal(site_list_collect(&sites, &fixture->plan, &modes, group, role), 0);
	count = sites.count;
	site_list_free(&sites);
	return count;
}

static void calls_of_cuda_are_planned_and_told(void **state)
{
	struct fixture *fixture = *state;
	struct told told;

	plan_calls(fixture);
	told = tell(fixture);
	assert_int_equal(told.sites, fixture->plan.count);
	assert_int_equal(told.gaps, 1);
	assert_int_equal(told.operators, 2);
	assert_int_equal(told.calls, 1);
	assert_int_equal(sites_in(fixture, PROBE_GROUP_LEARN, LIBRARY_CUDA), 2);
	assert_int_equal(sites_in(fixture, PROBE_GROUP_CALLS, LIBRARY_CUDA), 2);
}

/* An agent may report them: then nothing of them is attached, told or missed. */
static void in_reserve_they_are_neither_probed_nor_told(void **state)
{
	struct fixture *fixture = *state;
	struct told told;

	plan_calls(fixture);
	fixture->plan.calls_in_reserve = true;
	told = tell(fixture);
	assert_int_equal(told.sites, fixture->plan.count - 1);
	assert_int_equal(told.gaps, 0);
	assert_int_equal(told.operators, 1);
	assert_int_equal(told.calls, 0);
	assert_int_equal(sites_in(fixture, PROBE_GROUP_LEARN, LIBRARY_CUDA), 0);
	assert_int_equal(sites_in(fixture, PROBE_GROUP_CALLS, LIBRARY_CUDA), 0);
	assert_true(sites_in(fixture, PROBE_GROUP_LEARN, LIBRARY_TORCH_CPU) > 0);
}

static void taken_out_of_the_reserve_they_are_as_if_they_had_not_been_in_it(void **state)
{
	struct fixture *fixture = *state;
	struct told told = { .sink = { on_record } };

	plan_calls(fixture);
	fixture->plan.calls_in_reserve = true;
	assert_int_equal(probe_plan_take_reserve(&fixture->plan, 1, &told.sink), 0);
	assert_false(fixture->plan.calls_in_reserve);
	assert_int_equal(told.sites, 1);
	assert_int_equal(told.gaps, 1);
	assert_int_equal(told.operators, 1);
	assert_int_equal(told.calls, 1);
	/* Under the number that its probes have. */
	assert_int_equal(told.subjects, 1);
	assert_int_equal(sites_in(fixture, PROBE_GROUP_LEARN, LIBRARY_CUDA), 2);
	assert_int_equal(tell(fixture).operators, 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_function_of_a_family_is_planned),
		TEST(no_more_code_is_decoded_than_the_file_has),
		TEST(of_two_functions_of_a_row_the_first_is_planned),
		TEST(where_the_first_has_no_place_the_second_is_planned),
		TEST(what_is_not_there_is_planned_as_missing),
		TEST(without_a_step_there_is_no_plan),
		TEST(calls_of_cuda_are_planned_and_told),
		TEST(in_reserve_they_are_neither_probed_nor_told),
		TEST(taken_out_of_the_reserve_they_are_as_if_they_had_not_been_in_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
