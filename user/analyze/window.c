/* window.c - see window.h. An attempt's place in the log is its number. */
#include "analyze/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bound.h"

#define GAP_MAX BOUND(1U << 20, 1U << 8) /* more lost attempts than that is a damaged record */

struct window {
	struct attempt_log attempts;
	uint64_t active_count, outcome_count[OUTCOME_CNT], boundary_count[BOUNDARY_CNT];
	uint64_t lost;
	bool is_active;
	uint64_t first_start_ns, start_ns, end_ns, total_ns;
	bool has_probes;
	uint64_t attached_ns, detached_ns; /* began to be put on, were gone */
};

int window_new(struct window **out)
{
	struct window *window = calloc(1, sizeof(*window));

	if (!window)
		return -ENOMEM;
	*out = window;
	return 0;
}

void window_free(struct window *window)
{
	if (!window)
		return;
	attempt_log_clear(&window->attempts);
	free(window);
}

static int append(struct window *window, const struct attempt *attempt)
{
	int err = attempt_log_add(&window->attempts, attempt);

	if (err)
		return err;
	window->active_count += attempt->phase == PHASE_ACTIVE;
	window->outcome_count[attempt->outcome]++;
	window->boundary_count[attempt->boundary]++;
	return 0;
}

static int fill_gap(struct window *window, const struct wire_attempt *record)
{
	const struct attempt lost = { .phase = record->phase, .cycle = record->cycle };
	const size_t *count = &window->attempts.count;
	int err = 0;

	if (record->index < *count || record->index - *count + window->lost > GAP_MAX)
		return -EPROTO;
	while (*count < record->index && !err) {
		err = append(window, &lost);
		window->lost += !err;
	}
	return err;
}

static void close_window(struct window *window, uint64_t now_ns)
{
	if (!window->is_active)
		return;
	window->is_active = false;
	window->end_ns = now_ns;
	if (now_ns > window->start_ns)
		window->total_ns += now_ns - window->start_ns;
}

static void open_window(struct window *window, uint64_t now_ns)
{
	window->is_active = true;
	window->start_ns = now_ns;
	if (!window->first_start_ns)
		window->first_start_ns = now_ns;
}

static bool is_unwatched(const struct attempt *attempt)
{
	return attempt->phase != PHASE_WARMUP && attempt->phase != PHASE_ACTIVE;
}

/* From an end to a begin is no attempt's time, nor is from a begin to an end. */
static uint64_t boundary_before(const struct window *window, const struct wire_attempt *record)
{
	const struct attempt *last = &window->attempts.last;

	if ((last->boundary == BOUNDARY_END) != (record->boundary == BOUNDARY_END))
		return 0;
	return last->end_ns;
}

static bool ran_with_probes(const struct window *window, const struct attempt *attempt)
{
	if (window->has_probes && attempt->end_ns > window->attached_ns)
		return true;
	return attempt->start_ns < window->detached_ns;
}

int window_attempt(struct window *window, const struct event *event)
{
	const struct wire_attempt *record = event->attempt;
	uint64_t now_ns = event->header->time_ns, start_ns;
	struct attempt attempt;
	int err = fill_gap(window, record);

	if (err)
		return err;
	start_ns = boundary_before(window, record);
	attempt = (struct attempt){
		.start_ns = start_ns,
		.end_ns = now_ns,
		.tid = event->header->tid,
		.cycle = record->cycle,
		.phase = record->phase,
		.outcome = record->outcome,
		.boundary = record->boundary,
	};
	attempt.is_disturbed = is_unwatched(&attempt) && ran_with_probes(window, &attempt);
	err = append(window, &attempt);
	if (err)
		return err;
	/* A lost boundary may have been the one into the window. */
	if (record->phase == PHASE_ACTIVE && !window->is_active)
		open_window(window, start_ns ? start_ns : now_ns);
	if (record->next_phase != PHASE_ACTIVE)
		close_window(window, now_ns);
	else if (!window->is_active)
		open_window(window, now_ns);
	return 0;
}

void window_attached(struct window *window, uint64_t started_ns)
{
	window->has_probes = true;
	window->attached_ns = started_ns;
}

void window_detached(struct window *window, uint64_t now_ns)
{
	window->has_probes = false;
	window->detached_ns = now_ns;
}

bool window_is_active(const struct window *window)
{
	return window->is_active;
}

uint64_t window_last_start_ns(const struct window *window)
{
	return window->start_ns;
}

uint64_t window_last_end_ns(const struct window *window)
{
	return window->end_ns;
}

void window_stop(struct window *window, uint64_t stop_ns)
{
	close_window(window, stop_ns);
}

const struct attempt *window_last(const struct window *window, size_t *index)
{
	if (!window->attempts.count)
		return NULL;
	*index = window->attempts.count - 1;
	return &window->attempts.last;
}

uint64_t window_lost_attempts(const struct window *window)
{
	return window->lost;
}

static enum window_state state_of(const struct window *window, enum wire_stop reason)
{
	if (reason == STOP_NONE)
		return WINDOW_PENDING;
	if (!window->first_start_ns)
		return WINDOW_NO_CAPTURE;
	return reason == STOP_WINDOW_FINISHED ? WINDOW_COMPLETE : WINDOW_PARTIAL;
}

void window_summarize(const struct window *window, enum wire_stop reason, struct summary *summary)
{
	summary->attempts = &window->attempts;
	summary->attempt_count = window->attempts.count;
	summary->active_count = window->active_count;
	memcpy(summary->outcome_count, window->outcome_count, sizeof(summary->outcome_count));
	summary->begin_count = window->boundary_count[BOUNDARY_BEGIN];
	summary->doubtful_count = window->boundary_count[BOUNDARY_DOUBTFUL];
	summary->started_ns = window->first_start_ns;
	summary->ended_ns = window->end_ns;
	summary->window_ns = window->total_ns;
	summary->stop = reason;
	summary->state = state_of(window, reason);
}
