/* batch.c - see batch.h. */
#include "agent/batch.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "agent/handover.h"

#define NAMES_MAX 16384
#define NAMES_ARENA_BYTES (8U << 20)
/* A name is said again after so many batches: a batch lost on the way costs it no longer. */
#define NAME_AGAIN_BATCHES 64

int batch_init(struct batch *batch, uint64_t session)
{
	int err;

	memset(batch, 0, sizeof(*batch));
	err = names_init(&batch->names, NAMES_MAX, NAMES_ARENA_BYTES);
	if (err)
		return err;
	batch->memory = mmap(NULL, AGENT_BATCH_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (batch->memory == MAP_FAILED) {
		batch->memory = NULL;
		names_fini(&batch->names);
		return -ENOMEM;
	}
	batch->session = session;
	batch->used = sizeof(struct agent_batch);
	return 0;
}

void batch_fini(struct batch *batch)
{
	if (batch->memory)
		munmap(batch->memory, AGENT_BATCH_BYTES);
	names_fini(&batch->names);
	memset(batch, 0, sizeof(*batch));
}

void batch_hand_over(struct batch *batch)
{
	struct agent_batch *head = (struct agent_batch *)batch->memory;
	struct timespec now;

	if (!batch->record_count)
		return;
	clock_gettime(CLOCK_MONOTONIC, &now);
	batch->counts[AGENT_COUNT_RECORDS] += batch->record_count;
	memset(head, 0, sizeof(*head));
	head->magic = AGENT_MAGIC;
	head->version = AGENT_VERSION;
	head->header_size = sizeof(*head);
	head->size = (uint32_t)batch->used;
	head->record_count = batch->record_count;
	head->session = batch->session;
	head->sequence = batch->sequence++;
	head->namespace_pid = (uint32_t)getpid();
	head->time_ns = (uint64_t)now.tv_sec * 1000000000ULL + (uint64_t)now.tv_nsec;
	head->clock = batch->clock;
	memcpy(head->counts, batch->counts, sizeof(head->counts));
	/* Whoever probes the call reads memory that the compiler believes nobody looks at. */
	atomic_signal_fence(memory_order_seq_cst);
	tpbpf_agent_batch(batch->memory, batch->used);
	batch->used = sizeof(*head);
	batch->record_count = 0;
}

void *batch_reserve(struct batch *batch, enum agent_kind kind, size_t size)
{
	struct agent_record *record;

	size = (size + 7) & ~7UL;
	if (size > AGENT_BATCH_BYTES - sizeof(struct agent_batch))
		return NULL;
	if (size > AGENT_BATCH_BYTES - batch->used)
		batch_hand_over(batch);
	record = (struct agent_record *)(batch->memory + batch->used);
	memset(record, 0, size);
	record->kind = (uint16_t)kind;
	record->size = (uint16_t)size;
	batch->used += size;
	batch->record_count++;
	return record;
}

void *batch_reserve_text(struct batch *batch, enum agent_kind kind, size_t size,
			 size_t text_size_offset, const char *text)
{
	size_t text_size = text ? strnlen(text, AGENT_TEXT_BYTES) : 0;
	char *record = batch_reserve(batch, kind, size + text_size);
	uint16_t stored = (uint16_t)text_size;

	memcpy(record + text_size_offset, &stored, sizeof(stored));
	if (text_size)
		memcpy(record + size, text, text_size);
	if (text_size == AGENT_TEXT_BYTES && text[text_size])
		((struct agent_record *)record)->flags |= AGENT_NAME_CUT;
	return record;
}

static void say_name(struct batch *batch, struct name_entry *entry, uint32_t id)
{
	struct agent_name *record = batch_reserve(batch, AGENT_NAME, sizeof(*record) + entry->size);

	record->id = id;
	record->name_size = (uint16_t)entry->size;
	if (entry->cut)
		record->record.flags |= AGENT_NAME_CUT;
	memcpy(record->name, names_text(&batch->names, entry), entry->size);
}

uint32_t batch_name(struct batch *batch, const char *name)
{
	uint32_t id = names_intern(&batch->names, name, AGENT_NAME_BYTES);
	struct name_entry *entry;

	if (!id) {
		if (name && *name)
			batch->counts[AGENT_COUNT_NO_NAME]++;
		return 0;
	}
	entry = names_entry(&batch->names, id);
	if (entry->said && batch->sequence + 1 - entry->said < NAME_AGAIN_BATCHES)
		return id;
	if (!entry->said && entry->cut)
		batch->counts[AGENT_COUNT_NAMES_CUT]++;
	say_name(batch, entry, id);
	entry->said = batch->sequence + 1;
	return id;
}
