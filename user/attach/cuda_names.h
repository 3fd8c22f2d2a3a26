/*
 * cuda_names.h - which functions of the CUDA runtime and driver are shown, as Kineto shows them
 * (pytorch/kineto, libkineto/src/CuptiActivityProfiler.cpp), and the numbers that CUPTI gives them.
 */
#ifndef ATTACH_CUDA_NAMES_H
#define ATTACH_CUDA_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire.h"

/*
 * Is a function of this name shown? *callback_id: its CUPTI number (cbid); 0 where it has none, or
 * had another one in another release. tests/agent/conformance.sh holds them against CUPTI's own.
 */
bool cuda_names_is_shown(enum wire_call_domain domain, const char *name, uint16_t *callback_id);

#endif /* ATTACH_CUDA_NAMES_H */
