/*
 * rights.c - see rights.h. What a later phase needs is found out by trying it with nothing in
 * force, not by the version of a kernel: what works so is given up.
 */
#include "rights.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#define NOTHING 0ULL

/* To load programs; where the kernel asks for it at the link too, or a perf event does, to attach.
 */
#define LOADING (CAPABILITY(CAP_BPF) | CAPABILITY(CAP_PERFMON) | CAPABILITY(CAP_SYS_ADMIN))

/* To look into a process of another user, and at files that only that user may read. */
#define LOOKING (CAPABILITY(CAP_SYS_PTRACE) | CAPABILITY(CAP_DAC_READ_SEARCH))

/* To open a mapped file that has been deleted, and to wake up in time. */
#define COMFORT (CAPABILITY(CAP_CHECKPOINT_RESTORE) | CAPABILITY(CAP_SYS_NICE))

/* To be, for files, who called sudo; or to write where root owns nothing. */
#define ROOT_ONLY (CAPABILITY(CAP_SETUID) | CAPABILITY(CAP_SETGID) | CAPABILITY(CAP_DAC_OVERRIDE))

static capability_set of_root(capability_set set)
{
	return geteuid() ? NOTHING : set;
}

static capability_set of_capture(void)
{
	return LOADING | LOOKING | COMFORT | of_root(ROOT_ONLY);
}

static capability_set needed_for(enum command command)
{
	switch (command) {
	case COMMAND_CAPTURE:
		return of_capture();
	case COMMAND_DOCTOR: /* says of one that is not used that it is there */
		return of_capture() | CAPABILITY(CAP_SYS_RESOURCE);
	case COMMAND_LIST:
		return LOOKING;
	case COMMAND_REPORT:
		return of_root(CAPABILITY(CAP_DAC_READ_SEARCH) | ROOT_ONLY);
	case COMMAND_HELP:
	case COMMAND_VERSION:
		break;
	}
	return NOTHING;
}

/* Less is kept only if it cannot be set, and then there is nothing to be done about it. */
static void keep(capability_set set)
{
	int err = privilege_keep(set);

	if (err)
		log_debug("capabilities cannot be given up: %s", strerror(-err));
}

void rights_begin(enum command command)
{
	keep(needed_for(command));
	privilege_lock();
}

static bool is_refusal(int err)
{
	return err == -EACCES || err == -EPERM;
}

static int try_as(const struct rights *rights, struct out_dir **out, const char *path,
		  struct out_cancel cancel)
{
	int err = privilege_use(rights->writing);

	if (!err)
		err = out_dir_open(out, path, cancel);
	privilege_use(CAPABILITIES_ALL);
	return err;
}

static int try_as_invoker(const struct rights *rights, struct out_dir **out, const char *path,
			  struct out_cancel cancel)
{
	uid_t uid;
	gid_t gid;
	int err;

	privilege_invoker(&uid, &gid);
	if (uid == (uid_t)-1)
		return -EPERM;
	err = privilege_files_as(uid, gid);
	if (!err)
		err = try_as(rights, out, path, cancel);
	if (!is_refusal(err))
		return err;
	privilege_files_as_self();
	return err;
}

/* Without a capability first: one that is not needed for the directory is not kept for it. */
static int try_as_self(struct rights *rights, struct out_dir **out, const char *path,
		       struct out_cancel cancel)
{
	int err = try_as(rights, out, path, cancel);

	if (!is_refusal(err) || geteuid())
		return err;
	rights->writing = CAPABILITY(CAP_DAC_OVERRIDE);
	return try_as(rights, out, path, cancel);
}

int rights_open_directory(struct rights *rights, struct out_dir **out, const char *path,
			  struct out_cancel cancel)
{
	uid_t uid;
	gid_t gid;
	int err;

	rights->writing = NOTHING;
	err = try_as_invoker(rights, out, path, cancel);
	if (!is_refusal(err))
		return err;
	err = try_as_self(rights, out, path, cancel);
	privilege_invoker(&uid, &gid);
	if (!err && uid != (uid_t)-1)
		log_info("output directory %s: user %u, who called sudo, may not write there; the "
			 "files belong to root",
			 path, uid);
	if (is_refusal(err))
		log_err("output directory %s: %s; name another one with -o", path, strerror(-err));
	return err;
}

/* Each is a perf event, and the kernel asks at each of them. */
static int attach_single(struct probes *probes)
{
	int err = probes_attach(probes, PROBE_GROUP_STEP);

	if (is_refusal(err))
		log_err("to attach one by one takes CAP_SYS_ADMIN on this kernel: run as root: "
			"sudo tpbpf ...");
	return err;
}

int rights_attach_first(struct rights *rights, struct probes *probes)
{
	int err;

	rights->attaching = LOADING;
	if (probes_mode(probes) == ATTACH_SINGLE)
		return attach_single(probes);
	err = privilege_use(NOTHING);
	if (!err)
		err = probes_attach(probes, PROBE_GROUP_STEP);
	privilege_use(CAPABILITIES_ALL);
	if (!is_refusal(err)) {
		rights->attaching = NOTHING;
		return err;
	}
	log_info("this kernel asks for capabilities to attach: they are kept until the window is "
		 "over");
	return probes_attach(probes, PROBE_GROUP_STEP);
}

/* Are /proc and the exec of the job seen without a capability? */
static bool sees_job(const struct target *target, const struct probes *probes)
{
	struct process_status status;
	bool sees;

	if (!probes_sees_exec(probes) || privilege_use(NOTHING))
		return false;
	sees = !process_status(target->pid, &status) && process_thread_count(target->pid);
	privilege_use(CAPABILITIES_ALL);
	return sees;
}

void rights_after_open(struct rights *rights, const struct target *target,
		       const struct probes *probes, bool has_agent)
{
	if (has_agent)
		rights->attaching = LOADING;
	rights->looking = sees_job(target, probes) ? NOTHING : CAPABILITY(CAP_SYS_PTRACE);
	keep(rights->attaching | rights->looking | rights->writing);
}

void rights_after_detach(struct rights *rights)
{
	if (!rights->attaching)
		return;
	rights->attaching = NOTHING;
	keep(rights->looking | rights->writing);
}

void rights_for_files(const struct rights *rights)
{
	keep(rights->writing);
}
