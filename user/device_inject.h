/*
 * device_inject.h - --gpu inject: puts the agent into a job that uses CUDA and has none. Comes
 * before anything is planned, as a job with an agent is watched in another way.
 */
#ifndef DEVICE_INJECT_H
#define DEVICE_INJECT_H

#include "attach/target.h"
#include "options.h"

#define DEVICE_REFUSAL_BYTES 256

/*
 * refusal: DEVICE_REFUSAL_BYTES; why the agent was not put in, which has been logged, or empty.
 * Does nothing where it was not asked for or is there.
 */
void device_inject(const struct options *options, const struct target *target, char *refusal);

#endif /* DEVICE_INJECT_H */
