/*
 * probe.h - the BPF programs: loaded, attached to the sites of a plan, detached. The only file that
 * sees the skeleton.
 */
#ifndef ATTACH_PROBE_H
#define ATTACH_PROBE_H

#include "attach/probe_plan.h"
#include "attach/ring_maps.h"
#include "wire.h"

/* How the kernel lets us attach. */
enum attach_mode {
	ATTACH_AUTO,	/* found out at start */
	ATTACH_MULTI,	/* uprobe_multi, filtered by process */
	ATTACH_THREADS, /* uprobe_multi of a kernel that filters by thread: a link for each */
	ATTACH_SINGLE,	/* no uprobe_multi: a perf event for each site */
};

struct probes;

struct probe_options {
	enum attach_mode attach;
	size_t ring_bytes; /* of each CPU's ring, a power of two; 0: by default */
};

/*
 * Loads the programs. Errors are logged: -EPERM not permitted, -EOPNOTSUPP the kernel cannot do it,
 * -E2BIG the rings would be too large for this host.
 * plan must outlive the probes.
 */
int probes_open(struct probes **out, const struct probe_plan *plan,
		const struct probe_config *config, const struct probe_options *options);

/* Detaches everything first. NULL is legal. */
void probes_close(struct probes *probes);

enum attach_mode probes_mode(const struct probes *probes);

/* Can operators, nodes and memory be watched? Not one by one, and not for a crowd of threads. */
bool probes_calls_supported(const struct probes *probes);

/* How often C has called Python in warmup, where that is watched. */
uint64_t probes_python_calls(const struct probes *probes);

/* What one hit costs here, by kind of site; 0: not measured. Takes about 0.1 s. */
int probes_measure_costs(struct probes *probes, uint64_t hit_ns[PROBE_SITE_KIND_CNT]);

/* How PROBE_GROUP_CALLS is attached from now on. Copied. */
struct probe_modes {
	const uint8_t *operators; /* enum wire_mode of each */
	size_t operator_count;
	uint8_t nodes, sequences, memory, boxed, modules; /* enum wire_mode */
};
int probes_set_modes(struct probes *probes, const struct probe_modes *modes);

/*
 * Attaches the sites of a group; with PROBE_GROUP_STEP those of PROBE_GROUP_ENDS, and from then on
 * attempts are counted. -ESRCH: the job is gone. Other errors are logged.
 */
int probes_attach(struct probes *probes, enum probe_group group);
void probes_detach(struct probes *probes, enum probe_group group);

/* A set of groups: PROBE_GROUPS(a) | PROBE_GROUPS(b). */
#define PROBE_GROUPS(group) (1U << (group))
#define PROBE_GROUPS_ALL (PROBE_GROUPS(PROBE_GROUP_CNT) - 1)

/* The same for several at once, in the time of one: those that are not attached yet are all, or
 * none. */
int probes_attach_groups(struct probes *probes, unsigned int groups);
void probes_detach_groups(struct probes *probes, unsigned int groups);

/* In ATTACH_THREADS mode, links threads that are new since the last call. */
int probes_follow_threads(struct probes *probes);

/* The rings of the CPUs; valid while the probes live. */
const struct ring_maps *probes_rings(const struct probes *probes);

/* To be raised when there is room in the rings again. */
volatile uint32_t *probes_loss_epoch(struct probes *probes);

/* Whether ends of attempts are needed, see probe_config.h; their probes are PROBE_GROUP_ENDS. */
volatile struct begin_watch *probes_begin_watch(struct probes *probes);

/* The window's probes are in place for the cycles below this number: their warmup may be counted.
 */
void probes_set_ready(struct probes *probes, uint32_t cycle_end);

/* Calls are no longer recorded, or are again: while their probes come off nobody reads the rings.
 */
void probes_set_closed(struct probes *probes, bool is_closed);

/* Attempts of this number and later are not counted. */
void probes_set_limit(struct probes *probes, uint32_t attempt_limit);

/* The programs record nothing from now on. Returns the time: what they recorded is older. */
uint64_t probes_stop(struct probes *probes);

/* The job has replaced its program. Where that is not seen, looking at the job tells it. */
bool probes_execed(const struct probes *probes);
bool probes_sees_exec(const struct probes *probes);

/* Where the plan stands (STATE_* of probe_config.h) and the log of attempts, both written by BPF.
 */
uint64_t probes_state(const struct probes *probes);
const volatile struct attempt_slot *probes_attempts(const struct probes *probes);

/* Losses counted by the programs so far, over all CPUs. */
int probes_losses(const struct probes *probes, uint64_t counts[LOSS_CAUSE_CNT]);

#endif /* ATTACH_PROBE_H */
