/*
 * Graphs of hand-written functions: edges, flaws and the depth of the stack.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "attach/control_flow.h"

#define FIXTURE(name, text)                                \
	extern const uint8_t name##_start[], name##_end[]; \
	__asm__(".pushsection .text\n" #name "_start:\n" text "\n" #name "_end:\n.popsection\n")

static struct control_flow *graph(const uint8_t *start, const uint8_t *end)
{
	struct control_flow *flow;

	assert_int_equal(
		control_flow_new(&flow, start, (uint64_t)(end - start), (uint64_t)(uintptr_t)start),
		0);
	return flow;
}

/* The first instruction of this class. */
static const struct flow_insn *find(const struct control_flow *flow, enum flow_class class)
{
	uint32_t i;

	for (i = 0; i < flow->cnt; i++) {
		if (flow->insns[i].class == class)
			return &flow->insns[i];
	}
	fail_msg("no instruction of class %d", (int)class);
	return NULL;
}

FIXTURE(frame, "push %rbp; mov %rsp, %rbp; push %r12; sub $0x88, %rsp; push $1; call *%rax;"
	       "pop %rdx; lea -8(%rbp), %rsp; pop %r12; pop %rbp; ret");
FIXTURE(leave, "push %rbp; lea (%rsp), %rbp; sub $0x20, %rsp; call *%rax; leave; ret");
FIXTURE(aligned, "push %rbp; mov %rsp, %rbp; and $-32, %rsp; call *%rax; leave; ret");
FIXTURE(meeting, "test %edi, %edi; je 1f; push %rax; 1: call *%rax; ret");
FIXTURE(clobbered,
	"push %rbp; mov %rsp, %rbp; mov %rax, %rbp; lea -8(%rbp), %rsp; call *%rax; ret");
FIXTURE(growing, "1: push %rax; jmp 1b");
FIXTURE(branching, "test %edi, %edi; jne 1f; ret; .byte 0x06; 1: call 2f; 2: ret");
FIXTURE(no_return, "push %rax; call branching_start");
FIXTURE(run_off, "call *%rax; nop");
FIXTURE(overlap_later, "jmp 1f + 1; 1: mov $0x90c39090, %eax; ret");
FIXTURE(overlap_earlier, "test %eax, %eax; jne 1f + 1; 1: mov $0x90c39090, %eax; ret");
FIXTURE(garbage, "test %eax, %eax; jne 1f; ret; 1: .byte 0x06");
FIXTURE(far_jump, ".byte 0xff, 0x28; ret");
FIXTURE(slot, "call *growing_start(%rip); call *8(%rax); ret");

static void the_stack_is_followed_through_a_frame(void **state)
{
	struct control_flow *flow = graph(frame_start, frame_end);

	(void)state;
	assert_int_equal(find(flow, FLOW_CALL_INDIRECT)->sp_below_entry, 8 + 8 + 0x88 + 8);
	assert_int_equal(find(flow, FLOW_RETURN)->sp_below_entry, 0);
	control_flow_free(flow);

	flow = graph(leave_start, leave_end);
	assert_int_equal(find(flow, FLOW_CALL_INDIRECT)->sp_below_entry, 0x28);
	assert_int_equal(find(flow, FLOW_RETURN)->sp_below_entry, 0);
	control_flow_free(flow);
}

static void an_aligned_stack_is_unknown_until_the_frame_gives_it_back(void **state)
{
	struct control_flow *flow = graph(aligned_start, aligned_end);

	(void)state;
	assert_int_equal(find(flow, FLOW_CALL_INDIRECT)->sp_below_entry, CONTROL_FLOW_SP_UNKNOWN);
	assert_int_equal(find(flow, FLOW_RETURN)->sp_below_entry, 0);
	control_flow_free(flow);
}

static void paths_that_meet_with_different_stacks_make_it_unknown(void **state)
{
	struct control_flow *flow = graph(meeting_start, meeting_end);

	(void)state;
	assert_int_equal(find(flow, FLOW_CALL_INDIRECT)->sp_below_entry, CONTROL_FLOW_SP_UNKNOWN);
	control_flow_free(flow);

	flow = graph(growing_start, growing_end);
	assert_int_equal(find(flow, FLOW_JUMP)->sp_below_entry, CONTROL_FLOW_SP_UNKNOWN);
	control_flow_free(flow);
}

static void a_frame_pointer_that_is_overwritten_gives_no_stack_back(void **state)
{
	struct control_flow *flow = graph(clobbered_start, clobbered_end);

	(void)state;
	assert_int_equal(find(flow, FLOW_CALL_INDIRECT)->sp_below_entry, CONTROL_FLOW_SP_UNKNOWN);
	control_flow_free(flow);
}

static void only_what_can_be_reached_is_decoded(void **state)
{
	struct control_flow *flow = graph(branching_start, branching_end);
	const struct flow_insn *branch = find(flow, FLOW_BRANCH);

	(void)state;
	assert_int_equal(flow->flaw, CONTROL_FLOW_WHOLE);
	assert_int_equal(flow->cnt, 5);
	assert_int_equal(flow->insns[branch->next[0]].class, FLOW_RETURN);
	assert_int_equal(flow->insns[branch->next[1]].class, FLOW_CALL);
	assert_false(branch->leaves);
	control_flow_free(flow);
}

static void a_call_at_the_very_end_does_not_return(void **state)
{
	struct control_flow *flow = graph(no_return_start, no_return_end);

	(void)state;
	assert_int_equal(flow->flaw, CONTROL_FLOW_WHOLE);
	assert_int_equal(find(flow, FLOW_CALL)->next[0], CONTROL_FLOW_NONE);
	assert_int_equal(find(flow, FLOW_CALL)->target, (uint64_t)(uintptr_t)branching_start);
	control_flow_free(flow);
}

static void what_cannot_be_followed_is_a_flaw_and_the_rest_stays(void **state)
{
	const struct {
		const uint8_t *start, *end;
		enum control_flow_flaw flaw;
	} cases[] = {
		{ run_off_start, run_off_end, CONTROL_FLOW_RUNS_OFF },
		{ overlap_earlier_start, overlap_earlier_end, CONTROL_FLOW_OVERLAP },
		{ overlap_later_start, overlap_later_end, CONTROL_FLOW_WHOLE },
		{ garbage_start, garbage_end, CONTROL_FLOW_UNDECODABLE },
		{ frame_start, frame_start + 3, CONTROL_FLOW_UNDECODABLE },
	};
	struct control_flow *flow;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		flow = graph(cases[i].start, cases[i].end);
		assert_int_equal(flow->flaw, cases[i].flaw);
		assert_true(flow->cnt >= 1);
		control_flow_free(flow);
	}
}

static void a_function_that_cannot_be_begun_is_an_error(void **state)
{
	struct control_flow *flow = NULL;

	(void)state;
	assert_int_equal(control_flow_new(&flow, frame_start, 0, 0), -EINVAL);
	assert_int_equal(control_flow_new(&flow, frame_start, CONTROL_FLOW_SIZE_MAX + 1, 0),
			 -EINVAL);
	assert_int_equal(control_flow_new(&flow, far_jump_start, 3, 0), -ENOENT);
	assert_null(flow);
	control_flow_free(NULL);
}

static void calls_through_a_slot_are_told_from_calls_through_a_register(void **state)
{
	struct control_flow *flow = graph(slot_start, slot_end);

	(void)state;
	assert_int_equal(flow->insns[0].class, FLOW_CALL_SLOT);
	assert_int_equal(flow->insns[1].class, FLOW_CALL_INDIRECT);
	control_flow_free(flow);
}

static void only_what_the_kernel_emulates_is_called_emulated(void **state)
{
	static const struct {
		uint8_t bytes[8];
		uint8_t length;
		bool emulated;
	} cases[] = {
		{ { 0x55 }, 1, true },	      /* push rbp */
		{ { 0x41, 0x57 }, 2, true },  /* push r15 */
		{ { 0x48, 0x55 }, 2, false }, /* rex.W push rbp */
		{ { 0x6a, 0x01 }, 2, false }, /* push 1 */
		{ { 0x90 }, 1, true },
		{ { 0x66, 0x90 }, 2, false },
		{ { 0xf3, 0x90 }, 2, false }, /* pause */
		{ { 0x41, 0x90 }, 2, false }, /* xchg r8d, eax */
		{ { 0xe8, 0, 0, 0, 0 }, 5, true },
		{ { 0x67, 0xe8, 0, 0, 0, 0 }, 6, false },
		{ { 0x66, 0x48, 0xe8, 0, 0, 0, 0 }, 7, false },
		{ { 0xff, 0xd0 }, 2, false }, /* call rax */
		{ { 0xeb, 0x00 }, 2, true },
		{ { 0xe9, 0, 0, 0, 0 }, 5, true },
		{ { 0xf2, 0xe9, 0, 0, 0, 0 }, 6, false }, /* bnd jmp */
		{ { 0x74, 0x00 }, 2, true },
		{ { 0x2e, 0x74, 0x00 }, 3, false }, /* je, predicted */
		{ { 0x0f, 0x8f, 0, 0, 0, 0 }, 6, true },
		{ { 0xe3, 0x00 }, 2, false }, /* jrcxz */
		{ { 0xe2, 0x00 }, 2, false }, /* loop */
		{ { 0x58 }, 1, false },	      /* pop rax */
		{ { 0xc3 }, 1, false },
		{ { 0xf3, 0x0f, 0x1e, 0xfa }, 4, false },  /* endbr64 */
		{ { 0x0f, 0x84 + 0x10, 0xc0 }, 3, false }, /* sete al */
	};
	struct control_flow *flow;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(control_flow_new(&flow, cases[i].bytes, cases[i].length, 0x1000),
				 0);
		assert_int_equal(flow->insns[0].length, cases[i].length);
		assert_int_equal(flow->insns[0].is_emulated, cases[i].emulated);
		control_flow_free(flow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_is_followed_through_a_frame),
		cmocka_unit_test(an_aligned_stack_is_unknown_until_the_frame_gives_it_back),
		cmocka_unit_test(paths_that_meet_with_different_stacks_make_it_unknown),
		cmocka_unit_test(a_frame_pointer_that_is_overwritten_gives_no_stack_back),
		cmocka_unit_test(only_what_can_be_reached_is_decoded),
		cmocka_unit_test(a_call_at_the_very_end_does_not_return),
		cmocka_unit_test(what_cannot_be_followed_is_a_flaw_and_the_rest_stays),
		cmocka_unit_test(a_function_that_cannot_be_begun_is_an_error),
		cmocka_unit_test(calls_through_a_slot_are_told_from_calls_through_a_register),
		cmocka_unit_test(only_what_the_kernel_emulates_is_called_emulated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
