/*
 * Top of the choice of probe sites: from a function's bytes to the one address where its entry or
 * its exit is probed. The rules stand in the header, the search for the exit in exit_search.c.
 *
 * Invariant: an entry or exit that is given out is the start of an instruction that can be reached
 * from the function's first one, and none that would be hit twice in one run of the function.
 */
#include "attach/probe_site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/control_flow.h"
#include "attach/exit_search.h"
#include "attach/insn_decoder.h"

const char *probe_site_refusal_text(enum probe_site_refusal refusal)
{
	static const char *const texts[] = {
		[PROBE_SITE_ACCEPTED] = "accepted",
		[PROBE_SITE_BAD_SIZE] = "size unknown or too large",
		[PROBE_SITE_UNDECODABLE] = "bytes that are no instruction",
		[PROBE_SITE_OVERLAP] = "a jump into the middle of an instruction",
		[PROBE_SITE_RUNS_OFF] = "control runs past the end",
		[PROBE_SITE_INDIRECT_JUMP] = "an indirect jump (jump table)",
		[PROBE_SITE_NO_EXIT] = "never returns",
		[PROBE_SITE_NO_INDIRECT_CALL] = "no indirect call",
		[PROBE_SITE_NONE_ON_EVERY_PATH] = "no emulated instruction on every path",
		[PROBE_SITE_ON_CYCLE] = "emulated instructions only inside a loop",
		[PROBE_SITE_INDIRECT_CALL_AFTER] = "an indirect call can follow the last site",
		[PROBE_SITE_CALL_AFTER] = "a call that is not allowed can follow the last site",
	};

	if ((unsigned int)refusal >= PROBE_SITE_REFUSAL_CNT)
		return "unknown";
	return texts[refusal];
}

static enum probe_site_kind kind_of(const struct flow_insn *insn)
{
	if (insn->class == FLOW_RETURN)
		return PROBE_SITE_RET;
	if (!insn->is_emulated)
		return PROBE_SITE_STEPPED;
	switch (insn->class) {
	case FLOW_CALL:
		return PROBE_SITE_CALL;
	case FLOW_JUMP:
		return PROBE_SITE_JUMP;
	case FLOW_BRANCH:
		return PROBE_SITE_BRANCH;
	default:
		return insn->writes_sp ? PROBE_SITE_PUSH : PROBE_SITE_NOP;
	}
}

static struct probe_site make_site(uint64_t address, const struct flow_insn *insn)
{
	struct probe_site site = {
		.address = address + insn->offset,
		.kind = kind_of(insn),
		.emulated = insn->is_emulated,
		.sp_below_entry = insn->sp_below_entry,
	};

	return site;
}

/* Graph errors that mean "no site here" rather than "no memory". */
static int flow_error(int err)
{
	return err == -ENOMEM ? -ENOMEM : -ENOENT;
}

static bool is_on_cycle(const struct control_flow *flow, uint32_t index, uint32_t *work, bool *seen)
{
	uint32_t work_cnt = 0;
	uint32_t at, next;
	size_t i;

	work[work_cnt++] = index;
	while (work_cnt) {
		at = work[--work_cnt];
		for (i = 0; i < 2; i++) {
			next = flow->insns[at].next[i];
			if (next == index)
				return true;
			if (next == CONTROL_FLOW_NONE || seen[next])
				continue;
			seen[next] = true;
			work[work_cnt++] = next;
		}
	}
	return false;
}

/* The first emulated instruction of the straight line, or CONTROL_FLOW_NONE. */
static uint32_t find_entry(const struct control_flow *flow, unsigned int needs)
{
	const struct flow_insn *insn;
	uint32_t index = 0;

	while (index != CONTROL_FLOW_NONE) {
		insn = &flow->insns[index];
		if (insn->is_emulated)
			return index;
		if (insn->class != FLOW_PLAIN)
			break;
		if ((insn->written_arguments & needs) ||
		    (insn->writes_sp && (needs & PROBE_SITE_STACK)))
			break;
		index = insn->next[0];
	}
	return CONTROL_FLOW_NONE;
}

static int choose_entry(const struct control_flow *flow, uint64_t address, unsigned int needs,
			struct probe_site *out)
{
	uint32_t index = find_entry(flow, needs);
	uint32_t *work = NULL;
	bool *seen = NULL;
	int err = -ENOMEM;

	work = calloc(flow->cnt, sizeof(*work));
	seen = calloc(2 * (size_t)flow->cnt, sizeof(*seen));
	if (!work || !seen)
		goto out;

	err = -ENOENT;
	if (index == CONTROL_FLOW_NONE || is_on_cycle(flow, index, work, seen))
		index = 0;
	if (is_on_cycle(flow, index, work, seen + flow->cnt))
		goto out;
	*out = make_site(address, &flow->insns[index]);
	err = 0;
out:
	free(work);
	free(seen);
	return err;
}

int probe_site_entry(const uint8_t *code, uint64_t size_bytes, uint64_t address, unsigned int needs,
		     struct probe_site *out)
{
	struct control_flow *flow;
	int err;

	err = control_flow_new(&flow, code, size_bytes, address);
	if (err)
		return flow_error(err);
	err = choose_entry(flow, address, needs, out);
	control_flow_free(flow);
	return err;
}

static int search_exit(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		       const struct probe_site_calls *calls, struct probe_site *out,
		       enum probe_site_refusal *refusal)
{
	struct control_flow *flow;
	uint32_t index;
	int err;

	err = control_flow_new(&flow, code, size_bytes, address);
	if (err) {
		*refusal = err == -EINVAL ? PROBE_SITE_BAD_SIZE : PROBE_SITE_UNDECODABLE;
		return flow_error(err);
	}
	err = exit_search_run(flow, calls, &index, refusal);
	if (!err)
		*out = make_site(address, &flow->insns[index]);
	control_flow_free(flow);
	return err;
}

int probe_site_exit(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		    struct probe_site *out, enum probe_site_refusal *refusal)
{
	return search_exit(code, size_bytes, address, NULL, out, refusal);
}

int probe_site_exit_allowing(const uint8_t *code, uint64_t size_bytes, uint64_t address,
			     const struct probe_site_calls *calls, struct probe_site *out,
			     enum probe_site_refusal *refusal)
{
	return search_exit(code, size_bytes, address, calls, out, refusal);
}

/*
 * Decodes all bytes in order. Returns 0 with the offsets of the first max rets, and how many there
 * are; or -ENOENT, -ENOMEM.
 */
static int find_returns(const uint8_t *code, uint64_t size_bytes, uint64_t address,
			uint32_t *offsets, size_t max, size_t *count)
{
	struct insn_decoder *decoder;
	struct flow_insn insn;
	uint64_t at;
	int err;

	*count = 0;
	err = insn_decoder_new(&decoder);
	if (err)
		return err;
	for (at = 0; at < size_bytes; at += insn.length) {
		err = insn_decoder_read(decoder, code + at, size_bytes - at, address + at, &insn);
		if (err)
			break;
		if (insn.class != FLOW_RETURN)
			continue;
		if (*count < max)
			offsets[*count] = (uint32_t)at;
		++*count;
	}
	insn_decoder_free(decoder);
	return err == -ENOMEM ? err : err ? -ENOENT : 0;
}

/* A path leads to the ret at each offset, and none to a tail call. */
static int check_returns(const struct control_flow *flow, uint64_t address, const uint32_t *offsets,
			 size_t count, struct probe_site *out)
{
	size_t found = 0, place;
	uint32_t i;

	if (flow->flaw != CONTROL_FLOW_WHOLE)
		return -ENOENT;
	for (i = 0; i < flow->cnt; i++) {
		const struct flow_insn *insn = &flow->insns[i];

		if (exit_search_is_tail_call(insn))
			return -ENOENT;
		for (place = 0; place < count && insn->class == FLOW_RETURN; place++) {
			if (offsets[place] != insn->offset)
				continue;
			out[place] = make_site(address, insn);
			found++;
		}
	}
	return found == count ? 0 : -ENOENT;
}

#define RETURNS_MAX 64

int probe_site_returns(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		       struct probe_site *out, size_t max, size_t *count)
{
	struct probe_site sites[RETURNS_MAX];
	uint32_t offsets[RETURNS_MAX];
	struct control_flow *flow;
	int err;

	if (max > RETURNS_MAX)
		max = RETURNS_MAX;
	err = control_flow_new(&flow, code, size_bytes, address);
	if (err)
		return flow_error(err);
	err = find_returns(code, size_bytes, address, offsets, max, count);
	if (!err && (!*count || *count > max))
		err = -ENOENT;
	if (!err)
		err = check_returns(flow, address, offsets, *count, sites);
	if (!err)
		memcpy(out, sites, *count * sizeof(*out));
	control_flow_free(flow);
	return err;
}

int probe_site_return(const uint8_t *code, uint64_t size_bytes, uint64_t address,
		      struct probe_site *out)
{
	size_t count;

	return probe_site_returns(code, size_bytes, address, out, 1, &count);
}
