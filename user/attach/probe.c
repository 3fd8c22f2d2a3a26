/*
 * probe.c - see probe.h. A link is made for each library of a group (and in thread mode for each
 * thread); the kernel removes all of a link's breakpoints together, and all links of a process that
 * dies.
 *
 * Libraries are named to the kernel as /proc/self/fd/N: the file that the job has mapped, whatever
 * its path means by now.
 */
#include "attach/probe.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/kernel_check.h"
#include "attach/process.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/log.h"
#include "trace.skel.h"

struct link_list {
	struct bpf_link **links;
	size_t count, capacity;
};

struct probes {
	struct trace_bpf *skeleton;
	const struct probe_plan *plan;
	enum attach_mode mode;
	struct link_list links[PROBE_GROUP_CNT];
	bool is_attached[PROBE_GROUP_CNT];
	struct hashmap *linked_threads[PROBE_GROUP_CNT]; /* thread mode */
	struct bpf_link *check_link;
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

static int list_add(struct link_list *list, struct bpf_link *link)
{
	if (list->count == list->capacity) {
		size_t capacity = list->capacity ? list->capacity * 2 : 8;
		struct bpf_link **grown =
			realloc(list->links, capacity * sizeof(struct bpf_link *));

		if (!grown)
			return -ENOMEM;
		list->links = grown;
		list->capacity = capacity;
	}
	list->links[list->count++] = link;
	return 0;
}

static void list_clear(struct link_list *list)
{
	while (list->count)
		bpf_link__destroy(list->links[--list->count]);
	free(list->links);
	memset(list, 0, sizeof(*list));
}

static int attach_multi(struct probes *probes, pid_t pid, const char *path,
			const unsigned long *offsets, const __u64 *cookies, size_t count,
			struct bpf_link **link)
{
	LIBBPF_OPTS(bpf_uprobe_multi_opts, opts, .offsets = offsets, .cookies = cookies,
		    .cnt = count);

	*link = bpf_program__attach_uprobe_multi(probes->skeleton->progs.on_probe_multi, pid, path,
						 NULL, &opts);
	return *link ? 0 : -errno;
}

static int attach_single(struct probes *probes, const char *path, const struct planned_site *site)
{
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = site->kind);
	struct bpf_link *link;
	int err;

	link = bpf_program__attach_uprobe_opts(probes->skeleton->progs.on_probe_single,
					       probes->plan->target->pid, path, site->file_offset,
					       &opts);
	if (!link)
		return -errno;
	err = list_add(&probes->links[site->group], link);
	if (err)
		bpf_link__destroy(link);
	return err;
}

/* The kernel's check of uprobe_multi runs through these. */

static int check_attach(void *context, pid_t pid, const char *path, uint64_t file_offset)
{
	struct probes *probes = context;
	unsigned long offset = file_offset;
	__u64 cookie = PROBE_CHECK;

	return attach_multi(probes, pid, path, &offset, &cookie, 1, &probes->check_link);
}

static uint32_t check_hits(void *context)
{
	const struct probes *probes = context;

	return *(volatile uint32_t *)&probes->skeleton->bss->check_hits;
}

static void check_detach(void *context)
{
	struct probes *probes = context;

	bpf_link__destroy(probes->check_link);
	probes->check_link = NULL;
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

static int load(struct probes *probes, const struct probe_config *config, enum attach_mode mode)
{
	struct trace_bpf *skeleton;
	int err;

	skeleton = trace_bpf__open();
	if (!skeleton)
		return -errno;
	probes->skeleton = skeleton;
	/* rodata is writable until the load; the programs see it as constant. */
	memcpy((void *)&skeleton->rodata->config, config, sizeof(*config));
	skeleton->bss->attempt_state = STATE_PACK(config->skip_first   ? PHASE_SKIP_FIRST
						  : config->first_wait ? PHASE_WAIT
								       : PHASE_WARMUP,
						  0, 0, 0);
	bpf_program__set_autoload(skeleton->progs.on_probe_multi, mode != ATTACH_SINGLE);
	err = trace_bpf__load(skeleton);
	if (err == -EPERM || err == -EACCES) {
		log_err("not permitted to load BPF programs: run as root: sudo tpbpf ...");
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

int probes_open(struct probes **out, const struct probe_plan *plan,
		const struct probe_config *config, enum attach_mode mode)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	int err;

	if (!probes)
		return -ENOMEM;
	libbpf_set_print(on_libbpf_message);
	probes->plan = plan;
	probes->mode = mode;
	err = hashmap_new(&probes->linked_threads[PROBE_GROUP_STEP]);
	if (!err)
		err = hashmap_new(&probes->linked_threads[PROBE_GROUP_WINDOW]);
	if (!err)
		err = load(probes, config, mode);
	if (!err && mode == ATTACH_AUTO)
		err = find_mode(probes);
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
	for (group = 0; group < PROBE_GROUP_CNT; group++) {
		list_clear(&probes->links[group]);
		hashmap_free(probes->linked_threads[group]);
	}
	bpf_link__destroy(probes->check_link);
	bpf_link__destroy(probes->exec_link);
	trace_bpf__destroy(probes->skeleton);
	free(probes);
}

enum attach_mode probes_mode(const struct probes *probes)
{
	return probes->mode;
}

static void library_path(const struct probes *probes, enum library_role role, char *to,
			 size_t size_bytes)
{
	snprintf(to, size_bytes, "/proc/self/fd/%d", probes->plan->target->libraries[role].fd);
}

/* One link: the sites of a group in one library, for one process or thread. */
static int attach_library(struct probes *probes, enum probe_group group, enum library_role role,
			  pid_t pid)
{
	unsigned long offsets[PLANNED_SITES_MAX];
	__u64 cookies[PLANNED_SITES_MAX];
	struct bpf_link *link = NULL;
	size_t count = 0, i;
	char path[64];
	int err;

	for (i = 0; i < probes->plan->count; i++) {
		const struct planned_site *site = &probes->plan->sites[i];

		if (!site->is_found || site->group != group || site->library != role)
			continue;
		offsets[count] = site->file_offset;
		cookies[count++] = site->kind;
	}
	if (!count)
		return 0;
	library_path(probes, role, path, sizeof(path));
	err = attach_multi(probes, pid, path, offsets, cookies, count, &link);
	if (!err)
		err = list_add(&probes->links[group], link);
	if (err && link)
		bpf_link__destroy(link);
	return err;
}

static int attach_process(struct probes *probes, enum probe_group group, pid_t pid)
{
	unsigned int role;
	int err = 0;

	for (role = 0; role < LIBRARY_CNT && !err; role++)
		err = attach_library(probes, group, role, pid);
	return err;
}

struct thread_walk {
	struct probes *probes;
	enum probe_group group;
};

static int on_thread(void *context, pid_t tid)
{
	struct thread_walk *walk = context;
	struct hashmap *linked = walk->probes->linked_threads[walk->group];
	int err;

	if (hashmap_get(linked, (uint64_t)tid))
		return 0;
	err = attach_process(walk->probes, walk->group, tid);
	if (err == -ESRCH) /* it has ended meanwhile */
		return 0;
	return err ? err : hashmap_put(linked, (uint64_t)tid, walk->probes, NULL);
}

static int attach_threads(struct probes *probes, enum probe_group group)
{
	struct thread_walk walk = { .probes = probes, .group = group };

	return process_each_thread(probes->plan->target->pid, on_thread, &walk);
}

static int attach_singles(struct probes *probes, enum probe_group group)
{
	size_t i;
	int err = 0;

	for (i = 0; i < probes->plan->count && !err; i++) {
		const struct planned_site *site = &probes->plan->sites[i];
		char path[64];

		if (!site->is_found || site->group != group)
			continue;
		library_path(probes, site->library, path, sizeof(path));
		err = attach_single(probes, path, site);
	}
	return err;
}

int probes_attach(struct probes *probes, enum probe_group group)
{
	int err;

	if (probes->is_attached[group])
		return 0;
	if (probes->mode == ATTACH_SINGLE)
		err = attach_singles(probes, group);
	else if (probes->mode == ATTACH_THREADS)
		err = attach_threads(probes, group);
	else
		err = attach_process(probes, group, probes->plan->target->pid);
	probes->is_attached[group] = !err;
	if (!err)
		return 0;
	list_clear(&probes->links[group]);
	if (err != -ESRCH)
		log_err("pid %d: probes cannot be attached: %s", probes->plan->target->pid,
			strerror(-err));
	return err;
}

void probes_detach(struct probes *probes, enum probe_group group)
{
	list_clear(&probes->links[group]);
	probes->is_attached[group] = false;
	hashmap_clear(probes->linked_threads[group]);
}

int probes_follow_threads(struct probes *probes)
{
	unsigned int group;
	int err = 0;

	if (probes->mode != ATTACH_THREADS)
		return 0;
	for (group = 0; group < PROBE_GROUP_CNT && !err; group++) {
		if (probes->is_attached[group])
			err = attach_threads(probes, group);
	}
	return err;
}

int probes_ring_fd(const struct probes *probes)
{
	return bpf_map__fd(probes->skeleton->maps.events);
}

void probes_set_ready(struct probes *probes, uint32_t cycle_end)
{
	__atomic_store_n(&probes->skeleton->bss->ready_cycle, cycle_end, __ATOMIC_RELEASE);
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
	return 0;
}
