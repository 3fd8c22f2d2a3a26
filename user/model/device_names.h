/*
 * device_names.h - what Kineto calls copies, sets, waits and the launching calls (pytorch/kineto,
 * libkineto/src/cupti_strings.cpp, CuptiActivity.cpp).
 */
#ifndef MODEL_DEVICE_NAMES_H
#define MODEL_DEVICE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/device.h"

/* The name of work that is no kernel. Returns to. */
char *device_work_name(char *to, size_t size_bytes, const struct device_work *work);

/* "cudaLaunchKernel_v13000" of "__cudaLaunchKernel_v13000". */
const char *device_call_name(const char *name);

/* "cudaLaunchKernel" of "cudaLaunchKernel_v7000": how many bytes of the name count. */
size_t device_call_name_bytes(const char *name, size_t size_bytes);

/* An arrow leads from such a call to its work. */
bool device_call_is_launch(const char *name);

#endif /* MODEL_DEVICE_NAMES_H */
