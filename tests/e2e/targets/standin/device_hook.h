// What the program has operators do on a device: called by each operator when its kernel has run.

#ifndef STANDIN_DEVICE_HOOK_H
#define STANDIN_DEVICE_HOOK_H

#include "torch_types.h"

namespace standin
{

using DeviceHook = void (*)(const char *operator_name); // "mm"; nullptr: no device

TORCH_API extern DeviceHook device_hook;

} // namespace standin

#endif
