/*
 * Where a thread keeps its numbers, told from functions in the shapes that compilers give them: one
 * tls_index for all variables of a library (the official wheels), or one for each (Debian's). Two
 * of them bear PyTorch's names and are found in this very program.
 */
#include "support/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "attach/kernel_layout.h"
#include "attach/thread_numbers.h"

#define FIXTURE(name, text)                                \
	extern const uint8_t name##_start[], name##_end[]; \
	__asm__(".pushsection .text\n" #name "_start:\n" text "\n" #name "_end:\n.popsection\n")

extern const uint8_t outside[], index_of_all[], index_of_sequence[], index_of_number[];
__asm__(".pushsection .text\noutside: ret\n.popsection\n"
	".pushsection .data\n.balign 16\n"
	"index_of_all: .quad 0, 0\n"
	"index_of_sequence: .quad 0, 0x128\n"
	"index_of_number: .quad 0, 0x2210\n"
	".popsection\n");

FIXTURE(wheel,
	"sub $8, %rsp; lea index_of_all(%rip), %rdi; call outside;"
	"mov 0x2250(%rax), %rdx; test %rdx, %rdx; je 1f; mov %rdx, %rax; 1: add $8, %rsp; ret");
FIXTURE(slot, "lea index_of_all(%rip), %rdi; call *index_of_all(%rip); mov -8(%rax), %r9; ret");
FIXTURE(no_call, "lea index_of_all(%rip), %rdi; mov 8(%rax), %rdx; ret");
FIXTURE(other_call, "lea index_of_all(%rip), %rdi; call *%rax; mov 8(%rax), %rdx; ret");
FIXTURE(no_load, "lea index_of_all(%rip), %rdi; call outside; lea 8(%rax), %rax; ret");
FIXTURE(half_load, "lea index_of_all(%rip), %rdi; call outside; mov 8(%rax), %edx; ret");
FIXTURE(other_register, "lea index_of_all(%rip), %rsi; call outside; mov 8(%rax), %rdx; ret");
FIXTURE(damaged, "lea index_of_all(%rip), %rdi; .byte 6; call outside; mov 8(%rax), %rdx; ret");

#define SEQUENCE_FUNCTION "_ZN2at15sequence_number17get_and_incrementEv"
#define NUMBER_FUNCTION "_ZN2at14RecordFunction15currentThreadIdEv"
#define FUNCTION(name, text)                                                                      \
	__asm__(".pushsection .text\n.type " name ", @function\n" name ":\n" text "\n.size " name \
		", .-" name "\n.popsection\n")

extern const uint8_t probed[];
FUNCTION(SEQUENCE_FUNCTION,
	 "sub $8, %rsp; probed: .byte 0x66; lea index_of_sequence(%rip), %rdi;"
	 ".byte 0x66, 0x66, 0x48; call outside; mov (%rax), %rdx; lea 1(%rdx), %rcx;"
	 "mov %rcx, (%rax); mov %rdx, %rax; add $8, %rsp; ret");
FUNCTION(NUMBER_FUNCTION,
	 "sub $8, %rsp; .byte 0x66; lea index_of_number(%rip), %rdi;"
	 ".byte 0x66, 0x66, 0x48; call outside; mov 16(%rax), %rdx; add $8, %rsp; ret");

#define ADDRESS(label) ((uint64_t)(uintptr_t)(label))
#define DECODE(name, out)                                                          \
	thread_numbers_decode(name##_start, (uint64_t)(name##_end - name##_start), \
			      ADDRESS(name##_start), out)

static void a_variable_is_found_behind_its_index(void **state)
{
	struct thread_variable variable = { 0 };

	(void)state;
	DECODE(wheel, &variable);
	assert_true(variable.is_found);
	assert_int_equal(variable.index, ADDRESS(index_of_all));
	assert_int_equal(variable.displacement, 0x2250);
	variable = (struct thread_variable){ 0 };
	DECODE(slot, &variable);
	assert_true(variable.is_found);
	assert_int_equal(variable.displacement, -8);
}

static void other_shapes_are_refused(void **state)
{
	struct thread_variable variable = { .displacement = 42 };
	uint64_t size_bytes;

	(void)state;
	DECODE(no_call, &variable);
	DECODE(other_call, &variable);
	DECODE(no_load, &variable);
	DECODE(half_load, &variable);
	DECODE(other_register, &variable);
	DECODE(damaged, &variable);
	for (size_bytes = 0; size_bytes < 20; size_bytes++) /* cut inside the load */
		thread_numbers_decode(wheel_start, size_bytes, ADDRESS(wheel_start), &variable);
	assert_false(variable.is_found);
	assert_int_equal(variable.displacement, 42);
}

struct look {
	struct thread_numbers numbers;
	struct elf_image *image;
	uint64_t sequence_address;
};

static int on_function(void *context, const struct elf_symbol *symbol)
{
	struct look *look = context;

	thread_numbers_look(&look->numbers, look->image, symbol);
	if (!strcmp(symbol->name, SEQUENCE_FUNCTION))
		look->sequence_address = symbol->address;
	return 0;
}

static struct look look_at_ourselves(void)
{
	struct look look = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(elf_image_open(&look.image, fd), 0);
	assert_int_equal(elf_image_each_function(look.image, on_function, &look), 0);
	elf_image_free(look.image);
	close(fd);
	return look;
}

/* As the linker wrote them; what the programs add up is where the variables are. */
static void variables_of_an_index_each_have_a_distance(void **state)
{
	struct look look = look_at_ourselves();
	struct probe_config config = { 0 };

	(void)state;
	assert_true(look.numbers.sequence.is_found && look.numbers.number.is_found);
	assert_int_equal(look.numbers.sequence.index_offset, 0x128);
	assert_int_equal(look.numbers.number.index_offset, 0x2210);
	assert_true(thread_numbers_configure(&look.numbers, look.sequence_address + 4, &config));
	assert_int_equal(config.sequence_index, ADDRESS(index_of_sequence) - ADDRESS(probed));
	assert_int_equal(config.sequence_displacement, 0);
	assert_int_equal(config.thread_number_distance, 0x2210 + 16 - 0x128);
}

static void variables_of_one_index_have_a_distance(void **state)
{
	struct thread_numbers numbers = {
		.sequence = { .is_found = true, .index = 0x5000, .displacement = 0x170 },
		.number = { .is_found = true, .index = 0x5000, .displacement = 0x2250 },
	};
	struct probe_config config = { 0 };

	(void)state;
	assert_true(thread_numbers_configure(&numbers, 0x6000, &config));
	assert_int_equal(config.sequence_index, -0x1000);
	assert_int_equal(config.sequence_displacement, 0x170);
	assert_int_equal(config.thread_number_distance, 0x2250 - 0x170);
}

static void what_is_not_certain_is_not_configured(void **state)
{
	const struct thread_numbers good = { .sequence = { true, 0x5000, 8, 0 },
					     .number = { true, 0x5010, 16, 0 } };
	struct thread_numbers numbers = good;
	struct probe_config config = { 0 };

	(void)state;
	assert_true(thread_numbers_configure(&numbers, 0x6000, &config));
	config = (struct probe_config){ 0 };
	numbers.sequence.is_found = false;
	assert_false(thread_numbers_configure(&numbers, 0x6000, &config));
	numbers = good;
	numbers.number.is_found = false;
	assert_false(thread_numbers_configure(&numbers, 0x6000, &config));
	numbers = good;
	numbers.number.index_offset = 8; /* the loader writes both */
	assert_false(thread_numbers_configure(&numbers, 0x6000, &config));
	numbers = good;
	numbers.number.index_offset = 1ULL << 40;
	assert_false(thread_numbers_configure(&numbers, 0x6000, &config));
	numbers = good;
	numbers.sequence.displacement = INT64_MIN;
	assert_false(thread_numbers_configure(&numbers, 0x6000, &config));
	assert_int_equal(config.sequence_index, 0);
}

/* Behind the scheduler's part of struct task_struct, which is large. */
static void the_kernel_says_where_fsbase_is(void **state)
{
	uint32_t offset = kernel_layout_task_fsbase();

	(void)state;
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		skip();
	assert_in_range(offset, 512, 65536);
	assert_int_equal(offset % 8, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_variable_is_found_behind_its_index),
		cmocka_unit_test(other_shapes_are_refused),
		cmocka_unit_test(variables_of_an_index_each_have_a_distance),
		cmocka_unit_test(variables_of_one_index_have_a_distance),
		cmocka_unit_test(what_is_not_certain_is_not_configured),
		cmocka_unit_test(the_kernel_says_where_fsbase_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
