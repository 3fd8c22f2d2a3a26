/* thread_numbers.c - see thread_numbers.h. */
#include "attach/thread_numbers.h"

#include <string.h>

#include "attach/control_flow.h"
#include "attach/insn_decoder.h"

#define SEQUENCE_FUNCTION "_ZN2at15sequence_number17get_and_incrementEv"
#define NUMBER_FUNCTION "_ZN2at14RecordFunction15currentThreadIdEv"

/* The steps that lead to a variable, in their order. */
enum progress {
	AT_START,
	HAS_INDEX,
	HAS_ADDRESS,
};

static enum progress go_on(enum progress progress, const struct insn_operands *operands,
			   struct thread_variable *variable)
{
	if (operands->takes_address) {
		variable->index = operands->address;
		return HAS_INDEX;
	}
	if (progress == HAS_INDEX)
		return operands->is_call ? HAS_ADDRESS : AT_START;
	if (progress == HAS_ADDRESS && operands->loads_word) {
		variable->displacement = operands->displacement;
		variable->is_found = true;
	}
	return AT_START;
}

void thread_numbers_decode(const uint8_t *code, uint64_t size_bytes, uint64_t address,
			   struct thread_variable *out)
{
	struct thread_variable variable = { 0 };
	enum progress progress = AT_START;
	struct insn_decoder *decoder;
	uint64_t at = 0;

	if (insn_decoder_new(&decoder))
		return;
	while (at < size_bytes && !variable.is_found) {
		struct insn_operands operands;

		if (insn_decoder_operands(decoder, code + at, size_bytes - at, address + at,
					  &operands))
			break;
		progress = go_on(progress, &operands, &variable);
		at += operands.length;
	}
	insn_decoder_free(decoder);
	if (variable.is_found)
		*out = variable;
}

static void look(struct thread_variable *out, const struct elf_image *image,
		 const struct elf_symbol *symbol)
{
	const uint8_t *code = elf_image_code(image, symbol->address, symbol->size_bytes);
	struct thread_variable variable = { 0 };

	if (!code || out->is_found)
		return;
	thread_numbers_decode(code, symbol->size_bytes, symbol->address, &variable);
	if (variable.is_found && variable.index <= UINT64_MAX - sizeof(uint64_t) &&
	    !elf_image_word(image, variable.index + sizeof(uint64_t), &variable.index_offset))
		*out = variable;
}

void thread_numbers_look(struct thread_numbers *numbers, const struct elf_image *image,
			 const struct elf_symbol *symbol)
{
	if (!strcmp(symbol->name, SEQUENCE_FUNCTION))
		look(&numbers->sequence, image, symbol);
	else if (!strcmp(symbol->name, NUMBER_FUNCTION))
		look(&numbers->number, image, symbol);
}

static bool is_small(int64_t value)
{
	return value >= INT32_MIN && value <= INT32_MAX;
}

bool thread_numbers_configure(const struct thread_numbers *numbers, uint64_t site,
			      struct probe_config *config)
{
	const struct thread_variable *sequence = &numbers->sequence, *number = &numbers->number;
	int64_t distance = (int64_t)((uint64_t)number->displacement + number->index_offset -
				     (uint64_t)sequence->displacement - sequence->index_offset);

	if (!sequence->is_found || !number->is_found)
		return false;
	/* One offset for two variables: the loader writes them, and the file does not tell. */
	if (sequence->index != number->index && sequence->index_offset == number->index_offset)
		return false;
	if (!is_small(sequence->displacement) || !is_small(distance))
		return false;
	config->sequence_index = (__s64)(sequence->index - site);
	config->sequence_displacement = (__s32)sequence->displacement;
	config->thread_number_distance = (__s32)distance;
	return true;
}
