/* nesting.h - whether the rows of a trace nest, and are the tree by which the tables count. */
#ifndef SUPPORT_NESTING_H
#define SUPPORT_NESTING_H

#include "model/span.h"
#include "support/test.h"

#define NESTING_ROWS_MAX 1024

struct nesting_row {
	struct span span;
	uint64_t start_ns, end_ns; /* as shown */
	uint64_t child_ns;	   /* its children's, less what counts as its own of theirs */
};

static inline struct nesting_row nesting_row_of(const struct span *span)
{
	return (struct nesting_row){
		.span = *span,
		.start_ns = span_shown_start_ns(span),
		.end_ns = span_shown_end_ns(span),
	};
}

/* Rows whose end was not seen, or that end on another thread, are nobody's parents to readers. */
static inline bool nesting_has_end(const struct nesting_row *row)
{
	return row->span.is_finished && !row->span.is_async;
}

static inline int nesting_compare(const void *a, const void *b)
{
	const struct nesting_row *left = a, *right = b;

	if (left->span.tid != right->span.tid)
		return left->span.tid < right->span.tid ? -1 : 1;
	if (left->start_ns != right->start_ns)
		return left->start_ns < right->start_ns ? -1 : 1;
	if (left->end_ns != right->end_ns)
		return left->end_ns > right->end_ns ? -1 : 1;
	return left->span.id < right->span.id ? -1 : left->span.id > right->span.id;
}

static inline void nesting_add_child(struct nesting_row *parent, const struct nesting_row *child)
{
	parent->child_ns += child->span.end_ns - child->span.start_ns;
	if (child->span.is_merged)
		parent->child_ns -= child->span.self_ns;
}

/* Sorts the rows. As nested() of tests/e2e/harness.py, and TensorBoard's plugin. */
static inline const char *nesting_overlap(struct nesting_row *rows, size_t count)
{
	struct nesting_row *stack[NESTING_ROWS_MAX];
	size_t depth = 0, i;

	assert_true(count <= NESTING_ROWS_MAX);
	qsort(rows, count, sizeof(*rows), nesting_compare);
	for (i = 0; i < count; i++) {
		struct nesting_row *row = &rows[i];

		if (!nesting_has_end(row))
			continue;
		while (depth && (stack[depth - 1]->span.tid != row->span.tid ||
				 stack[depth - 1]->end_ns <= row->start_ns))
			depth--;
		if (depth && row->end_ns > stack[depth - 1]->end_ns)
			return "rows overlap";
		if (depth)
			nesting_add_child(stack[depth - 1], row);
		stack[depth++] = row;
	}
	return NULL;
}

/* A range that does not end has children, but is no parent in the trace. */
static inline bool nesting_meets_endless(const struct nesting_row *rows, size_t count,
					 const struct span *span)
{
	size_t i;

	for (i = 0; i < count; i++) {
		if (!nesting_has_end(&rows[i]) && rows[i].span.tid == span->tid &&
		    rows[i].span.start_ns <= span->end_ns)
			return true;
	}
	return false;
}

/* What is wrong with the rows; NULL: nothing. Sorts them. */
static inline const char *nesting_flaw(struct nesting_row *rows, size_t count)
{
	const char *overlap = nesting_overlap(rows, count);
	size_t i;

	if (overlap)
		return overlap;
	for (i = 0; i < count; i++) {
		const struct span *span = &rows[i].span;

		if (!nesting_meets_endless(rows, count, span) &&
		    span->self_ns + rows[i].child_ns != span->end_ns - span->start_ns)
			return "its own time and its children's are not its time";
	}
	return NULL;
}

#endif /* SUPPORT_NESTING_H */
