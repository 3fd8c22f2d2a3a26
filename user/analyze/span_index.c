/* span_index.c - see span_index.h. Spans of a thread nest, so one walk in order of time will do. */
#include "analyze/span_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

void span_index_init(struct span_index *index, size_t max)
{
	*index = (struct span_index){ .max = max, .innermost = SPAN_INDEX_NONE };
}

void span_index_fini(struct span_index *index)
{
	free(index->spans);
	memset(index, 0, sizeof(*index));
}

int span_index_add(struct span_index *index, const struct span *span, size_t row)
{
	int err;

	if (span->is_async)
		return 0;
	if (index->count >= index->max) {
		index->dropped++;
		return 0;
	}
	err = ARRAY_RESERVE(index->spans, index->capacity, index->count + 1);
	if (err)
		return err;
	index->spans[index->count++] = (struct kept_span){
		.start_ns = span_shown_start_ns(span),
		.end_ns = span_shown_end_ns(span),
		.id = span->id,
		.name = span->name,
		.row = row,
		.parent = SPAN_INDEX_NONE,
		.tid = span->tid,
		.kind = span->kind,
		.is_merged = span->is_merged,
		.is_step = span->is_step,
	};
	return 0;
}

/* Outer ones first: of two with the same edges, the one that began first, which has the lower id.
 */
static int compare(const void *a, const void *b)
{
	const struct kept_span *left = a, *right = b;

	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id;
}

/* Steps have ids of their own, higher than those of what they hold. */
static bool holds(const struct kept_span *outer, const struct kept_span *inner)
{
	return outer->tid == inner->tid && outer->end_ns >= inner->end_ns &&
	       outer->start_ns <= inner->start_ns;
}

void span_index_sort(struct span_index *index)
{
	size_t i, open = SPAN_INDEX_NONE;

	if (index->count)
		qsort(index->spans, index->count, sizeof(*index->spans), compare);
	for (i = 0; i < index->count; i++) {
		while (open != SPAN_INDEX_NONE && !holds(&index->spans[open], &index->spans[i]))
			open = index->spans[open].parent;
		index->spans[i].parent = open;
		open = i;
	}
}

static bool is_before(const struct kept_span *span, uint32_t tid, uint64_t time_ns)
{
	return span->tid < tid || (span->tid == tid && span->start_ns <= time_ns);
}

static bool has_moment(const struct kept_span *span, uint32_t tid, uint64_t time_ns)
{
	return span->tid == tid && span->start_ns <= time_ns && time_ns < span->end_ns;
}

size_t span_index_at(struct span_index *index, uint32_t tid, uint64_t time_ns)
{
	size_t at = index->innermost;

	while (index->next < index->count && is_before(&index->spans[index->next], tid, time_ns))
		at = index->next++;
	while (at != SPAN_INDEX_NONE && !has_moment(&index->spans[at], tid, time_ns))
		at = index->spans[at].parent;
	index->innermost = at;
	return at;
}
