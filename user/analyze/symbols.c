/*
 * symbols.c - see symbols.h. Both tables are as large as they may become from the start, so that a
 * pointer into them stays good; untouched pages of them cost nothing.
 */
#include "analyze/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/class_name.h"
#include "base/hashmap.h"

#define OUTER_PREFIX "autograd::engine::evaluate_function: "

struct symbol {
	const char *name;  /* NULL: it could not be read */
	const char *outer; /* with OUTER_PREFIX; NULL: not asked for yet */
};

struct symbols {
	struct name_table *names;
	struct operator_name *operators; /* by index; without a name: not known */
	struct symbol *types;
	struct hashmap *by_type;
	const char *nameless_node, *nameless_outer, *nameless_function;
	uint64_t nameless, refused, cut_names;
};

static const char *add_name(struct symbols *symbols, const char *name)
{
	return name_table_add(symbols->names, name, strlen(name));
}

static int fill(struct symbols *symbols)
{
	int err = hashmap_new(&symbols->by_type);

	if (err)
		return err;
	symbols->operators = calloc(SYMBOLS_OPERATORS_MAX, sizeof(*symbols->operators));
	symbols->types = calloc(SYMBOLS_TYPES_MAX, sizeof(*symbols->types));
	symbols->nameless_node = add_name(symbols, "(unnamed node)");
	symbols->nameless_outer = add_name(symbols, OUTER_PREFIX "(unnamed node)");
	symbols->nameless_function = add_name(symbols, "(unnamed function)");
	if (!symbols->operators || !symbols->types || !symbols->nameless_node ||
	    !symbols->nameless_outer || !symbols->nameless_function)
		return -ENOMEM;
	return 0;
}

int symbols_new(struct symbols **out, struct name_table *names)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));
	int err;

	if (!symbols)
		return -ENOMEM;
	symbols->names = names;
	err = fill(symbols);
	if (err) {
		symbols_free(symbols);
		return err;
	}
	*out = symbols;
	return 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	hashmap_free(symbols->by_type);
	free(symbols->types);
	free(symbols->operators);
	free(symbols);
}

int symbols_operator(struct symbols *symbols, const struct event *event)
{
	const struct wire_operator *record = event->operator_;
	struct operator_name operator_name = {
		.entry_site = record->entry_site,
		.exit_site = record->exit_site,
		.frame_bytes = record->frame_bytes,
		.callback_id = record->callback_id,
		.domain = record->domain,
	};

	if (event->header->subject >= SYMBOLS_OPERATORS_MAX) {
		symbols->refused++;
		return 0;
	}
	operator_name.name = add_name(symbols, record->name);
	operator_name.overload = add_name(symbols, record->overload);
	if (!operator_name.name || !operator_name.overload)
		return -ENOMEM;
	symbols->operators[event->header->subject] = operator_name;
	return 0;
}

const struct operator_name *symbols_operator_of(const struct symbols *symbols, uint32_t index)
{
	if (index >= SYMBOLS_OPERATORS_MAX || !symbols->operators[index].name)
		return NULL;
	return &symbols->operators[index];
}

/* The nodes that PyTorch generates name themselves without it; all others by their full name. */
#define GENERATED "torch::autograd::generated::"

static const char *class_name(struct symbols *symbols, const char *mangled)
{
	char name[CLASS_NAME_BYTES];

	if (*mangled == '*') /* the C++ library's mark of a type that is known by its address */
		mangled++;
	if (!class_name_read(mangled, name))
		return add_name(symbols, mangled);
	if (!strncmp(name, GENERATED, sizeof(GENERATED) - 1))
		return add_name(symbols, name + sizeof(GENERATED) - 1);
	return add_name(symbols, name);
}

/* tp_name of a built-in class has its module before it. */
static const char *python_name(struct symbols *symbols, const char *name)
{
	const char *dot = strrchr(name, '.');

	return add_name(symbols, dot && dot[1] ? dot + 1 : name);
}

static const char *name_of(struct symbols *symbols, const struct wire_symbol *record)
{
	switch (record->header.subject) {
	case SYMBOL_RTTI:
		return class_name(symbols, record->name);
	case SYMBOL_PYTHON:
		return python_name(symbols, record->name);
	default:
		return add_name(symbols, record->name);
	}
}

/* The type's row, a new one if need be; *out NULL: there are too many. */
static int row_of(struct symbols *symbols, uint64_t type, struct symbol **out)
{
	size_t count = hashmap_count(symbols->by_type);

	*out = hashmap_get(symbols->by_type, type);
	if (*out)
		return 0;
	if (count == SYMBOLS_TYPES_MAX) {
		symbols->refused++;
		return 0;
	}
	*out = &symbols->types[count];
	return hashmap_put(symbols->by_type, type, *out, NULL);
}

int symbols_symbol(struct symbols *symbols, const struct event *event)
{
	const struct wire_symbol *record = event->symbol;
	struct symbol *symbol;
	int err = row_of(symbols, record->type, &symbol);

	if (err || !symbol)
		return err;
	symbol->name = NULL;
	symbol->outer = NULL;
	if (record->header.flags & (WIRE_NAME_UNREADABLE | WIRE_NAME_MISSING) || !record->name[0])
		return 0;
	if (record->header.flags & WIRE_NAME_TRUNCATED)
		symbols->cut_names++;
	symbol->name = name_of(symbols, record);
	if (!symbol->name)
		return -ENOMEM;
	if (!symbol->name[0]) /* nothing but a mark */
		symbol->name = NULL;
	return 0;
}

static struct symbol *named(const struct symbols *symbols, uint64_t type)
{
	struct symbol *symbol = hashmap_get(symbols->by_type, type);

	return symbol && symbol->name ? symbol : NULL;
}

const char *symbols_node(struct symbols *symbols, uint64_t type)
{
	const struct symbol *symbol = named(symbols, type);

	if (symbol)
		return symbol->name;
	symbols->nameless++;
	return symbols->nameless_node;
}

const char *symbols_node_outer(struct symbols *symbols, uint64_t type)
{
	struct symbol *symbol = named(symbols, type);
	char name[sizeof(OUTER_PREFIX) + CLASS_NAME_BYTES];

	if (!symbol)
		return symbols->nameless_outer;
	if (!symbol->outer) {
		snprintf(name, sizeof(name), OUTER_PREFIX "%s", symbol->name);
		symbol->outer = add_name(symbols, name);
	}
	return symbol->outer;
}

const char *symbols_function(struct symbols *symbols, uint64_t type)
{
	const struct symbol *symbol = named(symbols, type);

	if (symbol)
		return symbol->name;
	symbols->nameless++;
	return symbols->nameless_function;
}

uint64_t symbols_nameless(const struct symbols *symbols)
{
	return symbols->nameless;
}

uint64_t symbols_refused(const struct symbols *symbols)
{
	return symbols->refused;
}

uint64_t symbols_cut_names(const struct symbols *symbols)
{
	return symbols->cut_names;
}
