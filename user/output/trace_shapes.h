/* trace_shapes.h - the arguments of a call as Kineto writes them into an event's args. */
#ifndef OUTPUT_TRACE_SHAPES_H
#define OUTPUT_TRACE_SHAPES_H

#include "base/json.h"
#include "wire.h"

/*
 * Input Dims, Input Strides and Input type, an entry for each argument of the operator. What is no
 * tensor has [] and no type, as has one that could not be read.
 */
void trace_shapes_put(struct json *json, const struct wire_shapes *shapes);

#endif /* OUTPUT_TRACE_SHAPES_H */
