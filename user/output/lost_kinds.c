/* lost_kinds.c - see lost_kinds.h. */
#include "output/lost_kinds.h"

#include "model/summary.h"

void lost_kinds_put(struct json *json, uint32_t kinds)
{
	unsigned int kind;

	json_array_begin(json, "kinds");
	for (kind = 0; kind < LOST_KINDS; kind++) {
		const char *name = summary_lost_name((enum wire_kind)kind);

		if (name && kinds & (1U << kind))
			json_string(json, NULL, name);
	}
	json_array_end(json);
}
