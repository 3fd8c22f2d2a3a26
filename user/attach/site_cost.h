/*
 * site_cost.h - what one hit of each kind of probe site costs on this machine and kernel, found out
 * by trying on a throw-away child. Takes about as long as one attach and one detach.
 */
#ifndef ATTACH_SITE_COST_H
#define ATTACH_SITE_COST_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "attach/probe_site.h"

/* What the measurement needs of the programs; context is handed through. */
struct site_cost_ops {
	/*
	 * Probes these instructions of path for one process, with a program that does what it does
	 * at an operator's entry. file_offsets is indexed by enum probe_site_kind. 0 or a negative
	 * errno: then nothing is attached. Sites are hit SITE_COST_HITS_MAX times at most in all.
	 */
	int (*attach)(void *context, pid_t pid, const char *path, const uint64_t *file_offsets,
		      size_t count);
	void (*detach)(void *context);
	void *context;
};

#define SITE_COST_HITS_MAX 20000

/*
 * Fills in the cost of a hit by kind. 0 in it: not measured, see site_cost_or_default. Returns 0,
 * or with all of them 0: what attach returned; -ENOENT: this program's own mapping was not found;
 * -EIO, -ETIMEDOUT: the child did not do its part; another negative errno: it could not be run.
 */
int site_cost_measure(const struct site_cost_ops *ops, uint64_t hit_ns[PROBE_SITE_KIND_CNT]);

/*
 * The cost of a hit where so many calls took unwatched_ns and watched_ns. 0: less than a trap can
 * take, or absurdly much.
 */
uint64_t site_cost_of_calls(uint64_t unwatched_ns, uint64_t watched_ns, uint32_t calls);

/* The measured cost of a kind, or what is usual where it was not measured. Never 0. */
uint64_t site_cost_or_default(const uint64_t hit_ns[PROBE_SITE_KIND_CNT],
			      enum probe_site_kind kind);

#endif /* ATTACH_SITE_COST_H */
