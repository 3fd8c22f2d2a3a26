/*
 * name_table.h - each different name once. Names come from the watched job, so their number and
 * bytes are bounded: past the bound every new name is the same "(other names)".
 */
#ifndef BASE_NAME_TABLE_H
#define BASE_NAME_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct name_table;

#define NAME_TABLE_OTHER "(other names)"

/* At most names_max different names, the shared one not counted. */
int name_table_new(struct name_table **out, size_t names_max);
void name_table_free(struct name_table *table); /* NULL is legal */

/*
 * The table's copy of a name, valid while the table lives; equal names give equal pointers. NULL:
 * out of memory. The name ends at size_bytes or at its first NUL.
 */
const char *name_table_add(struct name_table *table, const char *name, size_t size_bytes);

/* How many times a name was filed under the shared one. */
uint64_t name_table_refused(const struct name_table *table);

#endif /* BASE_NAME_TABLE_H */
