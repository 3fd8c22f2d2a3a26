/* modules.c - see modules.h. */
#include "analyze/modules.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/edges.h"
#include "base/hashmap.h"

/* The module at an address, or how many instances of a class have a name. */
struct instance {
	struct instance *next; /* all of them, for free */
	uint64_t type;
	const char *name;
	uint32_t number;
};

struct open_module {
	struct module_call call;
	uint64_t begun; /* spans that had, when it did */
	bool is_shown;
};

struct thread_modules {
	struct thread_modules *next;
	uint32_t tid, depth;
	uint64_t lost_ns; /* the last time that records of modules of it were lost; 0: none were */
	struct open_module open[MODULES_OPEN_MAX];
};

struct modules {
	struct spans *spans;
	struct symbols *symbols;
	struct name_table *names;
	struct mark_sink *marks;
	struct hashmap *by_object, *by_class, *by_tid;
	struct instance *instances;
	struct thread_modules *threads;
	uint32_t instance_count;
	uint64_t last_call, refused;
	uint64_t lost_ns; /* the same of several threads */
};

int modules_new(struct modules **out, struct spans *spans, struct symbols *symbols,
		struct name_table *names, struct mark_sink *marks)
{
	struct modules *modules = calloc(1, sizeof(*modules));
	int err;

	if (!modules)
		return -ENOMEM;
	modules->spans = spans;
	modules->symbols = symbols;
	modules->names = names;
	modules->marks = marks;
	err = hashmap_new(&modules->by_object);
	if (!err)
		err = hashmap_new(&modules->by_class);
	if (!err)
		err = hashmap_new(&modules->by_tid);
	if (err) {
		modules_free(modules);
		return err;
	}
	*out = modules;
	return 0;
}

void modules_free(struct modules *modules)
{
	struct thread_modules *thread, *next_thread;
	struct instance *instance, *next;

	if (!modules)
		return;
	for (thread = modules->threads; thread; thread = next_thread) {
		next_thread = thread->next;
		free(thread);
	}
	for (instance = modules->instances; instance; instance = next) {
		next = instance->next;
		free(instance);
	}
	hashmap_free(modules->by_object);
	hashmap_free(modules->by_class);
	hashmap_free(modules->by_tid);
	free(modules);
}

uint64_t modules_refused(const struct modules *modules)
{
	return modules->refused;
}

static struct instance *find_or_add(struct modules *modules, struct hashmap *map, uint64_t key)
{
	struct instance *instance = hashmap_get(map, key);

	if (instance)
		return instance;
	instance = calloc(1, sizeof(*instance));
	if (!instance)
		return NULL;
	if (hashmap_put(map, key, instance, NULL)) {
		free(instance);
		return NULL;
	}
	instance->next = modules->instances;
	modules->instances = instance;
	return instance;
}

/* "nn.Module: Linear_0": the class, and which of its instances, in the order that they were seen.
 */
static int name_it(struct modules *modules, struct instance *instance, const char *class_name)
{
	struct instance *of_class =
		find_or_add(modules, modules->by_class, (uint64_t)(uintptr_t)class_name);
	char name[WIRE_NAME_BYTES + 32];
	int length;

	if (!of_class)
		return -ENOMEM;
	length = snprintf(name, sizeof(name), "nn.Module: %s_%u", class_name, of_class->number++);
	instance->name = name_table_add(modules->names, name, (size_t)length);
	return instance->name ? 0 : -ENOMEM;
}

/* An address is given to another module when the one that was there is gone: its type may tell. */
static int identify(struct modules *modules, const struct wire_module *record,
		    struct module_call *call)
{
	struct instance *instance = hashmap_get(modules->by_object, record->object);
	const char *class_name = symbols_function(modules->symbols, record->type);
	int err = 0;

	if (!instance || instance->type != record->type) {
		if (modules->instance_count == MODULES_MAX) {
			modules->refused++;
			call->name = class_name;
			call->module_id = MODULES_MAX;
			return 0;
		}
		instance = find_or_add(modules, modules->by_object, record->object);
		if (!instance)
			return -ENOMEM;
		instance->type = record->type;
		instance->number = modules->instance_count++;
		err = name_it(modules, instance, class_name);
	}
	call->name = instance->name;
	call->module_id = instance->number;
	return err;
}

/* *out NULL: too many threads, counted. */
static int find_thread(struct modules *modules, uint32_t tid, struct thread_modules **out)
{
	struct thread_modules *thread = hashmap_get(modules->by_tid, tid);

	*out = thread;
	if (thread)
		return 0;
	if (hashmap_count(modules->by_tid) == MODULES_THREADS_MAX) {
		modules->refused++;
		return 0;
	}
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	if (hashmap_put(modules->by_tid, tid, thread, NULL)) {
		free(thread);
		return -ENOMEM;
	}
	thread->tid = tid;
	thread->next = modules->threads;
	modules->threads = thread;
	*out = thread;
	return 0;
}

/*
 * Behind the last thing seen inside and behind the module inside that ends with it, as far as there
 * is room before what comes next: rows that end together seem to reach out of each other (edges.h).
 */
static uint64_t end_of(const struct open_module *open, uint64_t seen_ns, uint64_t now_ns)
{
	if (seen_ns < open->call.start_ns)
		seen_ns = open->call.start_ns;
	return seen_ns + EDGES_GAP_NS < now_ns ? seen_ns + EDGES_GAP_NS : seen_ns;
}

static int close_innermost(struct modules *modules, struct thread_modules *thread, uint64_t end_ns,
			   bool is_finished)
{
	struct open_module *open = &thread->open[--thread->depth];
	struct mark_sink *marks = modules->marks;

	open->call.end_ns = end_ns;
	open->call.is_finished = is_finished && thread->lost_ns < open->call.start_ns &&
				 modules->lost_ns < open->call.start_ns;
	return open->is_shown ? marks->module(marks, &open->call) : 0;
}

static int open_one(struct modules *modules, struct thread_modules *thread,
		    const struct event *event, bool is_active)
{
	const struct open_module *outer = thread->depth ? &thread->open[thread->depth - 1] : NULL;
	struct open_module *open = &thread->open[thread->depth];

	*open = (struct open_module){
		.call = { .start_ns = event->header->time_ns, .tid = thread->tid },
		.begun = spans_begun(modules->spans),
		.is_shown = is_active,
	};
	thread->depth++;
	if (!is_active)
		return 0;
	/* Numbers are given from the window on: where warmup's probes came is up to chance. */
	open->call.id = ++modules->last_call;
	open->call.parent_id = outer && outer->is_shown ? outer->call.id : 0;
	return identify(modules, event->module, &open->call);
}

int modules_event(struct modules *modules, const struct event *event, bool is_active)
{
	uint32_t depth = event->module->depth;
	struct thread_modules *thread;
	uint64_t seen_ns = 0;
	int err = find_thread(modules, event->header->tid, &thread);

	if (err || !thread)
		return err;
	err = spans_pause(modules->spans, event->header,
			  thread->depth > depth ? thread->open[depth].begun : UINT64_MAX, &seen_ns);
	while (!err && thread->depth > depth) {
		seen_ns = end_of(&thread->open[thread->depth - 1], seen_ns, event->header->time_ns);
		err = close_innermost(modules, thread, seen_ns, true);
	}
	if (err || event->header->subject != MODULE_BEGIN)
		return err;
	if (thread->depth == MODULES_OPEN_MAX) {
		modules->refused++;
		return 0;
	}
	return open_one(modules, thread, event, is_active);
}

int modules_hole(struct modules *modules, const struct event *event)
{
	const struct wire_hole *hole = event->hole;
	uint64_t *lost_ns = &modules->lost_ns;
	struct thread_modules *thread;
	int err;

	if (!(hole->kinds & (1U << WIRE_MODULE)))
		return 0;
	if (hole->header.tid) {
		err = find_thread(modules, hole->header.tid, &thread);
		if (err || !thread)
			return err;
		lost_ns = &thread->lost_ns;
	}
	if (hole->last_ns > *lost_ns)
		*lost_ns = hole->last_ns;
	return 0;
}

int modules_close_open(struct modules *modules, uint64_t end_ns)
{
	struct thread_modules *thread;
	int err = 0;

	for (thread = modules->threads; thread && !err; thread = thread->next) {
		uint64_t thread_end_ns = end_ns;

		/* One may have begun a moment after it: then it ends there, and so does what is
		 * around it. */
		while (thread->depth && !err) {
			const struct open_module *open = &thread->open[thread->depth - 1];

			if (open->call.start_ns > thread_end_ns)
				thread_end_ns = open->call.start_ns;
			err = close_innermost(modules, thread, thread_end_ns, false);
		}
	}
	return err;
}
