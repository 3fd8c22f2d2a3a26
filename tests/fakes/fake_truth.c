/* fake_truth.c - everything that the simulated device did, kept and written; part of libcuda.so.1.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_device.h"

#define ENTRIES_MAX 4000000

struct book {
	void *entries;
	size_t size, count, room;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct book books[FAKE_TRUTH_CNT] = {
	[FAKE_TRUTH_CALLS] = { .size = sizeof(struct fake_call) },
	[FAKE_TRUTH_OPS] = { .size = sizeof(struct fake_op) },
	[FAKE_TRUTH_SYNCS] = { .size = sizeof(struct fake_sync) },
	[FAKE_TRUTH_EVENTS] = { .size = sizeof(struct fake_event) },
};

static void keep(enum fake_truth_kind kind, const void *entry)
{
	struct book *book = &books[kind];

	pthread_mutex_lock(&lock);
	if (book->count == book->room && book->room < ENTRIES_MAX) {
		book->room = book->room ? 2 * book->room : 4096;
		book->entries = realloc(book->entries, book->room * book->size);
		if (!book->entries)
			abort();
	}
	if (book->count == book->room)
		abort(); /* a truth with holes is none */
	memcpy((char *)book->entries + book->count++ * book->size, entry, book->size);
	pthread_mutex_unlock(&lock);
}

void fake_log_call(const struct fake_call *call)
{
	keep(FAKE_TRUTH_CALLS, call);
}

void fake_log_op(const struct fake_op *op)
{
	keep(FAKE_TRUTH_OPS, op);
}

void fake_log_sync(const struct fake_sync *sync)
{
	keep(FAKE_TRUTH_SYNCS, sync);
}

void fake_log_event(const struct fake_event *event)
{
	keep(FAKE_TRUTH_EVENTS, event);
}

static void write_call(FILE *out, const void *entry)
{
	const struct fake_call *c = entry;

	fprintf(out,
		"{\"domain\":\"%s\",\"cbid\":%u,\"name\":\"%s\",\"thread\":%u,\"pthread\":%u,"
		"\"correlation\":%u,\"result\":%u,\"start_ns\":%llu,\"end_ns\":%llu}",
		c->domain == FAKE_DRIVER ? "driver" : "runtime", c->cbid, c->name, c->thread,
		c->pthread, c->correlation, c->result, (unsigned long long)c->start_ns,
		(unsigned long long)c->end_ns);
}

/* Names hold anything but control characters. */
static void write_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (; text && *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void write_op(FILE *out, const void *entry)
{
	static const char *const kinds[] = { "kernel", "memcpy", "peer", "memset" };
	const struct fake_op *o = entry;

	fprintf(out, "{\"kind\":\"%s\",\"name\":", kinds[o->kind]);
	write_text(out, o->name);
	fprintf(out,
		",\"start_ns\":%llu,\"end_ns\":%llu,\"correlation\":%u,\"device\":%u,"
		"\"context\":%u,\"stream\":%u,\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u],"
		"\"registers\":%u,\"static_shared\":%u,\"dynamic_shared\":%u,\"priority\":%d,"
		"\"graph_id\":%u,\"graph_node\":%llu,\"bytes\":%llu,\"copy_kind\":%u,"
		"\"source_kind\":%u,\"target_kind\":%u,\"source_device\":%u,\"target_device\":%u,"
		"\"value\":%u}",
		(unsigned long long)o->start_ns, (unsigned long long)o->end_ns, o->correlation,
		o->device, o->context, o->stream, o->grid[0], o->grid[1], o->grid[2], o->block[0],
		o->block[1], o->block[2], o->registers, o->static_shared, o->dynamic_shared,
		o->priority, o->graph_id, (unsigned long long)o->graph_node,
		(unsigned long long)o->bytes, o->copy_kind, o->source_kind, o->target_kind,
		o->source_device, o->target_device, o->value);
}

static void write_sync(FILE *out, const void *entry)
{
	const struct fake_sync *s = entry;

	fprintf(out,
		"{\"type\":%u,\"correlation\":%u,\"context\":%u,\"stream\":%u,\"event\":%u,"
		"\"event_sync\":%llu,\"start_ns\":%llu,\"end_ns\":%llu}",
		s->type, s->correlation, s->context, s->stream, s->event,
		(unsigned long long)s->event_sync, (unsigned long long)s->start_ns,
		(unsigned long long)s->end_ns);
}

static void write_event(FILE *out, const void *entry)
{
	const struct fake_event *e = entry;

	fprintf(out,
		"{\"correlation\":%u,\"context\":%u,\"stream\":%u,\"event\":%u,\"device\":%u,"
		"\"event_sync\":%llu}",
		e->correlation, e->context, e->stream, e->event, e->device,
		(unsigned long long)e->event_sync);
}

static void write_book(FILE *out, const char *name, enum fake_truth_kind kind,
		       void (*write)(FILE *, const void *))
{
	const struct book *book = &books[kind];
	size_t i;

	fprintf(out, "\"%s\":[", name);
	for (i = 0; i < book->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		write(out, (const char *)book->entries + i * book->size);
	}
	fputs("]", out);
}

size_t fake_truth(enum fake_truth_kind kind, const void **entries)
{
	*entries = books[kind].entries;
	return books[kind].count;
}

void fake_truth_forget(void)
{
	int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < FAKE_TRUTH_CNT; i++)
		books[i].count = 0;
	pthread_mutex_unlock(&lock);
}

int fake_write_truth(const char *path)
{
	FILE *out = fopen(path, "w");

	if (!out)
		return -1;
	pthread_mutex_lock(&lock);
	fputs("{", out);
	write_book(out, "calls", FAKE_TRUTH_CALLS, write_call);
	fputs(",\n", out);
	write_book(out, "ops", FAKE_TRUTH_OPS, write_op);
	fputs(",\n", out);
	write_book(out, "syncs", FAKE_TRUTH_SYNCS, write_sync);
	fputs(",\n", out);
	write_book(out, "events", FAKE_TRUTH_EVENTS, write_event);
	fputs("}\n", out);
	pthread_mutex_unlock(&lock);
	return fclose(out) ? -1 : 0;
}
