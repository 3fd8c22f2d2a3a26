/* site_list.c - see site_list.h. */
#include "attach/site_list.h"

#include <stdlib.h>

#include "base/array.h"

int site_list_add(struct site_list *list, uint64_t file_offset, uint64_t cookie)
{
	size_t capacity = list->capacity;
	int err = ARRAY_RESERVE(list->offsets, capacity, list->count + 1);

	if (!err)
		err = ARRAY_RESERVE(list->cookies, list->capacity, list->count + 1);
	if (err)
		return err;
	list->offsets[list->count] = file_offset;
	list->cookies[list->count++] = cookie;
	return 0;
}

void site_list_free(struct site_list *list)
{
	free(list->offsets);
	free(list->cookies);
	*list = (struct site_list){ 0 };
}

static bool is_kept(const struct probe_modes *modes, enum probe_kind kind)
{
	switch (kind) {
	case PROBE_NODE_BEGIN:
		return modes->nodes != MODE_OFF;
	case PROBE_GUARD_END:
		return modes->nodes == MODE_EXACT;

	case PROBE_BOXED_BEGIN:
	case PROBE_BOXED_VECTOR:
		return modes->boxed != MODE_OFF;
	case PROBE_MEMORY_NEW:
	case PROBE_MEMORY_DELETE:
	case PROBE_MEMORY_OUT:
	case PROBE_DEVICE_MEMORY:
	case PROBE_DEVICE_OUT:
		return modes->memory != MODE_OFF;
	case PROBE_PYTHON_CALL:
		return modes->modules != MODE_OFF;
	default:
		return true;
	}
}

static bool is_member(const struct planned_site *site, const struct probe_modes *modes,
		      enum probe_group group)
{
	if (!site->is_found)
		return false;
	if (site->group != PROBE_GROUP_CALLS)
		return site->group == group;
	return group == PROBE_GROUP_LEARN ||
	       (group == PROBE_GROUP_CALLS && is_kept(modes, site->kind));
}

static int add_operator(struct site_list *list, const struct operator_entry *entry, uint32_t index,
			enum wire_mode mode, enum probe_kind entry_kind)
{
	size_t i;
	int err;

	if (mode == MODE_OFF || !entry->has_entry)
		return 0;
	err = site_list_add(list, entry->entry_offset, PROBE_COOKIE(entry_kind, index));
	if (err || mode != MODE_EXACT || !entry->has_exit)
		return err;
	err = site_list_add(list, entry->exit_offset, PROBE_COOKIE(PROBE_OP_END, index));
	for (i = 0; i < entry->more_exit_count && !err; i++)
		err = site_list_add(list, entry->more_exit_offsets[i],
				    PROBE_COOKIE(PROBE_OP_END, index));
	return err;
}

static int add_operators(struct site_list *list, const struct probe_plan *plan,
			 const struct probe_modes *modes, enum probe_group group,
			 enum library_role role)
{
	size_t count, i;
	const struct operator_entry *entries = operator_table_entries(plan->operators, &count);
	enum probe_kind kind = plan->activities & ACTIVITY_SHAPES && role == LIBRARY_TORCH_CPU
				       ? PROBE_OP_SHAPES
				       : PROBE_OP_BEGIN;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		enum wire_mode mode = MODE_EXACT;

		if (entries[i].library != role)
			continue;
		if (plan->calls_in_reserve && entries[i].domain != CALL_OPERATOR)
			continue;
		if (group == PROBE_GROUP_CALLS && i < modes->operator_count)
			mode = (enum wire_mode)modes->operators[i];
		err = add_operator(list, &entries[i], (uint32_t)i, mode, kind);
	}
	return err;
}

int site_list_collect(struct site_list *list, const struct probe_plan *plan,
		      const struct probe_modes *modes, enum probe_group group,
		      enum library_role role)
{
	size_t i;
	int err = 0;

	for (i = 0; i < plan->count && !err; i++) {
		const struct planned_site *site = &plan->sites[i];

		if (site->library == role && is_member(site, modes, group))
			err = site_list_add(list, site->file_offset, site->kind);
	}
	if (err || !plan->operators || (group != PROBE_GROUP_LEARN && group != PROBE_GROUP_CALLS))
		return err;
	return add_operators(list, plan, modes, group, role);
}
