/* agent_batch.c - see agent_batch.h. */
#include "ingest/agent_batch.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define RECORD_ALIGN 8

/* Where a kind's fixed part ends, and where it says how long its text is; 0: it has none. */
static const struct shape {
	size_t size_bytes, text_size_at;
} shapes[] = {
	[AGENT_SESSION] = { sizeof(struct agent_session),
			    offsetof(struct agent_session, path_size) },
	[AGENT_DEVICE] = { sizeof(struct agent_device), offsetof(struct agent_device, name_size) },
	[AGENT_NAME] = { sizeof(struct agent_name), offsetof(struct agent_name, name_size) },
	[AGENT_KERNEL] = { sizeof(struct agent_kernel), 0 },
	[AGENT_MEMCPY] = { sizeof(struct agent_memcpy), 0 },
	[AGENT_MEMSET] = { sizeof(struct agent_memset), 0 },
	[AGENT_API] = { sizeof(struct agent_api), 0 },
	[AGENT_SYNC] = { sizeof(struct agent_sync), 0 },
	[AGENT_EVENT] = { sizeof(struct agent_event), 0 },
	[AGENT_OVERHEAD] = { sizeof(struct agent_overhead), 0 },
	[AGENT_STATUS] = { sizeof(struct agent_status), offsetof(struct agent_status, text_size) },
	[AGENT_END] = { sizeof(struct agent_end), 0 },
};

#define SHAPES_CNT (sizeof(shapes) / sizeof(shapes[0]))

int agent_batch_begin(struct agent_batch_walk *walk, const void *bytes, size_t size_bytes)
{
	struct agent_batch *head = &walk->head;

	memset(walk, 0, sizeof(*walk));
	if (size_bytes < sizeof(*head))
		return -EPROTO;
	memcpy(head, bytes, sizeof(*head));
	if (head->magic != AGENT_MAGIC || head->version != AGENT_VERSION ||
	    head->size > size_bytes || head->header_size < sizeof(*head) ||
	    head->header_size > head->size)
		return -EPROTO;
	walk->at = (const unsigned char *)bytes + head->header_size;
	walk->end = (const unsigned char *)bytes + head->size;
	return 0;
}

static void take_text(struct agent_item *item, const unsigned char *record, size_t size_bytes,
		      const struct shape *shape)
{
	uint16_t text_bytes;

	item->text = NULL;
	item->text_bytes = 0;
	if (!shape->text_size_at)
		return;
	memcpy(&text_bytes, record + shape->text_size_at, sizeof(text_bytes));
	item->text = (const char *)record + shape->size_bytes;
	item->text_bytes = size_bytes - shape->size_bytes;
	if (text_bytes < item->text_bytes)
		item->text_bytes = text_bytes;
}

bool agent_batch_next(struct agent_batch_walk *walk, struct agent_item *item)
{
	while (walk->at < walk->end) {
		size_t left_bytes = (size_t)(walk->end - walk->at);
		const unsigned char *record = walk->at;
		struct agent_record head;

		if (left_bytes < sizeof(head))
			break;
		memcpy(&head, record, sizeof(head));
		if (head.size < sizeof(head) || head.size > left_bytes || head.size % RECORD_ALIGN)
			break;
		walk->at += head.size;
		if (head.kind >= SHAPES_CNT || !shapes[head.kind].size_bytes)
			continue;
		if (head.size < shapes[head.kind].size_bytes)
			break;
		memset(&item->any, 0, sizeof(item->any));
		memcpy(&item->any, record, shapes[head.kind].size_bytes);
		take_text(item, record, head.size, &shapes[head.kind]);
		return true;
	}
	walk->is_damaged = walk->at != walk->end;
	return false;
}
