/* cupti_api.h - the functions of the libcupti that the job has mapped, and of its libcuda. */
#ifndef AGENT_CUPTI_API_H
#define AGENT_CUPTI_API_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/cupti_layout.h"

typedef void (*cupti_buffer_requested)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*cupti_buffer_completed)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
				       size_t valid_size);

/* All return a CUptiResult. */
struct cupti_api {
	int (*get_version)(uint32_t *version);
	int (*get_timestamp)(uint64_t *timestamp);
	int (*register_callbacks)(cupti_buffer_requested, cupti_buffer_completed);
	int (*enable)(uint32_t kind);
	int (*disable)(uint32_t kind);
	int (*flush_all)(uint32_t flags);
	int (*get_next_record)(uint8_t *buffer, size_t valid_size, uint8_t **record);
	int (*get_dropped)(void *context, uint32_t stream, size_t *dropped);
	/* These may be missing. */
	int (*get_callback_name)(uint32_t domain, uint32_t id, const char **name);
	int (*get_thread_id_type)(uint32_t *type);
	int (*set_thread_id_type)(uint32_t type);

	int count; /* how many libcupti are mapped */
	char path[PATH_MAX];
};

enum cupti_found {
	CUPTI_FOUND,
	CUPTI_NONE,
	CUPTI_STATIC,	  /* linked into path, out of reach */
	CUPTI_INCOMPLETE, /* *missing says what is not there */
};

/* CUPTI linked into a library that exports it is found, too. */
enum cupti_found cupti_api_find(struct cupti_api *api, const char **missing);

struct cuda_api {
	int (*get_count)(int *count);
	int (*get_version)(int *version);
	int (*get_device)(int *device, int ordinal);
	int (*get_attribute)(int *value, int attribute, int device);
	int (*get_name)(char *name, int size, int device);
	int (*get_memory)(size_t *bytes, int device);
};

/* False: libcuda is not mapped, or lacks one of these. */
bool cuda_api_find(struct cuda_api *api);

#endif /* AGENT_CUPTI_API_H */
