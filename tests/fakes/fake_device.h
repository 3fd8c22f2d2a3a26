/* fake_device.h - within libcuda.so.1's stand-in: the device's book. Thread-safe. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "fake_cuda.h"

void fake_log_call(const struct fake_call *call);
void fake_log_op(const struct fake_op *op);
void fake_log_sync(const struct fake_sync *sync);
void fake_log_event(const struct fake_event *event);

#endif /* FAKE_DEVICE_H */
