/*
 * shape_groups.h - the shapes of a call's arguments as torch.profiler prints its Input Shapes, each
 * different text once: "[[64, 512], [512, 10], []]".
 */
#ifndef ANALYZE_SHAPE_GROUPS_H
#define ANALYZE_SHAPE_GROUPS_H

#include <stddef.h>

#include "wire.h"

struct shape_groups;

#define SHAPE_GROUPS_OTHER "(other shapes)"

/* Over groups_max different ones all new ones are SHAPE_GROUPS_OTHER. */
int shape_groups_new(struct shape_groups **out, size_t groups_max);
void shape_groups_free(struct shape_groups *groups); /* NULL is legal */

/*
 * Valid while groups lives; equal texts are equal pointers. shapes NULL: "[]", as for a call
 * without arguments. NULL: out of memory. One entry an argument position up to the last one
 * recorded; what is no tensor is []; an unreadable tensor is [?], dimensions that were not kept are
 * "...".
 */
const char *shape_groups_text(struct shape_groups *groups, const struct wire_shapes *shapes);

#endif /* ANALYZE_SHAPE_GROUPS_H */
