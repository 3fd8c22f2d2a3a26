/*
 * forward_links.h - ties forward calls to the nodes of their backward. A forward call takes the
 * next number of its thread, the node that it makes keeps the number, and PyTorch's own number of
 * the thread with it. Both are read as the call takes its number, so that the two together name one
 * call for certain, whatever threads do the same at the same time, and whoever runs the node.
 */
#ifndef ANALYZE_FORWARD_LINKS_H
#define ANALYZE_FORWARD_LINKS_H

#include <stdint.h>

#include "base/bound.h"
#include "model/event.h"
#include "model/sink.h"

struct forward_links;

#define FORWARD_LINKS_MAX BOUND(262144, 8) /* forward calls that wait for their node */

/* next stays the caller's; only its flow is used. */
int forward_links_new(struct forward_links **out, struct mark_sink *next);
void forward_links_free(struct forward_links *links); /* NULL is legal */

/*
 * A number was taken: SEQUENCE_TAKEN, every one of a thread. PyTorch numbers a thread when the
 * first node is made there, behind this event, so the next one says whose the first was.
 */
void forward_links_taken(struct forward_links *links, const struct event *event);

/* It was by the span that starts at start_ns. Where too many wait the oldest is forgotten. */
void forward_links_forward(struct forward_links *links, const struct event *event,
			   uint64_t start_ns);

/*
 * The span of node starts at node_start_ns on tid: pushes the flow from its forward call, which is
 * forgotten then, so a second node of that number (retain_graph, double backward) has none. What
 * the sink returns.
 */
int forward_links_node(struct forward_links *links, const struct wire_node_begin *node,
		       uint32_t tid, uint64_t node_start_ns);

uint64_t forward_links_flows(const struct forward_links *links); /* pushed */
uint64_t
forward_links_unlinked(const struct forward_links *links); /* nodes with a number, no flow */
uint64_t forward_links_forgotten(const struct forward_links *links); /* over FORWARD_LINKS_MAX */

#endif /* ANALYZE_FORWARD_LINKS_H */
