/*
 * op_stats.c - see op_stats.h. Names, overloads and texts of shapes are unique pointers, so the
 * pointers are the key. Every call comes through here: nothing is allocated for one whose row is
 * there.
 */
#include "analyze/op_stats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/flops.h"
#include "analyze/shape_groups.h"
#include "base/array.h"
#include "base/bound.h"
#include "base/hashmap.h"
#include "base/text.h"

#define SHAPES_MAX BOUND(20000, 8)

/* One pointer for all of them, whether or not the job has names of its own left. */
static const char STEP_ROW_NAME[] = "ProfilerStep*";
static const char NO_OVERLOAD[] = "";

/* What key_averages() keeps apart under one name. */
enum row_class {
	ROW_ANNOTATION,
	ROW_REGION,
	ROW_CALL, /* operators, nodes and functions */
	ROW_DEVICE,
	ROW_DEVICE_ANNOTATION,
};

struct key {
	const char *name, *overload, *shapes;
	enum row_class class;
};

struct row {
	struct row *next; /* of the same hash */
	size_t number;
	enum row_class class;
	enum flops_formula formula;
	bool is_left_out;
	struct op_row op;
};

struct op_stats {
	struct table_options table;
	struct hashmap *by_key;
	struct shape_groups *shapes; /* NULL: not grouped by them */
	struct row **rows;	     /* pointers, so that the map's values stay where they are */
	size_t count, capacity;
	struct op_row *sorted;
	bool has_shapes;
};

int op_stats_new(struct op_stats **out, const struct table_options *table)
{
	struct op_stats *stats = calloc(1, sizeof(*stats));
	int err;

	if (!stats)
		return -ENOMEM;
	if (table)
		stats->table = *table;
	err = hashmap_new(&stats->by_key);
	if (!err && stats->table.group_by_shape)
		err = shape_groups_new(&stats->shapes, SHAPES_MAX);
	if (err) {
		op_stats_free(stats);
		return err;
	}
	*out = stats;
	return 0;
}

void op_stats_free(struct op_stats *stats)
{
	size_t i;

	if (!stats)
		return;
	for (i = 0; i < stats->count; i++)
		free(stats->rows[i]);
	free(stats->rows);
	free(stats->sorted);
	shape_groups_free(stats->shapes);
	hashmap_free(stats->by_key);
	free(stats);
}

/* As profiler_util.py has it. */
static bool is_left_out(const char *name)
{
	static const char *const names[] = {
		"[memory]",
		"[OutOfMemory]",
		"profiler::_record_function_enter",
		"profiler::_record_function_enter_new",
		"profiler::_record_function_exit",
		"aten::is_leaf",
		"aten::output_nr",
		"aten::_version",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static uint64_t hash_of(const struct key *key)
{
	uint64_t hash = (uint64_t)(uintptr_t)key->name << 3 | key->class;

	hash ^= (uint64_t)(uintptr_t)key->overload * 0x9e3779b97f4a7c15ULL;
	return hash ^ (uint64_t)(uintptr_t)key->shapes * 0xc2b2ae3d27d4eb4fULL;
}

static bool is_row_of(const struct row *row, const struct key *key)
{
	return row->op.name == key->name && row->op.overload == key->overload &&
	       row->op.shapes == key->shapes && row->class == key->class;
}

static struct row *row_new(struct op_stats *stats, const struct key *key, uint64_t hash)
{
	void *next = NULL;
	struct row *row;

	if (array_reserve(&stats->rows, &stats->capacity, stats->count + 1, sizeof(struct row *)))
		return NULL;
	row = calloc(1, sizeof(*row));
	if (!row || hashmap_put(stats->by_key, hash, row, &next)) {
		free(row);
		return NULL;
	}
	row->next = next;
	row->class = key->class;
	row->op.name = key->name;
	row->op.overload = key->overload;
	row->op.shapes = key->shapes;
	row->op.first_id = UINT64_MAX;
	row->is_left_out = is_left_out(key->name);
	row->formula = flops_formula_of(key->name);
	row->number = stats->count;
	stats->rows[stats->count++] = row;
	return row;
}

static enum row_class class_of(const struct span *span)
{
	switch (span->kind) {
	case SPAN_RANGE:
		return ROW_ANNOTATION;
	case SPAN_REGION:
		return ROW_REGION;
	default:
		return ROW_CALL;
	}
}

static const char *row_name(const struct span *span)
{
	if (span->kind == SPAN_RANGE &&
	    (text_has_prefix(span->name, "ProfilerStep#") || !strcmp(span->name, STEP_ROW_NAME)))
		return STEP_ROW_NAME;
	return span->name;
}

/* NULL: out of memory. */
static struct row *row_of(struct op_stats *stats, struct key *key, const char *overload,
			  const struct wire_shapes *shapes)
{
	struct row *row;
	uint64_t hash;

	if (stats->table.group_by_overload)
		key->overload = overload && overload[0] ? overload : NO_OVERLOAD;
	if (stats->shapes) {
		key->shapes = shape_groups_text(stats->shapes, shapes);
		if (!key->shapes)
			return NULL;
	}
	hash = hash_of(key);
	for (row = hashmap_get(stats->by_key, hash); row; row = row->next) {
		if (is_row_of(row, key))
			return row;
	}
	return row_new(stats, key, hash);
}

static struct row *row_get(struct op_stats *stats, const struct span *span)
{
	struct key key = { .name = row_name(span), .class = class_of(span) };

	return row_of(stats, &key, span->overload, span->shapes);
}

static uint64_t less(uint64_t from, uint64_t part)
{
	return from > part ? from - part : 0;
}

static void add_times(struct op_row *op, const struct span *span)
{
	uint64_t duration_ns = less(span->end_ns, span->start_ns);
	unsigned int device;

	op->raw_total_ns += duration_ns;
	op->raw_self_ns += span->self_ns;
	op->total_ns += less(duration_ns, span->probe_total_ns);
	op->self_ns += less(span->self_ns, span->probe_self_ns);
	for (device = 0; device < SPAN_DEVICE_CNT; device++) {
		op->total_bytes[device] = (int64_t)((uint64_t)op->total_bytes[device] +
						    (uint64_t)span->total_bytes[device]);
		op->self_bytes[device] = (int64_t)((uint64_t)op->self_bytes[device] +
						   (uint64_t)span->self_bytes[device]);
	}
}

int op_stats_add(struct op_stats *stats, const struct span *span, size_t *number)
{
	struct row *row;
	struct op_row *op;

	if (span->is_merged)
		return 0;
	row = row_get(stats, span);
	if (!row)
		return -ENOMEM;
	if (number)
		*number = row->number;
	op = &row->op;
	if (span->id < op->first_id) {
		op->first_id = span->id;
		op->kind = span->kind;
		op->is_async = span->is_async;
	}
	op->count++;
	op->unfinished += !span->is_finished;
	op->inferred += span->is_inferred;
	op->unwound += span->is_unwound;
	op->async += span->is_async;
	add_times(op, span);
	if (!span->shapes)
		return 0;
	stats->has_shapes = true;
	if (row->formula != FLOPS_NONE)
		op->flops += flops_count(row->formula, span->shapes);
	return 0;
}

void op_stats_take_self(struct op_stats *stats, size_t row, uint64_t duration_ns)
{
	struct op_row *op = &stats->rows[row]->op;

	op->self_ns = less(op->self_ns, duration_ns);
	op->raw_self_ns = less(op->raw_self_ns, duration_ns);
}

void op_stats_add_device_time(struct op_stats *stats, size_t row, uint64_t self_ns,
			      uint64_t total_ns)
{
	struct op_row *op = &stats->rows[row]->op;

	op->device_self_ns += self_ns;
	op->device_total_ns += total_ns;
}

/* *op: the row of that name, with one call more. */
static int count_one(struct op_stats *stats, enum row_class class, const char *name,
		     struct op_row **op)
{
	struct key key = { .name = name, .class = class };
	struct row *row = row_of(stats, &key, NULL, NULL);

	if (!row)
		return -ENOMEM;
	*op = &row->op;
	row->op.count++;
	return 0;
}

int op_stats_add_device_call(struct op_stats *stats, const struct device_call *call,
			     uint64_t inner_ns)
{
	uint64_t total_ns = call->end_ns - call->start_ns;
	struct op_row *op;
	int err = count_one(stats, ROW_CALL, call->name, &op);

	if (err)
		return err;
	op->kind = SPAN_FUNCTION;
	op->total_ns += total_ns;
	op->raw_total_ns += total_ns;
	op->self_ns += less(total_ns, inner_ns);
	op->raw_self_ns += less(total_ns, inner_ns);
	return 0;
}

static int add_device_row(struct op_stats *stats, enum row_class class, const char *name,
			  uint64_t duration_ns)
{
	struct op_row *op;
	int err = count_one(stats, class, name, &op);

	if (err)
		return err;
	op->kind = SPAN_FUNCTION;
	op->is_device = true;
	op->is_annotation = class == ROW_DEVICE_ANNOTATION;
	op->device_self_ns += duration_ns;
	op->device_total_ns += duration_ns;
	return 0;
}

int op_stats_add_device_work(struct op_stats *stats, const struct device_work *work)
{
	return add_device_row(stats, ROW_DEVICE, work->name, work->end_ns - work->start_ns);
}

int op_stats_add_device_annotation(struct op_stats *stats,
				   const struct device_annotation *annotation)
{
	return add_device_row(stats, ROW_DEVICE_ANNOTATION, annotation->name,
			      annotation->end_ns - annotation->start_ns);
}

/* Largest self time first; among equals the one that was seen first, as in key_averages(). */
static int compare(const void *a, const void *b)
{
	const struct op_row *left = a, *right = b;

	if (left->self_ns != right->self_ns)
		return left->self_ns < right->self_ns ? 1 : -1;
	if (left->first_id != right->first_id)
		return left->first_id < right->first_id ? -1 : 1;
	return strcmp(left->name, right->name);
}

/* Operators by name, whatever else the rows are grouped by. */
static int count_kinds(const struct op_stats *stats, struct summary *summary)
{
	struct hashmap *kinds = NULL, *inferred = NULL;
	size_t i;
	int err = hashmap_new(&kinds);

	if (!err)
		err = hashmap_new(&inferred);
	for (i = 0; i < summary->row_count && !err; i++) {
		struct op_row *op = &stats->sorted[i];
		uint64_t key = (uint64_t)(uintptr_t)op->name;

		if (op->kind != SPAN_OPERATOR)
			continue;
		err = hashmap_put(kinds, key, op, NULL);
		if (!err && op->inferred)
			err = hashmap_put(inferred, key, op, NULL);
	}
	if (!err) {
		summary->operator_kinds = hashmap_count(kinds);
		summary->inferred_kinds = hashmap_count(inferred);
	}
	hashmap_free(kinds);
	hashmap_free(inferred);
	return err;
}

int op_stats_summarize(struct op_stats *stats, struct summary *summary)
{
	size_t count = 0, i;

	free(stats->sorted);
	stats->sorted = calloc(stats->count + 1, sizeof(*stats->sorted));
	if (!stats->sorted)
		return -ENOMEM;
	summary->self_total_ns = summary->device.self_total_ns = 0;
	for (i = 0; i < stats->count; i++) {
		const struct op_row *op = &stats->rows[i]->op;

		if (stats->rows[i]->is_left_out)
			continue;
		stats->sorted[count++] = *op;
		summary->self_total_ns += op->self_ns;
		if (op->is_device && !op->is_annotation)
			summary->device.self_total_ns += op->device_self_ns;
	}
	qsort(stats->sorted, count, sizeof(*stats->sorted), compare);
	summary->rows = stats->sorted;
	summary->row_count = count;
	summary->has_shapes = stats->has_shapes;
	return count_kinds(stats, summary);
}
