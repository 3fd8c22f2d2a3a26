/* kinds.c - see kinds.h. */
#include "agent/kinds.h"

#include "agent/session.h"

static const uint32_t kind_of[AGENT_ACTIVITY_CNT] = {
	[AGENT_ACTIVITY_KERNEL] = KIND_CONCURRENT_KERNEL,
	[AGENT_ACTIVITY_MEMCPY] = KIND_MEMCPY,
	[AGENT_ACTIVITY_MEMCPY_PEER] = KIND_MEMCPY2,
	[AGENT_ACTIVITY_MEMSET] = KIND_MEMSET,
	[AGENT_ACTIVITY_RUNTIME] = KIND_RUNTIME,
	[AGENT_ACTIVITY_DRIVER] = KIND_DRIVER,
	[AGENT_ACTIVITY_OVERHEAD] = KIND_OVERHEAD,
	[AGENT_ACTIVITY_SYNC] = KIND_SYNCHRONIZATION,
	[AGENT_ACTIVITY_EVENT] = KIND_CUDA_EVENT,
};

/* Calls first: a kernel whose launch nobody saw is worth less than a launch whose kernel is cut. */
static const uint8_t enable_order[AGENT_ACTIVITY_CNT] = {
	AGENT_ACTIVITY_RUNTIME,	 AGENT_ACTIVITY_DRIVER,	     AGENT_ACTIVITY_KERNEL,
	AGENT_ACTIVITY_MEMCPY,	 AGENT_ACTIVITY_MEMCPY_PEER, AGENT_ACTIVITY_MEMSET,
	AGENT_ACTIVITY_OVERHEAD, AGENT_ACTIVITY_SYNC,	     AGENT_ACTIVITY_EVENT,
};

void kinds_disable(struct session *session)
{
	int i;

	for (i = AGENT_ACTIVITY_CNT; i--;)
		if (session->kinds & 1U << enable_order[i])
			session->cupti.disable(kind_of[enable_order[i]]);
	session->kinds = 0;
}

/* Errors that the next kind would meet as well. */
static bool is_final(int error)
{
	return error == CUPTI_MULTIPLE_SUBSCRIBERS || error == CUPTI_UNKNOWN ||
	       error == CUPTI_INSUFFICIENT_PRIVILEGES || error == CUPTI_VIRTUAL_PRIVILEGES ||
	       error == CUPTI_NOT_INITIALIZED;
}

/* Work without its launch belongs to no operator and no attempt: then probed calls say more. */
static bool is_needed(uint32_t activity)
{
	return activity == AGENT_ACTIVITY_KERNEL || activity == AGENT_ACTIVITY_RUNTIME;
}

int kinds_enable(struct session *session)
{
	uint32_t i;

	for (i = 0; i < AGENT_ACTIVITY_CNT; i++) {
		uint32_t activity = enable_order[i];
		int err;

		if (activity >= AGENT_ACTIVITY_SYNC && !session->wants_sync)
			continue;
		if (atomic_load(&session->abandoned))
			return 0;
		err = session->cupti.enable(kind_of[activity]);
		if (!err) {
			session->kinds |= 1U << activity;
			continue;
		}
		if (is_final(err) || is_needed(activity))
			return err;
		session_say(session, AGENT_STATUS_KIND, AGENT_EFFECT_DEGRADED,
			    (int64_t)err << 8 | activity, NULL);
	}
	return 0;
}
