/* describe.c - see describe.h. Nothing has been attached when this runs. */
#include "describe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static void print_job(const struct target *target)
{
	const struct target_library *library = &target->libraries[LIBRARY_TORCH_CPU];
	char path[512];

	printf("job: pid %d", target->pid);
	if (target->status.namespace_pid != target->pid)
		printf(" (%d in its own namespace)", target->status.namespace_pid);
	printf(", PyTorch %s, Python %s, CUDA %s%s\n",
	       target->version.torch[0] ? target->version.torch : "unknown",
	       target->version.python[0] ? target->version.python : "unknown",
	       target->version.cuda[0] ? target->version.cuda : "none",
	       target->other_mount_namespace ? ", in another mount namespace" : "");
	printf("library: %s%s\n", text_printable(path, sizeof(path), library->path),
	       library->is_deleted ? " (deleted since)" : "");
}

static void print_window(const struct options *options)
{
	char cycles[32] = "until stopped", timeout[32] = "";

	if (options->repeat)
		snprintf(cycles, sizeof(cycles), "%u time%s", options->repeat,
			 options->repeat == 1 ? "" : "s");
	if (options->timeout_s)
		snprintf(timeout, sizeof(timeout), ", at most %u s", options->timeout_s);
	printf("window: skip %u, then wait %u%s, warmup %u, active %u, %s%s; a step is %s\n",
	       options->skip_first, options->wait,
	       options->skip_first_wait ? " (not the first time)" : "", options->warmup,
	       options->active, cycles, timeout, options->step.text);
}

static void print_site(const struct planned_site *site)
{
	static const char *const phases[PROBE_GROUP_CNT] = {
		[PROBE_GROUP_STEP] = "always",	 [PROBE_GROUP_ENDS] = "always",
		[PROBE_GROUP_WINDOW] = "window", [PROBE_GROUP_NUMBERS] = "window",
		[PROBE_GROUP_CALLS] = "window",
	};

	printf("  %-33s %-7s %-8s %#12" PRIx64 "  %s\n", site->point, phases[site->group],
	       probe_plan_site_name(site->site.kind), site->file_offset, site->hits);
}

static void print_found(const struct probe_plan *plan)
{
	size_t i;

	printf("sites found:\n  %-33s %-7s %-8s %12s  %s\n", "point", "when", "site", "offset",
	       "predicted hits");
	for (i = 0; i < plan->count; i++) {
		if (plan->sites[i].is_found)
			print_site(&plan->sites[i]);
	}
}

static void print_operators(const struct probe_plan *plan)
{
	size_t count, operators = 0, stepped = 0, without_exit = 0, i;
	const struct operator_entry *entries;

	if (!(plan->activities & ACTIVITY_OPERATORS))
		return;
	entries = operator_table_entries(plan->operators, &count);
	for (i = 0; i < count; i++) {
		if (entries[i].domain != CALL_OPERATOR)
			continue;
		operators++;
		stepped += entries[i].has_exit && (entries[i].exit_kind == PROBE_SITE_RET ||
						   entries[i].exit_kind == PROBE_SITE_STEPPED);
		without_exit += !entries[i].has_exit;
	}
	printf("operators: %zu (at::_ops::*::call), probed in the window: the beginning of each, "
	       "and "
	       "the end of those\n  that warmup does not tell to be short and steady; %zu have an "
	       "end "
	       "that is stepped, %zu have none\n",
	       operators, stepped, without_exit);
}

/* With -v each one of them. */
static void print_calls_of(const struct probe_plan *plan, enum library_role role, bool is_verbose)
{
	size_t count, functions = 0, ends = 0, k, i;
	const struct operator_entry *entries = operator_table_entries(plan->operators, &count);
	char path[512];

	for (i = 0; i < count; i++) {
		const struct operator_entry *call = &entries[i];

		if (call->library != role || call->domain == CALL_OPERATOR)
			continue;
		functions++;
		ends += 1 + call->more_exit_count;
		if (!is_verbose)
			continue;
		printf("  %-33s window  %-8s %#12" PRIx64 "  %s %#" PRIx64, call->name,
		       probe_plan_site_name(call->entry_kind), call->entry_offset,
		       probe_plan_site_name(call->exit_kind), call->exit_offset);
		for (k = 0; k < call->more_exit_count; k++)
			printf(" %#" PRIx64, call->more_exit_offsets[k]);
		printf("\n");
	}
	if (functions)
		printf("calls of CUDA: %zu functions of %s, probed in the window%s: the beginning "
		       "of each and its %zu ends,\n  which are stepped\n",
		       functions,
		       text_printable(path, sizeof(path), plan->target->libraries[role].path),
		       plan->calls_in_reserve ? " if the agent cannot report them" : "", ends);
}

static void print_calls(const struct probe_plan *plan, bool is_verbose)
{
	if (!(plan->activities & ACTIVITY_CUDA_CALLS))
		return;
	print_calls_of(plan, LIBRARY_CUDART, is_verbose);
	print_calls_of(plan, LIBRARY_CUDART_OTHER, is_verbose);
	print_calls_of(plan, LIBRARY_CUDA, is_verbose);
}

static void print_missing(const struct probe_plan *plan)
{
	bool has_missing = false;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct planned_site *site = &plan->sites[i];

		if (site->is_found ||
		    (plan->calls_in_reserve && site->activity == ACTIVITY_CUDA_CALLS))
			continue;
		printf("%s  %-33s %s%s\n", has_missing ? "" : "sites missing:\n", site->point,
		       site->is_optional ? "would have given: " : "costs: ", site->cost);
		has_missing = true;
	}
	if (!has_missing)
		printf("sites missing: none\n");
}

/* The catalogue's sums, in hits: what a hit takes is only known by measuring it on this machine. */
static void print_hits(const struct probe_plan *plan)
{
	if (plan->sees_by_enter)
		printf("predicted hits: wait: 2 per range, 2 to 5 per attempt with a GradScaler; "
		       "window: 3 to 5 per range, 1 to 2 per operator and per autograd node, "
		       "1 per block of memory and its free\n");
	else
		printf("predicted hits: wait: 4 per range, 3 per autograd node, 2 to 5 per attempt "
		       "with "
		       "a GradScaler; window: 1 to 2 per operator and node more, 1 per block of "
		       "memory and its free\n");
	printf("a hit takes about a microsecond (ten where the site is `stepped`)\n");
}

int describe_plan(const struct options *options, const struct target *target,
		  const struct probe_plan *plan)
{
	print_job(target);
	print_window(options);
	print_found(plan);
	print_operators(plan);
	print_calls(plan, options->verbose);
	print_missing(plan);
	print_hits(plan);
	printf("nothing was attached\n");
	return fflush(stdout) ? -1 : 0;
}
