/*
 * probe.h - the BPF programs: loaded, attached to the sites of a plan, detached. The only file that
 * sees the skeleton.
 */
#ifndef ATTACH_PROBE_H
#define ATTACH_PROBE_H

#include "attach/probe_plan.h"
#include "wire.h"

/* How the kernel lets us attach. */
enum attach_mode {
	ATTACH_AUTO,	/* found out at start */
	ATTACH_MULTI,	/* uprobe_multi, filtered by process */
	ATTACH_THREADS, /* uprobe_multi of a kernel that filters by thread: a link for each */
	ATTACH_SINGLE,	/* no uprobe_multi: a perf event for each site */
};

struct probes;

/*
 * Loads the programs. Errors are logged: -EPERM not permitted, -EOPNOTSUPP the kernel cannot do it.
 * plan must outlive the probes.
 */
int probes_open(struct probes **out, const struct probe_plan *plan,
		const struct probe_config *config, enum attach_mode mode);

/* Detaches everything first. NULL is legal. */
void probes_close(struct probes *probes);

enum attach_mode probes_mode(const struct probes *probes);

/* Attaches the sites of a group. -ESRCH: the job is gone. Other errors are logged. */
int probes_attach(struct probes *probes, enum probe_group group);
void probes_detach(struct probes *probes, enum probe_group group);

/* In ATTACH_THREADS mode, links threads that are new since the last call. */
int probes_follow_threads(struct probes *probes);

int probes_ring_fd(const struct probes *probes);

/* The window's probes are in place for the cycles below this number: their warmup may be counted.
 */
void probes_set_ready(struct probes *probes, uint32_t cycle_end);

/* Attempts of this number and later are not counted. */
void probes_set_limit(struct probes *probes, uint32_t attempt_limit);

/* The programs record nothing from now on. Returns the time: what they recorded is older. */
uint64_t probes_stop(struct probes *probes);

/* The job has replaced its program. */
bool probes_execed(const struct probes *probes);

/* Where the plan stands (STATE_* of probe_config.h) and the log of attempts, both written by BPF.
 */
uint64_t probes_state(const struct probes *probes);
const volatile struct attempt_slot *probes_attempts(const struct probes *probes);

/* Losses counted by the programs so far, over all CPUs. */
int probes_losses(const struct probes *probes, uint64_t counts[LOSS_CAUSE_CNT]);

#endif /* ATTACH_PROBE_H */
