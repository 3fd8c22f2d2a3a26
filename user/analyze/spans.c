/*
 * spans.c - see spans.h. Each thread has a list of its open ranges in order of beginning. When a
 * range ends, its parent is the one before it in the list: that one began earlier and is still
 * open, so it encloses it whole. A range that ends before one that began inside it leaves the list
 * and is nobody's parent, as torch.profiler sees it. An object's address is reused at once: a
 * beginning for an object that is still open means that its end was not seen.
 */
#include "analyze/spans.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"

struct open_span {
	struct open_span *outer, *inner; /* neighbours in the thread's list */
	struct thread_spans *thread;
	struct span span;
	uint64_t object;
	uint64_t child_ns;
};

struct thread_spans {
	struct thread_spans *next; /* all threads, for free */
	struct open_span *outermost, *innermost;
	uint64_t last_end_ns;
};

struct spans {
	struct name_table *names;
	struct span_sink *next;
	struct hashmap *by_object;
	struct hashmap *by_tid;
	struct thread_spans *threads;
	size_t open_max;
	uint64_t last_id;
	uint64_t dropped, cut_names, nameless;
};

int spans_new(struct spans **out, struct name_table *names, struct span_sink *next, size_t open_max)
{
	struct spans *spans = calloc(1, sizeof(*spans));
	int err;

	if (!spans)
		return -ENOMEM;
	spans->names = names;
	spans->next = next;
	spans->open_max = open_max;
	err = hashmap_new(&spans->by_object);
	if (!err)
		err = hashmap_new(&spans->by_tid);
	if (err) {
		spans_free(spans);
		return err;
	}
	*out = spans;
	return 0;
}

static void free_open(struct thread_spans *thread)
{
	struct open_span *open, *inner;

	for (open = thread->outermost; open; open = inner) {
		inner = open->inner;
		free(open);
	}
}

void spans_free(struct spans *spans)
{
	struct thread_spans *thread, *next;

	if (!spans)
		return;
	for (thread = spans->threads; thread; thread = next) {
		next = thread->next;
		free_open(thread);
		free(thread);
	}
	hashmap_free(spans->by_object);
	hashmap_free(spans->by_tid);
	free(spans);
}

static struct thread_spans *thread_get(struct spans *spans, uint32_t tid)
{
	struct thread_spans *thread = hashmap_get(spans->by_tid, tid);

	if (thread)
		return thread;
	thread = calloc(1, sizeof(*thread));
	if (!thread)
		return NULL;
	if (hashmap_put(spans->by_tid, tid, thread, NULL)) {
		free(thread);
		return NULL;
	}
	thread->next = spans->threads;
	spans->threads = thread;
	return thread;
}

static void link_innermost(struct thread_spans *thread, struct open_span *open)
{
	open->thread = thread;
	open->outer = thread->innermost;
	if (thread->innermost)
		thread->innermost->inner = open;
	else
		thread->outermost = open;
	thread->innermost = open;
}

static void unlink_open(struct open_span *open)
{
	struct thread_spans *thread = open->thread;

	if (open->outer)
		open->outer->inner = open->inner;
	else
		thread->outermost = open->inner;
	if (open->inner)
		open->inner->outer = open->outer;
	else
		thread->innermost = open->outer;
}

/* Consumes open. */
static int finish(struct spans *spans, struct open_span *open, uint64_t end_ns, bool is_finished)
{
	struct span *span = &open->span;
	uint64_t duration_ns;
	int err;

	span->end_ns = end_ns > span->start_ns ? end_ns : span->start_ns;
	span->is_finished = is_finished;
	duration_ns = span->end_ns - span->start_ns;
	if (!span->is_async) {
		span->self_ns = duration_ns > open->child_ns ? duration_ns - open->child_ns : 0;
		span->is_top = !open->outer;
		if (open->outer)
			open->outer->child_ns += duration_ns;
		if (span->end_ns > open->thread->last_end_ns)
			open->thread->last_end_ns = span->end_ns;
	}
	unlink_open(open);
	err = spans->next->span(spans->next, span);
	free(open);
	return err;
}

static const char *name_of(struct spans *spans, const struct wire_range_begin *record)
{
	if (record->header.flags & WIRE_NAME_TRUNCATED)
		spans->cut_names++;
	if (record->header.flags & (WIRE_NAME_UNREADABLE | WIRE_NAME_MISSING)) {
		spans->nameless++;
		return name_table_add(spans->names, "(unnamed range)", 64);
	}
	return name_table_add(spans->names, record->name, record->name_size);
}

static struct open_span *open_new(struct spans *spans, const struct event *event)
{
	struct thread_spans *thread = thread_get(spans, event->header->tid);
	const char *name = name_of(spans, event->range_begin);
	struct open_span *open;

	if (!thread || !name)
		return NULL;
	open = calloc(1, sizeof(*open));
	if (!open)
		return NULL;
	open->object = event->range_begin->object;
	open->span.name = name;
	open->span.id = ++spans->last_id;
	open->span.start_ns = event->header->time_ns;
	open->span.tid = event->header->tid;
	open->span.range = event->range_begin->range;
	link_innermost(thread, open);
	return open;
}

int spans_begin(struct spans *spans, const struct event *event)
{
	struct open_span *open, *stale;
	int err;

	stale = hashmap_remove(spans->by_object, event->range_begin->object);
	if (stale) {
		err = finish(spans, stale, event->header->time_ns, false);
		if (err)
			return err;
	}
	if (hashmap_count(spans->by_object) >= spans->open_max) {
		spans->dropped++;
		return 0;
	}
	open = open_new(spans, event);
	if (!open)
		return -ENOMEM;
	err = hashmap_put(spans->by_object, open->object, open, NULL);
	if (err) {
		unlink_open(open);
		free(open);
	}
	return err;
}

int spans_end(struct spans *spans, const struct event *event)
{
	struct open_span *open = hashmap_remove(spans->by_object, event->range_end->object);

	if (!open) /* its beginning was lost, and counted where it was */
		return 0;
	open->span.is_async = open->span.tid != event->header->tid;
	return finish(spans, open, event->header->time_ns, true);
}

static int close_thread(struct spans *spans, struct thread_spans *thread, uint64_t end_ns)
{
	struct open_span *open, *outer;

	for (open = thread->innermost; open; open = outer) {
		/* A range cannot end before one that it encloses. */
		uint64_t span_end_ns = thread->last_end_ns > end_ns ? thread->last_end_ns : end_ns;
		int err;

		outer = open->outer;
		hashmap_remove(spans->by_object, open->object);
		err = finish(spans, open, span_end_ns, false);
		if (err)
			return err;
	}
	return 0;
}

int spans_close_open(struct spans *spans, uint64_t end_ns)
{
	struct thread_spans *thread;
	int err = 0;

	for (thread = spans->threads; thread && !err; thread = thread->next)
		err = close_thread(spans, thread, end_ns);
	return err;
}

size_t spans_open_count(const struct spans *spans)
{
	return hashmap_count(spans->by_object);
}

uint64_t spans_outermost_open(const struct spans *spans, uint32_t tid, uint64_t since_ns)
{
	const struct thread_spans *thread = hashmap_get(spans->by_tid, tid);
	const struct open_span *open;

	if (!thread)
		return 0;
	for (open = thread->outermost; open; open = open->inner) {
		if (open->span.start_ns >= since_ns)
			return open->span.id;
	}
	return 0;
}

uint64_t spans_dropped(const struct spans *spans)
{
	return spans->dropped;
}

uint64_t spans_cut_names(const struct spans *spans)
{
	return spans->cut_names;
}

uint64_t spans_nameless(const struct spans *spans)
{
	return spans->nameless;
}
