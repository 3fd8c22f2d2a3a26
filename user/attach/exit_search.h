/*
 * The search for the exit site in the graph of one function. Used by probe_site.c, where the rule
 * is; nothing else needs it.
 */
#ifndef ATTACH_EXIT_SEARCH_H
#define ATTACH_EXIT_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "attach/probe_site.h"

struct control_flow;
struct flow_insn;

/*
 * Finds the instruction of the exit site. calls as for probe_site_exit_allowing, or NULL for a
 * function whose work is behind an indirect call.
 * Returns 0 with *index and *refusal = PROBE_SITE_ACCEPTED, -ENOENT with *refusal, or -ENOMEM.
 */
int exit_search_run(const struct control_flow *flow, const struct probe_site_calls *calls,
		    uint32_t *index, enum probe_site_refusal *refusal);

/* A direct jump or branch out of the function that is not known to go to its .cold part. */
bool exit_search_is_tail_call(const struct flow_insn *insn);

#endif
