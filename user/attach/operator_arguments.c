/*
 * From an operator's schema and mangled name to the registers and stack slots of its arguments.
 * Nothing is guessed: the two must agree in number and kind of the arguments, and the walk ends at
 * the first one whose passing is not known, because it may have moved all that come after it.
 */
#include "attach/operator_arguments.h"

#include <errno.h>

#include "attach/operator_schema.h"
#include "attach/operator_signature.h"

#define GENERAL_REGISTERS 6
#define VECTOR_REGISTERS 8

/* What is taken so far. */
struct occupancy {
	unsigned int general;
	unsigned int vector;
	unsigned int slots; /* 8 bytes of stack each */
};

static enum parameter_passing passing_of(const struct operator_parameter *parameter,
					 torch_release release)
{
	if (parameter->passing != PASSING_OPTIONAL_LIST)
		return parameter->passing;
	/* c10::optional knew how to keep an ArrayRef in 16 bytes, std::optional does not */
	return release && release < TORCH_RELEASE(2, 2) ? PASSING_PAIR : PASSING_STACK;
}

/*
 * Takes registers, or stack where not all that are needed are left; a later and smaller argument
 * may still have a register then. Returns the first place; that of a PASSING_FLOAT means nothing.
 */
static unsigned int place(struct occupancy *taken, unsigned int general, unsigned int vector,
			  unsigned int slots)
{
	unsigned int at = taken->general;

	if (general + vector && taken->general + general <= GENERAL_REGISTERS &&
	    taken->vector + vector <= VECTOR_REGISTERS) {
		taken->general += general;
		taken->vector += vector;
		return at;
	}
	at = PLACE_STACK + taken->slots;
	taken->slots += slots;
	return at;
}

/* False: not known how it is passed. */
static bool pass(struct occupancy *taken, enum parameter_passing passing, unsigned int *at)
{
	switch (passing) {
	case PASSING_WORD:
		*at = place(taken, 1, 0, 1);
		return true;
	case PASSING_PAIR:
		*at = place(taken, 2, 0, 2);
		return true;
	case PASSING_FLOAT:
		*at = place(taken, 0, 1, 1);
		return true;
	case PASSING_FLOAT_WORD:
		*at = place(taken, 1, 1, 2);
		return true;
	case PASSING_STACK:
		*at = place(taken, 0, 0, 3);
		return true;
	default:
		return false;
	}
}

static void add_place(struct operator_places *places, const struct operator_parameter *parameter,
		      size_t position, unsigned int at)
{
	struct argument_place *out = &places->places[places->count];

	switch (parameter->type) {
	case OPERAND_TENSOR:
		out->kind = ARGUMENT_TENSOR;
		break;
	case OPERAND_TENSOR_OPTIONAL:
		out->kind = ARGUMENT_TENSOR;
		out->flags = PLACE_OPTIONAL;
		break;
	case OPERAND_INTEGER_LIST:
		out->kind = ARGUMENT_INTEGERS;
		break;
	default:
		return;
	}
	out->position = (__u8)position;
	out->place = (__u8)at;
	places->count++;
}

static void find_places(const struct operator_signature *signature, enum operator_return returns,
			torch_release release, struct operator_places *places)
{
	struct occupancy taken = { .general = returns == OPERATOR_RETURN_MEMORY };
	const struct operator_parameter *parameter;
	unsigned int at;
	size_t i;

	if (returns == OPERATOR_RETURN_UNKNOWN)
		return;
	for (i = 0; i < signature->count && places->count < SHAPES_ARGUMENTS_MAX; i++) {
		parameter = &signature->parameters[i];
		if (!pass(&taken, passing_of(parameter, release), &at))
			return;
		add_place(places, parameter, i, at);
	}
}

/* c10::optional was a class of its own until it became std::optional. */
static void put_flags_first(struct operator_places *places)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		if (places->places[i].flags & PLACE_OPTIONAL)
			places->places[i].flags |= PLACE_FLAG_FIRST;
	}
}

int operator_arguments(const char *schema, const char *mangled, torch_release release,
		       struct operator_places *out)
{
	struct operator_places places = { 0 };
	struct operator_signature signature;
	struct operator_schema parsed;

	if (operator_schema_parse(&parsed, schema) || operator_signature_parse(&signature, mangled))
		return -EINVAL;
	if (!operator_signature_fits(&signature, &parsed))
		return -EINVAL;
	places.argument_count = (__u8)signature.count;
	find_places(&signature, parsed.returns, release, &places);
	if (release && release < TORCH_RELEASE(2, 2))
		put_flags_first(&places);
	*out = places;
	return 0;
}
