/* trace_shapes.c - see trace_shapes.h. Types are called as c10's dtypes call themselves. */
#include "output/trace_shapes.h"

#include <stddef.h>

/* In the order of c10::ScalarType. */
static const char *const type_names[] = {
	"unsigned char",
	"signed char",
	"short int",
	"int",
	"long int",
	"c10::Half",
	"float",
	"double",
	"c10::complex<c10::Half>",
	"c10::complex<float>",
	"c10::complex<double>",
	"bool",
	"c10::qint8",
	"c10::quint8",
	"c10::qint32",
	"c10::BFloat16",
	"c10::quint4x2",
	"c10::quint2x4",
	"c10::bits1x8",
	"c10::bits2x4",
	"c10::bits4x2",
	"c10::bits8",
	"c10::bits16",
	"c10::Float8_e5m2",
	"c10::Float8_e4m3fn",
	"c10::Float8_e5m2fnuz",
	"c10::Float8_e4m3fnuz",
	"short unsigned int",
	"unsigned int",
	"long unsigned int",
};

static const char *type_of(const struct wire_argument *argument)
{
	if (argument->kind == ARGUMENT_INTEGERS)
		return "ScalarList";
	if (argument->kind != ARGUMENT_TENSOR)
		return "";
	return argument->type < sizeof(type_names) / sizeof(type_names[0])
		       ? type_names[argument->type]
		       : "unknown";
}

/* What is no tensor. */
static const struct wire_argument none = { .kind = ARGUMENT_NONE };

static const struct wire_argument *argument_at(const struct wire_shapes *shapes,
					       unsigned int position)
{
	unsigned int i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		if (shapes->arguments[i].position == position)
			return &shapes->arguments[i];
	}
	return &none;
}

static unsigned int position_count(const struct wire_shapes *shapes)
{
	unsigned int count = shapes->argument_count, i;

	for (i = 0; i < shapes->count && i < SHAPES_ARGUMENTS_MAX; i++) {
		if (shapes->arguments[i].position >= count)
			count = shapes->arguments[i].position + 1U;
	}
	return count;
}

/* Dimensions that were not kept are missing from both lists alike. */
static void put_numbers(struct json *json, const struct wire_argument *argument,
			const __s64 *numbers)
{
	unsigned int i;

	json_array_begin(json, NULL);
	for (i = 0; argument->kind == ARGUMENT_TENSOR && i < argument->dimensions &&
		    i < SHAPES_DIMENSIONS_MAX;
	     i++)
		json_int(json, NULL, numbers[i]);
	json_array_end(json);
}

void trace_shapes_put(struct json *json, const struct wire_shapes *shapes)
{
	unsigned int count = position_count(shapes), i;

	json_array_begin(json, "Input Dims");
	for (i = 0; i < count; i++)
		put_numbers(json, argument_at(shapes, i), argument_at(shapes, i)->sizes);
	json_array_end(json);
	json_array_begin(json, "Input Strides");
	for (i = 0; i < count; i++) {
		const struct wire_argument *argument = argument_at(shapes, i);

		put_numbers(json, argument->without_strides ? &none : argument, argument->strides);
	}
	json_array_end(json);
	json_array_begin(json, "Input type");
	for (i = 0; i < count; i++)
		json_string(json, NULL, type_of(argument_at(shapes, i)));
	json_array_end(json);
}
