/* thread_tap.c - see thread_tap.h. A thread that has ended already gets the name of the process. */
#include "thread_tap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "attach/process.h"
#include "base/hashmap.h"
#include "base/text.h"

struct thread_tap {
	struct record_sink sink;
	struct record_sink *next;
	struct hashmap *seen;
	pid_t pid, namespace_pid;
};

struct search {
	const struct thread_tap *tap;
	pid_t namespace_tid;
	char name[32];
};

static int on_thread(void *context, pid_t tid)
{
	struct search *search = context;
	char name[sizeof(search->name)];
	pid_t namespace_tid;

	if (process_thread(search->tap->pid, tid, &namespace_tid, name, sizeof(name)) ||
	    namespace_tid != search->namespace_tid)
		return 0;
	text_copy(search->name, sizeof(search->name), name);
	return 1;
}

static void find_name(struct search *search)
{
	const struct thread_tap *tap = search->tap;

	if (tap->pid == tap->namespace_pid && on_thread(search, search->namespace_tid))
		return;
	if (process_each_thread(tap->pid, on_thread, search) != 1)
		process_name(tap->pid, search->name, sizeof(search->name));
}

static int introduce(struct thread_tap *tap, uint32_t tid, uint64_t time_ns)
{
	struct search search = { .tap = tap, .namespace_tid = (pid_t)tid };
	struct wire_thread record = {
		.header = { .size = sizeof(record),
			    .kind = WIRE_THREAD,
			    .tid = tid,
			    .time_ns = time_ns },
	};
	int err = hashmap_put(tap->seen, tid, tap, NULL);

	if (err)
		return err;
	find_name(&search);
	text_printable(record.name, sizeof(record.name), search.name);
	return tap->next->record(tap->next, &record, sizeof(record));
}

static int on_record(struct record_sink *sink, const void *bytes, size_t size_bytes)
{
	struct thread_tap *tap = container_of(sink, struct thread_tap, sink);
	struct wire_header header;

	if (size_bytes >= sizeof(header)) {
		memcpy(&header, bytes, sizeof(header));
		if (header.tid && header.kind != WIRE_WAKE && !hashmap_get(tap->seen, header.tid)) {
			int err = introduce(tap, header.tid, header.time_ns);

			if (err)
				return err;
		}
	}
	return tap->next->record(tap->next, bytes, size_bytes);
}

int thread_tap_new(struct thread_tap **out, pid_t pid, pid_t namespace_pid,
		   struct record_sink *next)
{
	struct thread_tap *tap = calloc(1, sizeof(*tap));
	int err;

	if (!tap)
		return -ENOMEM;
	err = hashmap_new(&tap->seen);
	if (err) {
		free(tap);
		return err;
	}
	tap->sink.record = on_record;
	tap->next = next;
	tap->pid = pid;
	tap->namespace_pid = namespace_pid;
	*out = tap;
	return 0;
}

void thread_tap_free(struct thread_tap *tap)
{
	if (!tap)
		return;
	hashmap_free(tap->seen);
	free(tap);
}

struct record_sink *thread_tap_sink(struct thread_tap *tap)
{
	return &tap->sink;
}
