/* window_probes.c - see window_probes.h. */
#include "window_probes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "overhead.h"
#include "session_record.h"

#define MS 1000000ULL
#define LEARN_MIN_NS (40 * MS)
#define LONG_ATTEMPT_NS (100 * MS)
#define TAIL_NS (50 * MS)	 /* for what is open when the window closes */
#define SHORT_WAIT_NS (250 * MS) /* taking probes off takes 30 to 200 ms */

#define WINDOW PROBE_GROUPS(PROBE_GROUP_WINDOW)
#define NUMBERS PROBE_GROUPS(PROBE_GROUP_NUMBERS)
#define CALLS PROBE_GROUPS(PROBE_GROUP_CALLS)
#define LEARN PROBE_GROUPS(PROBE_GROUP_LEARN)

struct window_probes {
	const struct options *options;
	const struct probe_plan *plan;
	struct probes *probes;
	struct pipeline *pipeline;
	struct overhead *overhead; /* NULL: no calls are recorded */

	unsigned int attached; /* PROBE_GROUPS() */
	bool is_decided;
	bool is_held;
	uint32_t ready_cycle;	/* cycles below it have their probes, as the programs know */
	uint64_t tail_until_ns; /* 0: no tail */
	uint32_t after_limit;	/* 0: the plan goes on */

	/* While warmup learns. */
	uint64_t attached_ns, unwatched_ns;
	uint32_t learned_from; /* the attempt that was running when the probes came */
	uint64_t boundary_ns;  /* when it had ended: what is learned since is of whole attempts */
};

int window_probes_new(struct window_probes **out, const struct options *options,
		      const struct probe_plan *plan, struct probes *probes,
		      struct pipeline *pipeline)
{
	struct window_probes *window = calloc(1, sizeof(*window));
	int err;

	if (!window)
		return -ENOMEM;
	window->options = options;
	window->plan = plan;
	window->probes = probes;
	window->pipeline = pipeline;
	err = window_probes_replan(window);
	if (err) {
		window_probes_free(window);
		return err;
	}
	*out = window;
	return 0;
}

int window_probes_replan(struct window_probes *window)
{
	if (window->overhead || !overhead_is_of_interest(window->plan))
		return 0;
	return overhead_new(&window->overhead, window->options, window->plan, window->probes,
			    pipeline_sink(window->pipeline));
}

void window_probes_free(struct window_probes *window)
{
	if (!window)
		return;
	overhead_free(window->overhead);
	free(window);
}

bool window_probes_attached(const struct window_probes *window)
{
	return window->attached & WINDOW;
}

bool window_probes_settled(const struct window_probes *window)
{
	return !window->overhead || window->is_decided;
}

bool window_probes_in_tail(const struct window_probes *window)
{
	return window->tail_until_ns;
}

uint32_t window_probes_after_limit(const struct window_probes *window)
{
	return window->after_limit;
}

static int attach(struct window_probes *window, unsigned int groups)
{
	int err = probes_attach_groups(window->probes, groups);

	if (!err)
		window->attached |= groups;
	return err;
}

static void detach(struct window_probes *window, unsigned int groups)
{
	probes_detach_groups(window->probes, groups & window->attached);
	window->attached &= ~groups;
}

static void set_ready(struct window_probes *window, uint32_t cycle_end)
{
	if (window->is_held || window->ready_cycle >= cycle_end)
		return;
	window->ready_cycle = cycle_end;
	probes_set_ready(window->probes, cycle_end);
	log_debug("window probes in place: warmup counts");
}

/* Without a wait the probes stay for all cycles. */
static void set_all_ready(struct window_probes *window, uint32_t cycle)
{
	set_ready(window, window->options->wait ? cycle + 1 : PLAN_REPEAT_MAX + 1);
}

void window_probes_hold(struct window_probes *window, bool is_held)
{
	window->is_held = is_held;
}

static uint64_t state_of(const struct window_probes *window)
{
	return probes_state(window->probes);
}

static void begin_learning(struct window_probes *window, uint64_t now_ns)
{
	window->attached_ns = now_ns;
	window->unwatched_ns = pipeline_unwatched_ns(window->pipeline);
	window->learned_from = STATE_TOTAL(state_of(window));
	window->boundary_ns = 0;
	pipeline_learn_anew(window->pipeline);
}

static unsigned int groups_of_window(const struct window_probes *window)
{
	if (!window->overhead)
		return WINDOW;
	if (!window->is_decided)
		return WINDOW | NUMBERS | LEARN;
	return WINDOW | CALLS | (overhead_keeps_numbers(window->overhead) ? NUMBERS : 0);
}

static int attach_all(struct window_probes *window)
{
	int err;

	probes_set_closed(window->probes, false);
	err = attach(window, groups_of_window(window));
	if (!err && window->overhead && !window->is_decided)
		begin_learning(window, clock_monotonic_ns());
	return err;
}

int window_probes_attach(struct window_probes *window)
{
	uint64_t state = state_of(window), start_ns = clock_monotonic_ns();
	uint32_t phase = STATE_PHASE(state);
	int err;

	if (phase != PHASE_WARMUP && phase != PHASE_ACTIVE)
		return 0;
	window->tail_until_ns = 0;
	if (window_probes_attached(window))
		return 0;
	err = attach_all(window);
	if (err)
		return err;
	if (window_probes_settled(window))
		set_all_ready(window, STATE_CYCLE(state));
	log_debug("window probes attached");
	return session_record_probes(PROBES_ON, start_ns, pipeline_sink(window->pipeline));
}

/* Attempts that have ended since, of which all has been read: more may have, meanwhile. */
static uint32_t learned_attempts(const struct window_probes *window)
{
	uint64_t last_ns;
	size_t seen = pipeline_attempts(window->pipeline, &last_ns);

	return seen > window->learned_from ? (uint32_t)seen - window->learned_from : 0;
}

/*
 * One whole attempt is enough if it is long; short ones must be some, or nothing can be said of how
 * steady calls are. Where attempts are long the rest of warmup must not be lost: most of one will
 * do.
 */
static bool has_learned(struct window_probes *window, uint64_t now_ns)
{
	uint32_t ended = learned_attempts(window);
	uint64_t last_end_ns = pipeline_last_end_ns(window->pipeline);

	if (ended && !window->boundary_ns) {
		/* What was learned so far is of a part of an attempt. */
		window->boundary_ns = now_ns;
		window->learned_from += ended;
		pipeline_learn_anew(window->pipeline);
		return false;
	}
	if (window->boundary_ns)
		return ended &&
		       (window->options->exact || now_ns - window->boundary_ns >= LEARN_MIN_NS);
	return window->unwatched_ns > LONG_ATTEMPT_NS && last_end_ns &&
	       now_ns - window->attached_ns > window->unwatched_ns / 2 &&
	       now_ns > last_end_ns + window->unwatched_ns / 10 * 7;
}

/*
 * From all of it to what the modes say; calls stay recorded throughout. Where that cannot be
 * attached (logged), or the job is gone, what warmup had stays: an end that comes is taken in every
 * mode.
 */
static int settle(struct window_probes *window)
{
	struct record_sink *sink = pipeline_sink(window->pipeline);
	unsigned int off = overhead_keeps_numbers(window->overhead) ? 0 : NUMBERS;
	uint64_t start_ns = clock_monotonic_ns();
	int err = 0;

	if (!overhead_keeps_all(window->overhead) && !attach(window, CALLS)) {
		off |= LEARN;
		err = session_record_probes(PROBES_PART_ON, start_ns, sink);
	}
	if (err || !(off & window->attached))
		return err;
	start_ns = clock_monotonic_ns();
	detach(window, off);
	return session_record_probes(PROBES_PART_OFF, start_ns, sink);
}

static int learn(struct window_probes *window, uint64_t now_ns)
{
	struct overhead_evidence evidence = { .unwatched_ns = window->unwatched_ns };
	int err;

	if (!has_learned(window, now_ns))
		return 0;
	evidence.learned = pipeline_learned(window->pipeline);
	evidence.learned_ns =
		now_ns - (window->boundary_ns ? window->boundary_ns : window->attached_ns);
	if (window->boundary_ns)
		evidence.attempts = learned_attempts(window);
	err = overhead_decide(window->overhead, &evidence);
	if (err)
		return err;
	log_debug("modes decided after %u whole attempts", evidence.attempts);
	window->is_decided = true;
	return settle(window);
}

/* Is the wait of the coming cycle over before the probes could be off and on again? */
static bool is_short_wait(const struct window_probes *window, uint32_t phase)
{
	uint64_t last_ns;

	pipeline_attempts(window->pipeline, &last_ns);
	return phase == PHASE_WAIT && last_ns && window->options->wait * last_ns < SHORT_WAIT_NS;
}

bool window_probes_stay(const struct window_probes *window)
{
	return window_probes_attached(window) && window_probes_settled(window) &&
	       is_short_wait(window, STATE_PHASE(state_of(window)));
}

/*
 * Before the time is taken: an attempt that ends in between counts as disturbed. At once, for steps
 * may be short; the one that is running does not count.
 */
static void limit_after(struct window_probes *window)
{
	uint64_t state = state_of(window);

	if (STATE_PHASE(state) != PHASE_AFTER)
		return;
	window->after_limit = STATE_TOTAL(state) + 1 + AFTER_ATTEMPTS;
	probes_set_limit(window->probes, window->after_limit);
}

/* What was open when the window closed gets a moment to end. */
static int take_off(struct window_probes *window, uint64_t now_ns)
{
	uint64_t start_ns;

	if (!window->tail_until_ns)
		window->tail_until_ns = now_ns + TAIL_NS;
	if ((pipeline_is_behind(window->pipeline) || pipeline_open_spans(window->pipeline)) &&
	    now_ns < window->tail_until_ns)
		return 0;
	start_ns = clock_monotonic_ns();
	probes_set_closed(window->probes, true);
	detach(window, WINDOW | NUMBERS | CALLS | LEARN);
	window->tail_until_ns = 0;
	limit_after(window);
	log_debug("window probes detached");
	return session_record_probes(PROBES_OFF, start_ns, pipeline_sink(window->pipeline));
}

int window_probes_follow(struct window_probes *window, uint64_t now_ns)
{
	uint64_t state = state_of(window);
	uint32_t phase = STATE_PHASE(state);

	if (!window_probes_attached(window))
		return 0;
	if (phase == PHASE_WARMUP || phase == PHASE_ACTIVE) {
		if (!window_probes_settled(window))
			return learn(window, now_ns);
		set_all_ready(window, STATE_CYCLE(state));
		return 0;
	}
	if (window_probes_stay(window)) {
		set_ready(window, STATE_CYCLE(state) + 1);
		return 0;
	}
	return take_off(window, now_ns);
}
