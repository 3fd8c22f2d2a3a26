/*
 * forward_links.c - see forward_links.h. What waits is kept twice: in chains by both numbers, and
 * in one list by age. Not every forward call meets its node (a graph may be dropped), so the oldest
 * make room.
 */
#include "analyze/forward_links.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/hash_seed.h"

#define NOTHING UINT32_MAX /* no entry */

struct entry {
	uint64_t thread_number; /* or NUMBERLESS */
	uint64_t sequence, start_ns;
	uint32_t tid;
	uint32_t next_in_chain; /* of a free one: the next free one */
	uint32_t older, newer;
};

/* Stands for PyTorch's number of a thread that has none yet: no count of threads comes so far. */
#define NUMBERLESS(tid) (1ULL << 63 | (tid))

#define CHAINS FORWARD_LINKS_MAX /* a power of two */

struct forward_links {
	struct mark_sink *next;
	struct entry *entries;
	uint32_t *chains; /* NOTHING: empty */
	uint32_t used;	  /* entries that were ever in use */
	uint32_t first_free, oldest, newest;
	uint32_t numberless; /* entries */
	uint64_t flows, unlinked, forgotten;
	struct hash_seed seed;
};

int forward_links_new(struct forward_links **out, struct mark_sink *next)
{
	struct forward_links *links = calloc(1, sizeof(*links));
	size_t i;

	if (!links)
		return -ENOMEM;
	links->next = next;
	links->seed = hash_seed_make();
	links->first_free = NOTHING;
	links->oldest = NOTHING;
	links->newest = NOTHING;
	links->entries = calloc(FORWARD_LINKS_MAX, sizeof(*links->entries));
	links->chains = malloc(CHAINS * sizeof(*links->chains));
	if (!links->entries || !links->chains) {
		forward_links_free(links);
		return -ENOMEM;
	}
	for (i = 0; i < CHAINS; i++)
		links->chains[i] = NOTHING;
	*out = links;
	return 0;
}

void forward_links_free(struct forward_links *links)
{
	if (!links)
		return;
	free(links->chains);
	free(links->entries);
	free(links);
}

static uint32_t *chain_of(struct forward_links *links, uint64_t thread_number, uint64_t sequence)
{
	uint64_t key = sequence * 0x9e3779b97f4a7c15ULL ^ thread_number;

	return &links->chains[hash_seeded(&links->seed, key) & (CHAINS - 1)];
}

static uint32_t find(struct forward_links *links, uint64_t thread_number, uint64_t sequence)
{
	uint32_t at = *chain_of(links, thread_number, sequence);

	while (at != NOTHING && (links->entries[at].thread_number != thread_number ||
				 links->entries[at].sequence != sequence))
		at = links->entries[at].next_in_chain;
	return at;
}

static bool is_numberless(const struct entry *entry)
{
	return entry->thread_number == NUMBERLESS(entry->tid);
}

static void chain_add(struct forward_links *links, uint32_t at)
{
	struct entry *entry = &links->entries[at];
	uint32_t *chain = chain_of(links, entry->thread_number, entry->sequence);

	entry->next_in_chain = *chain;
	*chain = at;
	links->numberless += is_numberless(entry);
}

static void chain_remove(struct forward_links *links, uint32_t at)
{
	struct entry *entry = &links->entries[at];
	uint32_t *link = chain_of(links, entry->thread_number, entry->sequence);

	while (*link != at)
		link = &links->entries[*link].next_in_chain;
	*link = entry->next_in_chain;
	links->numberless -= is_numberless(entry);
}

static void forget(struct forward_links *links, uint32_t at)
{
	struct entry *entry = &links->entries[at];

	chain_remove(links, at);
	*(entry->older == NOTHING ? &links->oldest : &links->entries[entry->older].newer) =
		entry->newer;
	*(entry->newer == NOTHING ? &links->newest : &links->entries[entry->newer].older) =
		entry->older;
	entry->next_in_chain = links->first_free;
	links->first_free = at;
}

static uint32_t take_free(struct forward_links *links)
{
	uint32_t at = links->first_free;

	if (at != NOTHING) {
		links->first_free = links->entries[at].next_in_chain;
		return at;
	}
	if (links->used < FORWARD_LINKS_MAX)
		return links->used++;
	links->forgotten++;
	forget(links, links->oldest);
	return take_free(links);
}

static void remember(struct forward_links *links, struct entry entry)
{
	uint32_t at = take_free(links);

	entry.older = links->newest;
	entry.newer = NOTHING;
	links->entries[at] = entry;
	chain_add(links, at);
	*(links->newest == NOTHING ? &links->oldest : &links->entries[links->newest].newer) = at;
	links->newest = at;
}

void forward_links_taken(struct forward_links *links, const struct event *event)
{
	const struct wire_sequence *record = event->sequence;
	uint32_t at;

	if (!links->numberless || !record->thread_number || !record->sequence ||
	    record->sequence == WIRE_SEQUENCE_NONE)
		return;
	at = find(links, NUMBERLESS(event->header->tid), record->sequence - 1);
	if (at == NOTHING)
		return;
	chain_remove(links, at);
	links->entries[at].thread_number = record->thread_number;
	chain_add(links, at);
}

void forward_links_forward(struct forward_links *links, const struct event *event,
			   uint64_t start_ns)
{
	const struct wire_sequence *record = event->sequence;
	struct entry entry = {
		.thread_number = record->thread_number,
		.sequence = record->sequence,
		.start_ns = start_ns,
		.tid = event->header->tid,
	};
	uint32_t at;

	if (entry.sequence == WIRE_SEQUENCE_NONE)
		return;
	if (!entry.thread_number)
		entry.thread_number = NUMBERLESS(entry.tid);
	at = find(links, entry.thread_number, entry.sequence);
	if (at != NOTHING) /* of another thread that had the tid, or of a damaged record */
		forget(links, at);
	remember(links, entry);
}

/* Time does not run backward: a call that began later did not make the node. */
static uint32_t find_forward(struct forward_links *links, const struct wire_node_begin *node,
			     uint64_t node_start_ns)
{
	uint32_t at = NOTHING;

	if (node->thread_number)
		at = find(links, node->thread_number, node->sequence);
	return at != NOTHING && links->entries[at].start_ns > node_start_ns ? NOTHING : at;
}

int forward_links_node(struct forward_links *links, const struct wire_node_begin *node,
		       uint32_t tid, uint64_t node_start_ns)
{
	struct flow flow = { .to_ns = node_start_ns, .to_tid = tid };
	uint32_t at;

	if (node->sequence == WIRE_SEQUENCE_NONE)
		return 0;
	at = find_forward(links, node, node_start_ns);
	if (at == NOTHING) {
		links->unlinked++;
		return 0;
	}
	flow.id = ++links->flows;
	flow.from_ns = links->entries[at].start_ns;
	flow.from_tid = links->entries[at].tid;
	forget(links, at);
	return links->next->flow(links->next, &flow);
}

uint64_t forward_links_flows(const struct forward_links *links)
{
	return links->flows;
}

uint64_t forward_links_unlinked(const struct forward_links *links)
{
	return links->unlinked;
}

uint64_t forward_links_forgotten(const struct forward_links *links)
{
	return links->forgotten;
}
