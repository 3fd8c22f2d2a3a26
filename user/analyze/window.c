/* window.c - see window.h. One array of attempts, indexed by the attempt's number. */
#include "analyze/window.h"

#include <errno.h>
#include <stdlib.h>

#define GAP_MAX (1U << 20) /* more lost attempts than that is a damaged record */

struct window {
	struct attempt *attempts;
	size_t count, capacity;
	uint64_t lost;
	bool is_active;
	uint64_t first_start_ns, start_ns, end_ns, total_ns;
	bool has_probes;
	uint64_t detached_ns;
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
	free(window->attempts);
	free(window);
}

static struct attempt *append(struct window *window)
{
	if (window->count == window->capacity) {
		size_t capacity = window->capacity ? window->capacity * 2 : 64;
		struct attempt *grown = realloc(window->attempts, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		window->attempts = grown;
		window->capacity = capacity;
	}
	window->attempts[window->count] = (struct attempt){ 0 };
	return &window->attempts[window->count++];
}

static int fill_gap(struct window *window, const struct wire_attempt *record)
{
	if (record->index < window->count || record->index - window->count + window->lost > GAP_MAX)
		return -EPROTO;
	while (window->count < record->index) {
		struct attempt *lost = append(window);

		if (!lost)
			return -ENOMEM;
		lost->phase = record->phase;
		lost->cycle = record->cycle;
		window->lost++;
	}
	return 0;
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

int window_attempt(struct window *window, const struct event *event)
{
	const struct wire_attempt *record = event->attempt;
	uint64_t now_ns = event->header->time_ns, start_ns;
	struct attempt *attempt;
	int err = fill_gap(window, record);

	if (err)
		return err;
	start_ns = window->count ? window->attempts[window->count - 1].end_ns : 0;
	attempt = append(window);
	if (!attempt)
		return -ENOMEM;
	attempt->start_ns = start_ns;
	attempt->end_ns = now_ns;
	attempt->tid = event->header->tid;
	attempt->cycle = record->cycle;
	attempt->phase = record->phase;
	attempt->outcome = record->outcome;
	attempt->is_disturbed =
		is_unwatched(attempt) && (window->has_probes || start_ns < window->detached_ns);
	/* A lost boundary may have been the one into the window. */
	if (record->phase == PHASE_ACTIVE && !window->is_active)
		open_window(window, start_ns ? start_ns : now_ns);
	if (record->next_phase != PHASE_ACTIVE)
		close_window(window, now_ns);
	else if (!window->is_active)
		open_window(window, now_ns);
	return 0;
}

void window_attached(struct window *window)
{
	window->has_probes = true;
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
	if (!window->count)
		return NULL;
	*index = window->count - 1;
	return &window->attempts[window->count - 1];
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
	size_t i;

	summary->attempts = window->attempts;
	summary->attempt_count = window->count;
	for (i = 0; i < window->count; i++) {
		summary->active_count += window->attempts[i].phase == PHASE_ACTIVE;
		summary->outcome_count[window->attempts[i].outcome]++;
	}
	summary->started_ns = window->first_start_ns;
	summary->ended_ns = window->end_ns;
	summary->window_ns = window->total_ns;
	summary->stop = reason;
	summary->state = state_of(window, reason);
}
