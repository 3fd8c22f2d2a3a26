/*
 * Random programs on four threads: operators that call, return and throw, views without a probed
 * end, ranges, nodes, memory. What comes out of their events is the tree that they ran as.
 */
#include "support/test.h"

#include "base/hashmap.h"
#include "support/call_fixture.h"

#define THREADS 4
#define FIRST_TID 10
#define RUNS 30
#define CALLS_MAX 2000 /* of a thread, about */
#define DEPTH_MAX 30

/* Operators: two of each name, the views behind them. */
#define EXACT_OPERATORS 8
#define VIEWS 5
#define OPERATORS (EXACT_OPERATORS + VIEWS)
#define NODE_TYPE 0x5000
#define BLOCK_BYTES 8

/* Frames of all callees of one depth lie at one address, but for those of views. */
#define FRAME_BYTES 256
#define JITTER_BYTES 100

struct call {
	struct call *parent;
	const char *name;
	uint64_t start_ns, end_ns, seen_ns, child_ns;
	uint64_t last_child_start_ns;
	int64_t self_bytes, total_bytes;
	size_t children;
	uint32_t operator_, tid;
	enum span_kind kind;
	bool is_unwound, is_inferred, is_over, holds_range;
	/* What the window shows. */
	bool is_shown, is_found;
};

struct step {
	uint64_t time_ns, sp, object;
	struct call *call; /* in which it happens */
	uint32_t tid, operator_;
	enum wire_kind kind;
};

struct program {
	struct call *calls;
	struct step *steps;
	size_t call_count, step_count, capacity;
	bool has_ranges;
};

struct thread {
	struct program *program;
	uint64_t *random;
	uint64_t now_ns, last_block, open_ranges;
	uint32_t tid;
	size_t budget;
	/* Over without an event of their own, innermost first. */
	struct call *pending[64];
	size_t pending_count;
};

static uint64_t pick(struct thread *thread, uint64_t below)
{
	return random_next(thread->random) % below;
}

static uint64_t level_sp(size_t depth)
{
	return 1000000 - depth * FRAME_BYTES;
}

static uint64_t view_duration_ns(uint32_t operator_)
{
	return 20 + 10 * operator_;
}

static void see(struct call *call, uint64_t time_ns)
{
	for (; call; call = call->parent) {
		if (call->seen_ns < time_ns)
			call->seen_ns = time_ns;
	}
}

static void finish(struct call *call, uint64_t end_ns)
{
	call->end_ns = end_ns;
	call->is_over = true;
	see(call->parent, end_ns);
}

static void resolve_pending(struct thread *thread)
{
	size_t i;

	for (i = 0; i < thread->pending_count; i++) {
		struct call *call = thread->pending[i];
		uint64_t end_ns = call->seen_ns;

		if (call->is_inferred &&
		    call->start_ns + view_duration_ns(call->operator_) > end_ns)
			end_ns = call->start_ns + view_duration_ns(call->operator_);
		finish(call, end_ns < thread->now_ns ? end_ns : thread->now_ns);
	}
	thread->pending_count = 0;
}

static void add_pending(struct thread *thread, struct call *call)
{
	assert_true(thread->pending_count < COUNT_OF(thread->pending));
	thread->pending[thread->pending_count++] = call;
}

/* The next step of the thread, inside of call. */
static struct step *step_add(struct thread *thread, enum wire_kind kind, struct call *call)
{
	struct program *program = thread->program;
	struct step *step = &program->steps[program->step_count++];

	assert_true(program->step_count < program->capacity);
	thread->now_ns += 1 + pick(thread, 40);
	resolve_pending(thread);
	see(call, thread->now_ns);
	*step = (struct step){
		.time_ns = thread->now_ns, .call = call, .tid = thread->tid, .kind = kind
	};
	return step;
}

static struct call *call_add(struct thread *thread, struct call *parent, enum span_kind kind,
			     const char *name)
{
	struct program *program = thread->program;
	struct call *call = &program->calls[program->call_count++];

	assert_true(program->call_count < program->capacity);
	*call = (struct call){ .parent = parent,
			       .kind = kind,
			       .name = name,
			       .tid = thread->tid,
			       .start_ns = thread->now_ns,
			       .seen_ns = thread->now_ns };
	if (thread->budget)
		thread->budget--;
	return call;
}

static void add_memory(struct thread *thread, struct call *parent, size_t depth)
{
	struct step *step = step_add(thread, WIRE_MEMORY, parent);

	step->sp = level_sp(depth + 1) + 8;
	step->object = (uint64_t)thread->tid << 32 | ++thread->last_block;
}

static bool has_thrown(const struct thread *thread)
{
	size_t i;

	for (i = 0; i < thread->pending_count; i++) {
		if (thread->pending[i]->is_unwound)
			return true;
	}
	return false;
}

static const char *operator_name_of(uint32_t operator_)
{
	static const char *const names[OPERATORS] = { "aten::a", "aten::a", "aten::b", "aten::b",
						      "aten::c", "aten::c", "aten::d", "aten::d",
						      "aten::v", "aten::w", "aten::x", "aten::y",
						      "aten::a" };

	return names[operator_];
}

/* Does always the same: nothing, memory, a view, two of them, a view and memory. */
static void run_view(struct thread *thread, struct call *parent, size_t depth, uint32_t view)
{
	bool may_lie_lower = !has_thrown(thread);
	struct step *step = step_add(thread, WIRE_OP_BEGIN, parent);
	struct call *call =
		call_add(thread, parent, SPAN_OPERATOR, operator_name_of(EXACT_OPERATORS + view));

	step->operator_ = call->operator_ = EXACT_OPERATORS + view;
	step->sp = level_sp(depth + 1) + pick(thread, JITTER_BYTES);
	if (may_lie_lower && pick(thread, 2))
		step->sp -= JITTER_BYTES;
	call->is_inferred = true;
	if (view == 1 || view == 4)
		add_memory(thread, call, depth + 1);
	if (view == 2 || view == 3 || view == 4)
		run_view(thread, call, depth + 1, view == 4 ? 3 : 0);
	if (view == 3)
		run_view(thread, call, depth + 1, 1);
	add_pending(thread, call);
}

static bool run_body(struct thread *thread, struct call *parent, size_t depth);

/* The same for the three of them: true: it threw. */
static bool run_operator(struct thread *thread, struct call *parent, size_t depth)
{
	uint32_t operator_ = (uint32_t)pick(thread, EXACT_OPERATORS);
	struct step *step = step_add(thread, WIRE_OP_BEGIN, parent);
	struct call *call = call_add(thread, parent, SPAN_OPERATOR, operator_name_of(operator_));
	bool is_thrown;

	step->operator_ = call->operator_ = operator_;
	step->sp = level_sp(depth + 1);
	is_thrown =
		(run_body(thread, call, depth + 1) && pick(thread, 5) < 3) || pick(thread, 20) == 0;
	/* One that held a range and has no end is taken for one that threw before the range. */
	if (is_thrown && !call->holds_range) {
		call->is_unwound = true;
		add_pending(thread, call);
		return true;
	}
	step = step_add(thread, WIRE_OP_END, call);
	step->operator_ = operator_;
	step->sp = level_sp(depth + 1) - 8 * operator_; /* a ret, or a jcc further down */
	finish(call, thread->now_ns);
	return false;
}

static bool run_range(struct thread *thread, struct call *parent, size_t depth)
{
	uint64_t object = (uint64_t)thread->tid << 32 | thread->open_ranges++;
	struct call *call, *around;
	struct step *step;
	bool is_thrown;

	for (around = parent; around; around = around->parent)
		around->holds_range = true;
	if (has_thrown(thread)) /* a range has no stack pointer to tell it by */
		add_memory(thread, parent, depth);
	step = step_add(thread, WIRE_RANGE_BEGIN, parent);
	step->object = object;
	call = call_add(thread, parent, SPAN_RANGE, "range");
	is_thrown = run_body(thread, call, depth);
	step = step_add(thread, WIRE_RANGE_END, call);
	step->object = object;
	thread->open_ranges--;
	finish(call, thread->now_ns);
	return is_thrown;
}

static bool run_node(struct thread *thread, struct call *parent, size_t depth)
{
	struct step *step = step_add(thread, WIRE_NODE_BEGIN, parent);
	struct call *outer = call_add(thread, parent, SPAN_NODE_OUTER,
				      "autograd::engine::evaluate_function: AddmmBackward0");
	struct call *inner = call_add(thread, outer, SPAN_NODE, "AddmmBackward0");
	bool is_thrown;

	step->sp = level_sp(depth + 1);
	is_thrown = run_body(thread, inner, depth + 1);
	step = step_add(thread, WIRE_GUARD_END, inner);
	step->sp = level_sp(depth + 1) - 8;
	finish(inner, thread->now_ns);
	finish(outer, thread->now_ns);
	return is_thrown;
}

static bool run_one(struct thread *thread, struct call *parent, size_t depth)
{
	switch (pick(thread, 8)) {
	case 0:
		add_memory(thread, parent, depth);
		return false;
	case 1:
	case 2:
		run_view(thread, parent, depth, (uint32_t)pick(thread, VIEWS));
		return false;
	case 3:
		return thread->program->has_ranges ? run_range(thread, parent, depth)
						   : run_operator(thread, parent, depth);
	case 4:
		return run_node(thread, parent, depth);
	default:
		return run_operator(thread, parent, depth);
	}
}

static bool run_body(struct thread *thread, struct call *parent, size_t depth)
{
	uint64_t count = pick(thread, 5);

	while (count-- && thread->budget && depth < DEPTH_MAX) {
		if (run_one(thread, parent, depth) && pick(thread, 2)) /* else it is caught here */
			return true;
	}
	return false;
}

static void run_thread(struct program *program, uint64_t *random, uint32_t index)
{
	struct thread thread = {
		.program = program,
		.random = random,
		.tid = FIRST_TID + index,
		.budget = CALLS_MAX,
	};

	while (thread.budget)
		run_one(&thread, NULL, 0);
	add_memory(&thread, NULL, 0);
}

static int compare_steps(const void *a, const void *b)
{
	const struct step *left = a, *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->tid < right->tid ? -1 : left->tid > right->tid;
}

static void program_init(struct program *program, uint64_t *random, bool has_ranges)
{
	uint32_t i;

	memset(program, 0, sizeof(*program));
	program->has_ranges = has_ranges;
	program->capacity = THREADS * (CALLS_MAX + 500) * 4;
	program->calls = calloc(program->capacity, sizeof(*program->calls));
	program->steps = calloc(program->capacity, sizeof(*program->steps));
	assert_non_null(program->calls);
	assert_non_null(program->steps);
	for (i = 0; i < THREADS; i++)
		run_thread(program, random, i);
	qsort(program->steps, program->step_count, sizeof(*program->steps), compare_steps);
}

static void program_fini(struct program *program)
{
	free(program->calls);
	free(program->steps);
}

/* ---- what comes out ---- */

struct run {
	struct span_sink sink;
	struct call_fixture fixture;
	struct program program;
	struct hashmap *by_start; /* calls */
	size_t count, merged;
	uint64_t self_ns, top_ns, probe_self_ns, probe_top_ns;
	bool is_lossy;
};

static uint64_t key_of(uint32_t tid, uint64_t start_ns, enum span_kind kind)
{
	return start_ns << 10 | (uint64_t)tid << 3 | kind;
}

static const struct call *parent_shown(const struct call *call)
{
	const struct call *parent = call->parent;

	while (parent && !parent->is_shown)
		parent = parent->parent;
	return parent;
}

static void check_span(struct run *run, const struct span *span, const struct call *call)
{
	const struct call *parent = parent_shown(call);

	assert_string_equal(span->name, call->name);
	assert_int_equal(span->end_ns, call->end_ns);
	assert_int_equal(span->is_unwound, call->is_unwound);
	assert_int_equal(span->is_inferred, call->is_inferred);
	assert_true(span->is_finished);
	assert_false(span->is_async);
	assert_int_equal(span->is_top, !parent);
	assert_int_equal(span->total_bytes[SPAN_CPU], call->total_bytes);
	assert_int_equal(span->is_merged,
			 parent && parent->children == 1 && !strcmp(parent->name, call->name));
	/* Children come first and lie within. */
	if (parent) {
		assert_false(parent->is_found);
		assert_true(call->start_ns >= parent->start_ns && call->end_ns <= parent->end_ns);
	}
	run->merged += span->is_merged;
}

static int on_span(struct span_sink *sink, const struct span *span)
{
	struct run *run = container_of(sink, struct run, sink);
	struct call *call =
		hashmap_get(run->by_start, key_of(span->tid, span->start_ns, span->kind));
	uint64_t duration_ns = span->end_ns - span->start_ns;

	run->count++;
	assert_true(span->end_ns >= span->start_ns && span->self_ns <= duration_ns);
	assert_true(span->probe_self_ns <= span->self_ns && span->probe_total_ns <= duration_ns);
	if (!span->is_merged) {
		run->self_ns += span->self_ns;
		run->probe_self_ns += span->probe_self_ns;
	}
	if (span->is_top) {
		run->top_ns += duration_ns;
		run->probe_top_ns += span->probe_total_ns;
	}
	if (run->is_lossy)
		return 0;
	assert_non_null(call);
	assert_true(call->is_shown);
	assert_false(call->is_found);
	check_span(run, span, call);
	call->is_found = true;
	return 0;
}

static void feed_step(struct call_fixture *fixture, const struct step *step)
{
	fixture->tid = step->tid;
	switch (step->kind) {
	case WIRE_OP_BEGIN:
		op_begin(fixture, step->time_ns, step->operator_, step->sp);
		break;
	case WIRE_OP_END:
		op_end(fixture, step->time_ns, step->operator_, step->sp);
		break;
	case WIRE_RANGE_BEGIN:
		range_begin(fixture, step->time_ns, step->object, "range");
		break;
	case WIRE_RANGE_END:
		range_end(fixture, step->time_ns, step->object);
		break;
	case WIRE_NODE_BEGIN:
		node_begin(fixture, step->time_ns, step->sp, NODE_TYPE, WIRE_SEQUENCE_NONE);
		break;
	case WIRE_GUARD_END:
		guard_end(fixture, step->time_ns, step->sp, 0);
		break;
	default:
		memory_event(fixture, step->time_ns, MEMORY_ALLOCATED, step->sp, step->object,
			     BLOCK_BYTES);
		break;
	}
}

static void run_init(struct run *run, uint64_t *random, uint64_t hit_ns, bool has_ranges)
{
	struct wire_symbol node = record_symbol(SYMBOL_RTTI, NODE_TYPE,
						"N5torch8autograd9generated14AddmmBackward0E");
	static const uint32_t inner[VIEWS] = { 0, 1, 1, 2, 2 };
	uint32_t i;

	memset(run, 0, sizeof(*run));
	run->sink.span = on_span;
	assert_int_equal(call_fixture_init(&run->fixture, &run->sink), 0);
	assert_int_equal(hashmap_new(&run->by_start), 0);
	for (i = 0; i < OPERATORS; i++) {
		struct wire_operator record = record_operator(i, operator_name_of(i), "");

		call_fixture_feed(&run->fixture, &record);
	}
	call_fixture_feed(&run->fixture, &node);
	for (i = EXACT_OPERATORS; i < OPERATORS; i++)
		set_mode(&run->fixture, i, MODE_BEGIN_ONLY, view_duration_ns(i),
			 inner[i - EXACT_OPERATORS]);
	set_cost(&run->fixture, hit_ns);
	program_init(&run->program, random, has_ranges);
}

static void run_fini(struct run *run)
{
	program_fini(&run->program);
	hashmap_free(run->by_start);
	call_fixture_fini(&run->fixture);
}

/* The window is [start_ns, end_ns): what it shows, and what that adds up to. */
static void show(struct run *run, uint64_t start_ns, uint64_t end_ns)
{
	struct program *program = &run->program;
	size_t i;

	for (i = 0; i < program->call_count; i++) {
		struct call *call = &program->calls[i], *parent;

		assert_true(call->is_over);
		call->is_shown = call->start_ns >= start_ns && call->start_ns < end_ns;
		assert_int_equal(hashmap_put(run->by_start,
					     key_of(call->tid, call->start_ns, call->kind), call,
					     NULL),
				 0);
		parent = call->is_shown ? (struct call *)parent_shown(call) : NULL;
		if (parent) {
			parent->children++;
			if (call->start_ns > parent->last_child_start_ns)
				parent->last_child_start_ns = call->start_ns;
		}
	}
}

static void add_bytes(const struct step *step)
{
	struct call *call = step->call;

	if (step->kind != WIRE_MEMORY || !call || !call->is_shown)
		return;
	/* Behind a node's last child it is the engine's, so the outer row's. */
	if (call->kind == SPAN_NODE && step->time_ns > call->last_child_start_ns)
		call = call->parent;
	for (; call; call = call->parent)
		call->total_bytes += call->is_shown ? BLOCK_BYTES : 0;
}

static size_t count_shown(const struct program *program)
{
	size_t i, count = 0;

	for (i = 0; i < program->call_count; i++)
		count += program->calls[i].is_shown;
	return count;
}

static void feed_all(struct run *run, uint64_t start_ns, uint64_t end_ns)
{
	struct program *program = &run->program;
	size_t i;

	for (i = 0; i < program->step_count; i++) {
		const struct step *step = &program->steps[i];
		bool is_active = step->time_ns >= start_ns && step->time_ns < end_ns;

		run->fixture.is_active = is_active;
		if (is_active)
			add_bytes(step);
		feed_step(&run->fixture, step);
	}
	assert_int_equal(spans_open_count(run->fixture.spans), 0);
	assert_int_equal(spans_open_calls(run->fixture.spans), 0);
	assert_int_equal(calls_unpaired(run->fixture.calls), 0);
	assert_int_equal(spans_dropped(run->fixture.spans), 0);
}

static void the_tree_comes_out_as_it_ran(void **state)
{
	uint64_t random = 88172645463325252ULL;
	size_t round, merged = 0;

	(void)state;
	for (round = 0; round < RUNS; round++) {
		struct run run;

		run_init(&run, &random, 0, true);
		show(&run, 0, UINT64_MAX);
		feed_all(&run, 0, UINT64_MAX);
		assert_int_equal(run.count, run.program.call_count);
		assert_int_equal(run.self_ns, run.top_ns);
		merged += run.merged;
		run_fini(&run);
	}
	assert_true(merged > 100);
}

static void a_window_shows_what_began_in_it(void **state)
{
	uint64_t random = 1234567890123ULL;
	size_t round;

	(void)state;
	for (round = 0; round < RUNS; round++) {
		uint64_t start_ns = 5000 + random_next(&random) % 10000;
		uint64_t end_ns = start_ns + 5000 + random_next(&random) % 20000;
		struct run run;

		/* Of ranges outside of it nothing is recorded, so they tell nothing either. */
		run_init(&run, &random, 0, false);
		show(&run, start_ns, end_ns);
		feed_all(&run, start_ns, end_ns);
		assert_int_equal(run.count, count_shown(&run.program));
		assert_true(run.count > 100 && run.count < run.program.call_count);
		assert_int_equal(run.self_ns, run.top_ns);
		run_fini(&run);
	}
}

/* Records that the ring had no room for: nothing can be right, but nothing breaks either. */
static void lost_records_break_nothing(void **state)
{
	uint64_t random = 42;
	size_t round, i;

	(void)state;
	for (round = 0; round < RUNS; round++) {
		struct run run;

		run_init(&run, &random, 15, true);
		run.is_lossy = true;
		for (i = 0; i < run.program.step_count; i++) {
			if (random_next(&random) % (round + 2))
				feed_step(&run.fixture, &run.program.steps[i]);
		}
		assert_int_equal(
			spans_close_open(run.fixture.spans, run.program.steps[i - 1].time_ns), 0);
		assert_int_equal(spans_open_count(run.fixture.spans), 0);
		assert_int_equal(spans_open_calls(run.fixture.spans), 0);
		run_fini(&run);
	}
}

static void what_the_probes_cost_adds_up(void **state)
{
	uint64_t random = 99;
	size_t round, i;

	(void)state;
	for (round = 0; round < RUNS; round++) {
		struct run run;

		run_init(&run, &random, 5, true);
		run.is_lossy = true; /* inferred ends come later by the probes inside */
		for (i = 0; i < run.program.step_count; i++)
			feed_step(&run.fixture, &run.program.steps[i]);
		assert_int_equal(run.count, run.program.call_count);
		assert_int_equal(run.self_ns, run.top_ns);
		assert_int_equal(run.probe_self_ns, run.probe_top_ns);
		assert_true(run.probe_self_ns > 0);
		run_fini(&run);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tree_comes_out_as_it_ran),
		cmocka_unit_test(a_window_shows_what_began_in_it),
		cmocka_unit_test(lost_records_break_nothing),
		cmocka_unit_test(what_the_probes_cost_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
