/*
 * probe.c - see probe.h. A link is made for each library of a group (and in thread mode for each
 * thread); the kernel removes all of a link's breakpoints together, and those of a dying process.
 */
#include "attach/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/kernel_check.h"
#include "attach/link_batch.h"
#include "attach/link_list.h"
#include "attach/multi_link.h"
#include "attach/operator_arguments.h"
#include "attach/process.h"
#include "attach/ring_maps.h"
#include "attach/site_cost.h"
#include "attach/site_list.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "trace.skel.h"

struct probes {
	struct trace_bpf *skeleton;
	const struct probe_plan *plan;
	enum attach_mode mode;
	struct link_list links;				 /* by enum probe_group */
	unsigned int attached;				 /* PROBE_GROUPS() */
	struct hashmap *linked_threads[PROBE_GROUP_CNT]; /* thread mode */
	struct probe_modes modes;			 /* its operators are ours */
	struct ring_maps rings;
	size_t ring_bytes;	    /* as the user wants them; 0: by default */
	int check_fd;		    /* a link to a child of ours */
	struct bpf_link *exec_link; /* NULL: an exec is noticed by looking */
};

static int on_libbpf_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char message[1024];

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(message, sizeof(message), format, args);
	message[strcspn(message, "\n")] = 0;
	/* Failures are reported by the callers, with what they mean; libbpf's words are for -v. */
	log_debug("%s%s", level == LIBBPF_WARN ? "libbpf warning: " : "", message);
	return 0;
}

/* The kernel's check of uprobe_multi runs through these; what they probe dies at once. */
static int check_sites(struct probes *probes, const struct bpf_program *program, pid_t pid,
		       const char *path, const struct site_list *sites)
{
	probes->check_fd = multi_link_make(bpf_program__fd(program), pid, path, sites);
	return probes->check_fd < 0 ? probes->check_fd : 0;
}

static int check_attach(void *context, pid_t pid, const char *path, uint64_t file_offset)
{
	struct probes *probes = context;
	unsigned long offset = file_offset;
	__u64 cookie = 0;
	const struct site_list sites = { &offset, &cookie, 1, 1 };

	return check_sites(probes, probes->skeleton->progs.on_check, pid, path, &sites);
}

static uint32_t check_hits(void *context)
{
	const struct probes *probes = context;

	return *(volatile uint32_t *)&probes->skeleton->bss->check_hits;
}

static void check_detach(void *context)
{
	struct probes *probes = context;

	close(probes->check_fd);
	probes->check_fd = -1;
}

/* The measuring of costs uses the same link, after the check. */
static int cost_attach(void *context, pid_t pid, const char *path, const uint64_t *file_offsets,
		       size_t count)
{
	struct probes *probes = context;
	struct site_list sites = { 0 };
	size_t i;
	int err = 0;

	for (i = 0; i < count && !err; i++)
		err = site_list_add(&sites, file_offsets[i], PROBE_COST);
	if (!err)
		err = check_sites(probes, probes->skeleton->progs.on_probe_multi, pid, path,
				  &sites);
	site_list_free(&sites);
	return err;
}

uint64_t probes_python_calls(const struct probes *probes)
{
	return __atomic_load_n(&probes->skeleton->bss->python_calls, __ATOMIC_RELAXED);
}

int probes_measure_costs(struct probes *probes, uint64_t hit_ns[PROBE_SITE_KIND_CNT])
{
	const struct site_cost_ops ops = { cost_attach, check_detach, probes };

	return site_cost_measure(&ops, hit_ns);
}

static int find_mode(struct probes *probes)
{
	const struct kernel_check_ops ops = { check_attach, check_hits, check_detach, probes };
	enum kernel_filter filter;
	int err = kernel_check_filter(&ops, &filter);

	if (err) {
		log_err("the kernel refuses probes: %s; run as root", strerror(-err));
		return err;
	}
	if (filter == KERNEL_FILTERS_PROCESS) {
		probes->mode = ATTACH_MULTI;
	} else if (filter == KERNEL_FILTERS_THREAD) {
		probes->mode = ATTACH_THREADS;
		log_warn("this kernel's probes see one thread at a time: each thread is linked, "
			 "new ones with a delay");
	} else {
		probes->mode = ATTACH_SINGLE;
		log_warn("this kernel has no uprobe_multi (6.6): only the short list of probes is "
			 "attached, one by one");
	}
	return 0;
}

static bool wants_shapes(const struct probes *probes)
{
	return probes->plan->operators && probes->plan->activities & ACTIVITY_SHAPES;
}

static void places_size(struct probes *probes)
{
	size_t count = 0;

	if (wants_shapes(probes))
		operator_table_entries(probes->plan->operators, &count);
	bpf_map__set_max_entries(probes->skeleton->maps.argument_places, count ? (__u32)count : 1);
}

/* Where each operator's tensors are passed; none for one whose arguments are not known. */
static int places_fill(struct probes *probes)
{
	int map_fd = bpf_map__fd(probes->skeleton->maps.argument_places);
	const struct operator_entry *entries;
	size_t count;
	__u32 i;

	if (!wants_shapes(probes))
		return 0;
	entries = operator_table_entries(probes->plan->operators, &count);
	for (i = 0; i < count; i++) {
		struct operator_places places = { 0 };

		if (!entries[i].schema || !entries[i].entry_has_arguments ||
		    operator_arguments(entries[i].schema, entries[i].mangled,
				       probes->plan->target->release, &places))
			continue;
		if (bpf_map_update_elem(map_fd, &i, &places, BPF_ANY))
			return -errno;
	}
	return 0;
}

static int size_rings(struct probes *probes)
{
	struct trace_bpf *skeleton = probes->skeleton;
	int err = ring_maps_init(&probes->rings);
	size_t count = probes->rings.count;

	if (err)
		return err;
	if (!probes->ring_bytes)
		probes->ring_bytes = ring_maps_default_bytes(probes->plan->activities, count);
	else
		err = ring_maps_check(probes->ring_bytes, count);
	skeleton->data->ring_count = (uint32_t)count;
	bpf_map__set_max_entries(skeleton->maps.ring_losses, (uint32_t)count);
	return err;
}

static int load(struct probes *probes, const struct probe_config *config)
{
	enum attach_mode mode = probes->mode;
	struct trace_bpf *skeleton = trace_bpf__open();
	int err;

	if (!skeleton)
		return -errno;
	probes->skeleton = skeleton;
	/* rodata is writable until the load; the programs see it as constant. */
	memcpy((void *)&skeleton->rodata->config, config, sizeof(*config));
	skeleton->bss->attempt_state = STATE_PACK(config->skip_first   ? PHASE_SKIP_FIRST
						  : config->first_wait ? PHASE_WAIT
								       : PHASE_WARMUP,
						  0, 0, 0);
	/* One of them, as to have one verified takes half a second. */
	bpf_program__set_autoload(skeleton->progs.on_check, mode == ATTACH_AUTO);
	bpf_program__set_autoload(skeleton->progs.on_probe_single, mode == ATTACH_SINGLE);
	bpf_program__set_autoload(skeleton->progs.on_probe_multi,
				  mode == ATTACH_MULTI || mode == ATTACH_THREADS);
	err = size_rings(probes);
	if (err)
		return err;
	places_size(probes);
	err = trace_bpf__load(skeleton);
	if (!err)
		/* On the way to find out the mode nothing is recorded. */
		err = ring_maps_make(
			&probes->rings, mode == ATTACH_AUTO ? RING_BYTES_MIN : probes->ring_bytes,
			bpf_map__fd(skeleton->maps.rings), bpf_map__fd(skeleton->maps.ring_losses));
	if (!err)
		err = places_fill(probes);
	if (err == -EPERM || err == -EACCES) {
		log_err("not permitted to load BPF programs: run as root, or ask tpbpf doctor");
		return -EPERM;
	}
	if (err) {
		log_err("the kernel does not take the BPF programs (%s); tpbpf is tried from "
			"Linux 6.1 on, -v shows why",
			strerror(-err));
		return -EOPNOTSUPP;
	}
	return 0;
}

static void unload(struct probes *probes)
{
	trace_bpf__destroy(probes->skeleton);
	probes->skeleton = NULL;
	ring_maps_fini(&probes->rings);
}

int probes_open(struct probes **out, const struct probe_plan *plan,
		const struct probe_config *config, const struct probe_options *options)
{
	enum attach_mode mode = options->attach;
	struct probes *probes = calloc(1, sizeof(*probes));
	unsigned int group;
	int err = 0;

	if (!probes)
		return -ENOMEM;
	libbpf_set_print(on_libbpf_message);
	probes->plan = plan;
	probes->mode = mode;
	probes->ring_bytes = options->ring_bytes;
	probes->check_fd = -1;
	for (group = 0; group < PROBE_GROUP_CNT && !err; group++)
		err = hashmap_new(&probes->linked_threads[group]);
	if (!err)
		err = load(probes, config);
	if (!err && mode == ATTACH_AUTO) {
		err = find_mode(probes);
		unload(probes);
		if (!err)
			err = load(probes, config);
	}
	if (err) {
		probes_close(probes);
		return err;
	}
	probes->exec_link = bpf_program__attach(probes->skeleton->progs.on_exec);
	*out = probes;
	return 0;
}

void probes_close(struct probes *probes)
{
	unsigned int group;

	if (!probes)
		return;
	link_list_close(&probes->links, PROBE_GROUPS_ALL);
	link_list_free(&probes->links);
	for (group = 0; group < PROBE_GROUP_CNT; group++)
		hashmap_free(probes->linked_threads[group]);
	if (probes->check_fd >= 0)
		close(probes->check_fd);
	bpf_link__destroy(probes->exec_link);
	unload(probes);
	free((void *)probes->modes.operators);
	free(probes);
}

enum attach_mode probes_mode(const struct probes *probes)
{
	return probes->mode;
}

/* One link: the sites of a group in one library, for one process or thread. */
static int want_library(struct probes *probes, struct link_batch *batch, enum probe_group group,
			enum library_role role, pid_t pid)
{
	struct wanted_link wanted = {
		.program_fd = bpf_program__fd(probes->skeleton->progs.on_probe_multi),
		.pid = pid,
		.library_fd = probes->plan->target->libraries[role].fd,
	};
	int err = site_list_collect(&wanted.sites, probes->plan, &probes->modes, group, role);

	if (!err && wanted.sites.count)
		err = link_batch_add(batch, group, &wanted);
	if (err || !wanted.sites.count)
		site_list_free(&wanted.sites);
	return err;
}

static int want_process(struct probes *probes, struct link_batch *batch, enum probe_group group,
			pid_t pid)
{
	unsigned int role;
	int err = 0;

	for (role = 0; role < LIBRARY_CNT && !err; role++)
		err = want_library(probes, batch, group, role, pid);
	return err;
}

struct thread_walk {
	struct probes *probes;
	enum probe_group group;
};

static int on_thread(void *context, pid_t tid)
{
	struct thread_walk *walk = context;
	struct probes *probes = walk->probes;
	struct hashmap *linked = probes->linked_threads[walk->group];
	struct link_batch batch = { 0 };
	int err;

	if (hashmap_get(linked, (uint64_t)tid))
		return 0;
	err = want_process(probes, &batch, walk->group, tid);
	if (!err)
		err = link_batch_make(&batch, &probes->links);
	link_batch_free(&batch);
	if (err == -ESRCH) /* it has ended meanwhile */
		return 0;
	return err ? err : hashmap_put(linked, (uint64_t)tid, probes, NULL);
}

static int attach_threads(struct probes *probes, unsigned int groups)
{
	struct thread_walk walk = { .probes = probes };
	int err = 0;

	for (walk.group = 0; walk.group < PROBE_GROUP_CNT && !err; walk.group++) {
		if (groups & PROBE_GROUPS(walk.group))
			err = process_each_thread(probes->plan->target->pid, on_thread, &walk);
	}
	return err;
}

static int want_single(struct probes *probes, struct link_batch *batch,
		       const struct planned_site *planned)
{
	struct wanted_link wanted = {
		.program_fd = bpf_program__fd(probes->skeleton->progs.on_probe_single),
		.pid = probes->plan->target->pid,
		.library_fd = probes->plan->target->libraries[planned->library].fd,
		.is_single = true,
	};
	int err = site_list_add(&wanted.sites, planned->file_offset, planned->kind);

	if (!err)
		err = link_batch_add(batch, planned->group, &wanted);
	if (err)
		site_list_free(&wanted.sites);
	return err;
}

static int want_singles(struct probes *probes, struct link_batch *batch, enum probe_group group)
{
	size_t i;
	int err = 0;

	for (i = 0; i < probes->plan->count && !err; i++) {
		const struct planned_site *site = &probes->plan->sites[i];

		if (site->is_found && site->group == group)
			err = want_single(probes, batch, site);
	}
	return err;
}

/* Of the whole process. */
static int attach_together(struct probes *probes, unsigned int groups)
{
	struct link_batch batch = { 0 };
	unsigned int group;
	int err = 0;

	for (group = 0; group < PROBE_GROUP_CNT && !err; group++) {
		if (!(groups & PROBE_GROUPS(group)))
			continue;
		err = probes->mode == ATTACH_SINGLE
			      ? want_singles(probes, &batch, group)
			      : want_process(probes, &batch, group, probes->plan->target->pid);
	}
	if (!err)
		err = link_batch_make(&batch, &probes->links);
	link_batch_free(&batch);
	return err;
}

int probes_attach_groups(struct probes *probes, unsigned int groups)
{
	int err;

	if (groups & PROBE_GROUPS(PROBE_GROUP_STEP))
		groups |= PROBE_GROUPS(PROBE_GROUP_ENDS);
	groups &= ~probes->attached;
	if (!groups)
		return 0;
	err = probes->mode == ATTACH_THREADS ? attach_threads(probes, groups)
					     : attach_together(probes, groups);
	if (err) {
		probes_detach_groups(probes, groups);
		if (err != -ESRCH)
			log_err("pid %d: probes cannot be attached: %s", probes->plan->target->pid,
				strerror(-err));
		return err;
	}
	probes->attached |= groups;
	if (groups & PROBE_GROUPS(PROBE_GROUP_STEP))
		__atomic_store_n(&probes->skeleton->bss->armed, 1, __ATOMIC_RELEASE);
	return 0;
}

int probes_attach(struct probes *probes, enum probe_group group)
{
	return probes_attach_groups(probes, PROBE_GROUPS(group));
}

void probes_detach_groups(struct probes *probes, unsigned int groups)
{
	unsigned int group;

	link_list_close(&probes->links, groups);
	probes->attached &= ~groups;
	for (group = 0; group < PROBE_GROUP_CNT; group++) {
		if (groups & PROBE_GROUPS(group))
			hashmap_clear(probes->linked_threads[group]);
	}
}

void probes_detach(struct probes *probes, enum probe_group group)
{
	probes_detach_groups(probes, PROBE_GROUPS(group));
}

int probes_follow_threads(struct probes *probes)
{
	return probes->mode == ATTACH_THREADS ? attach_threads(probes, probes->attached) : 0;
}

const struct ring_maps *probes_rings(const struct probes *probes)
{
	return &probes->rings;
}

volatile uint32_t *probes_loss_epoch(struct probes *probes)
{
	return &probes->skeleton->bss->loss_epoch;
}

#define CALLS_THREADS_MAX 32 /* each would get a link of thousands of sites */

bool probes_calls_supported(const struct probes *probes)
{
	if (probes->mode != ATTACH_THREADS)
		return probes->mode == ATTACH_MULTI;
	return process_thread_count(probes->plan->target->pid) <= CALLS_THREADS_MAX;
}

int probes_set_modes(struct probes *probes, const struct probe_modes *modes)
{
	uint8_t *operators = malloc(modes->operator_count + 1);

	if (!operators)
		return -ENOMEM;
	if (modes->operator_count)
		memcpy(operators, modes->operators, modes->operator_count);
	free((void *)probes->modes.operators);
	probes->modes = *modes;
	probes->modes.operators = operators;
	return 0;
}

volatile struct begin_watch *probes_begin_watch(struct probes *probes)
{
	return &probes->skeleton->bss->begin_watch;
}

void probes_set_ready(struct probes *probes, uint32_t cycle_end)
{
	__atomic_store_n(&probes->skeleton->bss->ready_cycle, cycle_end, __ATOMIC_RELEASE);
}

void probes_set_closed(struct probes *probes, bool is_closed)
{
	__atomic_store_n(&probes->skeleton->bss->calls_closed, is_closed, __ATOMIC_RELEASE);
}

void probes_set_limit(struct probes *probes, uint32_t attempt_limit)
{
	__atomic_store_n(&probes->skeleton->bss->attempt_limit, attempt_limit, __ATOMIC_RELEASE);
}

uint64_t probes_stop(struct probes *probes)
{
	__atomic_store_n(&probes->skeleton->bss->stopped, 1, __ATOMIC_SEQ_CST);
	return clock_monotonic_ns();
}

bool probes_execed(const struct probes *probes)
{
	return *(volatile uint32_t *)&probes->skeleton->bss->execed;
}

bool probes_sees_exec(const struct probes *probes)
{
	return probes->exec_link;
}

uint64_t probes_state(const struct probes *probes)
{
	return __atomic_load_n(&probes->skeleton->bss->attempt_state, __ATOMIC_ACQUIRE);
}

const volatile struct attempt_slot *probes_attempts(const struct probes *probes)
{
	return probes->skeleton->bss->attempts;
}

int probes_losses(const struct probes *probes, uint64_t counts[LOSS_CAUSE_CNT])
{
	int cpu_count = libbpf_num_possible_cpus(), cpu;
	uint64_t *per_cpu;
	struct wire_rings rings = { .count = 0 };
	unsigned int kind;
	__u32 cause;

	if (cpu_count < 0)
		return cpu_count;
	per_cpu = calloc((size_t)cpu_count, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	for (cause = 0; cause < LOSS_CAUSE_CNT; cause++) {
		counts[cause] = 0;
		if (bpf_map_lookup_elem(bpf_map__fd(probes->skeleton->maps.loss), &cause, per_cpu))
			continue;
		for (cpu = 0; cpu < cpu_count; cpu++)
			counts[cause] += per_cpu[cpu];
	}
	free(per_cpu);
	ring_maps_lost(&probes->rings, &rings);
	for (kind = 0; kind < LOST_KINDS; kind++)
		counts[LOSS_RING_FULL] += rings.lost[kind] + rings.lost_after[kind];
	return 0;
}
