/* wait_probes.c - see wait_probes.h. */
#include "wait_probes.h"

#include "base/log.h"

#define MARGIN_NS 500000000ULL /* putting them back takes some 20 ms, on a busy machine more */
#define MARGIN_ATTEMPTS 32

void wait_probes_init(struct wait_probes *wait, const struct options *options,
		      const struct probe_plan *plan, struct probes *probes)
{
	*wait = (struct wait_probes){
		.options = options,
		.probes = probes,
		/* What sees ends is a probe of its own only where ranges are seen by Python's
		   calls. */
		.is_possible = plan->sees_by_enter && options->step.mode == STEP_AUTO &&
			       probes_mode(probes) == ATTACH_MULTI,
	};
}

uint32_t wait_probes_left(const struct options *options, uint64_t state)
{
	uint32_t first_wait = options->skip_first_wait ? 0 : options->wait;
	uint32_t phase = STATE_PHASE(state), count = STATE_COUNT(state), planned;

	if (phase == PHASE_SKIP_FIRST)
		planned = options->skip_first + first_wait;
	else if (phase == PHASE_WAIT)
		planned = STATE_CYCLE(state) ? options->wait : first_wait;
	else
		return 0;
	return planned > count ? planned - count : 0;
}

bool wait_probes_are_long(uint32_t left, uint64_t attempt_ns, bool is_begun)
{
	uint64_t margin = attempt_ns ? MARGIN_NS / attempt_ns : 0;

	if (margin < MARGIN_ATTEMPTS)
		margin = MARGIN_ATTEMPTS;
	if (is_begun)
		return left > margin;
	return attempt_ns && left > 2 * margin;
}

static int put_back(struct wait_probes *wait, volatile struct begin_watch *watch)
{
	int err;

	wait->is_wanted = false;
	__atomic_store_n(&watch->is_wanted, 0, __ATOMIC_SEQ_CST);
	err = wait->is_off ? probes_attach(wait->probes, PROBE_GROUP_ENDS) : 0;
	if (err)
		return err;
	if (wait->is_off)
		log_debug("ends of attempts are watched again");
	wait->is_off = false;
	__atomic_store_n(&watch->is_alone, 0, __ATOMIC_SEQ_CST);
	return 0;
}

static void take_off(struct wait_probes *wait, volatile struct begin_watch *watch)
{
	wait->is_wanted = true;
	__atomic_store_n(&watch->is_wanted, 1, __ATOMIC_SEQ_CST);
	if (wait->is_off || !__atomic_load_n(&watch->is_alone, __ATOMIC_ACQUIRE))
		return;
	wait->is_off = true;
	probes_detach(wait->probes, PROBE_GROUP_ENDS);
	log_debug("attempts are told by their begin alone: the wait is long");
}

/* Once in a wait: that steps become slower, so that fewer of them are long, is no reason to. */
static bool is_wanted(struct wait_probes *wait, uint64_t state)
{
	uint32_t left = wait_probes_left(wait->options, state);

	if (wait->is_refused || STATE_CYCLE(state) < wait->next_cycle)
		return false;
	if (wait_probes_are_long(left, wait->attempt_ns, wait->is_wanted))
		return true;
	if (wait->is_wanted)
		wait->next_cycle = STATE_CYCLE(state) + 1;
	return false;
}

int wait_probes_follow(struct wait_probes *wait, uint64_t attempt_ns)
{
	volatile struct begin_watch *watch = probes_begin_watch(wait->probes);

	if (!wait->is_possible)
		return 0;
	if (attempt_ns) /* one short attempt among long ones is no reason to turn back */
		wait->attempt_ns =
			wait->attempt_ns ? (7 * wait->attempt_ns + attempt_ns) / 8 : attempt_ns;
	if (!wait->is_refused && (watch->doubts || watch->has_scaler)) {
		wait->is_refused = true;
		log_debug("attempts are not told by their begin alone: %s",
			  watch->doubts ? "ranges change their place" : "a gradient scaler runs");
	}
	if (!is_wanted(wait, probes_state(wait->probes)))
		return put_back(wait, watch);
	take_off(wait, watch);
	return 0;
}
