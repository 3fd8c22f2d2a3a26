/*
 * doctor_host.c - see doctor_host.h. What a file of the kernel says is a hint; what was tried
 * decides: the programs of a capture are loaded, and probe a child of ours.
 */
#include "doctor_host.h"

#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/inject.h"
#include "attach/probe.h"
#include "attach/single_check.h"
#include "attach/site_cost.h"
#include "base/log.h"
#include "base/privilege.h"
#include "base/text.h"
#include "host_facts.h"

#define OLDEST_TRIED KERNEL_RELEASE(6, 1)
#define WITHOUT_MEMLOCK KERNEL_RELEASE(5, 11) /* BPF memory is counted otherwise since */
#define WITH_MULTI "6.6"
#define FILES_WANTED 256
#define FIRST_PID_NAMESPACE 0xeffffffcUL /* PROC_PID_INIT_INO of the kernel's proc_ns.h */

/* The mends. */
#define AS_ROOT "run as root: sudo tpbpf ..."
#define BY_SETCAP "run as root, or give it to the program by setcap"
#define ON_HOST "run tpbpf on the host, with the job's pid there"

static bool read_line(const char *path, char *to, size_t size_bytes)
{
	FILE *file = fopen(path, "re");
	bool is_read;

	if (!file)
		return false;
	is_read = fgets(to, (int)size_bytes, file);
	fclose(file);
	if (is_read)
		to[strcspn(to, "\n")] = 0;
	return is_read;
}

static unsigned int check_kernel(struct checkup *checkup)
{
	unsigned int release;
	struct utsname name;

	uname(&name);
	release = host_kernel_release(name.release);
	if (release >= OLDEST_TRIED)
		checkup_line(checkup, VERDICT_OK, "kernel", NULL, "Linux %s on %s", name.release,
			     name.machine);
	else
		checkup_line(checkup, VERDICT_NOTE, "kernel",
			     "if the trial fails, a kernel of 6.1 or later",
			     "Linux %s on %s: tpbpf is tried from 6.1 on", name.release,
			     name.machine);
	return release;
}

static void check_btf(struct checkup *checkup)
{
	bool is_there = !access("/sys/kernel/btf/vmlinux", R_OK);

	checkup_line(checkup, VERDICT_OK, "BTF", NULL,
		     "%s; not needed: no program reads a structure of the kernel",
		     is_there ? "there" : "not there");
}

static void check_capabilities(struct checkup *checkup)
{
	capability_set in_force = 0, held = 0;
	const struct host_capability *rows;
	size_t count, i;

	privilege_capabilities(&in_force, &held);
	rows = host_capabilities(&count);
	for (i = 0; i < count; i++) {
		const struct host_capability *row = &rows[i];
		bool has_own = in_force & CAPABILITY(row->number);

		if (has_own)
			checkup_line(checkup, VERDICT_OK, row->name, NULL, "%s", row->purpose);
		else if (host_can(row, in_force))
			checkup_line(checkup, VERDICT_OK, row->name, NULL,
				     "not there, CAP_SYS_ADMIN does it: %s", row->purpose);
		else if (row->number == CAP_SYS_RESOURCE)
			checkup_line(checkup, VERDICT_OK, row->name, NULL, "not there, %s",
				     row->purpose);
		else
			checkup_line(checkup, row->is_needed ? VERDICT_MISSING : VERDICT_NOTE,
				     row->name, row->number == CAP_SYS_ADMIN ? AS_ROOT : BY_SETCAP,
				     "not there: %s", row->without);
	}
}

static bool can_load(void)
{
	const capability_set both = CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON);
	capability_set in_force = 0, held = 0;

	privilege_capabilities(&in_force, &held);
	return (in_force & both) == both || in_force & CAPABILITY(CAP_SYS_ADMIN);
}

/* The switches of the kernel that people look at first. */
static void check_switches(struct checkup *checkup)
{
	char bpf[16], perf[16], yama[16];

	if (!read_line("/proc/sys/kernel/unprivileged_bpf_disabled", bpf, sizeof(bpf)))
		strcpy(bpf, "-");
	if (!read_line("/proc/sys/kernel/perf_event_paranoid", perf, sizeof(perf)))
		strcpy(perf, "-");
	if (!read_line("/proc/sys/kernel/yama/ptrace_scope", yama, sizeof(yama)))
		strcpy(yama, "-");
	checkup_line(checkup, VERDICT_OK, "kernel settings", NULL,
		     "unprivileged_bpf_disabled %s, perf_event_paranoid %s, ptrace_scope %s: %s",
		     bpf, perf, yama,
		     can_load() ? "none matters with these capabilities"
				: "no value of them stands in for the capabilities");
}

static void check_lockdown(struct checkup *checkup)
{
	static const char path[] = "/sys/kernel/security/lockdown";
	char line[128], mode[32];

	if (access(path, F_OK))
		checkup_line(checkup, VERDICT_OK, "lockdown", NULL, "not there");
	else if (!read_line(path, line, sizeof(line)) || !host_lockdown(line, mode, sizeof(mode)))
		checkup_line(checkup, VERDICT_UNKNOWN, "lockdown", AS_ROOT, "%s cannot be read",
			     path);
	else
		checkup_line(checkup, VERDICT_OK, "lockdown", NULL,
			     "%s; it forbids to read the kernel's memory, tpbpf reads the job's",
			     mode);
}

static void check_limits(struct checkup *checkup, unsigned int release)
{
	struct rlimit files, locked;

	if (!getrlimit(RLIMIT_MEMLOCK, &locked) && release && release < WITHOUT_MEMLOCK &&
	    locked.rlim_cur != RLIM_INFINITY)
		checkup_line(checkup, VERDICT_NOTE, "locked memory", "ulimit -l unlimited",
			     "%llu bytes: before Linux 5.11 BPF memory is counted",
			     (unsigned long long)locked.rlim_cur);
	else
		checkup_line(checkup, VERDICT_OK, "locked memory", NULL,
			     "not limited here: since Linux 5.11 BPF memory is not counted");
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	if (files.rlim_cur >= FILES_WANTED)
		checkup_line(checkup, VERDICT_OK, "open files", NULL, "%llu at a time",
			     (unsigned long long)files.rlim_cur);
	else
		checkup_line(checkup, VERDICT_NOTE, "open files", "ulimit -n 1024",
			     "%llu at a time: may be too few for a ring per CPU and the links",
			     (unsigned long long)files.rlim_cur);
}

static void check_container(struct checkup *checkup)
{
	struct stat stat_buffer;
	char line[128];

	if (read_line("/proc/self/uid_map", line, sizeof(line)) && !host_maps_all_users(line))
		checkup_line(checkup, VERDICT_MISSING, "user namespace", ON_HOST,
			     "not the first one: what capabilities are worth ends with it");
	else
		checkup_line(checkup, VERDICT_OK, "user namespace", NULL, "the first one");
	if (!stat("/proc/self/ns/pid", &stat_buffer) && stat_buffer.st_ino != FIRST_PID_NAMESPACE)
		checkup_line(checkup, VERDICT_NOTE, "pid namespace", ON_HOST " for other jobs",
			     "a container's: only jobs in it are seen");
	else
		checkup_line(checkup, VERDICT_OK, "pid namespace", NULL, "the first one");
}

/* What --gpu inject needs of the host; nothing else needs it. */
static void check_injection(struct checkup *checkup)
{
	static const char name[] = "GPU agent";
	char path[PATH_MAX], yama[16];
	int fd = inject_agent_file(path, sizeof(path));

	if (fd < 0) {
		checkup_line(checkup, VERDICT_NOTE, name, "make install",
			     "libtpbpf-agent.so is not beside tpbpf nor in ../lib/tpbpf, or others "
			     "than its owner may write it: --gpu inject does not work");
		return;
	}
	close(fd);
	if (read_line("/proc/sys/kernel/yama/ptrace_scope", yama, sizeof(yama)) && yama[0] == '3')
		checkup_line(checkup, VERDICT_NOTE, name, "start jobs with CUDA_INJECTION64_PATH",
			     "ptrace_scope 3: nobody may trace: --gpu inject does not work");
	else
		checkup_line(checkup, VERDICT_OK, name, NULL, "%s, for --gpu inject", path);
}

/* bpf() itself: the smallest thing that it makes. */
static int try_bpf(void)
{
	union bpf_attr attr;
	int fd;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static bool has_filter(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	bool found = false;
	char line[256];

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = text_has_prefix(line, "Seccomp:\t2");
	fclose(file);
	return found;
}

static void check_bpf(struct checkup *checkup)
{
	int err = try_bpf();

	if (!err)
		checkup_line(checkup, VERDICT_OK, "bpf()", NULL, "makes a map");
	else if (err == -ENOSYS)
		checkup_line(checkup, VERDICT_MISSING, "bpf()", "a kernel with CONFIG_BPF_SYSCALL",
			     "this kernel does not have it");
	else if (can_load() && has_filter())
		checkup_line(checkup, VERDICT_MISSING, "bpf()",
			     "allow bpf and perf_event_open in the container's seccomp profile, "
			     "or " ON_HOST,
			     "%s: a seccomp filter stands before it", strerror(-err));
	else
		checkup_line(checkup, VERDICT_MISSING, "bpf()", AS_ROOT, "%s", strerror(-err));
}

/* Only where the kernel has no other way is this needed. */
static void check_single(struct checkup *checkup, bool is_needed)
{
	int err = single_check_uprobe();

	if (!err)
		checkup_line(checkup, VERDICT_OK, "attach one by one", NULL, "%s",
			     is_needed ? "works" : "works, and is not needed here");
	else if (!is_needed)
		checkup_line(checkup, VERDICT_OK, "attach one by one", NULL,
			     "not possible (%s), and not needed here", strerror(-err));
	else
		checkup_line(checkup, VERDICT_MISSING, "attach one by one", AS_ROOT,
			     "not possible: %s", strerror(-err));
}

static void say_mode(struct checkup *checkup, enum attach_mode mode)
{
	static const char name[] = "uprobe_multi";

	if (mode == ATTACH_MULTI)
		checkup_line(checkup, VERDICT_OK, name, NULL,
			     "there, its filter means the process");
	else if (mode == ATTACH_THREADS)
		checkup_line(checkup, VERDICT_NOTE, name, "Linux 6.10",
			     "there, its filter means one thread: each is linked, operators are "
			     "recorded of jobs of up to 32 threads");
	else
		checkup_line(checkup, VERDICT_NOTE, name, "Linux " WITH_MULTI,
			     "not there: only attempts and ranges are recorded, at most 64 sites "
			     "one by one");
}

static void say_cost(struct checkup *checkup, struct probes *probes)
{
	uint64_t hit_ns[PROBE_SITE_KIND_CNT];
	int err = probes_mode(probes) == ATTACH_SINGLE ? -EOPNOTSUPP
						       : probes_measure_costs(probes, hit_ns);

	if (!err && hit_ns[PROBE_SITE_PUSH])
		checkup_line(checkup, VERDICT_OK, "cost of a hit", NULL,
			     "%.2f us, %.1f us where the instruction is stepped",
			     (double)hit_ns[PROBE_SITE_PUSH] / 1000,
			     (double)hit_ns[PROBE_SITE_STEPPED] / 1000);
	else
		checkup_line(checkup, VERDICT_UNKNOWN, "cost of a hit", NULL, "not measured: %s",
			     err == -EOPNOTSUPP ? "that takes uprobe_multi"
			     : err		? strerror(-err)
						: "a child was not hit");
}

/* The very programs, on a child of ours. */
static void check_trial(struct checkup *checkup)
{
	const struct probe_options options = { ATTACH_AUTO, RING_BYTES_MIN };
	struct probe_plan plan = { .count = 0 };
	struct probe_config config;
	struct probes *probes = NULL;
	int err;

	memset(&config, 0, sizeof(config));
	err = probes_open(&probes, &plan, &config, &options);
	if (err) {
		checkup_line(checkup, VERDICT_MISSING, "trial",
			     err == -EPERM ? AS_ROOT : "-v shows what the kernel says",
			     "the programs cannot be loaded or attached: %s", strerror(-err));
		return;
	}
	checkup_line(checkup, VERDICT_OK, "trial", NULL, "the programs can be loaded%s",
		     probes_mode(probes) == ATTACH_SINGLE ? "" : ", and probed a child of ours");
	say_mode(checkup, probes_mode(probes));
	check_single(checkup, probes_mode(probes) == ATTACH_SINGLE);
	say_cost(checkup, probes);
	probes_close(probes);
}

void doctor_check_host(struct checkup *checkup)
{
	unsigned int release = check_kernel(checkup);

	check_btf(checkup);
	check_capabilities(checkup);
	check_switches(checkup);
	check_lockdown(checkup);
	check_limits(checkup, release);
	check_container(checkup);
	check_injection(checkup);
	check_bpf(checkup);
	check_trial(checkup);
}
