/*
 * op_table.c - cpu_ops.txt, cuda_ops.txt, cpu_memory.txt, cuda_memory.txt: the layout of
 * key_averages().table() of torch.autograd.profiler_util, column for column, as PyTorch 2.13 prints
 * it: cells aligned right, two blanks after each, lines of dashes round the header and below the
 * rows. Columns of what was not recorded are left out, as torch does.
 */
#include "output/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "output/device_state.h"
#include "output/print.h"
#include "output/table_cells.h"

#define NAME_WIDTH_MAX 55
#define NAME_SHOWN_MAX 52 /* a longer name is cut to this and gets "..." */
#define SHAPES_WIDTH_MAX 80
#define CELL_WIDTH 12
#define CELL_BYTES 512
#define COLUMNS_MAX 20

struct table;

struct column {
	const char *head;
	int width;
	void (*cell)(char *to, const struct table *table, const struct op_row *row);
};

struct table {
	const struct summary *summary;
	const struct op_row **rows; /* in order */
	struct column columns[COLUMNS_MAX];
	size_t column_count;
	struct flops_unit flops_unit;
	int shapes_width;
};

static void put_name(char *to, const char *name)
{
	text_printable(to, CELL_BYTES - 4, name);
	if (cell_width(to) < NAME_SHOWN_MAX)
		return;
	cell_cut(to, NAME_SHOWN_MAX);
	memcpy(to + strlen(to), "...", 4);
}

static void name_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	put_name(to, row->name);
}

static void overload_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	put_name(to, row->overload ? row->overload : "");
}

static void self_share_cell(char *to, const struct table *table, const struct op_row *row)
{
	cell_share(to, CELL_BYTES, row->self_ns, table->summary->self_total_ns);
}

static void self_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, (double)row->self_ns / 1e3);
}

/* What ends on another thread is no part of what this one did. */
static void total_share_cell(char *to, const struct table *table, const struct op_row *row)
{
	if (row->is_async)
		snprintf(to, CELL_BYTES, "0");
	else
		cell_share(to, CELL_BYTES, row->total_ns, table->summary->self_total_ns);
}

static void total_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, (double)row->total_ns / 1e3);
}

static double average_us(const struct op_row *row)
{
	return row->count ? (double)row->total_ns / 1e3 / (double)row->count : 0;
}

static void average_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, average_us(row));
}

static void self_device_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, (double)row->device_self_ns / 1e3);
}

static void self_device_share_cell(char *to, const struct table *table, const struct op_row *row)
{
	cell_share(to, CELL_BYTES, row->device_self_ns, table->summary->device.self_total_ns);
}

static void device_total_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, (double)row->device_total_ns / 1e3);
}

static double device_average_us(const struct op_row *row)
{
	return row->count ? (double)row->device_total_ns / 1e3 / (double)row->count : 0;
}

static void device_average_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_time(to, CELL_BYTES, device_average_us(row));
}

static void cpu_memory_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_memory(to, CELL_BYTES, row->total_bytes[SPAN_CPU]);
}

static void self_cpu_memory_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_memory(to, CELL_BYTES, row->self_bytes[SPAN_CPU]);
}

static void device_memory_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_memory(to, CELL_BYTES, row->total_bytes[SPAN_GPU]);
}

static void self_device_memory_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	cell_memory(to, CELL_BYTES, row->self_bytes[SPAN_GPU]);
}

static void count_cell(char *to, const struct table *table, const struct op_row *row)
{
	(void)table;
	snprintf(to, CELL_BYTES, "%" PRIu64, row->count);
}

static void shapes_cell(char *to, const struct table *table, const struct op_row *row)
{
	text_printable(to, CELL_BYTES, row->shapes ? row->shapes : "[]");
	cell_cut(to, table->shapes_width);
}

static void flops_cell(char *to, const struct table *table, const struct op_row *row)
{
	cell_flops(to, CELL_BYTES, row->flops, &table->flops_unit);
}

static void add_column(struct table *table, const char *head, int width,
		       void (*cell)(char *, const struct table *, const struct op_row *))
{
	table->columns[table->column_count++] = (struct column){ head, width, cell };
}

static int widest(const struct summary *summary, const char *(*text_of)(const struct op_row *row))
{
	int longest = 0;
	size_t i;

	for (i = 0; i < summary->row_count; i++) {
		char text[CELL_BYTES];
		const char *whole = text_of(&summary->rows[i]);
		int width = whole ? cell_width(text_printable(text, sizeof(text), whole)) : 0;

		if (width > longest)
			longest = width;
	}
	return longest;
}

static const char *name_of(const struct op_row *row)
{
	return row->name;
}

static const char *overload_of(const struct op_row *row)
{
	return row->overload;
}

static const char *shapes_of(const struct op_row *row)
{
	return row->shapes;
}

static int at_most(int width, int limit)
{
	return width < limit ? width : limit;
}

static void add_names(struct table *table)
{
	int width = at_most(widest(table->summary, name_of) + 4, NAME_WIDTH_MAX);

	add_column(table, "Name", width, name_cell);
	if (widest(table->summary, overload_of))
		add_column(table, "Overload Name", width, overload_cell);
}

static void add_device_times(struct table *table)
{
	add_column(table, "Self CUDA", CELL_WIDTH, self_device_cell);
	add_column(table, "Self CUDA %", CELL_WIDTH, self_device_share_cell);
	add_column(table, "CUDA total", CELL_WIDTH, device_total_cell);
	add_column(table, "CUDA time avg", CELL_WIDTH, device_average_cell);
}

static void add_memory(struct table *table)
{
	add_column(table, "CPU Mem", CELL_WIDTH, cpu_memory_cell);
	add_column(table, "Self CPU Mem", CELL_WIDTH, self_cpu_memory_cell);
	if (!summary_has_device_memory(table->summary))
		return;
	add_column(table, "CUDA Mem", CELL_WIDTH, device_memory_cell);
	add_column(table, "Self CUDA Mem", CELL_WIDTH, self_device_memory_cell);
}

static void add_shapes(struct table *table)
{
	int longest = widest(table->summary, shapes_of);

	if (longest <= 2) /* nothing but [] */
		return;
	table->shapes_width = at_most(longest + 4, SHAPES_WIDTH_MAX);
	add_column(table, "Input Shapes", table->shapes_width, shapes_cell);
}

static void add_flops(struct table *table)
{
	const struct summary *summary = table->summary;
	uint64_t smallest = 0;
	size_t i;

	for (i = 0; i < summary->row_count; i++) {
		uint64_t flops = summary->rows[i].flops;

		if (flops && (!smallest || flops < smallest))
			smallest = flops;
	}
	if (!smallest)
		return;
	table->flops_unit = cell_flops_unit(smallest);
	add_column(table, table->flops_unit.head, CELL_WIDTH, flops_cell);
}

static void choose_columns(struct table *table)
{
	add_names(table);
	add_column(table, "Self CPU %", CELL_WIDTH, self_share_cell);
	add_column(table, "Self CPU", CELL_WIDTH, self_cell);
	add_column(table, "CPU total %", CELL_WIDTH, total_share_cell);
	add_column(table, "CPU total", CELL_WIDTH, total_cell);
	add_column(table, "CPU time avg", CELL_WIDTH, average_cell);
	if (summary_has_device_times(table->summary))
		add_device_times(table);
	if (summary_has_memory(table->summary))
		add_memory(table);
	add_column(table, "# of Calls", CELL_WIDTH, count_cell);
	add_shapes(table);
	if (summary_table(table->summary)->with_flops)
		add_flops(table);
}

static double sort_value(const struct op_row *row, enum sort_key key)
{
	switch (key) {
	case SORT_SELF_CPU_TIME:
		return (double)row->self_ns;
	case SORT_CPU_TIME:
		return average_us(row);
	case SORT_CPU_TIME_TOTAL:
		return (double)row->total_ns;
	case SORT_CPU_MEMORY:
		return (double)row->total_bytes[SPAN_CPU];
	case SORT_SELF_CPU_MEMORY:
		return (double)row->self_bytes[SPAN_CPU];
	case SORT_DEVICE_MEMORY:
		return (double)row->total_bytes[SPAN_GPU];
	case SORT_SELF_DEVICE_MEMORY:
		return (double)row->self_bytes[SPAN_GPU];
	case SORT_COUNT:
		return (double)row->count;
	case SORT_FLOPS:
		return (double)row->flops;
	case SORT_DEVICE_TIME:
		return device_average_us(row);
	case SORT_DEVICE_TIME_TOTAL:
		return (double)row->device_total_ns;
	case SORT_SELF_DEVICE_TIME:
		return (double)row->device_self_ns;
	case SORT_KEY_CNT:
		break;
	}
	return 0;
}

/* Largest first; among equals the one seen first, as Python's sort leaves them. */
static int compare(const void *a, const void *b, void *context)
{
	const struct op_row *left = *(const struct op_row *const *)a;
	const struct op_row *right = *(const struct op_row *const *)b;
	enum sort_key key = *(const enum sort_key *)context;
	double left_value = sort_value(left, key), right_value = sort_value(right, key);

	if (left_value != right_value)
		return left_value < right_value ? 1 : -1;
	if (left->first_id != right->first_id)
		return left->first_id < right->first_id ? -1 : 1;
	return left < right ? -1 : left > right;
}

static int put_separator(struct byte_sink *out, const struct table *table)
{
	char dashes[SHAPES_WIDTH_MAX + 1];
	size_t i;
	int err = 0;

	memset(dashes, '-', sizeof(dashes));
	for (i = 0; i < table->column_count && !err; i++)
		err = print(out, "%.*s  ", table->columns[i].width, dashes);
	return err ? err : print(out, "\n");
}

static int put_cell(struct byte_sink *out, const struct column *column, const char *text)
{
	int blanks = column->width - cell_width(text);

	return print(out, "%*s%s  ", blanks > 0 ? blanks : 0, "", text);
}

static int put_header(struct byte_sink *out, const struct table *table)
{
	size_t i;
	int err = put_separator(out, table);

	for (i = 0; i < table->column_count && !err; i++)
		err = put_cell(out, &table->columns[i], table->columns[i].head);
	if (!err)
		err = print(out, "\n");
	return err ? err : put_separator(out, table);
}

static int put_row(struct byte_sink *out, const struct table *table, const struct op_row *row)
{
	char text[CELL_BYTES];
	size_t i;
	int err = 0;

	for (i = 0; i < table->column_count && !err; i++) {
		table->columns[i].cell(text, table, row);
		err = put_cell(out, &table->columns[i], text);
	}
	return err ? err : print(out, "\n");
}

static int put_rows(struct byte_sink *out, const struct table *table, size_t count)
{
	char total[32];
	size_t i;
	int err = put_header(out, table);

	for (i = 0; i < count && !err; i++)
		err = put_row(out, table, table->rows[i]);
	if (!err)
		err = put_separator(out, table);
	if (err)
		return err;
	err = print(out, "Self CPU time total: %s\n",
		    cell_time(total, sizeof(total), (double)table->summary->self_total_ns / 1e3));
	if (err || !summary_has_device_times(table->summary))
		return err;
	return print(out, "Self CUDA time total: %s\n",
		     cell_time(total, sizeof(total),
			       (double)table->summary->device.self_total_ns / 1e3));
}

static int write_table(struct byte_sink *out, const struct summary *summary, enum sort_key key)
{
	uint32_t limit = summary_table(summary)->row_limit;
	size_t shown = limit && limit < summary->row_count ? limit : summary->row_count, i;
	struct table table = { .summary = summary };
	int err;

	table.rows = calloc(summary->row_count + 1, sizeof(struct op_row *));
	if (!table.rows)
		return -ENOMEM;
	for (i = 0; i < summary->row_count; i++)
		table.rows[i] = &summary->rows[i];
	if (key != SORT_SELF_CPU_TIME) /* which they are in already */
		qsort_r(table.rows, summary->row_count, sizeof(struct op_row *), compare, &key);
	choose_columns(&table);
	err = put_rows(out, &table, shown);
	if (!err && shown < summary->row_count)
		err = print(out, "%zu of %zu rows are not shown (--row-limit %u)\n",
			    summary->row_count - shown, summary->row_count, limit);
	free(table.rows);
	return err;
}

static int op_table_finish(struct byte_sink *out, const struct summary *summary)
{
	return write_table(out, summary, summary_table(summary)->sort_by);
}

/* Times of the host would look like the device's: they stand in cpu_ops.txt alone. */
static int put_unavailable(struct byte_sink *out, const struct summary *summary)
{
	char reason[DEVICE_REASON_BYTES], shown[CELL_BYTES];
	int err;

	device_state_reason(summary, reason);
	err = print(out, "cuda timing: unavailable (%s)\n",
		    text_printable(shown, sizeof(shown), reason));
	if (err || !summary->device.calls)
		return err;
	return print(out, "calls of CUDA: %" PRIu64 ", see cpu_ops.txt\n", summary->device.calls);
}

static int device_table_finish(struct byte_sink *out, const struct summary *summary)
{
	if (summary->device.watch != DEVICE_WATCHED)
		return put_unavailable(out, summary);
	return write_table(out, summary, SORT_SELF_DEVICE_TIME);
}

static int cpu_memory_table_finish(struct byte_sink *out, const struct summary *summary)
{
	return write_table(out, summary, SORT_SELF_CPU_MEMORY);
}

static int device_memory_table_finish(struct byte_sink *out, const struct summary *summary)
{
	return write_table(out, summary, SORT_SELF_DEVICE_MEMORY);
}

int op_table_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, op_table_finish);
}

int device_table_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, device_table_finish);
}

int cpu_memory_table_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, cpu_memory_table_finish);
}

int device_memory_table_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, device_memory_table_finish);
}
