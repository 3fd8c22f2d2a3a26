/*
 * table_cells.h - numbers as torch.autograd.profiler_util of PyTorch 2.13 prints them in a table.
 * Each writes into to and returns it.
 */
#ifndef OUTPUT_TABLE_CELLS_H
#define OUTPUT_TABLE_CELLS_H

#include <stddef.h>
#include <stdint.h>

char *cell_time(char *to, size_t size_bytes, double duration_us);
char *cell_share(char *to, size_t size_bytes, uint64_t part, uint64_t whole);
char *cell_memory(char *to, size_t size_bytes, int64_t value_bytes);

/* The unit of a column of FLOPs, by the smallest number in it. */
struct flops_unit {
	const char *head;
	double scale;
};

struct flops_unit cell_flops_unit(uint64_t smallest);
char *cell_flops(char *to, size_t size_bytes, uint64_t flops, const struct flops_unit *unit);

/* Characters, not bytes: names may be UTF-8. */
int cell_width(const char *text);

/* Cuts text behind so many characters. */
void cell_cut(char *text, int width);

#endif /* OUTPUT_TABLE_CELLS_H */
