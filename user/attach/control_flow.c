/*
 * Middle of the choice of probe sites: from a function's bytes to a graph of instructions. Decodes
 * along every path from the entry, then ties the edges to indices, then has the stack pointer
 * followed.
 *
 * Invariant: an instruction starts at any byte at most once, so time and memory are linear in the
 * function's size whatever its bytes say.
 */
#include "attach/control_flow.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/insn_decoder.h"
#include "attach/stack_depth.h"
#include "base/array.h"

/* What a byte of the function is. Starts of instructions hold their index instead. */
#define BYTE_UNSEEN UINT32_MAX
#define BYTE_INNER (UINT32_MAX - 1)

struct builder {
	struct control_flow *flow;
	struct insn_decoder *decoder;
	const uint8_t *code;
	uint64_t address;
	uint32_t size_bytes;
	size_t insn_max;
	uint32_t *index_at; /* by offset */
	/* offsets that a jump goes to */
	uint32_t *work;
	/* by offset: was put into work once */
	bool *queued;
	uint32_t work_cnt;
};

static void note_flaw(struct builder *builder, enum control_flow_flaw flaw)
{
	if (builder->flow->flaw == CONTROL_FLOW_WHOLE)
		builder->flow->flaw = flaw;
}

static bool is_within(const struct builder *builder, uint64_t address)
{
	return address - builder->address < builder->size_bytes;
}

static void queue_target(struct builder *builder, const struct flow_insn *insn)
{
	uint32_t offset;

	if ((insn->class != FLOW_JUMP && insn->class != FLOW_BRANCH) || insn->leaves)
		return;
	offset = (uint32_t)(insn->target - builder->address);
	if (builder->queued[offset])
		return;
	builder->queued[offset] = true;
	builder->work[builder->work_cnt++] = offset;
}

static bool goes_on(enum flow_class class)
{
	return class != FLOW_JUMP && class != FLOW_JUMP_INDIRECT && class != FLOW_RETURN &&
	       class != FLOW_TRAP;
}

static bool is_call(enum flow_class class)
{
	return class == FLOW_CALL || class == FLOW_CALL_SLOT || class == FLOW_CALL_INDIRECT;
}

static struct flow_insn *append(struct builder *builder)
{
	struct control_flow *flow = builder->flow;

	if (ARRAY_RESERVE(flow->insns, builder->insn_max, flow->cnt + 1))
		return NULL;
	return &flow->insns[flow->cnt++];
}

/* Writes the instruction down in index_at; one that covers the start of another is a flaw. */
static void claim(struct builder *builder, const struct flow_insn *insn, uint32_t index)
{
	uint32_t i;

	builder->index_at[insn->offset] = index;
	for (i = insn->offset + 1; i < insn->offset + insn->length; i++) {
		if (builder->index_at[i] != BYTE_UNSEEN)
			note_flaw(builder, CONTROL_FLOW_OVERLAP);
		else
			builder->index_at[i] = BYTE_INNER;
	}
}

/*
 * Decodes the instruction at offset. Returns 1 when the path goes on behind it, 0 when it ends here
 * or meets what is known, or -ENOMEM.
 */
static int decode_at(struct builder *builder, uint32_t offset, uint32_t *next_offset)
{
	struct flow_insn *slot;
	struct flow_insn insn;

	if (builder->index_at[offset] == BYTE_INNER) {
		note_flaw(builder, CONTROL_FLOW_OVERLAP);
		return 0;
	}
	if (builder->index_at[offset] != BYTE_UNSEEN)
		return 0;
	if (insn_decoder_read(builder->decoder, builder->code + offset,
			      builder->size_bytes - offset, builder->address + offset, &insn)) {
		note_flaw(builder, CONTROL_FLOW_UNDECODABLE);
		return 0;
	}

	slot = append(builder);
	if (!slot)
		return -ENOMEM;
	insn.offset = offset;
	insn.leaves = (insn.class == FLOW_JUMP || insn.class == FLOW_BRANCH) &&
		      !is_within(builder, insn.target);
	*slot = insn;
	claim(builder, &insn, builder->flow->cnt - 1);
	queue_target(builder, &insn);

	*next_offset = offset + insn.length;
	if (!goes_on(insn.class))
		return 0;
	if (*next_offset < builder->size_bytes)
		return 1;
	if (!is_call(insn.class))
		note_flaw(builder, CONTROL_FLOW_RUNS_OFF);
	return 0;
}

static int decode_all(struct builder *builder)
{
	uint32_t offset;
	int ret;

	builder->queued[0] = true;
	builder->work[builder->work_cnt++] = 0;
	while (builder->work_cnt) {
		offset = builder->work[--builder->work_cnt];
		do {
			ret = decode_at(builder, offset, &offset);
			if (ret < 0)
				return ret;
		} while (ret);
	}
	return builder->flow->cnt ? 0 : -ENOENT;
}

static uint32_t index_of(const struct builder *builder, uint32_t offset)
{
	if (offset >= builder->size_bytes || builder->index_at[offset] >= BYTE_INNER)
		return CONTROL_FLOW_NONE;
	return builder->index_at[offset];
}

static void tie_edges(struct builder *builder)
{
	struct flow_insn *insn;
	uint32_t i;

	for (i = 0; i < builder->flow->cnt; i++) {
		insn = &builder->flow->insns[i];
		if (goes_on(insn->class))
			insn->next[0] = index_of(builder, insn->offset + insn->length);
		if ((insn->class == FLOW_JUMP || insn->class == FLOW_BRANCH) && !insn->leaves)
			insn->next[1] =
				index_of(builder, (uint32_t)(insn->target - builder->address));
	}
}

static int build(struct builder *builder)
{
	uint32_t i;
	int err;

	builder->index_at = malloc(builder->size_bytes * sizeof(*builder->index_at));
	builder->work = malloc(builder->size_bytes * sizeof(*builder->work));
	builder->queued = calloc(builder->size_bytes, sizeof(*builder->queued));
	if (!builder->index_at || !builder->work || !builder->queued)
		return -ENOMEM;
	for (i = 0; i < builder->size_bytes; i++)
		builder->index_at[i] = BYTE_UNSEEN;

	err = insn_decoder_new(&builder->decoder);
	if (err)
		return err;
	err = decode_all(builder);
	if (err)
		return err;
	tie_edges(builder);
	return stack_depth_track(builder->flow);
}

int control_flow_new(struct control_flow **out, const uint8_t *code, uint64_t size_bytes,
		     uint64_t address)
{
	struct builder builder = { .code = code, .address = address };
	int err;

	if (!size_bytes || size_bytes > CONTROL_FLOW_SIZE_MAX)
		return -EINVAL;
	builder.size_bytes = (uint32_t)size_bytes;
	builder.flow = calloc(1, sizeof(*builder.flow));
	if (!builder.flow)
		return -ENOMEM;

	err = build(&builder);
	insn_decoder_free(builder.decoder);
	free(builder.index_at);
	free(builder.work);
	free(builder.queued);
	if (err) {
		control_flow_free(builder.flow);
		return err;
	}
	*out = builder.flow;
	return 0;
}

void control_flow_free(struct control_flow *flow)
{
	if (!flow)
		return;
	free(flow->insns);
	free(flow);
}
