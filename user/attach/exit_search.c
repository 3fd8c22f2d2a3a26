/*
 * Middle of the choice of an exit site: the search in the graph of one function. The rule and its
 * reasons stand in probe_site.h.
 *
 * Invariant: every step is linear in the function's size. The instructions that lie on all paths
 * from the entry to an exit all lie on any one such path, so a single shortest path is searched,
 * forward for those that cannot be gone round and backward for what is reachable behind them.
 */
#include "attach/exit_search.h"

#include <errno.h>
#include <stdlib.h>

#include "attach/control_flow.h"

struct search {
	const struct control_flow *flow;
	const struct probe_site_calls *calls; /* NULL: any direct call may follow */
	uint32_t *work;
	uint32_t *parent; /* by instruction: where the shortest path comes from */
	uint32_t *path;	  /* instructions from the entry to an exit */
	uint32_t *place;  /* by instruction: its index in path */
	bool *seen;
	bool *cut; /* by index in path: lies on every path */
	uint32_t path_cnt;
	bool indirect_call_after;
	bool call_after;
};

/* Out of the function with the entry's stack. Not known counts as that: it only makes stricter. */
bool exit_search_is_tail_call(const struct flow_insn *insn)
{
	return insn->leaves && insn->sp_below_entry <= 0;
}

static bool is_exit(const struct flow_insn *insn)
{
	return insn->class == FLOW_RETURN || exit_search_is_tail_call(insn);
}

static bool is_allowed(const struct search *search, uint64_t target)
{
	return !search->calls || search->calls->may_follow(search->calls->context, target);
}

/* What may run when this instruction does, calls that are not allowed. */
static bool calls_forbidden(const struct search *search, const struct flow_insn *insn)
{
	if (insn->class == FLOW_CALL || insn->class == FLOW_CALL_SLOT ||
	    exit_search_is_tail_call(insn))
		return !is_allowed(search, insn->target);
	return false;
}

/* What refuses the whole function, wherever a site would be. */
static enum probe_site_refusal survey(const struct search *search)
{
	const struct flow_insn *insn;
	bool calls_indirectly = false;
	uint32_t i;

	if (search->flow->flaw == CONTROL_FLOW_UNDECODABLE)
		return PROBE_SITE_UNDECODABLE;
	if (search->flow->flaw == CONTROL_FLOW_OVERLAP)
		return PROBE_SITE_OVERLAP;
	if (search->flow->flaw == CONTROL_FLOW_RUNS_OFF)
		return PROBE_SITE_RUNS_OFF;

	for (i = 0; i < search->flow->cnt; i++) {
		insn = &search->flow->insns[i];
		if (insn->class == FLOW_JUMP_INDIRECT)
			return PROBE_SITE_INDIRECT_JUMP;
		if (insn->class == FLOW_CALL_INDIRECT)
			calls_indirectly = true;
	}
	if (!calls_indirectly && !search->calls)
		return PROBE_SITE_NO_INDIRECT_CALL;
	return PROBE_SITE_ACCEPTED;
}

/* Breadth first to the nearest exit. Returns it, or CONTROL_FLOW_NONE. */
static uint32_t find_exit(struct search *search)
{
	uint32_t first = 0;
	uint32_t cnt = 0;
	uint32_t at, next;
	size_t i;

	search->seen[0] = true;
	search->parent[0] = CONTROL_FLOW_NONE;
	search->work[cnt++] = 0;
	while (first < cnt) {
		at = search->work[first++];
		if (is_exit(&search->flow->insns[at]))
			return at;
		for (i = 0; i < 2; i++) {
			next = search->flow->insns[at].next[i];
			if (next == CONTROL_FLOW_NONE || search->seen[next])
				continue;
			search->seen[next] = true;
			search->parent[next] = at;
			search->work[cnt++] = next;
		}
	}
	return CONTROL_FLOW_NONE;
}

static void set_path(struct search *search, uint32_t exit)
{
	uint32_t at, i;

	for (at = exit; at != CONTROL_FLOW_NONE; at = search->parent[at])
		search->path_cnt++;
	for (i = 0; i < search->flow->cnt; i++) {
		search->place[i] = CONTROL_FLOW_NONE;
		search->seen[i] = false;
	}
	i = search->path_cnt;
	for (at = exit; at != CONTROL_FLOW_NONE; at = search->parent[at]) {
		search->path[--i] = at;
		search->place[at] = i;
	}
}

/*
 * How far along the path one gets from index without touching the path in between; path_cnt stands
 * for an exit. seen is kept between calls: what was left behind leads nowhere new.
 */
static uint32_t farthest_from(struct search *search, uint32_t index, uint32_t farthest)
{
	const struct flow_insn *insn;
	uint32_t work_cnt = 0;
	uint32_t next, place;
	size_t i;

	search->work[work_cnt++] = index;
	while (work_cnt) {
		insn = &search->flow->insns[search->work[--work_cnt]];
		if (is_exit(insn))
			farthest = search->path_cnt;
		for (i = 0; i < 2; i++) {
			next = insn->next[i];
			if (next == CONTROL_FLOW_NONE)
				continue;
			place = search->place[next];
			if (place != CONTROL_FLOW_NONE) {
				farthest = place > farthest ? place : farthest;
			} else if (!search->seen[next]) {
				search->seen[next] = true;
				search->work[work_cnt++] = next;
			}
		}
	}
	return farthest;
}

/* An instruction of the path lies on every path if no way from those before it leads beyond it. */
static void mark_cuts(struct search *search)
{
	uint32_t farthest = 0;
	uint32_t i;

	for (i = 0; i < search->path_cnt; i++) {
		search->cut[i] = farthest <= i;
		farthest = farthest_from(search, search->path[i], farthest);
	}
}

/* Marks what is reachable from the successors of an instruction, and the calls among it. */
static void reach_from(struct search *search, uint32_t index)
{
	const struct flow_insn *insn;
	uint32_t work_cnt = 0;
	uint32_t at, next;
	size_t i;

	search->work[work_cnt++] = index;
	while (work_cnt) {
		at = search->work[--work_cnt];
		for (i = 0; i < 2; i++) {
			next = search->flow->insns[at].next[i];
			if (next == CONTROL_FLOW_NONE || search->seen[next])
				continue;
			search->seen[next] = true;
			search->work[work_cnt++] = next;
			insn = &search->flow->insns[next];
			if (insn->class == FLOW_CALL_INDIRECT)
				search->indirect_call_after = true;
			if (calls_forbidden(search, insn))
				search->call_after = true;
		}
	}
}

/* Backward along the path: what is reachable only grows, and holds a site that is on a cycle. */
static enum probe_site_refusal pick(struct search *search, uint32_t *out)
{
	const struct flow_insn *insn;
	bool saw_cycle = false;
	uint32_t i;

	for (i = 0; i < search->flow->cnt; i++)
		search->seen[i] = false;
	for (i = search->path_cnt; i-- > 0;) {
		reach_from(search, search->path[i]);
		insn = &search->flow->insns[search->path[i]];
		if (!search->cut[i] || !insn->is_emulated)
			continue;
		if (search->seen[search->path[i]]) {
			saw_cycle = true;
			continue;
		}
		if (search->indirect_call_after)
			return PROBE_SITE_INDIRECT_CALL_AFTER;
		if (search->call_after || calls_forbidden(search, insn))
			return PROBE_SITE_CALL_AFTER;
		*out = search->path[i];
		return PROBE_SITE_ACCEPTED;
	}
	return saw_cycle ? PROBE_SITE_ON_CYCLE : PROBE_SITE_NONE_ON_EVERY_PATH;
}

static enum probe_site_refusal choose_exit(struct search *search, uint32_t *out)
{
	enum probe_site_refusal refusal = survey(search);
	uint32_t exit;

	if (refusal != PROBE_SITE_ACCEPTED)
		return refusal;
	exit = find_exit(search);
	if (exit == CONTROL_FLOW_NONE)
		return PROBE_SITE_NO_EXIT;
	set_path(search, exit);
	mark_cuts(search);
	return pick(search, out);
}

int exit_search_run(const struct control_flow *flow, const struct probe_site_calls *calls,
		    uint32_t *index, enum probe_site_refusal *refusal)
{
	struct search search = { .flow = flow, .calls = calls };
	int err = -ENOMEM;

	search.work = calloc(flow->cnt, sizeof(*search.work));
	search.parent = calloc(flow->cnt, sizeof(*search.parent));
	search.path = calloc(flow->cnt, sizeof(*search.path));
	search.place = calloc(flow->cnt, sizeof(*search.place));
	search.seen = calloc(flow->cnt, sizeof(*search.seen));
	search.cut = calloc(flow->cnt, sizeof(*search.cut));
	if (!search.work || !search.parent || !search.path || !search.place || !search.seen ||
	    !search.cut)
		goto out;

	*refusal = choose_exit(&search, index);
	err = *refusal == PROBE_SITE_ACCEPTED ? 0 : -ENOENT;
out:
	free(search.work);
	free(search.parent);
	free(search.path);
	free(search.place);
	free(search.seen);
	free(search.cut);
	return err;
}
