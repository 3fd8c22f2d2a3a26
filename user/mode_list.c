/* mode_list.c - see mode_list.h. Names are looked up at the end: by then all are known. */
#include "mode_list.h"

#include <errno.h>
#include <stdlib.h>

#include "base/bound.h"

#define ROWS_MAX BOUND(20000, 8)

int mode_list_add(struct mode_list *list, const struct event *event)
{
	const struct wire_mode_record *record = event->mode;
	struct mode_row *grown;

	if (list->count >= ROWS_MAX)
		return 0;
	grown = realloc(list->rows, (list->count + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	list->rows = grown;
	grown[list->count++] = (struct mode_row){
		.subject = event->header->subject,
		.mode = record->mode,
		.hits = record->hits,
		.duration_ns = record->duration_ns,
		.cost_ns = record->cost_ns,
		.cost_exact_ns = record->cost_exact_ns,
	};
	return 0;
}

void mode_list_free(struct mode_list *list)
{
	free(list->rows);
	*list = (struct mode_list){ 0 };
}

static const char *name_of_subject(uint32_t subject)
{
	switch (subject) {
	case MODE_SUBJECT_NODES:
		return "autograd nodes";
	case MODE_SUBJECT_SEQUENCES:
		return "sequence numbers";
	case MODE_SUBJECT_MEMORY:
		return "memory";
	case MODE_SUBJECT_RANGES:
		return "ranges";
	case MODE_SUBJECT_BOXED:
		return "torch.ops calls";
	case MODE_SUBJECT_MODULES:
		return "module calls";
	default:
		return "(unnamed operator)";
	}
}

void mode_list_summarize(struct mode_list *list, const struct symbols *symbols,
			 struct summary *summary)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		struct mode_row *row = &list->rows[i];
		const struct operator_name *known = symbols_operator_of(symbols, row->subject);

		row->name = known ? known->name : name_of_subject(row->subject);
		row->overload = known ? known->overload : NULL;
	}
	summary->modes = list->rows;
	summary->mode_count = list->count;
}
