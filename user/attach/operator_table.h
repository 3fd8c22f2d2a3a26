/*
 * operator_table.h - every at::_ops::NAME::call of a libtorch_cpu: what the operator is called and
 * where its beginning and its end are probed.
 *
 * The file belongs to the watched job: what it says is bounded and checked, and all text is copied,
 * so a table outlives the file.
 */
#ifndef ATTACH_OPERATOR_TABLE_H
#define ATTACH_OPERATOR_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "attach/probe_site.h"
#include "attach/target.h"
#include "base/bound.h"
#include "wire.h"

#define OPERATOR_TABLE_MAX BOUND(16384U, 8U)

struct operator_entry {
	const char *name;     /* "aten::add_" */
	const char *overload; /* "Tensor", or "" */
	/* "add_.Tensor(Tensor(a!) self, ...) -> Tensor(a!)"; NULL: not found, or not certain */
	const char *schema;
	const char *class_name; /* "add__Tensor" */
	const char *mangled;
	uint64_t entry_offset, exit_offset; /* in the file; where there is such a site */
	enum probe_site_kind entry_kind, exit_kind;
	bool has_entry, has_exit;
	uint16_t frame_bytes;	  /* the stack between its entry and its exit site; 0: not known */
	bool entry_has_arguments; /* at the entry all are still where the caller put them */
	/* A call of CUDA's may have several ends, of which a run passes just one: the others. */
	uint64_t *more_exit_offsets;
	size_t more_exit_count;
	enum wire_call_domain domain;
	enum library_role library; /* that it is in */
	uint16_t callback_id;	   /* see wire_operator */
};

struct operator_table;

/*
 * Reads the library behind fd, which stays the caller's. A library without operators gives an empty
 * table. Returns 0, -ENOEXEC (no ELF64 x86-64 file), -EIO or -ENOMEM.
 */
int operator_table_new(struct operator_table **out, int fd);
int operator_table_new_empty(struct operator_table **out);
void operator_table_free(struct operator_table *table); /* NULL is legal */

/*
 * Adds an entry behind those that are there. Its name is copied, and is its mangled one too; where
 * its ends are becomes the table's. -ENOSPC: the table is full; -ENOMEM.
 */
int operator_table_add(struct operator_table *table, const struct operator_entry *entry);

/* Operators by address, each address once, then what was added. The table's. */
const struct operator_entry *operator_table_entries(const struct operator_table *table,
						    size_t *count);

/* Entries for which no schema was found: name and overload are "aten::" with the class, and "". */
size_t operator_table_unnamed(const struct operator_table *table);

/* Functions left out because there were OPERATOR_TABLE_MAX before them in the symbol tables. */
size_t operator_table_dropped(const struct operator_table *table);

#endif /* ATTACH_OPERATOR_TABLE_H */
