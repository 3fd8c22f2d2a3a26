/* filter.bpf.h - who is running: is this hit the job's, and which thread of it. */
#ifndef FILTER_BPF_H
#define FILTER_BPF_H

#include "maps.bpf.h"

/*
 * Thread id in the job's own pid namespace. false: another process (a forked child keeps the
 * breakpoints until it runs into them), or one of another namespace.
 */
static __always_inline bool filter_thread(__u32 *tid)
{
	struct bpf_pidns_info ids = {};
	__u64 both;

	if (config.global_ids) { /* much cheaper, and a hit is paid by the job */
		both = bpf_get_current_pid_tgid();
		*tid = (__u32)both;
		return both >> 32 == config.namespace_pid;
	}

	if (bpf_get_ns_current_pid_tgid(config.pid_namespace_dev, config.pid_namespace_ino, &ids,
					sizeof(ids)))
		return false;
	if (ids.tgid != config.namespace_pid)
		return false;
	*tid = ids.pid;
	return true;
}

#endif /* FILTER_BPF_H */
