/*
 * agent.c - where the agent comes in: loaded by libcuda, which calls InitializeInjection(), or by
 * tpbpf. Then it sleeps. It never prints, exits, aborts or throws, and nothing of it is ever
 * unloaded (it is linked with -z nodelete): its threads run on.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "agent/handover.h"
#include "agent/session.h"
#include "agent/watcher.h"

static struct watcher watcher;

/* There are no threads of the agent in a child, and CUPTI would hang. */
static void in_child(void)
{
	atomic_store(&agent_session.inert, true);
}

/* The handler is a fork child's, too. */
static void at_exit(void)
{
	if (!session_is_inert(&agent_session))
		watcher_finish(&watcher);
}

__attribute__((constructor)) static void start(void)
{
	session_init(&agent_session);
	/* Loaded a second time, from another path: the first one is enough. */
	if (handover_has_twin()) {
		atomic_store(&agent_session.inert, true);
		return;
	}
	watcher.at_exit = at_exit;
	if (!pthread_atfork(NULL, NULL, in_child))
		watcher_start(&watcher);
}

/* CUDA_INJECTION64_PATH: 1 is what libcuda takes for success. */
__attribute__((visibility("default"))) int InitializeInjection(void);

int InitializeInjection(void)
{
	return 1;
}
