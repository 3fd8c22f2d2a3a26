/* shapes.h - builds the record of a call's arguments. */
#ifndef SUPPORT_SHAPES_H
#define SUPPORT_SHAPES_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "support/records.h"

#define SCALAR_FLOAT 6 /* c10::ScalarType */
#define SCALAR_LONG 4

static inline struct wire_shapes shapes_none(void)
{
	return (struct wire_shapes){
		.header = record_header(WIRE_SHAPES, offsetof(struct wire_shapes, arguments), 42,
					1000),
	};
}

/* The next argument. */
static inline struct wire_argument *shapes_add(struct wire_shapes *shapes,
					       enum wire_argument_kind kind)
{
	struct wire_argument *argument = &shapes->arguments[shapes->count];

	*argument = (struct wire_argument){ .kind = (uint8_t)kind, .position = shapes->count };
	shapes->count++;
	shapes->header.size += (uint32_t)sizeof(*argument);
	return argument;
}

static inline void shapes_add_sizes(struct wire_shapes *shapes, enum wire_argument_kind kind,
				    unsigned int count, const int64_t *sizes)
{
	struct wire_argument *argument = shapes_add(shapes, kind);
	int64_t stride = 1;
	unsigned int i;

	argument->dimensions = (uint8_t)count;
	argument->type = SCALAR_FLOAT;
	for (i = count; i-- > 0;) {
		argument->sizes[i] = sizes[i];
		argument->strides[i] = stride;
		stride *= sizes[i];
	}
}

/* A contiguous tensor of floats, an int[]. */
#define SIZES(...)                                                  \
	sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), \
		((const int64_t[]){ __VA_ARGS__ })
#define shapes_tensor(shapes, ...) shapes_add_sizes(shapes, ARGUMENT_TENSOR, SIZES(__VA_ARGS__))
#define shapes_integers(shapes, ...) shapes_add_sizes(shapes, ARGUMENT_INTEGERS, SIZES(__VA_ARGS__))

#endif /* SUPPORT_SHAPES_H */
