/*
 * edges.c - see edges.h. The end that was told may be the time of the event that follows, so it is
 * taken back a little; a row that must hold a child of the same end is led beyond it again, by
 * less. Where there are more levels than room they share an edge.
 */
#include "analyze/edges.h"

static uint64_t less_of(uint64_t left, uint64_t right)
{
	return left < right ? left : right;
}

static uint64_t more_of(uint64_t left, uint64_t right)
{
	return left > right ? left : right;
}

static uint64_t back(uint64_t time_ns, uint64_t by_ns)
{
	return time_ns - less_of(time_ns, by_ns);
}

static uint64_t next_event_of(const struct span *span, const struct edges_around *around)
{
	return around->next_event_ns ? around->next_event_ns : span->end_ns;
}

static uint64_t unseen_end_of(const struct span *span, const struct edges_around *around)
{
	uint64_t next_ns = next_event_of(span, around), child_ns = around->child_end_ns;
	uint64_t end_ns = less_of(span->end_ns, back(next_ns, EDGES_ROOM_NS));

	if (!span->is_start_told) /* else the start gives way */
		end_ns = more_of(end_ns, span->start_ns + EDGES_GAP_NS);
	if (!child_ns)
		return end_ns;
	end_ns = more_of(end_ns, less_of(child_ns + EDGES_GAP_NS, back(next_ns, EDGES_GAP_NS)));
	return more_of(end_ns, child_ns);
}

static uint64_t end_of(const struct span *span, const struct edges_around *around)
{
	if (!span->is_finished) /* not past the end of the window */
		return span->end_ns;
	if (span->is_inferred || span->is_unwound)
		return unseen_end_of(span, around);
	if (span->kind == SPAN_NODE_OUTER) /* ended by the node's own hit */
		return more_of(span->end_ns, around->child_end_ns + EDGES_GAP_NS);
	return span->end_ns;
}

static uint64_t start_of(const struct span *span, const struct edges_around *around)
{
	uint64_t start_ns = span->start_ns, before_ns = around->before_ns, next_ns;

	if (span->kind == SPAN_NODE_OUTER) /* begun by it too */
		return more_of(back(start_ns, EDGES_GAP_NS), less_of(before_ns, start_ns));
	if (!span->is_start_told)
		return start_ns;
	next_ns = next_event_of(span, around);
	if (span->is_inferred) /* it ends with what is around it, and that needs room as well */
		start_ns = less_of(start_ns, back(next_ns, EDGES_ROOM_NS));
	start_ns = more_of(start_ns, before_ns + EDGES_GAP_NS);
	return less_of(start_ns, more_of(before_ns, back(next_ns, 2 * EDGES_GAP_NS)));
}

void edges_settle(struct span *span, const struct edges_around *around)
{
	uint64_t start_ns, end_ns;

	if (span->is_async)
		return;
	start_ns = start_of(span, around);
	end_ns = more_of(start_ns, end_of(span, around));
	span->start_shift_ns = (int64_t)(start_ns - span->start_ns);
	span->end_shift_ns = (int64_t)(end_ns - span->end_ns);
}
