/* cupti_api.c - see cupti_api.h. */
#include "agent/cupti_api.h"

#include <dlfcn.h>
#include <string.h>

#include "agent/objects.h"

struct function {
	const char *name;
	size_t offset; /* of the pointer in the table */
	bool optional;
};

#define FUNCTION(member, name)                                  \
	{                                                       \
		name, offsetof(struct cupti_api, member), false \
	}
#define OPTIONAL(member, name)                                 \
	{                                                      \
		name, offsetof(struct cupti_api, member), true \
	}

static const struct function cupti_functions[] = {
	FUNCTION(get_version, "cuptiGetVersion"),
	FUNCTION(get_timestamp, "cuptiGetTimestamp"),
	FUNCTION(register_callbacks, "cuptiActivityRegisterCallbacks"),
	FUNCTION(enable, "cuptiActivityEnable"),
	FUNCTION(disable, "cuptiActivityDisable"),
	FUNCTION(flush_all, "cuptiActivityFlushAll"),
	FUNCTION(get_next_record, "cuptiActivityGetNextRecord"),
	FUNCTION(get_dropped, "cuptiActivityGetNumDroppedRecords"),
	OPTIONAL(get_callback_name, "cuptiGetCallbackName"),
	OPTIONAL(get_thread_id_type, "cuptiGetThreadIdType"),
	OPTIONAL(set_thread_id_type, "cuptiSetThreadIdType"),
};

#define CUDA_FUNCTION(member, name)                            \
	{                                                      \
		name, offsetof(struct cuda_api, member), false \
	}

static const struct function cuda_functions[] = {
	CUDA_FUNCTION(get_count, "cuDeviceGetCount"),
	CUDA_FUNCTION(get_version, "cuDriverGetVersion"),
	CUDA_FUNCTION(get_device, "cuDeviceGet"),
	CUDA_FUNCTION(get_attribute, "cuDeviceGetAttribute"),
	CUDA_FUNCTION(get_name, "cuDeviceGetName"),
	CUDA_FUNCTION(get_memory, "cuDeviceTotalMem_v2"),
};

/* The first one that is missing and must not be, or NULL. */
static const char *resolve(void *handle, const struct function *functions, size_t count,
			   void *table)
{
	size_t i;

	for (i = 0; i < count; i++) {
		void *address = dlsym(handle, functions[i].name);

		if (!address && !functions[i].optional)
			return functions[i].name;
		memcpy((char *)table + functions[i].offset, &address, sizeof(address));
	}
	return NULL;
}

#define RESOLVE(handle, functions, table) \
	resolve(handle, functions, sizeof(functions) / sizeof((functions)[0]), table)

enum cupti_found cupti_api_find(struct cupti_api *api, const char **missing)
{
	struct object object;

	memset(api, 0, sizeof(*api));
	*missing = NULL;
	objects_find("libcupti", &object);
	if (object.handle) {
		api->count = object.count;
		memcpy(api->path, object.path, sizeof(api->path));
		*missing = RESOLVE(object.handle, cupti_functions, api);
		return *missing ? CUPTI_INCOMPLETE : CUPTI_FOUND;
	}
	if (!objects_contain("libtorch", cupti_functions[3].name, api->path))
		return CUPTI_NONE;
	object.handle = dlopen(api->path, RTLD_NOW | RTLD_NOLOAD);
	api->count = 1;
	if (object.handle && !RESOLVE(object.handle, cupti_functions, api))
		return CUPTI_FOUND;
	return CUPTI_STATIC;
}

bool cuda_api_find(struct cuda_api *api)
{
	struct object object;

	memset(api, 0, sizeof(*api));
	objects_find("libcuda", &object);
	return object.handle && !RESOLVE(object.handle, cuda_functions, api);
}
