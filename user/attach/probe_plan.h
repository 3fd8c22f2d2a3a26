/*
 * probe_plan.h - which sites of this job would be probed, when, and what is missing. Attaches
 * nothing.
 */
#ifndef ATTACH_PROBE_PLAN_H
#define ATTACH_PROBE_PLAN_H

#include "attach/operator_table.h"
#include "attach/probe_site.h"
#include "attach/target.h"
#include "attach/thread_numbers.h"
#include "attach/torch_catalog.h"
#include "model/sink.h"

/* What the user says a step is. */
struct step_spec {
	enum step_mode mode;
	char pattern[STEP_PATTERN_BYTES]; /* STEP_RANGE, and STEP_AUTO's own */
	bool pattern_is_prefix;
	const char *text; /* as the user wrote it */
	char library[64]; /* STEP_ENTRY: file name of the library; empty: libtorch_cpu */
	char symbol[256]; /* STEP_ENTRY: mangled name, or its beginning for an operator */
	bool symbol_is_prefix;
};

/* When a site is attached. */
enum probe_group {
	PROBE_GROUP_STEP,    /* from the start: what counts attempts */
	PROBE_GROUP_ENDS,    /* of it, what is not needed while begins alone tell attempts */
	PROBE_GROUP_WINDOW,  /* from warmup to the end of active */
	PROBE_GROUP_NUMBERS, /* sequence numbers: never by two links at once */
	PROBE_GROUP_CALLS,   /* operators, nodes, memory, as their modes say */
	PROBE_GROUP_LEARN,   /* the same, all of them and exact, while warmup learns */
	PROBE_GROUP_CNT,
};

struct planned_site {
	enum probe_kind kind;
	enum probe_group group;
	enum library_role library;
	const char *point, *hits, *cost;
	unsigned int activity; /* ACTIVITY_* that it is for; 0: always */
	bool is_found;
	bool is_optional; /* its absence costs nothing here */
	struct probe_site site;
	uint64_t file_offset;
};

#define PLANNED_SITES_MAX 64 /* also what may be attached without uprobe_multi */

/* Owns the operator table; probe_plan_free() releases it. */
struct probe_plan {
	struct planned_site sites[PLANNED_SITES_MAX];
	size_t count;
	bool sees_by_enter; /* ranges by Python's enter and exit, not by every RecordFunction */
	bool name_first;
	struct thread_numbers numbers;
	uint32_t task_fsbase; /* see kernel_layout.h */
	const struct target *target;
	unsigned int activities;	  /* ACTIVITY_* */
	struct operator_table *operators; /* NULL: none are watched, nor calls of CUDA's */
	/* Calls of CUDA's are found, but neither probed nor told: an agent may report them. */
	bool calls_in_reserve;
};

/* -ENOENT: nothing is left to count attempts with; logged. Names and texts live as long as step
 * does. */
int probe_plan_make(struct probe_plan *plan, const struct target *target,
		    const struct step_spec *step, unsigned int activities);
void probe_plan_free(struct probe_plan *plan); /* of zeroes or of a failed attempt, too */

/* The plan's part of the configuration of the programs. */
void probe_plan_configure(const struct probe_plan *plan, const struct step_spec *step,
			  struct probe_config *config);

/* A WIRE_PROBE record for each row, a WIRE_OPERATOR record for each operator. */
int probe_plan_emit(const struct probe_plan *plan, uint64_t time_ns, struct record_sink *sink);

/* Takes the calls out of the reserve, and tells of them as probe_plan_emit() would have. */
int probe_plan_take_reserve(struct probe_plan *plan, uint64_t time_ns, struct record_sink *sink);

const char *probe_plan_site_name(enum probe_site_kind kind);

#endif /* ATTACH_PROBE_PLAN_H */
