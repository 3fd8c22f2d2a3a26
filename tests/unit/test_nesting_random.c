/*
 * Random hits of probes in every mode: operators, nodes, functions and ranges that begin, end,
 * throw, never end; durations that are too long and too short. What is shown of them nests, and is
 * the tree by which the tables count. A program that fails is made as small as can be and printed.
 */
#include "support/test.h"

#include "support/call_fixture.h"
#include "support/nesting.h"

#define THREADS 3
#define FIRST_TID 10
#define OTHER_TID 20 /* ends ranges and does nothing else */
#define STEPS_MAX 240
#define PROGRAMS 1500
#define FEW_PROGRAMS 500
#define DEPTH_MAX 24

#define OPERATORS 10
#define DETACH 0 /* aten::detach, which holds a guard of its own */
#define NODE_TYPE 0x5000
#define ACCUMULATE_TYPE 0x5008
#define PYTHON_TYPE 0x6000
#define HIT_MIN_NS 100 /* no two probes of a thread are hit closer together, but see hit_min_ns */

struct step {
	enum wire_kind kind;
	uint32_t tid, subject; /* as in the record's header */
	uint64_t time_ns, sp, object;
	size_t number; /* of the thread's, so that equal moments stay in order */
	size_t frame;  /* that it belongs to: they go together */
};

/* How an operator, or last the nodes, are seen. */
struct mode {
	enum wire_mode mode;
	uint64_t duration_ns;
	uint32_t inner_events;
};

struct program {
	struct step steps[STEPS_MAX];
	size_t count;
	struct mode modes[OPERATORS + 1];
	uint64_t hit_ns;	   /* what one costs */
	uint64_t start_ns, end_ns; /* the window */
	bool has_guards;	   /* warmup saw one in each detach */
	bool is_whole;		   /* nothing was lost, and time went on: it must nest */
	bool has_tail;		   /* what is open when the window closes may still end */
};

struct run {
	struct span_sink sink;
	struct call_fixture fixture;
	struct nesting_row rows[NESTING_ROWS_MAX];
	size_t count;
	const char *flaw; /* NULL: none */
};

static void flaw(struct run *run, const char *text)
{
	if (!run->flaw)
		run->flaw = text;
}

/* ---- what is shown ---- */

static int on_span(struct span_sink *sink, const struct span *span)
{
	struct run *run = container_of(sink, struct run, sink);
	struct nesting_row row = nesting_row_of(span);

	assert_true(run->count < NESTING_ROWS_MAX);
	run->rows[run->count++] = row;
	if (span->end_ns < span->start_ns || row.end_ns < row.start_ns)
		flaw(run, "it ends before it begins");
	else if (span->self_ns > span->end_ns - span->start_ns && !span->is_async)
		flaw(run, "more time of its own than time");
	return 0;
}

/* ---- a program ---- */

static struct wire_mode_record mode_record(uint32_t subject, const struct mode *mode)
{
	struct wire_mode_record record =
		record_mode(subject, mode->mode, mode->duration_ns, mode->inner_events);

	record.takes_numbers = subject % 3 == 0;
	record.numbered_duration_ns = mode->duration_ns / 2;
	return record;
}

static void describe(struct run *run, const struct program *program)
{
	const struct wire_symbol symbols[] = {
		record_symbol(SYMBOL_RTTI, NODE_TYPE, "N5torch8autograd9generated10TBackward0E"),
		record_symbol(SYMBOL_RTTI, ACCUMULATE_TYPE, "N5torch8autograd14AccumulateGradE"),
		record_symbol(SYMBOL_PYTHON, PYTHON_TYPE, "Doubling"),
	};
	static const char *const names[] = { "aten::detach", "aten::t", "aten::mm", "aten::add" };
	uint32_t i;

	for (i = 0; i < COUNT_OF(symbols); i++)
		call_fixture_feed(&run->fixture, &symbols[i]);
	for (i = 0; i < OPERATORS; i++) {
		struct wire_operator record = record_operator(i, names[i % COUNT_OF(names)], "");

		call_fixture_feed(&run->fixture, &record);
	}
	if (program->has_guards) {
		const struct learned_call call = { .subject = DETACH,
						   .inclusive_ns = 100,
						   .inner_children = 1,
						   .inner_guards = 1 };

		assert_int_equal(learned_call(run->fixture.learned, &call), 0);
	}
	for (i = 0; i <= OPERATORS; i++) {
		struct wire_mode_record record =
			mode_record(i < OPERATORS ? i : MODE_SUBJECT_NODES, &program->modes[i]);

		call_fixture_feed(&run->fixture, &record);
	}
	set_cost(&run->fixture, program->hit_ns);
}

static void feed(struct call_fixture *fixture, const struct step *step)
{
	fixture->tid = step->tid;
	switch (step->kind) {
	case WIRE_OP_BEGIN:
		op_begin(fixture, step->time_ns, step->subject, step->sp);
		break;
	case WIRE_OP_END:
		op_end(fixture, step->time_ns, step->subject, step->sp);
		break;
	case WIRE_RANGE_BEGIN:
		if (fixture->is_active)
			range_begin(fixture, step->time_ns, step->object, "range");
		break;
	case WIRE_RANGE_END:
		range_end(fixture, step->time_ns, step->object);
		break;
	case WIRE_NODE_BEGIN:
		node_begin(fixture, step->time_ns, step->sp, step->object, WIRE_SEQUENCE_NONE);
		break;
	case WIRE_GUARD_END:
		guard_end(fixture, step->time_ns, step->sp, step->object);
		break;
	case WIRE_FUNCTION_BEGIN:
		function_begin(fixture, step->time_ns, (enum wire_function)step->subject, step->sp,
			       PYTHON_TYPE);
		break;
	case WIRE_SEQUENCE:
		sequence_event(fixture, step->time_ns, step->object, step->sp);
		break;
	default:
		memory_event(fixture, step->time_ns, MEMORY_ALLOCATED, step->sp, step->object, 8);
		break;
	}
}

/* What is wrong with what comes out; NULL: nothing. */
static const char *flaw_of(const struct program *program)
{
	struct run *run = calloc(1, sizeof(*run));
	bool is_closed = false;
	const char *text;
	size_t i;

	assert_non_null(run);
	run->sink.span = on_span;
	assert_int_equal(call_fixture_init(&run->fixture, &run->sink), 0);
	describe(run, program);
	for (i = 0; i < program->count; i++) {
		const struct step *step = &program->steps[i];

		if (!is_closed && step->time_ns >= program->end_ns) {
			is_closed = true;
			if (!program->has_tail)
				assert_int_equal(
					spans_close_open(run->fixture.spans, program->end_ns), 0);
		}
		run->fixture.is_active = step->time_ns >= program->start_ns && !is_closed;
		feed(&run->fixture, step);
	}
	assert_int_equal(spans_close_open(run->fixture.spans, program->end_ns), 0);
	if (!run->flaw && program->is_whole)
		run->flaw = nesting_flaw(run->rows, run->count);
	text = run->flaw;
	call_fixture_fini(&run->fixture);
	free(run);
	return text;
}

/* ---- made at random ---- */

struct frame {
	enum wire_kind kind; /* of its beginning */
	uint32_t subject;
	uint64_t sp, object;
	size_t number;
};

struct maker {
	struct program *program;
	uint64_t *random;
	uint64_t now_ns;
	uint32_t tid;
	struct frame frames[DEPTH_MAX + 1];
	size_t depth;
	uint64_t last_object;
	uint64_t hit_min_ns, most_ns; /* between two hits */
	size_t frame_count, frame;    /* of the next step */
};

static uint64_t pick(struct maker *maker, uint64_t below)
{
	return random_next(maker->random) % below;
}

static uint64_t sp_of(const struct maker *maker)
{
	size_t i = maker->depth;

	while (i-- > 0) {
		if (maker->frames[i].kind != WIRE_RANGE_BEGIN)
			return maker->frames[i].sp;
	}
	return 1000000;
}

static void step_add(struct maker *maker, enum wire_kind kind, uint32_t subject, uint64_t sp,
		     uint64_t object)
{
	struct program *program = maker->program;

	maker->now_ns += maker->hit_min_ns + pick(maker, maker->most_ns);
	if (program->count == STEPS_MAX)
		return;
	program->steps[program->count++] = (struct step){ .kind = kind,
							  .tid = maker->tid,
							  .subject = subject,
							  .time_ns = maker->now_ns,
							  .sp = sp,
							  .object = object,
							  .number = program->count,
							  .frame = maker->frame };
}

static bool is_exact(const struct maker *maker, uint32_t subject)
{
	return maker->program->modes[subject].mode == MODE_EXACT;
}

/* Its end, if that is probed: not where it throws, if it is an operator. */
static void leave(struct maker *maker, bool throws)
{
	const struct frame *frame = &maker->frames[--maker->depth];
	bool are_nodes_exact = is_exact(maker, OPERATORS);
	uint32_t tid = maker->tid;

	maker->frame = frame->number;
	switch (frame->kind) {
	case WIRE_OP_BEGIN:
		if (is_exact(maker, frame->subject) && !throws)
			step_add(maker, WIRE_OP_END, frame->subject, frame->sp - pick(maker, 2) * 8,
				 0);
		break;
	case WIRE_RANGE_BEGIN:
		if (!pick(maker, 20))
			break;
		maker->tid = pick(maker, 30) ? tid : OTHER_TID;
		step_add(maker, WIRE_RANGE_END, 0, 0, frame->object);
		maker->tid = tid;
		break;
	case WIRE_NODE_BEGIN:
		if (are_nodes_exact)
			step_add(maker, WIRE_GUARD_END, 0, frame->sp - 16, 0);
		break;
	default:
		if (are_nodes_exact && frame->subject == FUNCTION_APPLY)
			step_add(maker, WIRE_GUARD_END, 0, frame->sp - 64, frame->sp - 32);
		break;
	}
}

static void enter(struct maker *maker)
{
	static const enum wire_kind kinds[] = { WIRE_OP_BEGIN,	  WIRE_OP_BEGIN,
						WIRE_OP_BEGIN,	  WIRE_NODE_BEGIN,
						WIRE_RANGE_BEGIN, WIRE_FUNCTION_BEGIN };
	struct frame *frame = &maker->frames[maker->depth];
	uint64_t sp = sp_of(maker) - 128 - 8 * pick(maker, 20);

	*frame = (struct frame){ .kind = kinds[pick(maker, COUNT_OF(kinds))], .sp = sp };
	if (frame->kind == WIRE_OP_BEGIN)
		frame->subject = (uint32_t)pick(maker, OPERATORS);
	else if (frame->kind == WIRE_FUNCTION_BEGIN)
		frame->subject = (uint32_t)pick(maker, FUNCTION_CNT);
	else if (frame->kind == WIRE_NODE_BEGIN)
		frame->object = pick(maker, 3) ? NODE_TYPE : ACCUMULATE_TYPE;
	else
		frame->object = (uint64_t)maker->tid << 32 | ++maker->last_object;
	maker->depth++;
	maker->frame = frame->number = ++maker->frame_count;
	if (frame->kind == WIRE_OP_BEGIN && maker->program->modes[frame->subject].mode == MODE_OFF)
		return;
	if (frame->kind == WIRE_NODE_BEGIN && maker->program->modes[OPERATORS].mode == MODE_OFF)
		return;
	step_add(maker, frame->kind, frame->subject, frame->kind == WIRE_RANGE_BEGIN ? 0 : sp,
		 frame->object);
	if (frame->kind == WIRE_OP_BEGIN && frame->subject % 3 == 0 && pick(maker, 2))
		step_add(maker, WIRE_SEQUENCE, SEQUENCE_TAKEN, sp - 100, ++maker->last_object);
	if (frame->kind == WIRE_OP_BEGIN && frame->subject == DETACH && is_exact(maker, OPERATORS))
		step_add(maker, WIRE_GUARD_END, 0, sp - 96, sp - 64);
}

static void make_step(struct maker *maker)
{
	uint64_t choice = pick(maker, 16), count;

	if (choice < 7 && maker->depth < DEPTH_MAX) {
		enter(maker);
	} else if (choice < 9) {
		maker->frame = ++maker->frame_count;
		step_add(maker, WIRE_MEMORY, MEMORY_ALLOCATED, sp_of(maker) - 120,
			 (uint64_t)maker->tid << 32 | ++maker->last_object);
	} else if (choice < 15) {
		if (maker->depth)
			leave(maker, false);
	} else {
		for (count = pick(maker, maker->depth + 1); count; count--)
			leave(maker, true);
	}
}

static uint64_t a_duration_ns(uint64_t *random)
{
	static const uint64_t most_ns[] = { 1, 20, 400, 5000, 100000 };

	return random_next(random) % most_ns[random_next(random) % COUNT_OF(most_ns)];
}

static int by_time(const void *a, const void *b)
{
	const struct step *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->number < right->number ? -1 : left->number > right->number;
}

static void program_make(struct program *program, uint64_t *random, uint64_t hit_min_ns)
{
	static const uint64_t most_ns[] = { 3, 40, 3000 };
	uint64_t between_ns = most_ns[random_next(random) % COUNT_OF(most_ns)], last_ns = 0;
	size_t steps = 30 + random_next(random) % (STEPS_MAX - 30);
	uint32_t i, thread;

	memset(program, 0, sizeof(*program));
	for (i = 0; i <= OPERATORS; i++)
		program->modes[i] = (struct mode){
			.mode = (enum wire_mode)(random_next(random) % (i % 5 ? 2 : 3)),
			.duration_ns = a_duration_ns(random),
			.inner_events = random_next(random) % 4
						? (uint32_t)(random_next(random) % 3)
						: UINT32_MAX,
		};
	program->hit_ns = random_next(random) % 3 * 10;
	program->has_guards = random_next(random) % 2;
	program->has_tail = random_next(random) % 2;
	for (thread = 0; thread < THREADS; thread++) {
		struct maker maker = { .program = program,
				       .random = random,
				       .now_ns = 1000000,
				       .tid = FIRST_TID + thread,
				       .frame_count = thread * STEPS_MAX,
				       .hit_min_ns = hit_min_ns,
				       .most_ns = between_ns };

		while (program->count < (thread + 1) * steps / THREADS)
			make_step(&maker);
		if (maker.now_ns > last_ns)
			last_ns = maker.now_ns;
	}
	qsort(program->steps, program->count, sizeof(struct step), by_time);
	program->end_ns = 1000000 + (last_ns - 1000000) / 8 * 7;
	if (random_next(random) % 2)
		program->start_ns = 1000000 + (last_ns - 1000000) / 8;
}

/* ---- and made small ---- */

/* Without the frames from first on. */
static void cut(struct program *program, size_t first, size_t count)
{
	size_t kept = 0, i;

	for (i = 0; i < program->count; i++) {
		if (program->steps[i].frame < first || program->steps[i].frame >= first + count)
			program->steps[kept++] = program->steps[i];
	}
	program->count = kept;
}

static void shrink(struct program *program, const char *text)
{
	size_t last = (THREADS + 1) * STEPS_MAX, size, at;

	for (size = last / 2; size; size = size == 1 ? 0 : size / 2) {
		for (at = 0; at < last; at += size) {
			struct program *smaller = malloc(sizeof(*smaller));
			const char *now;

			assert_non_null(smaller);
			*smaller = *program;
			cut(smaller, at, size);
			now = smaller->count < program->count ? flaw_of(smaller) : NULL;
			if (now && !strcmp(now, text))
				*program = *smaller;
			free(smaller);
		}
	}
}

static void print_program(const struct program *program)
{
	size_t i;

	printf("window %llu to %llu, hit %llu ns, guards %d, tail %d\n",
	       (unsigned long long)program->start_ns, (unsigned long long)program->end_ns,
	       (unsigned long long)program->hit_ns, program->has_guards, program->has_tail);
	for (i = 0; i <= OPERATORS; i++)
		printf("  mode of %zu: %d, %llu ns, %u inside\n", i, (int)program->modes[i].mode,
		       (unsigned long long)program->modes[i].duration_ns,
		       program->modes[i].inner_events);
	for (i = 0; i < program->count; i++) {
		const struct step *step = &program->steps[i];

		printf("  %llu: thread %u kind %d subject %u sp %llu object %#llx\n",
		       (unsigned long long)step->time_ns, step->tid, (int)step->kind, step->subject,
		       (unsigned long long)step->sp, (unsigned long long)step->object);
	}
}

/* Some records found no room. */
static void lose(struct program *program, uint64_t *random, uint64_t one_in)
{
	size_t kept = 0, i;

	for (i = 0; i < program->count; i++) {
		if (random_next(random) % one_in)
			program->steps[kept++] = program->steps[i];
	}
	program->count = kept;
}

static void run_programs(uint64_t random, size_t count, uint64_t hit_min_ns, uint64_t lost_one_in)
{
	size_t i;

	for (i = 0; i < count; i++) {
		struct program program;
		const char *text;

		program_make(&program, &random, hit_min_ns);
		program.is_whole = hit_min_ns && !lost_one_in;
		if (lost_one_in)
			lose(&program, &random, lost_one_in);
		text = flaw_of(&program);
		if (!text)
			continue;
		shrink(&program, text);
		print_program(&program);
		fail_msg("program %zu: %s", i, text);
	}
}

static void what_is_shown_nests(void **state)
{
	(void)state;
	run_programs(88172645463325252ULL, PROGRAMS, HIT_MIN_NS, 0);
}

/* Nothing can be right, but no row has less than no time. */
static void what_is_left_of_a_flood_is_bounded(void **state)
{
	(void)state;
	run_programs(31415926535897932ULL, FEW_PROGRAMS, HIT_MIN_NS, 20);
}

static void moments_that_are_equal_break_nothing(void **state)
{
	(void)state;
	run_programs(27182818284590452ULL, FEW_PROGRAMS, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_shown_nests),
		cmocka_unit_test(what_is_left_of_a_flood_is_bounded),
		cmocka_unit_test(moments_that_are_equal_break_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
