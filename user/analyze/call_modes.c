/* call_modes.c - see call_modes.h. */
#include "analyze/call_modes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPERATORS_MAX SYMBOLS_OPERATORS_MAX
#define HIT_MAX_NS 1000000000ULL /* keeps sums of them from overflowing */

/* Of enum probe_site_kind, which is attach's. */
#define SITE_PUSH 0

static const struct call_mode EXACT = { .mode = MODE_EXACT };

struct call_modes {
	const struct symbols *symbols;
	struct call_mode *operators; /* by index */
	struct call_mode nodes;
	bool has_off; /* some operator is */

	uint64_t hit_ns[COST_KINDS];
};

int call_modes_new(struct call_modes **out, const struct symbols *symbols)
{
	struct call_modes *modes = calloc(1, sizeof(*modes));

	if (!modes)
		return -ENOMEM;
	modes->symbols = symbols;
	/* As large as it may become: untouched pages cost nothing. */
	modes->operators = calloc(OPERATORS_MAX, sizeof(*modes->operators));
	if (!modes->operators) {
		free(modes);
		return -ENOMEM;
	}
	*out = modes;
	return 0;
}

void call_modes_free(struct call_modes *modes)
{
	if (!modes)
		return;
	free(modes->operators);
	free(modes);
}

void call_modes_mode(struct call_modes *modes, const struct event *event)
{
	const struct wire_mode_record *record = event->mode;
	uint32_t subject = event->header->subject;
	struct call_mode mode = {
		.duration_ns = record->duration_ns,
		.numbered_duration_ns = record->numbered_duration_ns,
		.inner_events = record->inner_events,
		.mode = record->mode,
		.takes_numbers = record->takes_numbers,
	};

	if (subject == MODE_SUBJECT_NODES)
		modes->nodes = mode;
	else if (subject < OPERATORS_MAX)
		modes->operators[subject] = mode;
	modes->has_off |= subject < OPERATORS_MAX && mode.mode == MODE_OFF;
}

void call_modes_cost(struct call_modes *modes, const struct event *event)
{
	unsigned int kind;

	for (kind = 0; kind < COST_KINDS; kind++) {
		uint64_t hit_ns = event->cost->hit_ns[kind];

		modes->hit_ns[kind] = hit_ns < HIT_MAX_NS ? hit_ns : HIT_MAX_NS;
	}
}

struct call_mode call_modes_operator(const struct call_modes *modes, uint32_t index)
{
	return index < OPERATORS_MAX ? modes->operators[index] : EXACT;
}

bool call_modes_has_off(const struct call_modes *modes)
{
	return modes->has_off;
}

struct call_mode call_modes_nodes(const struct call_modes *modes)
{
	return modes->nodes;
}

uint64_t call_modes_push_ns(const struct call_modes *modes)
{
	return modes->hit_ns[SITE_PUSH];
}

uint64_t call_modes_before_ns(const struct call_modes *modes, uint64_t cost_ns)
{
	uint64_t emulated_ns = modes->hit_ns[SITE_PUSH];

	return (emulated_ns && emulated_ns < cost_ns ? emulated_ns : cost_ns) / 2;
}

static uint64_t operator_ns(const struct call_modes *modes, const struct event *event)
{
	const struct operator_name *name =
		symbols_operator_of(modes->symbols, event->header->subject);
	uint8_t site = 0; /* 1 + its kind */

	if (name)
		site = event->kind == WIRE_OP_BEGIN ? name->entry_site : name->exit_site;
	return modes->hit_ns[site && site <= COST_KINDS ? site - 1 : SITE_PUSH];
}

uint64_t call_modes_cost_ns(const struct call_modes *modes, const struct event *event)
{
	switch (event->kind) {
	case WIRE_OP_BEGIN:
	case WIRE_OP_END:
		return operator_ns(modes, event);
	default:
		return modes->hit_ns[SITE_PUSH];
	}
}
