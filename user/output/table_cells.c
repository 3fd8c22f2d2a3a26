/* table_cells.c - see table_cells.h. */
#include "output/table_cells.h"

#include <inttypes.h>
#include <stdio.h>

char *cell_time(char *to, size_t size_bytes, double duration_us)
{
	if (duration_us >= 1e6)
		snprintf(to, size_bytes, "%.3fs", duration_us / 1e6);
	else if (duration_us >= 1e3)
		snprintf(to, size_bytes, "%.3fms", duration_us / 1e3);
	else
		snprintf(to, size_bytes, "%.3fus", duration_us);
	return to;
}

char *cell_share(char *to, size_t size_bytes, uint64_t part, uint64_t whole)
{
	if (whole)
		snprintf(to, size_bytes, "%.2f%%", (double)part * 100.0 / (double)whole);
	else
		snprintf(to, size_bytes, "NaN");
	return to;
}

char *cell_memory(char *to, size_t size_bytes, int64_t value_bytes)
{
	static const struct {
		const char *name;
		double bytes;
	} units[] = { { "GB", 1073741824.0 }, { "MB", 1048576.0 }, { "KB", 1024.0 } };
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double value = (double)value_bytes / units[i].bytes;

		if (value >= 1.0 || value <= -1.0) {
			snprintf(to, size_bytes, "%.2f %s", value, units[i].name);
			return to;
		}
	}
	snprintf(to, size_bytes, "%" PRId64 " B", value_bytes);
	return to;
}

struct flops_unit cell_flops_unit(uint64_t smallest)
{
	static const struct flops_unit units[] = {
		{ "Total FLOPs", 1 },	  { "Total KFLOPs", 1e-3 },  { "Total MFLOPs", 1e-6 },
		{ "Total GFLOPs", 1e-9 }, { "Total TFLOPs", 1e-12 }, { "Total PFLOPs", 1e-15 },
	};
	size_t i = 0;

	for (; smallest >= 1000 && i + 1 < sizeof(units) / sizeof(units[0]); smallest /= 1000)
		i++;
	return units[i];
}

char *cell_flops(char *to, size_t size_bytes, uint64_t flops, const struct flops_unit *unit)
{
	if (flops)
		snprintf(to, size_bytes, "%8.3f", (double)flops * unit->scale);
	else
		snprintf(to, size_bytes, "--");
	return to;
}

static int is_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

int cell_width(const char *text)
{
	int width = 0;

	for (; *text; text++)
		width += is_character(*text);
	return width;
}

void cell_cut(char *text, int width)
{
	for (; *text; text++) {
		width -= is_character(*text);
		if (width < 0) {
			*text = 0;
			return;
		}
	}
}
