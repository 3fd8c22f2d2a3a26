/* device_fallback.c - see device_fallback.h. */
#include "device_fallback.h"

#include "base/log.h"

/* Where the kernel cannot probe them, there is nothing to fall back on. */
static bool has_reserve(const struct device_fallback *fallback)
{
	return fallback->plan->calls_in_reserve && fallback->plan->activities & ACTIVITY_CUDA_CALLS;
}

static int give_up(const struct device_fallback *fallback, uint64_t now_ns)
{
	int err;

	device_watch_give_up(fallback->watch);
	if (!has_reserve(fallback))
		return 0;
	log_info("the agent in the job cannot report what the GPU does: the calls that ask for it "
		 "are probed instead");
	err = probe_plan_take_reserve(fallback->plan, now_ns, fallback->sink);
	return err ? err : window_probes_replan(fallback->window);
}

int device_fallback_follow(const struct device_fallback *fallback, uint32_t phase, uint64_t now_ns)
{
	bool is_staying = window_probes_stay(fallback->window);
	int err = 0;

	/* Where the probes stay, the agent goes on as well. */
	device_watch_follow(fallback->watch, is_staying ? PHASE_ACTIVE : phase, now_ns);
	/* With nothing to fall back on it has until the window begins: it would report a part of
	   it, as if that were all. */
	if ((has_reserve(fallback) || phase == PHASE_ACTIVE) &&
	    device_watch_has_failed(fallback->watch, now_ns))
		err = give_up(fallback, now_ns);
	window_probes_hold(fallback->window, !device_watch_is_ready(fallback->watch, now_ns));
	return err;
}

int device_fallback_attach(const struct device_fallback *fallback)
{
	if (has_reserve(fallback) && !device_watch_has_recorded(fallback->watch))
		return 0;
	return window_probes_attach(fallback->window);
}
