/*
 * torch_catalog.h - the table of probe points: one row says in which library a function is found,
 * what a hit of it means, for which releases it is right and what is lost without it.
 */
#ifndef ATTACH_TORCH_CATALOG_H
#define ATTACH_TORCH_CATALOG_H

#include <stdbool.h>
#include <stddef.h>

#include "attach/probe_site.h"
#include "attach/target.h"
#include "probe_config.h"

#define CATALOG_PREFIXES_MAX 2

struct catalog_row {
	enum probe_kind kind;
	const char *point; /* what people call it */
	enum library_role library;
	/* The mangled name begins so: string ABI and optional's spelling change behind it. */
	const char *prefixes[CATALOG_PREFIXES_MAX];
	bool is_family;	       /* every function that matches, not the first one */
	bool needs_tail_jump;  /* only the jump into another function that ends it will do */
	unsigned int activity; /* ACTIVITY_* that it is for; 0: always */
	unsigned int needs;    /* PROBE_SITE_ARGUMENT() and so on: what the program reads */
	/* Releases for which the row is right; 0: no bound. Both are inclusive. */
	torch_release since, until;
	const char *hits; /* how often, for --describe */
	const char *cost; /* what is lost without it */
};

const struct catalog_row *torch_catalog(size_t *count);

/* Is the row right for a release? One that is not known counts as a recent one. */
bool torch_catalog_applies(const struct catalog_row *row, torch_release release);

/*
 * The mangled prefix of at::_ops::NAME::call for an operator as people write it:
 * "aten::add.Tensor", "add_Tensor". -EINVAL: no operator name.
 */
int torch_catalog_operator(const char *name, char *prefix, size_t size_bytes);

/*
 * Offsets in TensorImpl and StorageImpl (facts by offsetof against the headers of each release).
 * False: the release is not known.
 */
bool torch_catalog_tensor_layout(torch_release release, struct probe_config *config);

/* The same of autograd::Node and PyNode. */
bool torch_catalog_node_layout(torch_release release, struct probe_config *config);

#endif /* ATTACH_TORCH_CATALOG_H */
