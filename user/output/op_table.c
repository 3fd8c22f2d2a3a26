/*
 * op_table.c - cpu_ops.txt: the layout of torch.autograd.profiler_util's key_averages().table(),
 * column for column, as PyTorch 1.13 to 2.14 print it: cells aligned right, two blanks after each,
 * lines of dashes round the header and below the rows.
 */
#include "output/writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "output/print.h"

#define NAME_WIDTH_MAX 55
#define NAME_SHOWN_MAX 52 /* a longer name is cut to this and gets "..." */
#define CELL_WIDTH 12
#define NAME_BYTES 512

static const char *const columns[] = {
	"Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg", "# of Calls",
};

#define COLUMN_CNT (sizeof(columns) / sizeof(columns[0]))

/* Characters, not bytes: names may be UTF-8. */
static int width_of(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static void shown_name(char *to, size_t size_bytes, const char *name)
{
	char *c;
	int width = 0;

	text_printable(to, size_bytes - 4, name);
	if (width_of(to) < NAME_SHOWN_MAX)
		return;
	for (c = to; *c; c++) {
		width += ((unsigned char)*c & 0xc0) != 0x80;
		if (width > NAME_SHOWN_MAX)
			break;
	}
	memcpy(c, "...", 4);
}

static int name_width(const struct summary *summary)
{
	char name[NAME_BYTES];
	int longest = 0;
	size_t i;

	for (i = 0; i < summary->row_count; i++) {
		int width = width_of(text_printable(name, sizeof(name), summary->rows[i].name));

		if (width > longest)
			longest = width;
	}
	return longest + 4 < NAME_WIDTH_MAX ? longest + 4 : NAME_WIDTH_MAX;
}

static int put_dashes(struct byte_sink *out, int width)
{
	char dashes[NAME_WIDTH_MAX + 3];

	memset(dashes, '-', (size_t)width);
	memcpy(dashes + width, "  ", 3);
	return print(out, "%s", dashes);
}

static int put_separator(struct byte_sink *out, int width)
{
	size_t i;
	int err = put_dashes(out, width);

	for (i = 0; i < COLUMN_CNT && !err; i++)
		err = put_dashes(out, CELL_WIDTH);
	return err ? err : print(out, "\n");
}

static int put_name(struct byte_sink *out, const char *name, int width)
{
	int blanks = width - width_of(name);

	return print(out, "%*s%s  ", blanks > 0 ? blanks : 0, "", name);
}

static int put_header(struct byte_sink *out, int width)
{
	size_t i;
	int err = put_separator(out, width);

	if (!err)
		err = put_name(out, "Name", width);
	for (i = 0; i < COLUMN_CNT && !err; i++)
		err = print(out, "%*s  ", CELL_WIDTH, columns[i]);
	if (!err)
		err = print(out, "\n");
	return err ? err : put_separator(out, width);
}

static char *percent(char *to, size_t size_bytes, uint64_t part, uint64_t whole)
{
	if (whole)
		snprintf(to, size_bytes, "%.2f%%", 100.0 * (double)part / (double)whole);
	else
		snprintf(to, size_bytes, "NaN");
	return to;
}

static int put_row(struct byte_sink *out, const struct op_row *row, uint64_t whole_ns, int width)
{
	char name[NAME_BYTES], self_share[32], self[32], total_share[32], total[32], average[32];
	int err;

	shown_name(name, sizeof(name), row->name);
	err = put_name(out, name, width);
	if (err)
		return err;
	return print(out, "%*s  %*s  %*s  %*s  %*s  %*" PRIu64 "  \n", CELL_WIDTH,
		     percent(self_share, sizeof(self_share), row->self_ns, whole_ns), CELL_WIDTH,
		     text_duration(self, sizeof(self), (int64_t)row->self_ns), CELL_WIDTH,
		     percent(total_share, sizeof(total_share), row->total_ns, whole_ns), CELL_WIDTH,
		     text_duration(total, sizeof(total), (int64_t)row->total_ns), CELL_WIDTH,
		     text_duration(average, sizeof(average), (int64_t)(row->total_ns / row->count)),
		     CELL_WIDTH, row->count);
}

static int op_table_finish(struct byte_sink *out, const struct summary *summary)
{
	int width = name_width(summary);
	char total[32];
	size_t i;
	int err = put_header(out, width);

	for (i = 0; i < summary->row_count && !err; i++)
		err = put_row(out, &summary->rows[i], summary->self_total_ns, width);
	if (!err)
		err = put_separator(out, width);
	if (err)
		return err;
	return print(out, "Self CPU time total: %s\n",
		     text_duration(total, sizeof(total), (int64_t)summary->self_total_ns));
}

int op_table_new(struct writer **writer, struct byte_sink *out)
{
	return writer_simple_new(writer, out, op_table_finish);
}
