/*
 * table_options.h - what the user wants of the tables: order, rows, how calls are put together. The
 * same for a capture and for `report`.
 */
#ifndef MODEL_TABLE_OPTIONS_H
#define MODEL_TABLE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Largest first, whichever it is. Device keys are there because torch.profiler takes them. */
enum sort_key {
	SORT_SELF_CPU_TIME = 0,
	SORT_CPU_TIME, /* of a call, on average */
	SORT_CPU_TIME_TOTAL,
	SORT_DEVICE_TIME,
	SORT_DEVICE_TIME_TOTAL,
	SORT_SELF_DEVICE_TIME,
	SORT_CPU_MEMORY,
	SORT_SELF_CPU_MEMORY,
	SORT_DEVICE_MEMORY,
	SORT_SELF_DEVICE_MEMORY,
	SORT_COUNT,
	SORT_FLOPS,
	SORT_KEY_CNT,
};

struct table_options {
	enum sort_key sort_by; /* of cpu_ops.txt; the memory tables have an order of their own */
	uint32_t row_limit;    /* 0: all rows */
	bool group_by_shape;
	bool group_by_overload;
	bool with_flops;
};

#endif /* MODEL_TABLE_OPTIONS_H */
