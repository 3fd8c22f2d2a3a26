/*
 * doctor_job.c - see doctor_job.h. The plan of a capture of everything is made and told line by
 * line; nothing is attached, and the job is not locked.
 */
#include "doctor_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/agent_note.h"
#include "attach/elf_symbols.h"
#include "attach/inject.h"
#include "attach/probe_plan.h"
#include "attach/torch_catalog.h"
#include "base/text.h"

#define OLDEST_TRIED TORCH_RELEASE(1, 13)
#define NEWEST_TRIED TORCH_RELEASE(2, 14)

#define ALL_ACTIVITIES                                                                \
	(ACTIVITY_RANGES | ACTIVITY_OPERATORS | ACTIVITY_AUTOGRAD | ACTIVITY_MEMORY | \
	 ACTIVITY_SHAPES | ACTIVITY_MODULES)

static void check_process(struct checkup *checkup, const struct target *target)
{
	const struct process_status *status = &target->status;
	char command_line[256] = "";

	process_command_line(target->pid, command_line, sizeof(command_line));
	checkup_line(checkup, VERDICT_OK, "job", NULL, "pid %d of user %u, %zu threads: %s",
		     target->pid, status->uid, process_thread_count(target->pid), command_line);
	if (status->state == 'T' || status->state == 't')
		checkup_line(checkup, VERDICT_NOTE, "state", "kill -CONT",
			     "stopped: nothing will be seen until it goes on");
	if (status->tracer)
		checkup_line(checkup, VERDICT_NOTE, "debugger", "detach it",
			     "pid %d traces the job: breakpoints of two may meet", status->tracer);
}

static void check_namespaces(struct checkup *checkup, const struct target *target)
{
	if (target->status.namespace_pid != target->pid)
		checkup_line(checkup, VERDICT_OK, "job's pid namespace", NULL,
			     "its own: it is pid %d there, and in the outputs",
			     target->status.namespace_pid);
	else
		checkup_line(checkup, VERDICT_OK, "job's pid namespace", NULL, "ours");
	checkup_line(checkup, VERDICT_OK, "job's files", NULL, "%s",
		     target->other_mount_namespace
			     ? "in another mount namespace: read through the job"
			     : "in our mount namespace");
}

static void check_version(struct checkup *checkup, const struct target *target)
{
	const struct torch_version *version = &target->version;
	bool is_known = target->release != 0;
	bool is_tried = target->release >= OLDEST_TRIED && target->release <= NEWEST_TRIED;

	checkup_line(checkup, is_tried ? VERDICT_OK : VERDICT_NOTE, "PyTorch", NULL,
		     "%s, Python %s, CUDA %s%s", is_known ? version->torch : "of unknown version",
		     version->python[0] ? version->python : "unknown",
		     version->cuda[0] ? version->cuda : "none",
		     is_tried	? ""
		     : is_known ? "; 1.13 to 2.14 were tried"
				: "; taken for a recent one");
}

static void check_layouts(struct checkup *checkup, const struct target *target)
{
	struct probe_config config;
	bool has_tensors, has_nodes;

	memset(&config, 0, sizeof(config));
	has_tensors = torch_catalog_tensor_layout(target->release, &config);
	has_nodes = torch_catalog_node_layout(target->release, &config);
	checkup_line(checkup, has_tensors ? VERDICT_OK : VERDICT_NOTE, "layout of tensors", NULL,
		     has_tensors ? "known for this version"
				 : "not known: no shapes, and skipped steps of fused optimizers "
				   "are unknown");
	checkup_line(checkup, has_nodes ? VERDICT_OK : VERDICT_NOTE, "layout of nodes", NULL,
		     has_nodes ? "known for this version"
			       : "not known: no arrows from forward to backward");
}

struct symbol_count {
	size_t local, dynamic; /* of .symtab and of .dynsym */
};

static int on_function(void *context, const struct elf_symbol *symbol)
{
	struct symbol_count *count = context;

	if (symbol->from_symtab)
		count->local++;
	else
		count->dynamic++;
	return 0;
}

static void check_library(struct checkup *checkup, const struct target_library *library,
			  const char *name)
{
	struct symbol_count count = { 0, 0 };
	struct elf_image *image = NULL;
	int err = library->fd < 0 ? -ENOENT : elf_image_open(&image, library->fd);

	if (library->fd < 0) {
		checkup_line(checkup, VERDICT_NOTE, name, NULL,
			     "not mapped: a build in one library, or a job that is still starting");
		return;
	}
	if (err) {
		checkup_line(checkup, VERDICT_MISSING, name, NULL, "%s cannot be read: %s",
			     library->path, strerror(-err));
		return;
	}
	elf_image_each_function(image, on_function, &count);
	elf_image_free(image);
	checkup_line(checkup, VERDICT_OK, name, NULL, "%s%s, %zu functions, %s", library->path,
		     library->is_deleted ? " (deleted since, read all the same)" : "",
		     count.local > count.dynamic ? count.local : count.dynamic,
		     count.local ? "with .symtab" : "stripped: exported ones alone");
}

static void check_libraries(struct checkup *checkup, const struct target *target)
{
	check_library(checkup, &target->libraries[LIBRARY_TORCH_CPU], "libtorch_cpu");
	check_library(checkup, &target->libraries[LIBRARY_TORCH_PYTHON], "libtorch_python");
	check_library(checkup, &target->libraries[LIBRARY_C10], "libc10");
}

/* A row may be found in several functions: all are told at the first one. */
static void check_site(struct checkup *checkup, const struct probe_plan *plan, size_t first)
{
	const struct planned_site *site = &plan->sites[first];
	char more[32] = "";
	size_t same = 1, i;

	for (i = 0; i < plan->count; i++) {
		if (i == first || strcmp(plan->sites[i].point, site->point) != 0)
			continue;
		if (i < first)
			return;
		same++;
	}
	if (same > 1)
		snprintf(more, sizeof(more), ", and %zu more", same - 1);
	if (site->is_found)
		checkup_line(checkup, VERDICT_OK, site->point, NULL, "found, at %#llx: %s%s",
			     (unsigned long long)site->file_offset,
			     probe_plan_site_name(site->site.kind), more);
	else if (site->is_optional)
		checkup_line(checkup, VERDICT_OK, site->point, NULL, "not found, not needed: %s",
			     site->cost);
	else
		checkup_line(checkup, VERDICT_NOTE, site->point, NULL, "not found, lost: %s",
			     site->cost);
}

static void check_operators(struct checkup *checkup, const struct probe_plan *plan)
{
	size_t count = 0, without_exit = 0, i;
	const struct operator_entry *entries =
		plan->activities & ACTIVITY_OPERATORS
			? operator_table_entries(plan->operators, &count)
			: NULL;

	for (i = 0; i < count; i++)
		without_exit += !entries[i].has_exit;
	checkup_line(checkup, count ? VERDICT_OK : VERDICT_NOTE, "operators", NULL,
		     "%zu found, %zu of them without an end to probe%s", count, without_exit,
		     count ? "" : ": none is recorded");
}

static int check_plan(struct checkup *checkup, const struct options *options,
		      const struct target *target)
{
	struct probe_plan plan;
	size_t i;
	int err = probe_plan_make(&plan, target, &options->step, ALL_ACTIVITIES);

	for (i = 0; i < plan.count; i++)
		check_site(checkup, &plan, i);
	if (err == -ENOENT)
		checkup_line(checkup, VERDICT_MISSING, "attempts",
			     "--step op:NAME or --step symbol:LIBRARY:SYMBOL",
			     "nothing is left to count them with");
	else if (err)
		checkup_line(checkup, VERDICT_MISSING, "probe sites", NULL, "%s", strerror(-err));
	else
		check_operators(checkup, &plan);
	probe_plan_free(&plan);
	return err == -ENOENT ? 0 : err;
}

/* What of a GPU is mapped, by the beginning of the file's name. */
struct gpu {
	const char *name;
	bool is_mapped;
	char path[512];
};

enum {
	GPU_TORCH,
	GPU_DRIVER,
	GPU_CUPTI,
	GPU_CNT
};

static int on_mapping(void *context, const struct process_mapping *mapping)
{
	const char *slash = strrchr(mapping->path, '/');
	struct gpu *gpu = context;
	size_t i;

	for (i = 0; i < GPU_CNT; i++) {
		if (gpu[i].is_mapped || !text_has_prefix(slash + 1, gpu[i].name))
			continue;
		gpu[i].is_mapped = true;
		text_copy(gpu[i].path, sizeof(gpu[i].path), mapping->path);
	}
	return 0;
}

/* Looked at, and not tried: nothing is done to a job here. */
static void check_agent(struct checkup *checkup, pid_t pid, bool uses_cuda)
{
	static const char name[] = "agent in the job";
	struct inject_result result;
	struct agent_image image;
	size_t threads;
	int err = agent_image_open(&image, pid);

	if (!err) {
		agent_image_close(&image);
		checkup_line(checkup, VERDICT_OK, name, NULL, "there: GPU activity is recorded");
	} else if (err != -ENOENT) {
		checkup_line(checkup, VERDICT_NOTE, name, NULL, "there, and cannot be used");
	} else if (!uses_cuda) {
		checkup_line(checkup, VERDICT_OK, name, NULL,
			     "not there, and not needed: the job does not use CUDA");
	} else if (inject_check(&result, pid, &threads)) {
		checkup_line(checkup, VERDICT_NOTE, name,
			     "start the job with CUDA_INJECTION64_PATH",
			     "not there, no GPU activity; --gpu inject does not work: %s",
			     result.reason);
	} else {
		checkup_line(checkup, VERDICT_NOTE, name, "--gpu inject",
			     "not there, no GPU activity; %zu threads wait where one could be "
			     "taken to load it",
			     threads);
	}
}

static void check_gpu(struct checkup *checkup, const struct target *target)
{
	struct gpu gpu[GPU_CNT] = {
		[GPU_TORCH] = { .name = "libtorch_cuda.so" },
		[GPU_DRIVER] = { .name = "libcuda.so" },
		[GPU_CUPTI] = { .name = "libcupti.so" },
	};
	size_t i;

	if (process_each_mapping(target->pid, on_mapping, gpu)) {
		checkup_line(checkup, VERDICT_UNKNOWN, "GPU", NULL, "the job has ended");
		return;
	}
	for (i = 0; i < GPU_CNT; i++)
		checkup_line(checkup, VERDICT_OK, gpu[i].name, NULL, "%s",
			     gpu[i].is_mapped ? gpu[i].path : "not mapped by the job");
	check_agent(checkup, target->pid, gpu[GPU_DRIVER].is_mapped);
}

/* "x86_Thread_features:\tshstk wrss " where the kernel and the C library have it on. */
static void check_shadow_stack(struct checkup *checkup, pid_t pid)
{
	char path[64], line[256];
	bool is_on = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	if (!file)
		return;
	while (!is_on && fgets(line, sizeof(line), file))
		is_on = text_has_prefix(line, "x86_Thread_features:") && strstr(line, "shstk");
	fclose(file);
	if (is_on)
		checkup_line(checkup, VERDICT_NOTE, "shadow stack", NULL,
			     "on: no return probes are used, which it would catch; --gpu inject "
			     "does not work; not tried with it otherwise");
	else
		checkup_line(checkup, VERDICT_OK, "shadow stack", NULL, "off");
}

static const char *reason(int err)
{
	switch (err) {
	case -ESRCH:
		return "there is no such process";
	case -ENOEXEC:
		return "libtorch_cpu.so is not mapped: no PyTorch process";
	case -EPERM:
	case -EACCES:
		return "may not be looked into";
	default:
		return strerror(-err);
	}
}

int doctor_check_job(struct checkup *checkup, const struct options *options)
{
	const char *library = options->step.library[0] ? options->step.library : NULL;
	struct target *target = NULL;
	int err = target_open(&target, (pid_t)options->pid, library);

	if (err) {
		checkup_line(checkup, VERDICT_MISSING, "job",
			     err == -EPERM ? "run as root: sudo tpbpf ..." : NULL, "pid %u: %s",
			     options->pid, reason(err));
		return err;
	}
	check_process(checkup, target);
	check_namespaces(checkup, target);
	check_version(checkup, target);
	check_layouts(checkup, target);
	check_libraries(checkup, target);
	err = check_plan(checkup, options, target);
	check_gpu(checkup, target);
	check_shadow_stack(checkup, target->pid);
	target_close(target);
	return err;
}
