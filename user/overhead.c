/*
 * overhead.c - see overhead.h. What is not an operator is decided as one: the nodes, the sequence
 * numbers, the memory. Ranges are fixed; they are not recorded in warmup, but each ends a guard.
 */
#include "overhead.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/modes.h"
#include "attach/site_cost.h"
#include "base/clock.h"
#include "base/log.h"

#define UNKNOWN_EVENTS 0xffffffffU
#define PSEUDO_ROWS 6 /* nodes, sequence numbers, memory, ranges, torch.ops, modules */

struct overhead {
	const struct options *options;
	const struct probe_plan *plan;
	struct probes *probes;
	struct record_sink *sink;
	const struct operator_entry *entries;
	size_t entry_count;
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];
	uint8_t *operators; /* enum wire_mode of each */
	struct probe_modes modes;
	uint64_t python_calls, python_calls_before; /* in this warmup, and until it */
	bool keeps_all;
};

/* Rows on their way to a decision. */
struct decision {
	struct mode_input *inputs;
	const struct learned_row **rows; /* NULL: nothing of the kind was learned */
	struct learned_row *copies;	 /* what was learned goes on changing */
	uint8_t *modes;
	size_t count;
	struct mode_bound bound;
	struct mode_prediction prediction;
};

bool overhead_is_of_interest(const struct probe_plan *plan)
{
	unsigned int calls = plan->calls_in_reserve ? 0 : ACTIVITY_CUDA_CALLS;

	return plan->activities & (ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY |
				   ACTIVITY_MODULES | calls);
}

bool overhead_keeps_all(const struct overhead *overhead)
{
	return overhead->keeps_all;
}

bool overhead_keeps_numbers(const struct overhead *overhead)
{
	return overhead->modes.sequences != MODE_OFF;
}

static uint64_t cost_of(const struct overhead *overhead, enum probe_site_kind kind)
{
	return site_cost_or_default(overhead->hit_ns, kind);
}

static void fill_cost(const struct overhead *overhead, struct wire_cost *record)
{
	unsigned int kind;

	*record = (struct wire_cost){
		.header = { .size = sizeof(*record),
			    .kind = WIRE_COST,
			    .time_ns = clock_monotonic_ns() },
		.bound_permille = overhead->options->max_overhead_permille,
	};
	for (kind = 0; kind < PROBE_SITE_KIND_CNT && kind < COST_KINDS; kind++)
		record->hit_ns[kind] = overhead->hit_ns[kind];
}

static int measure(struct overhead *overhead)
{
	struct wire_cost record;
	int err = probes_measure_costs(overhead->probes, overhead->hit_ns);

	if (err)
		log_warn("what a hit costs could not be measured (%s); usual values are used",
			 strerror(-err));
	fill_cost(overhead, &record);
	return overhead->sink->record(overhead->sink, &record, sizeof(record));
}

int overhead_new(struct overhead **out, const struct options *options,
		 const struct probe_plan *plan, struct probes *probes, struct record_sink *sink)
{
	struct overhead *overhead = calloc(1, sizeof(*overhead));
	int err;

	if (!overhead)
		return -ENOMEM;
	overhead->options = options;
	overhead->plan = plan;
	overhead->probes = probes;
	overhead->sink = sink;
	if (plan->operators)
		overhead->entries = operator_table_entries(plan->operators, &overhead->entry_count);
	overhead->operators = calloc(overhead->entry_count + 1, 1); /* MODE_EXACT */
	err = overhead->operators ? measure(overhead) : -ENOMEM;
	if (err) {
		overhead_free(overhead);
		return err;
	}
	*out = overhead;
	return 0;
}

void overhead_free(struct overhead *overhead)
{
	if (!overhead)
		return;
	free(overhead->operators);
	free(overhead);
}

/* The bound stays. */
static void decision_clear(struct decision *decision)
{
	free(decision->inputs);
	free(decision->rows);
	free(decision->copies);
	free(decision->modes);
	*decision = (struct decision){ .bound = decision->bound };
}

static struct mode_input *add_input(struct decision *decision, const struct learned_row *row)
{
	decision->rows[decision->count] = row;
	return &decision->inputs[decision->count++];
}

static void add_operator(struct decision *decision, const struct overhead *overhead,
			 const struct learned_row *row, bool with_memory)
{
	const struct operator_entry *entry = &overhead->entries[row->subject];

	*add_input(decision, row) = (struct mode_input){
		.subject = row->subject,
		.hits = row->hits,
		.self_ns = row->self_ns,
		.mean_ns = row->mean_ns,
		.entry_cost_ns = cost_of(overhead, entry->entry_kind),
		.exit_cost_ns = entry->has_exit ? cost_of(overhead, entry->exit_kind) : 0,
		.can_begin_only = row->is_steady && !(with_memory && row->memory_varies),
		.prefers_exact = entry->domain != CALL_OPERATOR,
	};
}

static uint64_t less(uint64_t from, uint64_t what)
{
	return from > what ? from - what : 0;
}

/* What is no operator. A node's record reads more of the job than an operator's. */
static void add_pseudo(struct decision *decision, const struct overhead *overhead,
		       struct learned *learned, const struct learned_row *nodes)
{
	uint64_t push_ns = cost_of(overhead, PROBE_SITE_PUSH);
	uint64_t node_hits = learned_hits(learned, LEARNED_NODES);
	uint64_t range_hits = less(learned_hits(learned, LEARNED_GUARDS), node_hits);

	*add_input(decision, nodes) = (struct mode_input){
		.subject = MODE_SUBJECT_NODES,
		.hits = node_hits,
		.self_ns = nodes ? nodes->self_ns : 0,
		.mean_ns = nodes ? nodes->mean_ns : 0,
		.entry_cost_ns = push_ns + push_ns / 2,
		.exit_cost_ns = push_ns,
		/* What ends a node's guard ends a custom Function's as well, and that has no other
		   end. */
		.can_begin_only = !learned_hits(learned, LEARNED_FUNCTIONS),
	};
	*add_input(decision, NULL) = (struct mode_input){
		.subject = MODE_SUBJECT_SEQUENCES,
		.hits = learned_hits(learned, LEARNED_SEQUENCES),
		.entry_cost_ns = cost_of(overhead, PROBE_SITE_CALL),
	};
	*add_input(decision, NULL) = (struct mode_input){
		.subject = MODE_SUBJECT_MEMORY,
		.hits = learned_hits(learned, LEARNED_MEMORY),
		.entry_cost_ns = push_ns,
		.is_optional = !overhead->options->activities_named,
	};
	*add_input(decision, NULL) = (struct mode_input){
		.subject = MODE_SUBJECT_RANGES,
		.hits = range_hits,
		.entry_cost_ns = 3 * push_ns, /* enter, exit, and the guard's end */
		.is_fixed = true,
	};
	if (overhead->plan->activities & ACTIVITY_MODULES)
		*add_input(decision, NULL) = (struct mode_input){
			.subject = MODE_SUBJECT_MODULES,
			.hits = overhead->python_calls,
			.entry_cost_ns = 2 * push_ns, /* it reads more, so do others inside */
		};
	/* A range is entered and left through torch.ops, which is known and not recorded. */
	*add_input(decision, NULL) = (struct mode_input){
		.subject = MODE_SUBJECT_BOXED,
		.hits = 2 * range_hits + learned_hits(learned, LEARNED_FUNCTIONS),
		.entry_cost_ns = push_ns,
	};
}

static int gather(struct decision *decision, const struct overhead *overhead,
		  struct learned *learned, bool with_memory)
{
	size_t count = 0, i;
	const struct learned_row *learned_now = learned_rows(learned, &count), *nodes = NULL;
	struct learned_row *rows = calloc(count + 1, sizeof(*rows));

	decision->copies = rows;
	decision->inputs = calloc(count + PSEUDO_ROWS, sizeof(*decision->inputs));
	decision->rows = calloc(count + PSEUDO_ROWS, sizeof(struct learned_row *));
	decision->modes = calloc(count + PSEUDO_ROWS, 1);
	if (!rows || !decision->inputs || !decision->rows || !decision->modes)
		return -ENOMEM;
	if (count)
		memcpy(rows, learned_now, count * sizeof(*rows));
	for (i = 0; i < count; i++) {
		if (rows[i].subject < overhead->entry_count)
			add_operator(decision, overhead, &rows[i], with_memory);
		else if (rows[i].subject == MODE_SUBJECT_NODES)
			nodes = &rows[i];
	}
	add_pseudo(decision, overhead, learned, nodes);
	return 0;
}

static enum wire_mode mode_of(const struct decision *decision, uint32_t subject)
{
	size_t i;

	for (i = 0; i < decision->count; i++) {
		if (decision->inputs[i].subject == subject)
			return (enum wire_mode)decision->modes[i];
	}
	return MODE_EXACT;
}

#define IDLE_MAX_PERMILLE 5

/* Watching for torch.ops calls is given up where there were none and each range pays for it. */
static void give_up_idle(struct decision *decision, const struct overhead *overhead,
			 const struct learned *learned)
{
	size_t i;

	if (overhead->options->exact || learned_hits(learned, LEARNED_FUNCTIONS))
		return;
	for (i = 0; i < decision->count; i++) {
		uint64_t cost_ns =
			modes_cost_ns(&decision->inputs[i], MODE_EXACT, &decision->prediction);

		if (decision->inputs[i].subject == MODE_SUBJECT_BOXED &&
		    cost_ns > decision->prediction.attempt_ns * IDLE_MAX_PERMILLE / 1000)
			decision->modes[i] = MODE_OFF;
	}
}

static const char *operator_name(const struct overhead *overhead, uint32_t subject)
{
	return subject < overhead->entry_count ? overhead->entries[subject].name : NULL;
}

/*
 * Tables have a row for a name: a row without some of its overloads would tell a wrong count. So
 * what one of them is given up for, all are.
 */
static void give_up_overloads(struct decision *decision, const struct overhead *overhead,
			      const char *name)
{
	struct mode_prediction *prediction = &decision->prediction;
	size_t i;

	for (i = 0; i < decision->count; i++) {
		const struct mode_input *input = &decision->inputs[i];
		const char *other = operator_name(overhead, input->subject);
		uint64_t cost_ns;

		if (!other || strcmp(other, name) != 0 || decision->modes[i] == MODE_OFF)
			continue;
		cost_ns = modes_cost_ns(input, (enum wire_mode)decision->modes[i], prediction);
		decision->modes[i] = MODE_OFF;
		prediction->added_ns -=
			cost_ns < prediction->added_ns ? cost_ns : prediction->added_ns;
	}
}

/* Of this name also those that warmup did not meet. */
static void adopt_given_up(struct overhead *overhead, const char *name)
{
	size_t i;

	for (i = 0; i < overhead->entry_count; i++) {
		if (!strcmp(overhead->entries[i].name, name))
			overhead->operators[i] = MODE_OFF;
	}
}

static void give_up_whole_names(struct decision *decision, const struct overhead *overhead)
{
	size_t i;

	for (i = 0; i < decision->count; i++) {
		const char *name = operator_name(overhead, decision->inputs[i].subject);

		if (name && decision->modes[i] == MODE_OFF)
			give_up_overloads(decision, overhead, name);
	}
}

/* Takes over what was decided. An operator without an exit site has no other mode. */
static void adopt(struct overhead *overhead, const struct decision *decision, bool *has_off)
{
	size_t i;

	*has_off = false;
	overhead->keeps_all = true;
	for (i = 0; i < overhead->entry_count; i++) {
		if (overhead->entries[i].has_entry && !overhead->entries[i].has_exit)
			overhead->operators[i] = MODE_BEGIN_ONLY;
	}
	for (i = 0; i < decision->count; i++) {
		uint32_t subject = decision->inputs[i].subject;

		if (decision->modes[i] != MODE_EXACT)
			overhead->keeps_all = false;
		if (subject >= overhead->entry_count)
			continue;
		if (decision->modes[i] == MODE_OFF)
			adopt_given_up(overhead, overhead->entries[subject].name);
		else if (decision->modes[i] != MODE_EXACT)
			overhead->operators[subject] = decision->modes[i];
		*has_off |= decision->modes[i] == MODE_OFF;
	}
	overhead->modes = (struct probe_modes){
		.operators = overhead->operators,
		.operator_count = overhead->entry_count,
		.nodes = (uint8_t)mode_of(decision, MODE_SUBJECT_NODES),
		.sequences = (uint8_t)mode_of(decision, MODE_SUBJECT_SEQUENCES),
		.memory = (uint8_t)mode_of(decision, MODE_SUBJECT_MEMORY),
		.boxed = (uint8_t)mode_of(decision, MODE_SUBJECT_BOXED),
		.modules = (uint8_t)mode_of(decision, MODE_SUBJECT_MODULES),
	};
	if (overhead->modes.nodes == MODE_OFF)
		overhead->modes.sequences = MODE_OFF;
}

/* How many records will come from directly inside a call that is begin-only. */
static uint32_t inner_events(const struct overhead *overhead, const struct learned_row *row,
			     bool has_off)
{
	uint32_t events;

	/* Guards are no operators: they come whatever is off. */
	if (!row || !row->is_steady || (has_off && row->inner_children > row->inner_guards))
		return UNKNOWN_EVENTS;
	events = row->inner_children;
	if (overhead->modes.nodes != MODE_EXACT)
		events -= row->inner_guards;
	if (overhead->modes.memory != MODE_OFF)
		events += row->inner_memory;
	return events;
}

/* Where numbers are not recorded, a call that takes one is not told from one that does not. */
static void fill_durations(const struct overhead *overhead, const struct learned_row *row,
			   struct wire_mode_record *record)
{
	record->duration_ns = row->mean_ns;
	record->numbered_duration_ns = row->mean_ns;
	if (overhead->modes.sequences == MODE_OFF)
		return;
	if (row->plain.calls)
		record->duration_ns = row->plain.mean_ns;
	if (row->numbered.calls)
		record->numbered_duration_ns = row->numbered.mean_ns;
}

static int tell_mode(const struct overhead *overhead, const struct decision *decision, size_t i,
		     bool has_off)
{
	const struct mode_input *input = &decision->inputs[i];
	enum wire_mode mode = input->subject < overhead->entry_count
				      ? (enum wire_mode)overhead->operators[input->subject]
				      : (enum wire_mode)decision->modes[i];
	struct wire_mode_record record = {
		.header = { .size = sizeof(record),
			    .kind = WIRE_MODE,
			    .subject = input->subject,
			    .time_ns = clock_monotonic_ns() },
		.mode = (uint8_t)mode,
		.takes_numbers = decision->rows[i] && decision->rows[i]->takes_numbers,
		.inner_events = inner_events(overhead, decision->rows[i], has_off),

		.hits = input->hits,
		.learned_ns = decision->bound.learned_ns,
		.cost_ns = modes_cost_ns(input, mode, &decision->prediction),
		.cost_exact_ns = modes_cost_ns(input, MODE_EXACT, &decision->prediction),
	};

	if (decision->rows[i])
		fill_durations(overhead, decision->rows[i], &record);
	return overhead->sink->record(overhead->sink, &record, sizeof(record));
}

/* Operators without an exit site that warmup did not meet are begin-only all the same. */
static int tell_unmet(const struct overhead *overhead, const struct decision *decision)
{
	size_t i;
	int err = 0;

	for (i = 0; i < overhead->entry_count && !err; i++) {
		struct wire_mode_record record = {
			.header = { .size = sizeof(record),
				    .kind = WIRE_MODE,
				    .subject = (__u32)i,
				    .time_ns = clock_monotonic_ns() },
			.mode = MODE_BEGIN_ONLY,
			.inner_events = UNKNOWN_EVENTS,
		};
		size_t k = 0;

		if (!overhead->entries[i].has_entry || overhead->entries[i].has_exit)
			continue;
		while (k < decision->count && decision->inputs[k].subject != i)
			k++;
		if (k == decision->count)
			err = overhead->sink->record(overhead->sink, &record, sizeof(record));
	}
	return err;
}

static int tell(const struct overhead *overhead, const struct decision *decision, bool has_off)
{
	struct wire_cost record;
	size_t i;
	int err = 0;

	for (i = 0; i < decision->count && !err; i++)
		err = tell_mode(overhead, decision, i, has_off);
	if (!err)
		err = tell_unmet(overhead, decision);
	if (err)
		return err;
	fill_cost(overhead, &record);
	record.predicted_added_ns = decision->prediction.added_ns;
	record.exact_added_ns = decision->prediction.exact_added_ns;
	record.attempt_ns = decision->prediction.attempt_ns;
	record.is_final = 1;
	return overhead->sink->record(overhead->sink, &record, sizeof(record));
}

/* Without memory more calls are told by what happens inside them: that is looked at a second time.
 */
static int decide(struct decision *decision, const struct overhead *overhead,
		  struct learned *learned, bool with_memory)
{
	int err = gather(decision, overhead, learned, with_memory);

	if (!err)
		err = modes_decide(decision->inputs, decision->count, &decision->bound,
				   decision->modes, &decision->prediction);
	if (err || !with_memory || mode_of(decision, MODE_SUBJECT_MEMORY) != MODE_OFF)
		return err;
	decision_clear(decision);
	return decide(decision, overhead, learned, false);
}

/* The time in which calls may have come, not that from the first to the last: a job that works for
 * a millisecond and waits for a second would seem to do nothing but make calls. */
static uint64_t learned_ns(const struct overhead_evidence *evidence)
{
	uint64_t span_ns = learned_span_ns(evidence->learned);

	return span_ns > evidence->learned_ns ? span_ns : evidence->learned_ns;
}

int overhead_decide(struct overhead *overhead, const struct overhead_evidence *evidence)
{
	struct decision decision = {
		.bound = { .learned_ns = learned_ns(evidence),
			   .learned_attempts = evidence->attempts,
			   .attempt_ns = evidence->unwatched_ns,
			   .max_overhead_permille = overhead->options->max_overhead_permille,
			   .exact = overhead->options->exact },
	};
	bool has_memory = overhead->plan->activities & ACTIVITY_MEMORY, has_off = false;
	int err;

	overhead->python_calls =
		probes_python_calls(overhead->probes) - overhead->python_calls_before;
	overhead->python_calls_before += overhead->python_calls;
	err = decide(&decision, overhead, evidence->learned, has_memory);

	if (!err) {
		give_up_idle(&decision, overhead, evidence->learned);
		give_up_whole_names(&decision, overhead);
		adopt(overhead, &decision, &has_off);
		err = tell(overhead, &decision, has_off);
	}
	if (!err)
		err = probes_set_modes(overhead->probes, &overhead->modes);
	decision_clear(&decision);
	return err;
}
