/*
 * The choice of probe sites on hand-written functions, one of each shape that compilers make of
 * at::_ops::*::call and its like. A fixture is assembled into this file; the label NAME_site stands
 * where the site is expected.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "attach/control_flow.h"
#include "attach/probe_site.h"

#define FIXTURE(name, text)                                               \
	extern const uint8_t name##_start[], name##_end[], name##_site[]; \
	__asm__(".pushsection .text\n" #name "_start:\n" text "\n" #name "_end:\n.popsection\n")

/* What fixtures call or jump to outside of themselves. */
extern const uint8_t outside_free[];
extern const uint8_t outside_cold[];
__asm__(".pushsection .text\noutside_free: ret\noutside_cold: ud2\n.popsection\n");

#define SIZE(name) ((uint64_t)(name##_end - name##_start))
#define ADDRESS(label) ((uint64_t)(uintptr_t)(label))
#define ENTRY(name, needs, site) \
	probe_site_entry(name##_start, SIZE(name), ADDRESS(name##_start), needs, site)
#define EXIT(name, site, refusal) \
	probe_site_exit(name##_start, SIZE(name), ADDRESS(name##_start), site, refusal)

#define assert_entry(name, needs, expected_kind, below)                                  \
	do {                                                                             \
		struct probe_site site_;                                                 \
		assert_int_equal(ENTRY(name, needs, &site_), 0);                         \
		assert_int_equal(site_.address, ADDRESS(name##_site));                   \
		assert_int_equal(site_.kind, expected_kind);                             \
		assert_int_equal(site_.emulated, (expected_kind) != PROBE_SITE_STEPPED); \
		assert_int_equal(site_.sp_below_entry, below);                           \
	} while (0)

#define assert_exit(name, expected_kind, below)                            \
	do {                                                               \
		enum probe_site_refusal refusal_ = PROBE_SITE_REFUSAL_CNT; \
		struct probe_site site_;                                   \
		assert_int_equal(EXIT(name, &site_, &refusal_), 0);        \
		assert_int_equal(refusal_, PROBE_SITE_ACCEPTED);           \
		assert_int_equal(site_.address, ADDRESS(name##_site));     \
		assert_int_equal(site_.kind, expected_kind);               \
		assert_true(site_.emulated);                               \
		assert_int_equal(site_.sp_below_entry, below);             \
	} while (0)

#define assert_refused(name, expected)                                    \
	do {                                                              \
		enum probe_site_refusal refusal_ = PROBE_SITE_ACCEPTED;   \
		struct probe_site site_ = { .address = 42 };              \
		assert_int_equal(EXIT(name, &site_, &refusal_), -ENOENT); \
		assert_int_equal(refusal_, expected);                     \
		assert_int_equal(site_.address, 42);                      \
	} while (0)

/* Entries. */

FIXTURE(entry_push, "entry_push_site: push %rbp; mov %rsp, %rbp; pop %rbp; ret");
FIXTURE(entry_endbr, "endbr64; entry_endbr_site: push %r15; pop %r15; ret");
FIXTURE(entry_branch, "cmpl $0, (%rdi); entry_branch_site: je 1f; call outside_free; 1: ret");
FIXTURE(entry_call, "sub $8, %rsp; lea 16(%rax), %rdi; entry_call_site: call outside_free;"
		    "add $8, %rsp; ret");
FIXTURE(entry_call_stepped, "entry_call_stepped_site: sub $8, %rsp; lea 16(%rax), %rdi;"
			    "call outside_free; add $8, %rsp; ret");
FIXTURE(entry_stack_moved,
	"entry_stack_moved_site: sub $8, %rsp; call outside_free; add $8, %rsp; ret");
FIXTURE(entry_clobbered, "entry_clobbered_site: mov %rax, %rdi; push %rbx; pop %rbx; ret");
FIXTURE(entry_clobbered_byte, "entry_clobbered_byte_site: mov $1, %r9b; push %rbx; pop %rbx; ret");
FIXTURE(entry_clobbered_implied,
	"entry_clobbered_implied_site: mul %rax; push %rbx; pop %rbx; ret");
FIXTURE(entry_mov_push, "mov %rdi, %rax; entry_mov_push_site: push %rbx; pop %rbx; ret");
FIXTURE(entry_leaf, "entry_leaf_site: lea (%rdi,%rsi), %rax; ret");
FIXTURE(entry_indirect, "entry_indirect_site: call *%rax; push %rbx; pop %rbx; ret");
FIXTURE(entry_loop_head, "entry_loop_head_site: xor %eax, %eax; 1: nop; inc %eax; cmp %esi, %eax;"
			 "jne 1b; ret");
FIXTURE(entry_foreign, "mov 16(%rdx), %ecx; test %ecx, %ecx; entry_foreign_site: je 1f;"
		       "call outside_free; 1: ret");
FIXTURE(entry_all_loop, "entry_all_loop_start2: nop; dec %edi; jne entry_all_loop_start2; ret");
FIXTURE(entry_multibyte_nop, "nopw (%rax); entry_multibyte_nop_site: nop; ret");
FIXTURE(entry_prefixed, ".byte 0x66, 0x90; .byte 0x3e, 0x74, 0x00; push %rbx; pop %rbx; ret");
FIXTURE(entry_later_garbage,
	"entry_later_garbage_site: push %rbp; test %edi, %edi; je 1f; pop %rbp;"
	"ret; 1: .byte 0x06, 0x06");

static void push_at_the_start_is_the_entry(void **state)
{
	(void)state;
	assert_entry(entry_push, PROBE_SITE_EVERYTHING, PROBE_SITE_PUSH, 0);
	assert_entry(entry_push, 0, PROBE_SITE_PUSH, 0);
}

static void endbr64_is_skipped(void **state)
{
	(void)state;
	assert_entry(entry_endbr, PROBE_SITE_EVERYTHING, PROBE_SITE_PUSH, 0);
}

static void a_branch_before_any_argument_changes_is_an_entry(void **state)
{
	(void)state;
	assert_entry(entry_branch, PROBE_SITE_EVERYTHING, PROBE_SITE_BRANCH, 0);
	assert_int_equal(entry_branch_site - entry_branch_start, 3);
}

static void a_call_behind_a_stack_change_serves_when_arguments_are_not_needed(void **state)
{
	(void)state;
	assert_entry(entry_call, 0, PROBE_SITE_CALL, 8);
	assert_entry(entry_call_stepped, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
}

static void an_argument_register_written_in_any_width_ends_the_search(void **state)
{
	(void)state;
	assert_entry(entry_clobbered, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
	assert_entry(entry_clobbered_byte, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
	assert_entry(entry_clobbered_implied, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
}

/* record_function_enter of PyTorch 2.13: its third argument register but one is scratch. */
static void an_argument_that_the_probe_does_not_read_may_change(void **state)
{
	unsigned int needs = PROBE_SITE_ARGUMENT(0) | PROBE_SITE_ARGUMENT(2);
	struct probe_site site;

	(void)state;
	assert_entry(entry_foreign, needs, PROBE_SITE_BRANCH, 0);
	assert_int_equal(ENTRY(entry_foreign, needs | PROBE_SITE_ARGUMENT(3), &site), 0);
	assert_int_equal(site.kind, PROBE_SITE_STEPPED);
}

static void a_stack_change_ends_the_search_when_arguments_are_needed(void **state)
{
	(void)state;
	assert_entry(entry_stack_moved, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
}

static void reading_an_argument_does_no_harm(void **state)
{
	(void)state;
	assert_entry(entry_mov_push, PROBE_SITE_EVERYTHING, PROBE_SITE_PUSH, 0);
}

static void a_function_without_an_emulated_instruction_is_stepped_at_its_start(void **state)
{
	(void)state;
	assert_entry(entry_leaf, PROBE_SITE_EVERYTHING, PROBE_SITE_STEPPED, 0);
}

static void no_entry_is_chosen_behind_an_indirect_call(void **state)
{
	(void)state;
	assert_entry(entry_indirect, 0, PROBE_SITE_STEPPED, 0);
}

static void a_loop_head_is_no_entry(void **state)
{
	(void)state;
	assert_entry(entry_loop_head, 0, PROBE_SITE_STEPPED, 0);
}

static void a_function_that_loops_to_its_start_has_no_entry(void **state)
{
	struct probe_site site = { .address = 42 };

	(void)state;
	assert_int_equal(ENTRY(entry_all_loop, PROBE_SITE_EVERYTHING, &site), -ENOENT);
	assert_int_equal(site.address, 42);
}

static void only_the_one_byte_nop_is_emulated(void **state)
{
	(void)state;
	assert_entry(entry_multibyte_nop, PROBE_SITE_EVERYTHING, PROBE_SITE_NOP, 0);
}

static void instructions_with_a_prefix_are_not_emulated(void **state)
{
	struct probe_site site;

	(void)state;
	assert_int_equal(ENTRY(entry_prefixed, PROBE_SITE_EVERYTHING, &site), 0);
	assert_int_equal(site.address, ADDRESS(entry_prefixed_start));
	assert_int_equal(site.kind, PROBE_SITE_STEPPED);
}

static void an_entry_is_found_though_later_bytes_are_garbage(void **state)
{
	(void)state;
	assert_entry(entry_later_garbage, PROBE_SITE_EVERYTHING, PROBE_SITE_PUSH, 0);
}

/* Exits that are found. */

#define PROLOGUE "push %rbp; mov %rsp, %rbp; push %rbx; sub $0x28, %rsp;"
#define EPILOGUE "add $0x28, %rsp; pop %rbx; pop %rbp; ret;"
#define WORK "test %rax, %rax; je 8f; call *%rax; 9: "
#define BOXED "8: call outside_free; jmp 9b;"

FIXTURE(exit_guard, PROLOGUE WORK "cmpb $0, -0x10(%rbp); exit_guard_site: je 1f;"
				  "call outside_free; 1:" EPILOGUE BOXED);
FIXTURE(exit_canary, PROLOGUE "mov %fs:0x28, %rax; mov %rax, -0x10(%rbp);" WORK
			      "cmpb $0, -0x18(%rbp); je 1f; call outside_free; 1:"
			      "mov -0x10(%rbp), %rax; sub %fs:0x28, %rax; exit_canary_site: jne 2f;"
			      "lea -0x8(%rbp), %rsp; pop %rbx; pop %rbp; ret;" BOXED
			      "2: call outside_cold; mov %rax, %rbx; jmp outside_cold");
FIXTURE(exit_cold,
	PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp); exit_cold_site: jne outside_cold;" EPILOGUE);
FIXTURE(exit_early_cold,
	PROLOGUE "test %eax, %eax; jne outside_cold; jl 2f; call *%rax; cmpb $0, -0x10(%rbp);"
		 "exit_early_cold_site: je 1f; call outside_free; 1:" EPILOGUE
		 "2: mov %rax, %rbx; jmp outside_cold");
FIXTURE(exit_call,
	PROLOGUE "call *%rax; mov %rax, %rdi; exit_call_site: call outside_free;" EPILOGUE);
FIXTURE(exit_tail, PROLOGUE "call *%rax; mov %rax, %rdi; lea -0x8(%rbp), %rsp; pop %rbx; pop %rbp;"
			    "exit_tail_site: jmp outside_free");
FIXTURE(exit_slot, PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp); exit_slot_site: je 1f;"
			    "call *outside_free(%rip); 1:" EPILOGUE);
FIXTURE(exit_loop_after, PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp); exit_loop_after_site: je 2f;"
				  "1: call outside_free; dec %ebx; jne 1b; 2:" EPILOGUE);
FIXTURE(exit_two_returns,
	PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp); exit_two_returns_site: je 1f;" EPILOGUE
		 "1: lea -0x8(%rbp), %rsp; pop %rbx; pop %rbp; ret");
FIXTURE(exit_landing_pad, PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp);"
				   "exit_landing_pad_site: je 1f; call outside_free; 1:" EPILOGUE
				   "mov %rax, %rbx; call *%rbx; .byte 0x06");

static void the_guard_before_the_return_is_the_exit(void **state)
{
	(void)state;
	assert_exit(exit_guard, PROBE_SITE_BRANCH, 0x38);
}

static void the_stack_protector_check_is_the_exit(void **state)
{
	(void)state;
	assert_exit(exit_canary, PROBE_SITE_BRANCH, 0x38);
}

static void a_branch_to_the_cold_part_makes_no_exit_of_its_own(void **state)
{
	(void)state;
	assert_exit(exit_cold, PROBE_SITE_BRANCH, 0x38);
	assert_exit(exit_early_cold, PROBE_SITE_BRANCH, 0x38);
}

static void a_direct_call_after_the_work_is_an_exit_site(void **state)
{
	(void)state;
	assert_exit(exit_call, PROBE_SITE_CALL, 0x38);
}

static void a_direct_tail_call_after_the_work_is_an_exit_site(void **state)
{
	(void)state;
	assert_exit(exit_tail, PROBE_SITE_JUMP, 0);
}

static void a_call_through_a_slot_counts_as_direct(void **state)
{
	(void)state;
	assert_exit(exit_slot, PROBE_SITE_BRANCH, 0x38);
}

static void a_site_before_a_loop_of_releases_is_taken(void **state)
{
	(void)state;
	assert_exit(exit_loop_after, PROBE_SITE_BRANCH, 0x38);
}

static void the_branch_between_two_returns_is_the_exit(void **state)
{
	(void)state;
	assert_exit(exit_two_returns, PROBE_SITE_BRANCH, 0x38);
}

static void unreachable_landing_pads_are_ignored(void **state)
{
	(void)state;
	assert_exit(exit_landing_pad, PROBE_SITE_BRANCH, 0x38);
}

/* Exits that must not be found. */

FIXTURE(refuse_two_guards,
	PROLOGUE "test %rax, %rax; je 3f; call *%rax; cmpb $0, -0x10(%rbp); je 2f;"
		 "1: call outside_free; 2:" EPILOGUE
		 "3: call *8(%r13); cmpb $0, -0x10(%rbp); je 2b; jmp 1b");
FIXTURE(refuse_table, PROLOGUE "call *%rax; cmp $1, %ebx; ja 2f; movslq (%rdx,%rbx,4), %rax;"
			       "add %rdx, %rax; jmp *%rax; 1: nop; 2: cmpb $0, -0x10(%rbp); je 3f;"
			       "call outside_free; 3:" EPILOGUE);
FIXTURE(refuse_call_after,
	PROLOGUE "call *%rax; cmpb $0, -0x10(%rbp); je 1f; call *%rbx; 1:" EPILOGUE);
FIXTURE(refuse_loop,
	"sub $8, %rsp; call *%rax; 1: cmpb $0, (%rbx); je 2f; nop; 2: dec %ebx; jne 1b;"
	"add $8, %rsp; ret");
FIXTURE(refuse_no_work, PROLOGUE "cmpb $0, -0x10(%rbp); je 1f; call outside_free; 1:" EPILOGUE);
FIXTURE(refuse_endless, "1: call *%rax; jmp 1b");
FIXTURE(refuse_none, "sub $8, %rsp; call *%rax; add $8, %rsp; ret");
FIXTURE(refuse_overlap, "call *%rax; test %eax, %eax; je 1f + 1; 1: mov $0x90909090, %eax; ret");
FIXTURE(refuse_run_off, PROLOGUE "call *%rax; nop; mov %rax, %rbx");
FIXTURE(refuse_garbage, PROLOGUE "call *%rax; .byte 0x06; ret");
FIXTURE(refuse_tail_work, PROLOGUE "test %rax, %rax; je 1f; call *%rax;" EPILOGUE
				   "1: lea -0x8(%rbp), %rsp; pop %rbx; pop %rbp; jmp outside_free");
FIXTURE(refuse_two_returns,
	PROLOGUE "call *%rax; test %eax, %eax; je 1f; call *%rbx;" EPILOGUE "1:" EPILOGUE);

static void two_copies_of_the_guard_are_refused(void **state)
{
	(void)state;
	assert_refused(refuse_two_guards, PROBE_SITE_INDIRECT_CALL_AFTER);
}

static void a_jump_table_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_table, PROBE_SITE_INDIRECT_JUMP);
}

static void an_indirect_call_after_the_site_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_call_after, PROBE_SITE_INDIRECT_CALL_AFTER);
}

static void a_site_inside_a_loop_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_loop, PROBE_SITE_ON_CYCLE);
}

static void a_function_without_an_indirect_call_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_no_work, PROBE_SITE_NO_INDIRECT_CALL);
}

static void a_function_that_never_returns_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_endless, PROBE_SITE_NO_EXIT);
}

static void a_function_without_emulated_instructions_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_none, PROBE_SITE_NONE_ON_EVERY_PATH);
}

static void work_in_a_tail_call_on_one_path_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_tail_work, PROBE_SITE_INDIRECT_CALL_AFTER);
}

static void code_that_cannot_be_followed_is_refused(void **state)
{
	(void)state;
	assert_refused(refuse_overlap, PROBE_SITE_OVERLAP);
	assert_refused(refuse_run_off, PROBE_SITE_RUNS_OFF);
	assert_refused(refuse_garbage, PROBE_SITE_UNDECODABLE);
}

static void sizes_that_cannot_be_are_refused(void **state)
{
	static const uint8_t garbage[] = { 0x06, 0x06 };
	static const uint8_t cut[] = { 0x48, 0x8d, 0x05 };
	const struct {
		const uint8_t *code;
		uint64_t size_bytes;
		enum probe_site_refusal refusal;
	} cases[] = {
		{ exit_guard_start, 0, PROBE_SITE_BAD_SIZE },
		{ exit_guard_start, CONTROL_FLOW_SIZE_MAX + 1, PROBE_SITE_BAD_SIZE },
		{ exit_guard_start, UINT64_MAX, PROBE_SITE_BAD_SIZE },
		{ exit_guard_start, 3, PROBE_SITE_UNDECODABLE },
		{ exit_guard_start, 1, PROBE_SITE_RUNS_OFF },
		{ garbage, sizeof(garbage), PROBE_SITE_UNDECODABLE },
		{ cut, sizeof(cut), PROBE_SITE_UNDECODABLE },
	};
	enum probe_site_refusal refusal;
	struct probe_site site;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(probe_site_exit(cases[i].code, cases[i].size_bytes, 0x1000, &site,
						 &refusal),
				 -ENOENT);
		assert_int_equal(refusal, cases[i].refusal);
	}
	assert_int_equal(probe_site_entry(garbage, sizeof(garbage), 0x1000, true, &site), -ENOENT);
	assert_int_equal(probe_site_entry(garbage, 0, 0x1000, true, &site), -ENOENT);
}

static void addresses_at_the_end_of_the_space_do_no_harm(void **state)
{
	enum probe_site_refusal refusal;
	struct probe_site site;

	(void)state;
	assert_int_equal(probe_site_exit(exit_guard_start, SIZE(exit_guard), UINT64_MAX - 4, &site,
					 &refusal),
			 0);
}

static bool allow_free(void *context, uint64_t target)
{
	uint32_t *asked = context;

	(*asked)++;
	return target == ADDRESS(outside_free);
}

static bool allow_nothing(void *context, uint64_t target)
{
	(void)context;
	(void)target;
	return false;
}

static void with_an_allow_list_each_call_from_the_site_on_is_asked_about(void **state)
{
	enum probe_site_refusal refusal;
	struct probe_site site;
	uint32_t asked = 0;
	const struct probe_site_calls free_only = { allow_free, &asked };
	const struct probe_site_calls nothing = { allow_nothing, NULL };
	int err;

	(void)state;
	err = probe_site_exit_allowing(exit_guard_start, SIZE(exit_guard),
				       ADDRESS(exit_guard_start), &free_only, &site, &refusal);
	assert_int_equal(err, 0);
	assert_int_equal(site.address, ADDRESS(exit_guard_site));
	assert_true(asked > 0);

	err = probe_site_exit_allowing(exit_guard_start, SIZE(exit_guard),
				       ADDRESS(exit_guard_start), &nothing, &site, &refusal);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(refusal, PROBE_SITE_CALL_AFTER);

	err = probe_site_exit_allowing(exit_call_start, SIZE(exit_call), ADDRESS(exit_call_start),
				       &nothing, &site, &refusal);
	assert_int_equal(err, -ENOENT);
	assert_int_equal(refusal, PROBE_SITE_CALL_AFTER);

	err = probe_site_exit_allowing(refuse_no_work_start, SIZE(refuse_no_work),
				       ADDRESS(refuse_no_work_start), &free_only, &site, &refusal);
	assert_int_equal(err, 0);
}

static void the_only_return_is_found_past_a_jump_table(void **state)
{
	struct probe_site site;

	(void)state;
	assert_int_equal(probe_site_return(refuse_table_start, SIZE(refuse_table),
					   ADDRESS(refuse_table_start), &site),
			 0);
	assert_int_equal(site.address, ADDRESS(refuse_table_end) - 1);
	assert_int_equal(site.kind, PROBE_SITE_RET);
	assert_false(site.emulated);
	assert_int_equal(site.sp_below_entry, 0);
}

static void one_of_two_returns_is_not_offered(void **state)
{
	struct probe_site site;

	(void)state;
	assert_int_equal(probe_site_return(refuse_two_returns_start, SIZE(refuse_two_returns),
					   ADDRESS(refuse_two_returns_start), &site),
			 -ENOENT);
	assert_int_equal(probe_site_return(refuse_tail_work_start, SIZE(refuse_tail_work),
					   ADDRESS(refuse_tail_work_start), &site),
			 -ENOENT);
}

static void every_return_of_a_function_is_told(void **state)
{
	struct probe_site sites[4];
	size_t count;

	(void)state;
	assert_int_equal(probe_site_returns(refuse_two_returns_start, SIZE(refuse_two_returns),
					    ADDRESS(refuse_two_returns_start), sites, 4, &count),
			 0);
	assert_int_equal(count, 2);
	assert_true(sites[0].address < sites[1].address);
	assert_int_equal(sites[1].address, ADDRESS(refuse_two_returns_end) - 1);
	assert_int_equal(sites[0].kind, PROBE_SITE_RET);
	assert_int_equal(sites[0].sp_below_entry, 0);
	assert_int_equal(sites[1].sp_below_entry, 0);
	/* With one of them left out, calls would end that have not. */
	assert_int_equal(probe_site_returns(refuse_two_returns_start, SIZE(refuse_two_returns),
					    ADDRESS(refuse_two_returns_start), sites, 1, &count),
			 -ENOENT);
}

static void a_return_that_no_path_is_known_to_is_not_offered(void **state)
{
	static const uint8_t code[] = { 0x53, 0xff, 0xe0, 0x5b, 0xc3, 0x5b, 0xc3 };
	struct probe_site sites[4];
	size_t count;

	(void)state;
	/* push; jmp *%rax; pop; ret; pop; ret */
	assert_int_equal(probe_site_returns(code, sizeof(code), 0x4000, sites, 4, &count), -ENOENT);
	assert_int_equal(probe_site_returns(refuse_tail_work_start, SIZE(refuse_tail_work),
					    ADDRESS(refuse_tail_work_start), sites, 4, &count),
			 -ENOENT);
}

static void every_refusal_has_its_text(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < PROBE_SITE_REFUSAL_CNT; i++)
		assert_string_not_equal(probe_site_refusal_text((enum probe_site_refusal)i),
					"unknown");
	assert_string_equal(probe_site_refusal_text(PROBE_SITE_REFUSAL_CNT), "unknown");
}

/* Whatever the bytes are: no crash, and a site that is given out lies inside the function. */
static void random_code_is_survived(void **state)
{
	enum probe_site_refusal refusal;
	struct probe_site site;
	uint64_t random = 88172645463325252ull;
	uint8_t code[192];
	size_t round, i;

	(void)state;
	for (round = 0; round < 4000; round++) {
		memcpy(code, exit_canary_start, SIZE(exit_canary));
		for (i = SIZE(exit_canary); i < sizeof(code); i++)
			code[i] = 0xc3;
		for (i = 0; i < 1 + round % 64; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			code[random % sizeof(code)] = (uint8_t)(random >> 32);
		}
		if (!probe_site_exit(code, sizeof(code), 0x4000, &site, &refusal))
			assert_in_range(site.address, 0x4000, 0x4000 + sizeof(code) - 1);
		if (!probe_site_entry(code, sizeof(code), 0x4000, round & 1, &site))
			assert_in_range(site.address, 0x4000, 0x4000 + sizeof(code) - 1);
		if (!probe_site_return(code, sizeof(code), 0x4000, &site))
			assert_int_equal(site.kind, PROBE_SITE_RET);
	}
}

static void the_largest_function_takes_linear_time(void **state)
{
	enum probe_site_refusal refusal;
	struct probe_site site;
	uint8_t *code = malloc(CONTROL_FLOW_SIZE_MAX);
	size_t i;

	(void)state;
	assert_non_null(code);
	/* je to the next instruction, again and again: each is on every path */
	for (i = 0; i + 2 < CONTROL_FLOW_SIZE_MAX; i += 2) {
		code[i] = 0x74;
		code[i + 1] = 0;
	}
	code[CONTROL_FLOW_SIZE_MAX - 2] = 0x90;
	code[CONTROL_FLOW_SIZE_MAX - 1] = 0xc3;
	code[0] = 0xff;
	code[1] = 0xd0;
	assert_int_equal(probe_site_exit(code, CONTROL_FLOW_SIZE_MAX, 0x4000, &site, &refusal), 0);
	assert_int_equal(site.address, 0x4000 + CONTROL_FLOW_SIZE_MAX - 2);
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_at_the_start_is_the_entry),
		cmocka_unit_test(endbr64_is_skipped),
		cmocka_unit_test(a_branch_before_any_argument_changes_is_an_entry),
		cmocka_unit_test(a_call_behind_a_stack_change_serves_when_arguments_are_not_needed),
		cmocka_unit_test(an_argument_register_written_in_any_width_ends_the_search),
		cmocka_unit_test(an_argument_that_the_probe_does_not_read_may_change),
		cmocka_unit_test(a_stack_change_ends_the_search_when_arguments_are_needed),
		cmocka_unit_test(reading_an_argument_does_no_harm),
		cmocka_unit_test(
			a_function_without_an_emulated_instruction_is_stepped_at_its_start),
		cmocka_unit_test(no_entry_is_chosen_behind_an_indirect_call),
		cmocka_unit_test(a_loop_head_is_no_entry),
		cmocka_unit_test(a_function_that_loops_to_its_start_has_no_entry),
		cmocka_unit_test(only_the_one_byte_nop_is_emulated),
		cmocka_unit_test(instructions_with_a_prefix_are_not_emulated),
		cmocka_unit_test(an_entry_is_found_though_later_bytes_are_garbage),
		cmocka_unit_test(the_guard_before_the_return_is_the_exit),
		cmocka_unit_test(the_stack_protector_check_is_the_exit),
		cmocka_unit_test(a_branch_to_the_cold_part_makes_no_exit_of_its_own),
		cmocka_unit_test(a_direct_call_after_the_work_is_an_exit_site),
		cmocka_unit_test(a_direct_tail_call_after_the_work_is_an_exit_site),
		cmocka_unit_test(a_call_through_a_slot_counts_as_direct),
		cmocka_unit_test(a_site_before_a_loop_of_releases_is_taken),
		cmocka_unit_test(the_branch_between_two_returns_is_the_exit),
		cmocka_unit_test(unreachable_landing_pads_are_ignored),
		cmocka_unit_test(two_copies_of_the_guard_are_refused),
		cmocka_unit_test(a_jump_table_is_refused),
		cmocka_unit_test(an_indirect_call_after_the_site_is_refused),
		cmocka_unit_test(a_site_inside_a_loop_is_refused),
		cmocka_unit_test(a_function_without_an_indirect_call_is_refused),
		cmocka_unit_test(a_function_that_never_returns_is_refused),
		cmocka_unit_test(a_function_without_emulated_instructions_is_refused),
		cmocka_unit_test(work_in_a_tail_call_on_one_path_is_refused),
		cmocka_unit_test(code_that_cannot_be_followed_is_refused),
		cmocka_unit_test(sizes_that_cannot_be_are_refused),
		cmocka_unit_test(addresses_at_the_end_of_the_space_do_no_harm),
		cmocka_unit_test(with_an_allow_list_each_call_from_the_site_on_is_asked_about),
		cmocka_unit_test(the_only_return_is_found_past_a_jump_table),
		cmocka_unit_test(one_of_two_returns_is_not_offered),
		cmocka_unit_test(every_return_of_a_function_is_told),
		cmocka_unit_test(a_return_that_no_path_is_known_to_is_not_offered),
		cmocka_unit_test(every_refusal_has_its_text),
		cmocka_unit_test(random_code_is_survived),
		cmocka_unit_test(the_largest_function_takes_linear_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
