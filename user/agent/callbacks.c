/*
 * callbacks.c - CUPTI asks for buffers and brings them back, on threads of the job or of its own.
 * What is asked for is always given: before 12.9 CUPTI crashes when it is not.
 */
#include "agent/session.h"

#include <string.h>

/* For everything that nobody will read; many may write here at once. */
static _Alignas(64) uint8_t discarded[256 << 10];

static const char no_name[] = "";

void session_buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records)
{
	struct session *session = &agent_session;

	*max_records = 0;
	*buffer = NULL;
	if (!session_is_inert(session)) {
		atomic_fetch_add(&session->callbacks, 1);
		if (atomic_load(&session->delivering))
			*buffer = pool_take(&session->pool);
	}
	*size = POOL_BUFFER_BYTES;
	if (!*buffer) {
		*buffer = discarded;
		*size = sizeof(discarded);
	}
}

/* Enters CUPTI again: not under the lock. The answer is a constant of CUPTI's, so it is kept. */
static const char *callback_name(struct session *session, const uint8_t *record, uint32_t kind)
{
	uint32_t domain = kind == KIND_DRIVER ? AGENT_API_DRIVER : AGENT_API_RUNTIME, id;
	const char *name = NULL;

	if (kind != KIND_DRIVER && kind != KIND_RUNTIME)
		return NULL;
	memcpy(&id, record + API_CALLBACK, sizeof(id));
	if (id < CALLBACKS_MAX)
		name = atomic_load(&session->callback_names[domain - 1][id]);
	if (name)
		return name;
	if (!session->cupti.get_callback_name ||
	    session->cupti.get_callback_name(domain, id, &name) || !name)
		name = no_name;
	if (id < CALLBACKS_MAX)
		atomic_store(&session->callback_names[domain - 1][id], name);
	return name;
}

/* False: the rest of the buffer cannot be read. */
static bool take_record(struct session *session, const uint8_t *record, size_t left)
{
	struct recorder *recorder;
	const char *name = NULL;
	uint32_t kind;
	size_t size;

	if (left < sizeof(kind))
		return false;
	memcpy(&kind, record, sizeof(kind));
	if ((kind == KIND_DRIVER || kind == KIND_RUNTIME) && left >= API_SIZE)
		name = callback_name(session, record, kind);
	recorder = session_lock(session);
	if (!recorder)
		return false;
	size = recorder_size(recorder, kind);
	if (size <= left)
		recorder_take(recorder, record, name);
	session_unlock(session);
	return size <= left;
}

static void take_buffer(struct session *session, uint8_t *buffer, size_t valid_size)
{
	uint8_t *record = NULL;
	int err;

	session_read_clock(session);
	for (;;) {
		size_t offset;

		err = session->cupti.get_next_record(buffer, valid_size, &record);
		if (err)
			break;
		offset = (size_t)(record - buffer);
		if (offset >= valid_size || !take_record(session, record, valid_size - offset))
			break;
	}
	if (err != CUPTI_MAX_LIMIT_REACHED)
		atomic_fetch_add(&session->broken_buffers, 1);
}

void session_buffer_completed(void *context, uint32_t stream, uint8_t *buffer, size_t size,
			      size_t valid_size)
{
	struct session *session = &agent_session;

	(void)context;
	(void)stream;
	(void)size;
	if (session_is_inert(session))
		return;
	atomic_fetch_add(&session->callbacks, 1);
	if (buffer == discarded) {
		if (valid_size)
			atomic_fetch_add(&session->unread_buffers, 1);
		return;
	}
	if (!buffer || valid_size > POOL_BUFFER_BYTES || !atomic_load(&session->delivering))
		atomic_fetch_add(&session->late_buffers, 1);
	else if (valid_size)
		take_buffer(session, buffer, valid_size);
	pool_give_back(&session->pool, buffer);
}
