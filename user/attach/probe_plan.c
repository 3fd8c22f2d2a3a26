/*
 * probe_plan.c - see probe_plan.h. Each library is read once: every function is held against every
 * row that belongs to the library and the release. Then each row's function gets its entry site.
 */
#include "attach/probe_plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "attach/cuda_plan.h"
#include "attach/elf_symbols.h"
#include "attach/kernel_layout.h"
#include "attach/python_layout.h"
#include "base/log.h"
#include "base/text.h"

/* A row while its function is looked for. */
struct wanted {
	const struct catalog_row *row;
	struct catalog_row own; /* of the user's step, if that is the row */
	bool is_exact;
};

struct search {
	struct probe_plan *plan;
	struct elf_image *image;
	const struct wanted *wanted;
	size_t wanted_count;
	enum library_role library;
	uint64_t code_left_bytes; /* that may still be looked at in this library */
};

#define WANTED_MAX 32

/*
 * The bound on what damaged sizes can cost: the functions of all rows have 70 KB together. Nor have
 * they more than the file.
 */
#define CODE_BYTES_MAX ((uint64_t)1 << 20)

/*
 * The compiler's clones bear the function's name and a suffix (.cold, .constprop.0, .isra.0). Some
 * are parts, others take their arguments elsewhere: none is the function.
 */
static bool matches(const struct wanted *wanted, const char *name)
{
	size_t i;

	if (wanted->is_exact)
		return !strcmp(name, wanted->row->prefixes[0]);
	for (i = 0; i < CATALOG_PREFIXES_MAX && wanted->row->prefixes[i]; i++) {
		if (text_has_prefix(name, wanted->row->prefixes[i]) && !strchr(name, '.'))
			return true;
	}
	return false;
}

static struct planned_site *add_site(struct probe_plan *plan, const struct catalog_row *row,
				     enum library_role library)
{
	struct planned_site *site;

	if (plan->count == PLANNED_SITES_MAX)
		return NULL;
	site = &plan->sites[plan->count++];
	*site = (struct planned_site){
		.kind = row->kind,
		.library = library,
		.point = row->point,
		.hits = row->hits,

		.cost = row->cost,
		.activity = row->activity,
	};
	return site;
}

static bool is_planned(const struct probe_plan *plan, const struct catalog_row *row,
		       uint64_t file_offset)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct planned_site *site = &plan->sites[i];

		if (site->is_found && site->kind == row->kind && site->point == row->point &&
		    (!row->is_family || site->file_offset == file_offset))
			return true;
	}
	return false;
}

static void plan_site(struct search *search, const struct catalog_row *row,
		      const struct elf_symbol *symbol, const struct probe_site *site)
{
	struct planned_site *planned;
	uint64_t file_offset;

	if (elf_image_file_offset(search->image, site->address, &file_offset))
		return;
	if (row->needs_tail_jump && site->kind != PROBE_SITE_JUMP) {
		log_debug("%s: %s is not of the known shape", row->point, symbol->name);
		return;
	}
	if (is_planned(search->plan, row, file_offset))
		return;
	planned = add_site(search->plan, row, search->library);
	if (!planned)
		return;
	planned->is_found = true;
	planned->site = *site;
	planned->file_offset = file_offset;
}

static void plan_function(struct search *search, const struct catalog_row *row,
			  const struct elf_symbol *symbol)
{
	const uint8_t *code = elf_image_code(search->image, symbol->address, symbol->size_bytes);
	struct probe_site site;

	/* One that stands in both symbol tables, or a second one: the first is probed. */
	if (!row->is_family && is_planned(search->plan, row, 0))
		return;
	if (code && symbol->size_bytes > search->code_left_bytes)
		code = NULL;
	if (code)
		search->code_left_bytes -= symbol->size_bytes;
	if (!code || probe_site_entry(code, symbol->size_bytes, symbol->address, row->needs, &site))
		log_debug("%s: no place for a probe in %s", row->point, symbol->name);
	else
		plan_site(search, row, symbol, &site);
}

/* The interpreter is in the program or in its library: the first that has it is probed. */
static bool is_in(const struct catalog_row *row, enum library_role library)
{
	return row->library == library ||
	       (row->library == LIBRARY_PYTHON && library == LIBRARY_PYTHON_SHARED);
}

static int on_function(void *context, const struct elf_symbol *symbol)
{
	struct search *search = context;
	size_t i;

	if (search->library == LIBRARY_TORCH_CPU)
		thread_numbers_look(&search->plan->numbers, search->image, symbol);
	for (i = 0; i < search->wanted_count; i++) {
		if (!is_in(search->wanted[i].row, search->library) ||
		    !matches(&search->wanted[i], symbol->name))
			continue;
		plan_function(search, search->wanted[i].row, symbol);
	}
	return 0;
}

static int search_library(struct search *search, enum library_role role)
{
	const struct target_library *library = &search->plan->target->libraries[role];
	int err;

	if (library->fd < 0)
		return 0;
	err = elf_image_open(&search->image, library->fd);
	if (err) {
		log_err("%s: cannot be read as a library: %s", library->path, strerror(-err));
		return err;
	}
	search->library = role;
	search->code_left_bytes = elf_image_size_bytes(search->image);
	if (search->code_left_bytes > CODE_BYTES_MAX)
		search->code_left_bytes = CODE_BYTES_MAX;
	err = elf_image_each_function(search->image, on_function, search);
	elf_image_free(search->image);
	return err;
}

static const struct planned_site *find_kind(const struct probe_plan *plan, enum probe_kind kind)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		if (plan->sites[i].kind == kind && plan->sites[i].is_found)
			return &plan->sites[i];
	}
	return NULL;
}

/* A missing row costs nothing if the job cannot do what it is for, or another row stands in for it.
 */
static bool is_optional(const struct catalog_row *row)
{
	return row->kind == PROBE_FUSED_STEP || row->kind == PROBE_RANGE_NAME_RESET ||
	       row->kind == PROBE_REGION_EXIT; /* its guard's end, or end(), tells as well */
}

static void add_missing(struct probe_plan *plan, const struct wanted *wanted, size_t wanted_count)
{
	size_t i;

	for (i = 0; i < wanted_count; i++) {
		const struct catalog_row *row = wanted[i].row;
		struct planned_site *site;

		if (is_planned(plan, row, 0))
			continue;
		/* A family that has one member is planned. */
		if (row->is_family && find_kind(plan, row->kind))
			continue;
		site = add_site(plan, row, row->library);
		if (site)
			site->is_optional = is_optional(row);
	}
}

static void own_row(struct wanted *wanted, const struct step_spec *step)
{
	wanted->own = (struct catalog_row){
		.kind = PROBE_STEP_ENTRY,
		.point = "step",
		.library = step->library[0] ? LIBRARY_NAMED : LIBRARY_TORCH_CPU,
		.prefixes = { step->symbol },
		.hits = "once per attempt",
		.cost = "attempts",
	};
	wanted->row = &wanted->own;
	wanted->is_exact = !step->symbol_is_prefix;
}

static size_t want(struct wanted *wanted, const struct probe_plan *plan,
		   const struct step_spec *step)
{
	size_t count = 0, row_count, i;
	const struct catalog_row *rows = torch_catalog(&row_count);

	for (i = 0; i < row_count && count < WANTED_MAX - 1; i++) {
		if (rows[i].activity && !(rows[i].activity & plan->activities))
			continue;
		if (torch_catalog_applies(&rows[i], plan->target->release))
			wanted[count++] = (struct wanted){ .row = &rows[i] };
	}
	if (step->mode == STEP_ENTRY)
		own_row(&wanted[count++], step);
	return count;
}

static bool is_wanted_way(const struct probe_plan *plan, enum probe_kind kind)
{
	bool by_enter = plan->sees_by_enter;

	switch (kind) {
	case PROBE_RANGE_END:
		/* By enter and exit, it is only for ranges that end otherwise, and for regions: the
		 * end of the guard tells those as well. */
		return !by_enter || !find_kind(plan, PROBE_GUARD_END);
	case PROBE_RANGE_ENTER:
	case PROBE_RANGE_EXIT:
		return by_enter;
	case PROBE_RANGE_NAME:
	case PROBE_RANGE_NAME_RESET:
	case PROBE_RANGE_BEGIN:
		return !by_enter;
	default:
		return true;
	}
}

/* There are two ways to see a range; the sites of the other one are not probed. */
static void choose_way(struct probe_plan *plan)
{
	size_t kept = 0, i;

	plan->sees_by_enter =
		find_kind(plan, PROBE_RANGE_ENTER) && find_kind(plan, PROBE_RANGE_EXIT);
	for (i = 0; i < plan->count; i++) {
		if (is_wanted_way(plan, plan->sites[i].kind))
			plan->sites[kept++] = plan->sites[i];
	}
	plan->count = kept;
}

/* What counts attempts stays attached; the rest only from warmup on. */
static enum probe_group group_of(const struct probe_plan *plan, const struct step_spec *step,
				 enum probe_kind kind)
{
	switch (kind) {
	case PROBE_RANGE_BEGIN:
	case PROBE_RANGE_END:
		return plan->sees_by_enter || step->mode == STEP_ENTRY ? PROBE_GROUP_WINDOW
								       : PROBE_GROUP_STEP;
	case PROBE_RANGE_EXIT:
		return PROBE_GROUP_ENDS;
	case PROBE_NODE_BEGIN:
	case PROBE_GUARD_END:
	case PROBE_APPLY_BEGIN:
	case PROBE_BOXED_BEGIN:
	case PROBE_BOXED_VECTOR:
	case PROBE_MEMORY_NEW:
	case PROBE_MEMORY_DELETE:
	case PROBE_MEMORY_OUT:
	case PROBE_DEVICE_MEMORY:
	case PROBE_DEVICE_OUT:
	case PROBE_PYTHON_CALL:
		return PROBE_GROUP_CALLS;
	case PROBE_SEQUENCE:
		return PROBE_GROUP_NUMBERS;
	case PROBE_REGION_CSTRING:
	case PROBE_REGION_VIEW:
	case PROBE_REGION_EXIT:
		return PROBE_GROUP_WINDOW;
	default:
		return PROBE_GROUP_STEP;
	}
}

/* That a number is taken tells nothing where it cannot be read. */
static void check_numbers(struct probe_plan *plan)
{
	struct probe_config config;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		struct planned_site *site = &plan->sites[i];

		if (site->kind != PROBE_SEQUENCE || !site->is_found)
			continue;
		plan->task_fsbase = kernel_layout_task_fsbase();
		if (plan->task_fsbase &&
		    thread_numbers_configure(&plan->numbers, site->site.address, &config))
			continue;
		log_debug("%s: cannot be read here", site->point);
		site->is_found = false;
	}
}

/* Where frames are not known, nothing can be read of them. */
static void check_python(struct probe_plan *plan)
{
	struct probe_config config;
	size_t i;

	for (i = 0; i < plan->count; i++) {
		struct planned_site *site = &plan->sites[i];

		if (site->kind == PROBE_PYTHON_CALL && site->is_found &&
		    !python_layout_of(plan->target->version.python, &config)) {
			log_debug("%s: CPython %s is not known", site->point,
				  plan->target->version.python);
			site->is_found = false;
		}
	}
}

/* Of libraries that are of use for what was asked for alone. */
static int search_libraries(struct search *search)
{
	unsigned int role;
	int err = 0;

	for (role = 0; role <= LIBRARY_NAMED && !err; role++)
		err = search_library(search, role);
	if (err || !(search->plan->activities & ACTIVITY_MODULES))
		return err;
	err = search_library(search, LIBRARY_PYTHON);
	return err ? err : search_library(search, LIBRARY_PYTHON_SHARED);
}

static int check_countable(const struct probe_plan *plan, const struct step_spec *step)
{
	bool has_ranges = plan->sees_by_enter ||
			  (find_kind(plan, PROBE_RANGE_NAME) &&
			   find_kind(plan, PROBE_RANGE_BEGIN) && find_kind(plan, PROBE_RANGE_END));

	if (step->mode == STEP_ENTRY) {
		if (find_kind(plan, PROBE_STEP_ENTRY))
			return 0;
		log_err("--step %s: this job has no such function; an overload is written as "
			"add.Tensor, and a library must be mapped by the job",
			step->text);
		return -ENOENT;
	}
	if (has_ranges)
		return 0;
	log_err("nothing is left to count attempts with: this build of PyTorch (%s) lacks the "
		"functions that ranges "
		"go through; name a function with --step op:NAME or --step symbol:LIB:SYMBOL",
		plan->target->version.torch[0] ? plan->target->version.torch : "version unknown");
	return -ENOENT;
}

static int find_operators(struct probe_plan *plan)
{
	const struct target_library *library = &plan->target->libraries[LIBRARY_TORCH_CPU];

	if (plan->activities & ACTIVITY_OPERATORS)
		return operator_table_new(&plan->operators, library->fd);
	return plan->activities & ACTIVITY_CUDA_CALLS ? operator_table_new_empty(&plan->operators)
						      : 0;
}

/* What of CUDA is not seen stands among what is missing. */
static int find_cuda_calls(struct probe_plan *plan)
{
	struct cuda_gaps found;
	size_t i;
	int err;

	if (!(plan->activities & ACTIVITY_CUDA_CALLS))
		return 0;
	err = cuda_plan_add(plan->operators, plan->target, &found);
	for (i = 0; i < found.count && !err; i++) {
		const struct catalog_row row = {
			.point = found.gaps[i].point,
			.cost = found.gaps[i].cost,
			.library = found.gaps[i].library,
			.activity = ACTIVITY_CUDA_CALLS,
		};

		add_site(plan, &row, row.library);
	}
	return err;
}

int probe_plan_make(struct probe_plan *plan, const struct target *target,
		    const struct step_spec *step, unsigned int activities)
{
	struct wanted wanted[WANTED_MAX];
	struct search search = { .plan = plan, .wanted = wanted };
	size_t i;
	int err;

	memset(plan, 0, sizeof(*plan));
	plan->target = target;
	plan->activities = activities;
	if (!cuda_plan_is_of_use(target))
		plan->activities &= ~ACTIVITY_CUDA_CALLS;
	search.wanted_count = want(wanted, plan, step);
	err = search_libraries(&search);
	if (err)
		return err;
	add_missing(plan, wanted, search.wanted_count);
	choose_way(plan);
	check_numbers(plan);
	check_python(plan);
	plan->name_first = find_kind(plan, PROBE_RANGE_NAME_RESET) != NULL;
	for (i = 0; i < plan->count; i++)
		plan->sites[i].group = group_of(plan, step, plan->sites[i].kind);
	err = check_countable(plan, step);
	if (!err)
		err = find_operators(plan);
	return err ? err : find_cuda_calls(plan);
}

void probe_plan_free(struct probe_plan *plan)
{
	operator_table_free(plan->operators);
	plan->operators = NULL;
}

void probe_plan_configure(const struct probe_plan *plan, const struct step_spec *step,
			  struct probe_config *config)
{
	const struct planned_site *sequence = find_kind(plan, PROBE_SEQUENCE);

	config->step_mode = step->mode;

	config->name_first = plan->name_first;
	config->pattern_size = (__u32)strlen(step->pattern);
	config->pattern_is_prefix = step->pattern_is_prefix;
	text_copy(config->pattern, sizeof(config->pattern), step->pattern);
	torch_catalog_node_layout(plan->target->release, config);
	config->watches_modules = find_kind(plan, PROBE_PYTHON_CALL) &&
				  python_layout_of(plan->target->version.python, config);
	if (sequence && thread_numbers_configure(&plan->numbers, sequence->site.address, config))
		config->task_fsbase = plan->task_fsbase;
	if (!torch_catalog_tensor_layout(plan->target->release, config))
		log_debug("PyTorch's version is not known: skipped steps of fused optimizers are "
			  "reported as unknown");
}

const char *probe_plan_site_name(enum probe_site_kind kind)
{
	static const char *const names[PROBE_SITE_KIND_CNT] = {
		[PROBE_SITE_PUSH] = "push",	  [PROBE_SITE_NOP] = "nop",
		[PROBE_SITE_CALL] = "call",	  [PROBE_SITE_JUMP] = "jmp",
		[PROBE_SITE_BRANCH] = "jcc",	  [PROBE_SITE_RET] = "ret",
		[PROBE_SITE_STEPPED] = "stepped",
	};

	return kind < PROBE_SITE_KIND_CNT ? names[kind] : "unknown";
}

static int emit_operator(const struct operator_entry *entry, uint32_t subject, uint64_t time_ns,
			 struct record_sink *sink)
{
	struct wire_operator record = {
		.header = { .size = sizeof(record),
			    .kind = WIRE_OPERATOR,
			    .subject = subject,
			    .time_ns = time_ns },
		.entry_site = entry->has_entry ? 1 + entry->entry_kind : 0,
		.exit_site = entry->has_exit ? 1 + entry->exit_kind : 0,
		.frame_bytes = entry->frame_bytes,
		.domain = (__u8)entry->domain,
		.callback_id = entry->callback_id,
	};

	text_copy(record.name, sizeof(record.name), entry->name);
	text_copy(record.overload, sizeof(record.overload), entry->overload);
	return sink->record(sink, &record, sizeof(record));
}

static int emit_site(const struct probe_plan *plan, const struct planned_site *site,
		     uint64_t time_ns, struct record_sink *sink)
{
	const char *path = plan->target->libraries[site->library].path;
	const char *slash = strrchr(path, '/');
	struct wire_probe record = {
		.header = { .size = sizeof(record), .kind = WIRE_PROBE, .time_ns = time_ns },
		.file_offset = site->file_offset,
		.found = site->is_found,
		.emulated = site->is_found && site->site.emulated,
		.optional = site->is_optional,
		.activity = (__u8)site->activity,
	};

	text_copy(record.point, sizeof(record.point), site->point);
	text_copy(record.library, sizeof(record.library), slash ? slash + 1 : path);
	if (site->is_found)
		text_copy(record.site, sizeof(record.site), probe_plan_site_name(site->site.kind));
	text_copy(record.cost, sizeof(record.cost), site->cost);
	return sink->record(sink, &record, sizeof(record));
}

/* What is of CUDA's calls, and what is not, are told apart: either may be left out. */
static int emit(const struct probe_plan *plan, bool is_of_calls, uint64_t time_ns,
		struct record_sink *sink)
{
	size_t count = 0, i;
	const struct operator_entry *entries =
		plan->operators ? operator_table_entries(plan->operators, &count) : NULL;
	int err = 0;

	for (i = 0; i < plan->count && !err; i++) {
		if ((plan->sites[i].activity == ACTIVITY_CUDA_CALLS) == is_of_calls)
			err = emit_site(plan, &plan->sites[i], time_ns, sink);
	}
	for (i = 0; i < count && !err; i++) {
		if ((entries[i].domain != CALL_OPERATOR) == is_of_calls)
			err = emit_operator(&entries[i], (uint32_t)i, time_ns, sink);
	}
	return err;
}

int probe_plan_emit(const struct probe_plan *plan, uint64_t time_ns, struct record_sink *sink)
{
	int err = emit(plan, false, time_ns, sink);

	return err || plan->calls_in_reserve ? err : emit(plan, true, time_ns, sink);
}

int probe_plan_take_reserve(struct probe_plan *plan, uint64_t time_ns, struct record_sink *sink)
{
	plan->calls_in_reserve = false;
	return emit(plan, true, time_ns, sink);
}
